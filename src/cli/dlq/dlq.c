/* dlq.c - `ichido dlq`: lists, edits, retries and deletes dead letters (Q6).
 *
 * Where a server has the database the command uses its admin API, otherwise it opens the database
 * (M4). A change of many dead letters is done in parts, and each part is durable before the next
 * begins. When the command is killed, everything that it reported as done is done, and the same
 * command continues with the rest. No queue runs here: retried messages wait for a server. */
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/dlq/command.h"
#include "observe/log.h"

#include <string.h>
#include <unistd.h>

enum {
    LIST_USUAL = 20,
    PART = 500, /* dead letters between two lines of progress */
    PART_IDS = 100,
    LIST_CURSOR = 1200,
    ARENA = 64 * 1024 * 1024,
};

struct dlq_run {
    struct node node;
    struct dlq_options options;
    struct dlq_source *source;
    struct arena arena; /* of one answer */
};

static int dlq_failed(const struct dlq_run *r, enum err e, const char *doing)
{
    if (e == ERR_NOT_FOUND && !r->source->why.text[0])
        fprintf(stderr,
                "ichido dlq: %s: there is no such dead letter; ichido dlq list shows them\n",
                doing);
    else
        fprintf(stderr, "ichido dlq: %s: %s\n", doing,
                r->source->why.text[0] ? r->source->why.text : err_words(e, LANG_EN));
    return EXIT_CANNOT;
}

/* --- answers --- */

static bool dlq_parse(struct dlq_run *r, struct str json, cJSON **ret_tree)
{
    if (!json_parse(json, ret_tree, NULL))
        return true;
    return why_false(&r->source->why, "the answer is not what was expected");
}

/* Empty: there is no further page. The text is kept in `text`. */
static struct str cursor_of(const cJSON *o, const char *name, char text[DEAD_CURSOR_TEXT + 1])
{
    snprintf(text, DEAD_CURSOR_TEXT + 1, "%s", answer_words(o, name));
    return str_of(text);
}

/* --- list --- */

/* Of letters or of their groups. */
struct dlq_listed {
    enum err (*page)(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                     struct str cursor, int limit, struct str *ret_json);
    void (*add)(struct dlq_table *t, const cJSON *one);
    const char *doing;
};

static enum err dlq_list_page(struct dlq_run *r, const struct dlq_listed *l, struct dlq_table *t,
                              int64_t most, int64_t *shown, char cursor[LIST_CURSOR])
{
    CLEANUP(json_freep) cJSON *page = NULL;
    int limit = most - *shown < LIMIT_PAGE ? (int)(most - *shown) : LIMIT_PAGE;
    const cJSON *one;
    struct str json;
    enum err e;

    arena_release(&r->arena);
    e = l->page(r->source, &r->arena, &r->options.filter, str_of(cursor), limit, &json);
    if (e)
        return e;
    if (!dlq_parse(r, json, &page))
        return ERR_INTERNAL;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(page, "data"))
    {
        if (r->options.json)
            answer_print(one);
        else
            l->add(t, one);
        (*shown)++;
    }
    snprintf(cursor, LIST_CURSOR, "%s", answer_words(page, "nextCursor"));
    return OK;
}

static int dlq_list_all(struct dlq_run *r, const struct dlq_listed *l)
{
    int64_t most = r->options.limit ? r->options.limit : LIST_USUAL, shown = 0;
    char cursor[LIST_CURSOR] = "";
    struct dlq_table t;
    enum err e;

    if (r->options.all)
        most = INT64_MAX;
    dlq_table_init(&t);
    do
        e = dlq_list_page(r, l, &t, most, &shown, cursor);
    while (!e && cursor[0] && shown < most);
    if (e)
        return dlq_failed(r, e, l->doing);
    if (!shown)
        fputs("no dead letter matches\n", stderr);
    else if (cursor[0])
        fprintf(stderr, "there are more: --limit N or --all shows them\n");
    return EXIT_FINE; /* an empty list is no failure */
}

