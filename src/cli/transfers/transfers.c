/* transfers.c - `ichido transfers`: imports and assigns bank transfers (G4) by the admin API of the
 * running server, which does the work.
 *
 * A file is sent in parts, and each part is durable before the next begins. When the command is
 * killed, everything that it reported as done is done, and the same command skips it and
 * continues. */
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "cli/admin_ask.h"
#include "cli/cli.h"
#include "cli/dlq/command.h"
#include "cli/transfers/command.h"
#include "domain/reference.h"
#include "observe/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BASE "/api/v1/admin/transfers"

enum {
    ARENA = 64 * 1024 * 1024,
    PATH_BYTES = 6 * 1024,
    LIST_USUAL = 20,
    PART = 1000, /* lines between two lines of progress */
};

struct transfers_run {
    struct node node;
    struct transfers_options options;
    struct admin *admin;
    struct arena arena; /* of one answer */
    struct why why;
};

static int transfers_failed(const struct transfers_run *r)
{
    fprintf(stderr, "ichido transfers: %s\n", r->why.text);
    return EXIT_CANNOT;
}

/* --- what comes back --- */

/* Prints a message of the API with its parameters named as options. */
static void put_message(struct str message)
{
    static const struct {
        const char *parameter, *option;
    } names[] = { { "?date=", "--date-column" }, { "?amount=", "--amount-column" } };

    while (message.n) {
        size_t i = 0, n = 1;

        while (i < COUNT(names) && !str_starts(message, str_of(names[i].parameter)))
            i++;
        if (i < COUNT(names)) {
            fputs(names[i].option, stderr);
            n = strlen(names[i].parameter);
        } else {
            while (n < message.n && message.p[n] != '?')
                n++;
            dlq_put(stderr, (struct str){ message.p, n }, SIZE_MAX);
        }
        message = (struct str){ message.p + n, message.n - n };
    }
}

/* Prints every problem of a file on a line of its own and returns how many there are. */
static int print_errors(const cJSON *problem)
{
    const cJSON *one, *all = cJSON_GetObjectItemCaseSensitive(problem, "errors");

    cJSON_ArrayForEach(one, all)
    {
        fputs("  ", stderr);
        dlq_put(stderr, answer_text(one, "field"), SIZE_MAX);
        fputs(": ", stderr);
        put_message(answer_text(one, "message"));
        fputc('\n', stderr);
    }
    return cJSON_GetArraySize(all);
}

static bool keep_problem(struct transfers_run *r, int status, struct str answer)
{
    CLEANUP(json_freep) cJSON *tree = NULL;

    json_parse(answer, &tree, NULL); /* NULL where it is none */
    admin_problem(status, tree, &r->why);
    if (tree && print_errors(tree) > 0) /* those lines are the reason */
        why_set(&r->why, "nothing was changed");
    return false;
}

/* The caller frees the tree. */
static bool transfers_call(struct transfers_run *r, const char *method, struct str path,
                           enum admin_type type, struct str body, cJSON **ret_tree)
{
    struct str answer;
    int status;

    arena_release(&r->arena);
    if (admin_ask(r->admin, &r->arena, method, path, type, body, &status, &answer, &r->why))
        return false;
    if (status != 200)
        return keep_problem(r, status, answer);
    if (!json_parse(answer, ret_tree, NULL))
        return true;
    return why_false(&r->why, "the answer is not what was expected");
}

/* --- what is sent --- */

static void add_number(struct buf *b, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    admin_parameter(b, name, str_of(text));
}

/* --- lists --- */

static struct str state_of(const struct transfers_options *k)
{
    if (str_eq(k->state, S("all")))
        return (struct str){ 0 };
    if (k->state.n)
        return k->state;
    return k->verb == TRANSFERS_LINES     ? S("open")
           : k->verb == TRANSFERS_RETURNS ? S("due")
                                          : (struct str){ 0 };
}

static bool get_page(struct transfers_run *r, int64_t limit, struct str cursor, cJSON **ret_page)
{
    static const char *const paths[TRANSFERS_VERBS] = { [TRANSFERS_LIST] = BASE,
                                                        [TRANSFERS_LINES] = BASE "/lines",
                                                        [TRANSFERS_RETURNS] = BASE "/returns",
                                                        [TRANSFERS_IMPORTS] = BASE "/imports" };
    struct buf path;
    bool fine;

    buf_init(&path, PATH_BYTES);
    buf_add(&path, str_of(paths[r->options.verb]));
    add_number(&path, "limit", limit);
    admin_parameter(&path, "state", state_of(&r->options));
    admin_parameter(&path, "reference", r->options.reference);
    admin_parameter(&path, "cursor", cursor);
    fine = !path.failed && transfers_call(r, "GET", buf_str(&path), ADMIN_JSON, S(""), ret_page);
    buf_release(&path);
    return fine;
}

