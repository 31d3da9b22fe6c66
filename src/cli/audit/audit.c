/* audit.c - `ichido audit`: lists, verifies and exports the audit log (O6). It reads in parts, so
 * that a server that has the database continues to work. It changes nothing. */
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/audit/command.h"
#include "cli/cli.h"
#include "cli/dlq/command.h"
#include "observe/log.h"

#include <stdio.h>
#include <string.h>

enum { LIST_USUAL = 20, SHOWN_PROBLEMS = 100, ARENA = 64 * 1024 * 1024 };

struct run {
    struct node node;
    struct audit_options options;
    struct audit_source *source;
    struct arena arena; /* of one answer */
    char next[AUDIT_NEXT];
    struct why why;
};

static int audit_failed(const struct run *r, enum err e, const char *doing)
{
    fprintf(stderr, "ichido audit: %s: %s\n", doing,
            r->why.text[0] ? r->why.text : err_words(e, LANG_EN));
    return EXIT_CANNOT;
}

static enum err read_part(struct run *r, int limit, struct str *ret_text)
{
    arena_release(&r->arena);
    return audit_source_read(r->source, &r->arena, &r->options, limit, r->next, ret_text, &r->why);
}

static enum err read_tree(struct run *r, int limit, cJSON **ret_tree)
{
    struct str text;
    enum err e = read_part(r, limit, &text);

    return e ? e : json_parse(text, ret_tree, NULL) ? ERR_INTERNAL : OK;
}

/* --- list --- */

static void put_cell(const cJSON *row, const char *name)
{
    dlq_put(stdout, answer_text(row, name), SIZE_MAX);
    putchar('\t');
}

static void print_row(const struct run *r, const cJSON *row)
{
    const cJSON *amount = cJSON_GetObjectItemCaseSensitive(row, "amount");

    if (r->options.json) {
        answer_print(row);
        return;
    }
    printf("%lld\t", answer_number(row, "seq"));
    put_cell(row, "at");
    put_cell(row, "operation");
    put_cell(row, "result");
    put_cell(row, "subject");
    if (cJSON_IsNumber(amount))
        printf("%lld", (long long)amount->valuedouble);
    putchar('\t');
    put_cell(row, answer_words(row, "userName")[0] ? "userName" : "userId");
    dlq_put(stdout, answer_text(row, "detail"), SIZE_MAX);
    if (answer_number(row, "times") > 1)
        printf(" (%lld times)", answer_number(row, "times"));
    putchar('\n');
}

static enum err list_page(struct run *r, int64_t most, int64_t *shown)
{
    CLEANUP(json_freep) cJSON *page = NULL;
    int limit = most - *shown < LIMIT_PAGE ? (int)(most - *shown) : LIMIT_PAGE;
    enum err e = read_tree(r, limit, &page);
    const cJSON *row;

    if (e)
        return e;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(page, "data"))
    {
        print_row(r, row);
        (*shown)++;
    }
    return OK;
}

static int audit_list(struct run *r)
{
    int64_t most = r->options.all     ? INT64_MAX
                   : r->options.limit ? r->options.limit
                                      : LIST_USUAL,
            shown = 0;
    enum err e;

    do
        e = list_page(r, most, &shown);
    while (!e && r->next[0] && shown < most);
    if (e)
        return audit_failed(r, e, "list");
    if (!shown)
        fputs("no audit row matches\n", stderr);
    else if (r->next[0])
        fputs("there are more: --limit N or --all shows them\n", stderr);
    return shown ? EXIT_FINE : EXIT_CANNOT;
}

/* --- verify --- */

struct audit_sums {
    int64_t verified, found, head, unsealed;
    char hash[2 * AUDIT_HASH + 1];
    cJSON *problems; /* the first ones */
};

static void print_problem(const struct audit_sums *s, const cJSON *problem)
{
    char n[24] = "", seq[24] = "";

    if (answer_number(problem, "n"))
        snprintf(n, sizeof(n), "%lld", answer_number(problem, "n"));
    if (answer_number(problem, "seq"))
        snprintf(seq, sizeof(seq), "%lld", answer_number(problem, "seq"));
    if (s->found == 1)
        printf("%-12s  %12s  %12s  %s\n", "PROBLEM", "SEAL", "ROW", "WHAT");
    printf("%-12s  %12s  %12s  ", answer_words(problem, "kind"), n, seq);
    dlq_put(stdout, answer_text(problem, "detail"), SIZE_MAX);
    putchar('\n');
}

/* With --json the problems are printed together at the end, and only the first ones are kept. */
static void take_problems(const struct run *r, struct audit_sums *s, cJSON *answer)
{
    cJSON *all = cJSON_GetObjectItemCaseSensitive(answer, "problems");

    while (all && all->child) {
        cJSON *one = cJSON_DetachItemViaPointer(all, all->child);

        s->found++;
        if (!r->options.json)
            print_problem(s, one);
        if (r->options.json && s->found <= SHOWN_PROBLEMS)
            cJSON_AddItemToArray(s->problems, one);
        else
            cJSON_Delete(one);
    }
}