static int dlq_list(struct dlq_run *r)
{
    return dlq_list_all(r, &(struct dlq_listed){ r->source->page, dlq_table_letter, "list" });
}

static int dlq_groups(struct dlq_run *r)
{
    return dlq_list_all(r, &(struct dlq_listed){ r->source->groups, dlq_table_group, "groups" });
}

/* --- show --- */

static int dlq_show(struct dlq_run *r)
{
    CLEANUP(json_freep) cJSON *letter = NULL;
    struct str json;
    enum err e = r->source->show(r->source, &r->arena, r->options.ids[0], &json);

    if (!e && !dlq_parse(r, json, &letter))
        e = ERR_INTERNAL;
    if (e)
        return dlq_failed(r, e, "show");
    if (r->options.json)
        printf(STR_FMT "\n", STR_ARG(json));
    else
        dlq_print_letter(letter);
    return EXIT_FINE;
}

/* --- retry and delete --- */

struct dlq_sums {
    int64_t matched, done, refused;
    cJSON *refusals; /* the first of them */
};

static void add_refusals(struct dlq_sums *sums, cJSON *answer)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(answer, "refusals");

    while (list && list->child && cJSON_GetArraySize(sums->refusals) < DEAD_REFUSALS)
        cJSON_AddItemToArray(sums->refusals, cJSON_DetachItemViaPointer(list, list->child));
}

/* The next part; false where nothing is left to do. */
static bool next_span(const struct dlq_run *r, const struct dlq_sums *sums, struct dlq_span *span)
{
    const struct dlq_options *k = &r->options;
    int64_t most = span->dry_run ? LIMIT_DEAD_ACT : PART;

    if (k->id_count) {
        span->first_id += span->id_count;
        span->id_count = k->id_count - span->first_id;
        if (span->id_count > PART_IDS)
            span->id_count = PART_IDS;
        return span->id_count;
    }
    span->limit = k->limit && k->limit - sums->matched < most ? k->limit - sums->matched : most;
    return span->limit > 0;
}

static enum err do_span(struct dlq_run *r, struct dlq_span *span, struct dlq_sums *sums,
                        char cursor[DEAD_CURSOR_TEXT + 1])
{
    CLEANUP(json_freep) cJSON *answer = NULL;
    struct str json;
    enum err e;

    arena_release(&r->arena);
    e = r->source->act(r->source, &r->arena, &r->options, span, &json);
    if (e)
        return e;
    if (!dlq_parse(r, json, &answer))
        return ERR_INTERNAL;
    sums->matched += answer_number(answer, "matched");
    sums->done += answer_number(answer, "done");
    sums->refused += answer_number(answer, "refused");
    add_refusals(sums, answer);
    span->cursor = cursor_of(answer, "cursor", cursor);
    return OK;
}

static enum err dlq_act(struct dlq_run *r, bool dry_run, struct dlq_progress *progress,
                        struct dlq_sums *sums)
{
    struct dlq_span span = { .dry_run = dry_run };
    char cursor[DEAD_CURSOR_TEXT + 1] = "";
    enum err e = OK;

    do {
        if (!next_span(r, sums, &span))
            break;
        e = do_span(r, &span, sums, cursor);
        if (progress && !e)
            dlq_progress_print(progress, sums->done);
    } while (!e && (r->options.id_count || cursor[0]));
    return e;
}

static const char *dlq_past(const struct dlq_run *r)
{
    return r->options.verb == DLQ_RETRY ? "retried" : "deleted";
}

static void print_json(const struct dlq_run *r, const struct dlq_sums *sums)
{
    char *text = cJSON_PrintUnformatted(sums->refusals);

    printf("{\"matched\":%lld,\"done\":%lld,\"refused\":%lld,\"refusals\":%s,\"dryRun\":%s}\n",
           (long long)sums->matched, (long long)sums->done, (long long)sums->refused,
           text ? text : "[]", r->options.dry_run ? "true" : "false");
    cJSON_free(text);
}