static int64_t show_page(const struct transfers_run *r, const cJSON *page, bool *headed)
{
    const cJSON *item;
    int64_t n = 0;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(page, "data"))
    {
        n++;
        if (r->options.json)
            answer_print(item);
        else
            transfers_print(r->options.verb, item, headed);
    }
    return n;
}

static int transfers_list(struct transfers_run *r)
{
    int64_t most = r->options.all     ? INT64_MAX
                   : r->options.limit ? r->options.limit
                                      : LIST_USUAL,
            shown = 0;
    char cursor[64] = "";
    bool headed = false;

    do {
        CLEANUP(json_freep) cJSON *page = NULL;
        int64_t left = most - shown < LIMIT_PAGE ? most - shown : LIMIT_PAGE;

        if (!get_page(r, left, str_of(cursor), &page))
            return transfers_failed(r);
        shown += show_page(r, page, &headed);
        snprintf(cursor, sizeof(cursor), "%.60s", answer_words(page, "nextCursor"));
    } while (cursor[0] && shown < most);
    if (!shown)
        fputs("there is none\n", stderr);
    else if (cursor[0])
        fputs("there are more: --limit N or --all shows them\n", stderr);
    return EXIT_FINE;
}

/* --- acts --- */

static void write_act(struct buf *b, const struct transfers_options *k)
{
    struct uuid payment;

    buf_char(b, '{');
    if (k->verb == TRANSFERS_CONFIRM)
        out_int(b, "amount", k->amount);
    if (k->date.n)
        out_text(b, "date", k->date);
    if (k->verb == TRANSFERS_ASSIGN)
        out_text(b, uuid_parse(k->whose, &payment) ? "paymentId" : "reference", k->whose);
    if (k->note.n)
        out_text(b, k->verb == TRANSFERS_SET_ASIDE ? "reason" : "note", k->note);
    if (k->to_return)
        out_bool(b, "toBeReturned", true);
    buf_char(b, '}');
}

static void tell_act(const struct transfers_run *r, const cJSON *now)
{
    const char *reason = answer_words(now, "reason");

    printf("it is %s now", answer_words(now, "state"));
    if (reason[0])
        printf(" (%s)", reason);
    putchar('\n');
    if (r->options.verb == TRANSFERS_ASSIGN &&
        (strcmp(reason, "too_late") == 0 || strcmp(reason, "paid_twice") == 0))
        fputs("its payment did not take it: it must be sent back; ichido transfers returns\n",
              stderr);
}

static int transfers_act(struct transfers_run *r)
{
    static const char *const forms[TRANSFERS_VERBS] = {
        [TRANSFERS_CONFIRM] = BASE "/%s/confirm",
        [TRANSFERS_ASSIGN] = BASE "/lines/%s/assign",
        [TRANSFERS_SET_ASIDE] = BASE "/lines/%s/set-aside",
        [TRANSFERS_PAID] = BASE "/returns/%s/paid",
    };
    CLEANUP(json_freep) cJSON *now = NULL;
    char id[UUID_TEXT + 1], path[256];
    struct buf body;
    bool fine;

    uuid_text(r->options.id, id);
    snprintf(path, sizeof(path), forms[r->options.verb], id);
    buf_init(&body, LIMIT_BANK_BODY);
    write_act(&body, &r->options);
    fine =
        !body.failed && transfers_call(r, "POST", str_of(path), ADMIN_JSON, buf_str(&body), &now);
    buf_release(&body);
    if (!fine)
        return transfers_failed(r);
    if (r->options.json)
        answer_print(now);
    else
        tell_act(r, now);
    return EXIT_FINE;
}

/* --- a file --- */

static bool read_file(struct transfers_run *r, struct buf *ret_file)
{
    FILE *f = fopen(r->options.file, "re");
    size_t n = 0;

    if (!f || !buf_reserve(ret_file, LIMIT_BANK_FILE + 1)) {
        why_set(&r->why, "%.300s cannot be read: %s", r->options.file,
                f ? "not enough memory" : strerrordesc_np(errno));
        if (f)
            fclose(f);
        return false;
    }
    n = fread(ret_file->p, 1, LIMIT_BANK_FILE + 1, f);
    if (ferror(f) || !n || n > LIMIT_BANK_FILE) {
        why_set(&r->why, "%.300s %s", r->options.file,
                ferror(f) ? "cannot be read"
                : n       ? "is larger than 4 MiB: split it"
                          : "is empty");
        n = 0;
    }
    fclose(f);
    ret_file->n = n;
    return n;
}

static struct str name_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    struct str name = str_of(slash ? slash + 1 : file);

    return str_is_utf8(name) && name.n <= 255 ? name : S("statement.csv");
}

