/* payments.c - `ichido payments`: finds, shows, captures, refunds and voids payments (O8).
 *
 * It reads from the database, or from the server that has it (M4). Captures, refunds and voids are
 * done by the running server, which has the gateway. Each carries an Idempotency-Key that is
 * printed before it is sent, so that the same command with that key never does it twice, whatever
 * failed in between. */
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/payments/command.h"
#include "cli/payments/timeline.h"
#include "observe/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ARENA = 64 * 1024 * 1024,
    LIST_USUAL = 20,
    BODY_BYTES = 8 * 1024,
};

struct payments_run {
    struct node node;
    struct payments_options options;
    struct arena arena; /* of one answer */
    struct why why;
};

static const char *const verbs[PAYMENTS_VERBS] = {
    [PAYMENTS_CAPTURE] = "capture", [PAYMENTS_REFUND] = "refund", [PAYMENTS_VOID] = "void"
};

static int payments_failed(const struct payments_run *r, enum err e)
{
    if (e == ERR_NOT_FOUND)
        fputs("ichido payments: there is no such payment; ichido payments find knows other ids\n",
              stderr);
    else
        fprintf(stderr, "ichido payments: %s\n",
                r->why.text[0] ? r->why.text : err_words(e, LANG_EN));
    return EXIT_CANNOT;
}

static enum err payments_parse(struct payments_run *r, struct str json, cJSON **ret_tree)
{
    if (!json_parse(json, ret_tree, NULL))
        return OK;
    return why_err(&r->why, ERR_INTERNAL, "the answer is not what was expected");
}

/* --- lists --- */

struct payments_listing {
    struct payments_table table;
    char cursor[PAYMENT_PLACE_TEXT + 1];
    int64_t shown, most;
};

static void show_page(const struct payments_run *r, struct payments_listing *l, const cJSON *page)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(page, "data"))
    {
        if (r->options.json)
            answer_print(one);
        else
            payments_table_row(&l->table, one);
        l->shown++;
    }
    snprintf(l->cursor, sizeof(l->cursor), "%s", answer_words(page, "nextCursor"));
}

static enum err list_page(struct payments_run *r, struct payments_source *s,
                          struct payments_listing *l)
{
    CLEANUP(json_freep) cJSON *page = NULL;
    int limit = l->most - l->shown < LIMIT_PAGE ? (int)(l->most - l->shown) : LIMIT_PAGE;
    struct str json;
    enum err e;

    arena_release(&r->arena);
    e = payments_source_page(s, &r->arena, &r->options.query, str_of(l->cursor), limit, &json,
                             &r->why);
    if (!e)
        e = payments_parse(r, json, &page);
    if (!e)
        show_page(r, l, page);
    return e;
}

static int payments_list_command(struct payments_run *r, struct payments_source *s)
{
    struct payments_listing l = { .most = r->options.all     ? INT64_MAX
                                          : r->options.limit ? r->options.limit
                                                             : LIST_USUAL };
    enum err e;

    payments_table_init(&l.table);
    do
        e = list_page(r, s, &l);
    while (!e && l.cursor[0] && l.shown < l.most);
    if (e)
        return payments_failed(r, e);
    if (!l.shown)
        fputs("no payment matches\n", stderr);
    else if (l.cursor[0])
        fputs("there are more: --limit N or --all shows them\n", stderr);
    return l.shown ? EXIT_FINE : EXIT_CANNOT;
}

/* --- one --- */

static int payments_show(struct payments_run *r, struct payments_source *s)
{
    CLEANUP(json_freep) cJSON *payment = NULL;
    struct str json;
    enum err e = payments_source_show(s, &r->arena, r->options.id, &json, &r->why);

    if (!e)
        e = payments_parse(r, json, &payment);
    if (e)
        return payments_failed(r, e);
    if (r->options.json)
        printf(STR_FMT "\n", STR_ARG(json));
    else
        payments_print(payment);
    return EXIT_FINE;
}

static int payments_timeline(struct payments_run *r, struct payments_source *s)
{
    struct str json;
    enum err e = payments_source_timeline(s, &r->arena, r->options.id, &json, &r->why);

    return e ? payments_failed(r, e) : payments_timeline_print(json, r->options.json);
}

static int payments_look(struct payments_run *r)
{
    struct payments_source *s = NULL;
    int code;

    if (!payments_source_open(&r->node, "ichido payments", &s, &r->why))
        return payments_failed(r, ERR_UNAVAILABLE);
    code = r->options.verb == PAYMENTS_SHOW       ? payments_show(r, s)
           : r->options.verb == PAYMENTS_TIMELINE ? payments_timeline(r, s)
                                                  : payments_list_command(r, s);
    payments_source_free(s);
    return code;
}

/* --- acts --- */