static const char *dlq_letters(int64_t n)
{
    return n == 1 ? "dead letter" : "dead letters";
}

static void print_sums(const struct dlq_run *r, const struct dlq_sums *sums)
{
    if (r->options.json)
        print_json(r, sums);
    else if (r->options.dry_run)
        printf("%lld %s would be %s; nothing was changed\n", (long long)sums->matched,
               dlq_letters(sums->matched), dlq_past(r));
    else
        printf("%lld of %lld %s %s\n", (long long)sums->done, (long long)sums->matched,
               dlq_letters(sums->matched), dlq_past(r));
    if (sums->refused) {
        fprintf(stderr, "%lld %s still dead%s\n", (long long)sums->refused,
                sums->refused == 1 ? "was refused and is" : "were refused and are",
                sums->refused > DEAD_REFUSALS ? "; the first of them:" : ":");
        dlq_print_refusals(sums->refusals);
    }
    if (sums->done && r->options.verb == DLQ_RETRY && !r->options.json)
        fprintf(stderr, "%s; what fails again: ichido dlq list\n", r->source->afterwards);
}

/* Asks before deleting. EXIT_FINE: continue. */
static int may_delete(const struct dlq_run *r, int64_t count)
{
    char answer[8] = "";

    if (r->options.verb != DLQ_DELETE || count <= 1 || r->options.yes)
        return EXIT_FINE;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        fprintf(stderr,
                "ichido dlq: this would delete %lld dead letters for ever; add --yes to do it, or"
                " --dry-run to count only\n",
                (long long)count);
        return EXIT_ASKED_WRONGLY;
    }
    fprintf(stderr, "delete %lld dead letters for ever? [y/N] ", (long long)count);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return EXIT_FINE;
    fputs("nothing was deleted\n", stderr);
    return EXIT_CANNOT;
}

static int act_on_all(struct dlq_run *r, struct dlq_sums *sums, int64_t total)
{
    struct dlq_progress progress;
    enum err e;

    dlq_progress_begin(&progress, &r->node.env, dlq_past(r), total);
    e = dlq_act(r, false, &progress, sums);
    dlq_progress_end(&progress, sums->done);
    print_sums(r, sums);
    if (e) {
        dlq_failed(r, e, dlq_past(r));
        fprintf(stderr, "the same command again goes on with the rest\n");
    }
    return e || sums->refused || !sums->done ? EXIT_CANNOT : EXIT_FINE;
}

/* The dead letters are counted first, for the question and for the line of progress. */
static int count_and_act(struct dlq_run *r, struct dlq_sums *sums)
{
    struct dlq_sums count = { .refusals = sums->refusals };
    enum err e = dlq_act(r, true, NULL, &count);
    int code;

    if (e)
        return dlq_failed(r, e, "count");
    if (r->options.dry_run || !count.matched) {
        print_sums(r, &count);
        if (!count.matched)
            fputs("no dead letter matches; ichido dlq list shows what there is\n", stderr);
        return count.matched ? EXIT_FINE : EXIT_CANNOT;
    }
    code = may_delete(r, count.matched);
    return code ? code : act_on_all(r, sums, count.matched);
}

static int dlq_change(struct dlq_run *r)
{
    struct dlq_sums sums = { .refusals = cJSON_CreateArray() };
    int code = sums.refusals ? count_and_act(r, &sums) : EXIT_CANNOT;

    cJSON_Delete(sums.refusals);
    return code;
}

/* --- edited, or at a rate --- */