static void write_import(struct buf *path, const struct transfers_options *k, int64_t from)
{
    buf_add(path, S(BASE "/imports"));
    admin_parameter(path, "name", name_of(k->file));
    admin_parameter(path, "account", k->account);
    admin_parameter(path, "currency", k->currency);
    admin_parameter(path, "charset", k->charset);
    admin_parameter(path, "date", k->date_column);
    admin_parameter(path, "amount", k->amount_column);
    admin_parameter(path, "text", k->text_column);
    admin_parameter(path, "balance", k->balance_column);
    admin_parameter(path, "id", k->id_column);
    if (k->dry_run) { /* in one part: only then two lines for one payment are found */
        admin_parameter(path, "dryRun", S("true"));
        return;
    }
    add_number(path, "from", from);
    add_number(path, "limit", PART);
}

static bool send_part(struct transfers_run *r, struct str file, int64_t from, cJSON **ret_part)
{
    struct buf path;
    bool fine;

    buf_init(&path, PATH_BYTES);
    write_import(&path, &r->options, from);
    fine = !path.failed && transfers_call(r, "POST", buf_str(&path), ADMIN_CSV, file, ret_part);
    buf_release(&path);
    return fine;
}

static void add_to(cJSON *sums, const cJSON *part, const char *name)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(sums, name);

    cJSON_SetNumberValue(item, (double)(answer_number(sums, name) + answer_number(part, name)));
}

static void move_lines(cJSON *sums, cJSON *part, const char *name)
{
    cJSON *more = cJSON_GetObjectItemCaseSensitive(part, name);
    cJSON *all = cJSON_GetObjectItemCaseSensitive(sums, name);

    while (more && more->child && cJSON_GetArraySize(all) < LIMIT_BANK_LEFT)
        cJSON_AddItemToArray(all, cJSON_DetachItemViaPointer(more, more->child));
}

/* Adds the sums of a part. All other members are those of the newest part. */
static cJSON *add_part(cJSON *sums, cJSON *part)
{
    static const char *const names[] = { "worked", "new", "known", "matched", "open", "alike" };

    if (!sums)
        return part;
    for (size_t i = 0; i < COUNT(names); i++)
        add_to(sums, part, names[i]);
    move_lines(sums, part, "left");
    move_lines(sums, part, "alikeLines");
    cJSON_ReplaceItemInObjectCaseSensitive(sums, "next", cJSON_DetachItemFromObject(part, "next"));
    cJSON_Delete(part);
    return sums;
}

static bool has_more(const cJSON *sums)
{
    return cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(sums, "next"));
}

static bool send_parts(struct transfers_run *r, struct str file, cJSON **sums)
{
    struct dlq_progress progress;
    int64_t from = 0;

    do {
        cJSON *part = NULL;

        if (!send_part(r, file, from, &part)) {
            if (*sums)
                dlq_progress_end(&progress, answer_number(*sums, "worked"));
            return false;
        }
        if (!*sums)
            dlq_progress_begin(&progress, &r->node.env, "lines imported",
                               answer_number(part, "deposits"));
        from = answer_number(part, "next");
        *sums = add_part(*sums, part);
        if (has_more(*sums)) /* a small file needs none */
            dlq_progress_print(&progress, answer_number(*sums, "worked"));
    } while (has_more(*sums));
    dlq_progress_end(&progress, answer_number(*sums, "worked"));
    return true;
}

static int transfers_import(struct transfers_run *r)
{
    CLEANUP(json_freep) cJSON *sums = NULL;
    struct buf file;
    bool fine;

    buf_init(&file, LIMIT_BANK_FILE + 1);
    fine = read_file(r, &file) && send_parts(r, buf_str(&file), &sums);
    buf_release(&file);
    if (sums && r->options.json)
        answer_print(sums);
    else if (sums)
        transfers_print_import(r->options.file, sums);
    if (!fine && sums)
        fputs("the same command again goes on with the rest\n", stderr);
    return fine ? EXIT_FINE : transfers_failed(r);
}

/* --- all together --- */

static int transfers_run(struct transfers_run *r)
{
    if (r->options.verb == TRANSFERS_IMPORT)
        return transfers_import(r);
    return r->options.verb <= TRANSFERS_IMPORTS ? transfers_list(r) : transfers_act(r);
}

static int with_settings(struct transfers_run *r)
{
    int code;

    if (!node_init(&r->node))
        return EXIT_ASKED_WRONGLY;
    arena_init(&r->arena, ARENA);
    code =
        admin_find(&r->node.settings, &r->admin, &r->why) ? transfers_failed(r) : transfers_run(r);
    admin_free(r->admin);
    arena_release(&r->arena);
    node_release(&r->node);
    return code;
}

int cli_transfers(int argc, char **argv)
{
    struct transfers_run r = { 0 };
    struct why why = { 0 };

    switch (transfers_args(argc, argv, &r.options, &why)) {
    case TRANSFERS_ASKED: return with_settings(&r);
    case TRANSFERS_HELP: transfers_usage(); return EXIT_FINE;
    case TRANSFERS_WRONG: break;
    }
    fprintf(stderr, "ichido transfers: %s\n", why.text);
    return EXIT_ASKED_WRONGLY;
}