static enum err ask_server(struct payments_run *r, struct admin *admin, const char *method,
                           const char *verb, struct str body, struct str *ret_json)
{
    CLEANUP(json_freep) cJSON *problem = NULL;
    char id[UUID_TEXT + 1], path[128];
    int status;
    enum err e;

    uuid_text(r->options.id, id);
    snprintf(path, sizeof(path), "/api/v1/admin/payments/%s%s%s", id, verb ? "/" : "",
             verb ? verb : "");
    e = admin_ask(admin, &r->arena, method, str_of(path), ADMIN_JSON, body, &status, ret_json,
                  &r->why);
    if (e || status == 200)
        return e;
    if (status == 404)
        return ERR_NOT_FOUND;
    json_parse(*ret_json, &problem, NULL); /* NULL where it is none */
    admin_problem(status, problem, &r->why);
    return ERR_UNPROCESSABLE;
}

/* "refund 500 JPY of" */
static void payments_describe(const struct payments_run *r, const cJSON *payment,
                              char ret_text[160])
{
    char money[64] = "all that is left";

    if (r->options.amount)
        payments_money(r->options.amount, answer_words(payment, "currency"), money);
    snprintf(ret_text, 160, "%s%s%s", verbs[r->options.verb],
             r->options.verb == PAYMENTS_VOID ? "" : " ",
             r->options.verb == PAYMENTS_VOID ? "" : money);
}

/* Asks before the act. EXIT_FINE: continue. */
static int payments_may(const struct payments_run *r, const cJSON *payment)
{
    char what[160], money[64], answer[8] = "";

    if (r->options.yes)
        return EXIT_FINE;
    payments_describe(r, payment, what);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        fprintf(stderr, "ichido payments: this would %s; add --yes to do it\n", what);
        return EXIT_ASKED_WRONGLY;
    }
    payments_money(answer_number(payment, "amount"), answer_words(payment, "currency"), money);
    fprintf(stderr, "%s: payment %s, %s, %s? [y/N] ", what, answer_words(payment, "id"),
            answer_words(payment, "status"), money);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return EXIT_FINE;
    fputs("nothing was done\n", stderr);
    return EXIT_CANNOT;
}

static void write_body(struct buf *b, const struct payments_options *k)
{
    buf_char(b, '{');
    if (k->amount)
        out_int(b, "amount", k->amount);
    if (k->reason.n)
        out_text(b, "reason", k->reason);
    buf_char(b, '}');
}

static int act_now(struct payments_run *r, struct admin *admin)
{
    CLEANUP(json_freep) cJSON *payment = NULL;
    char key[UUID_TEXT + 1];
    struct buf body;
    struct str json;
    enum err e;

    uuid_text(r->options.has_key ? r->options.key : env_uuid(&r->node.env), key);
    fprintf(stderr, "Idempotency-Key %s\n", key);
    buf_init(&body, BODY_BYTES);
    write_body(&body, &r->options);
    arena_release(&r->arena);
    e = !body.failed && admin_use_key(admin, key) ? OK : ERR_NO_MEMORY;
    if (!e)
        e = ask_server(r, admin, "POST", verbs[r->options.verb], buf_str(&body), &json);
    buf_release(&body);
    if (!e)
        e = payments_parse(r, json, &payment);
    if (e) {
        payments_failed(r, e);
        fprintf(stderr, "whatever became of it, the same command with --key %s does it once\n",
                key);
        return EXIT_CANNOT;
    }
    if (r->options.json)
        answer_print(payment);
    else
        printf("it is %s now\n", answer_words(payment, "status"));
    return EXIT_FINE;
}

static int payments_act(struct payments_run *r)
{
    CLEANUP(json_freep) cJSON *payment = NULL;
    struct admin *admin = NULL;
    struct str json;
    int code;
    enum err e = admin_find(&r->node.settings, &admin, &r->why);

    if (!e)
        e = ask_server(r, admin, "GET", NULL, S(""), &json);
    if (!e)
        e = payments_parse(r, json, &payment);
    code = e ? payments_failed(r, e) : payments_may(r, payment);
    if (!code)
        code = act_now(r, admin);
    admin_free(admin);
    return code;
}

/* --- all together --- */

static int with_settings(struct payments_run *r)
{
    int code;

    if (!node_init(&r->node))
        return EXIT_ASKED_WRONGLY;
    node_log_errors_only(&r->node);
    arena_init(&r->arena, ARENA);
    code = r->options.verb >= PAYMENTS_CAPTURE ? payments_act(r) : payments_look(r);
    arena_release(&r->arena);
    node_release(&r->node);
    return code;
}

int cli_payments(int argc, char **argv)
{
    struct payments_run r = { 0 };
    struct clock clock;
    struct why why = { 0 };

    clock_init(&clock);
    switch (payments_args(argc, argv, clock_wall_ms(&clock), &r.options, &why)) {
    case PAYMENTS_ASKED: return with_settings(&r);
    case PAYMENTS_HELP: payments_usage(); return EXIT_FINE;
    case PAYMENTS_WRONG: break;
    }
    fprintf(stderr, "ichido payments: %s\n", why.text);
    return EXIT_ASKED_WRONGLY;
}