static bool read_file(struct dlq_run *r, char *text, size_t *ret_n)
{
    char path[4096];
    FILE *f = stdin;

    snprintf(path, sizeof(path), STR_FMT, STR_ARG(r->options.body));
    if (strcmp(path, "-") != 0)
        f = fopen(path, "re");
    *ret_n = f ? fread(text, 1, LIMIT_DEAD_EDIT + 1, f) : 0;
    if (f && f != stdin)
        fclose(f);
    if (f && *ret_n && *ret_n <= LIMIT_DEAD_EDIT)
        return true;
    fprintf(stderr, "ichido dlq: --body: %s %s\n", path,
            !f        ? "cannot be read"
            : !*ret_n ? "is empty"
                      : "is larger than 256 KiB");
    return false;
}

static int dlq_edit(struct dlq_run *r)
{
    char *text = arena_alloc(&r->arena, 1, LIMIT_DEAD_EDIT + 1);
    size_t n;
    enum err e;

    if (!text || !read_file(r, text, &n))
        return EXIT_ASKED_WRONGLY;
    e = r->source->edit(r->source, &r->arena, r->options.ids[0], (struct str){ text, n });
    if (e)
        return dlq_failed(r, e, "retry");
    printf("1 of 1 dead letter retried, edited\n");
    return EXIT_FINE;
}

static int at_a_rate(struct dlq_run *r)
{
    struct buf body;
    int code = EXIT_CANNOT;

    buf_init(&body, LIMIT_DEAD_BODY);
    buf_char(&body, '{');
    dlq_choice(&body, &r->options, 0, r->options.id_count);
    buf_fmt(&body, ",\"ratePerSecond\":%lld,\"dryRun\":%s}", (long long)r->options.rate,
            r->options.dry_run ? "true" : "false");
    if (!body.failed)
        code = dlq_redrive(&r->node, "ichido dlq", S("/api/v1/admin/redrives"), buf_str(&body),
                           r->options.dry_run, r->options.json);
    buf_release(&body);
    return code;
}

/* --- all together --- */

static bool open_source(struct dlq_run *r)
{
    char owner[ADMIN_OWNER];
    struct why why = { 0 };
    enum err e = dlq_local_open(&r->node, &r->source, owner, &why);

    if (e == ERR_CONFLICT)
        e = dlq_remote_open(&r->node, owner, &r->source, &why);
    if (e)
        fprintf(stderr, "ichido dlq: %s\n", why.text[0] ? why.text : err_words(e, LANG_EN));
    return !e;
}

static int dlq_run(struct dlq_run *r)
{
    switch (r->options.verb) {
    case DLQ_LIST: return dlq_list(r);
    case DLQ_GROUPS: return dlq_groups(r);
    case DLQ_SHOW: return dlq_show(r);
    case DLQ_RETRY:
    case DLQ_DELETE: return r->options.body.n ? dlq_edit(r) : dlq_change(r);
    }
    return EXIT_ASKED_WRONGLY;
}

static int with_settings(struct dlq_run *r)
{
    int code = EXIT_CANNOT;

    if (!node_init(&r->node))
        return EXIT_ASKED_WRONGLY;
    node_log_errors_only(&r->node);
    arena_init(&r->arena, ARENA);
    if (r->options.rate) {
        code = at_a_rate(r);
    } else if (open_source(r)) {
        code = dlq_run(r);
        r->source->free(r->source);
    }
    arena_release(&r->arena);
    node_release(&r->node);
    return code;
}

int cli_dlq(int argc, char **argv)
{
    struct dlq_run r = { 0 };
    struct arena texts;
    struct clock clock;
    struct why why = { 0 };
    int code = EXIT_FINE;

    clock_init(&clock);
    arena_init(&texts, ARENA);
    switch (dlq_args(argc, argv, &texts, clock_wall_ms(&clock), &r.options, &why)) {
    case DLQ_ASKED: code = with_settings(&r); break;
    case DLQ_HELP: dlq_usage(); break;
    case DLQ_WRONG:
        fprintf(stderr, "ichido dlq: %s\n", why.text);
        code = EXIT_ASKED_WRONGLY;
        break;
    }
    arena_release(&texts);
    return code;
}