static enum err verify_step(struct run *r, struct audit_sums *s)
{
    CLEANUP(json_freep) cJSON *answer = NULL;
    const cJSON *head;
    enum err e = read_tree(r, 0, &answer);

    if (e)
        return e;
    s->verified += answer_number(answer, "verified");
    s->unsealed += answer_number(answer, "unsealed");
    head = cJSON_GetObjectItemCaseSensitive(answer, "head");
    s->head = answer_number(head, "n");
    snprintf(s->hash, sizeof(s->hash), "%s", answer_words(head, "hash"));
    take_problems(r, s, answer);
    return OK;
}

static enum err verify_all(struct run *r, struct audit_sums *s)
{
    struct dlq_progress progress;
    enum err e = verify_step(r, s);

    dlq_progress_begin(&progress, &r->node.env, "verified", s->head);
    while (!e && r->next[0]) {
        if (s->head > LIMIT_AUDIT_VERIFY)
            dlq_progress_print(&progress, s->verified);
        e = verify_step(r, s);
    }
    if (s->head > LIMIT_AUDIT_VERIFY)
        dlq_progress_end(&progress, s->verified);
    return e;
}

static void print_json(const struct audit_sums *s)
{
    char *text = cJSON_PrintUnformatted(s->problems);

    printf("{\"verified\":%lld,\"found\":%lld,\"problems\":%s,\"head\":", (long long)s->verified,
           (long long)s->found, text ? text : "[]");
    if (s->head)
        printf("{\"n\":%lld,\"hash\":\"%s\"}", (long long)s->head, s->hash);
    else
        fputs("null", stdout);
    printf(",\"unsealed\":%lld}\n", (long long)s->unsealed);
    cJSON_free(text);
}

static void print_sums(const struct audit_sums *s)
{
    printf("%lld %s verified, %lld not sealed yet, %lld %s\n", (long long)s->verified,
           s->verified == 1 ? "row" : "rows", (long long)s->unsealed, (long long)s->found,
           s->found == 1 ? "problem" : "problems");
    if (s->head)
        printf("head %lld:%s\n", (long long)s->head, s->hash);
}

static int audit_verify(struct run *r)
{
    struct audit_sums s = { .problems = cJSON_CreateArray() };
    enum err e = s.problems ? verify_all(r, &s) : ERR_NO_MEMORY;

    if (!e && r->options.json)
        print_json(&s);
    else if (!e)
        print_sums(&s);
    cJSON_Delete(s.problems);
    if (e)
        return audit_failed(r, e, "verify");
    return s.found ? EXIT_CANNOT : EXIT_FINE;
}

/* --- export --- */

static int audit_export_command(struct run *r)
{
    struct str text;
    enum err e;

    do {
        e = read_part(r, 0, &text);
        if (!e && fwrite(text.p, 1, text.n, stdout) != text.n)
            break;
    } while (!e && r->next[0]);
    if (e)
        return audit_failed(r, e, "export");
    if (fflush(stdout) || ferror(stdout)) {
        fputs("ichido audit: export: standard output took not all of it\n", stderr);
        return EXIT_CANNOT;
    }
    return EXIT_FINE;
}

/* --- all together --- */

static int audit_run_command(struct run *r)
{
    switch (r->options.verb) {
    case AUDIT_DO_LIST: return audit_list(r);
    case AUDIT_DO_VERIFY: return audit_verify(r);
    case AUDIT_DO_EXPORT: return audit_export_command(r);
    }
    return EXIT_ASKED_WRONGLY;
}

static int with_settings(struct run *r)
{
    int code = EXIT_CANNOT;
    enum err e;

    if (!node_init(&r->node))
        return EXIT_ASKED_WRONGLY;
    node_log_errors_only(&r->node);
    arena_init(&r->arena, ARENA);
    e = audit_source_open(&r->node, &r->source, &r->why);
    if (e)
        fprintf(stderr, "ichido audit: %s\n", r->why.text[0] ? r->why.text : err_words(e, LANG_EN));
    else
        code = audit_run_command(r);
    audit_source_free(r->source);
    arena_release(&r->arena);
    node_release(&r->node);
    return code;
}

int cli_audit(int argc, char **argv)
{
    struct run r = { 0 };
    struct clock clock;
    struct why why = { 0 };

    clock_init(&clock);
    switch (audit_args(argc, argv, clock_wall_ms(&clock), &r.options, &why)) {
    case AUDIT_ASKED: return with_settings(&r);
    case AUDIT_HELP: audit_usage(); return EXIT_FINE;
    case AUDIT_WRONG: break;
    }
    fprintf(stderr, "ichido audit: %s\n", why.text);
    return EXIT_ASKED_WRONGLY;
}
