/* reconciliations.c - a POST queues the comparison of a day that is over and is repeatable: while
 * one is under way it starts no second. The comparison itself is a job (reconcile/), so a crash
 * delays it and loses nothing. */
#include "admin/reconciliations.h"

#include "base/limits.h"
#include "base/text.h"
#include "domain/day.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_DEFAULT = 31 };

struct reconciliation_call { /* one request, in its own arena */
    struct api_answer answer;
    struct reconcile *reconcile;
    int limit;
    struct str before, day; /* before: may be empty */
    int64_t number;         /* of the day */
    bool csv;
    struct uuid run, user;
};

ANSWERS static struct reconciliation_call *reconciliation_call_new(struct request *r, void *ctx,
                                                                   const struct principal *p)
{
    const struct api_reconciliations *api = ctx;
    struct reconciliation_call *c = api_room(r, sizeof(*c));

    if (!c)
        return NULL;
    c->reconcile = api->reconcile;
    c->limit = PAGE_DEFAULT;
    c->user = p->user;
    return c;
}

static struct store *reconciliation_store_of(void *ctx)
{
    return ((struct api_reconciliations *)ctx)->store;
}

/* --- the list --- */

static bool reconciliation_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct reconciliation_call *)ctx)->limit);
}

static bool reconciliation_read_before(struct request *r, void *ctx, struct str value)
{
    struct reconciliation_call *c = ctx;

    (void)r;
    c->before = value;
    return day_parse(value, &c->number);
}

static const struct query_parameter list_parameters[] = {
    QUERY_LIMIT(reconciliation_read_limit),
    QUERY_CURSOR(reconciliation_read_before),
};

static enum err reconciliation_read_list(struct tx *tx, struct unit *u)
{
    struct reconciliation_call *c = CONTAINER_OF(u, struct reconciliation_call, answer.unit);

    return reconcile_list(tx, u->arena, c->before, c->limit, &c->answer.text);
}

void api_reconciliation_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "reconcile.list", UNIT_READ, reconciliation_read_list,
                                           NULL };
    struct reconciliation_call *c = reconciliation_call_new(r, ctx, p);

    if (c && query_read(r, list_parameters, COUNT(list_parameters), c))
        api_answer_post(&c->answer, r, reconciliation_store_of(ctx), &kind, api_answer_show);
}

/* --- one day --- */

static bool reconciliation_wants_csv(const struct request *r)
{
    struct str accept = request_header(r, S("Accept"), NULL);

    return accept.n && memmem(accept.p, accept.n, "text/csv", 8);
}

/* False: 400 was answered. */
ANSWERS static bool reconciliation_read_day(struct request *r, struct reconciliation_call *c)
{
    c->day = r->params[0];
    c->csv = reconciliation_wants_csv(r);
    if (str_ends(c->day, S(".csv"))) {
        c->day.n -= 4;
        c->csv = true;
    }
    if (day_parse(c->day, &c->number))
        return true;
    reply_problem(r, ERR_VALIDATION,
                  r->language == LANG_JA ? "日付は 2026-11-16 の形で指定してください。"
                                         : "The day must be written like 2026-11-16.");
    return false;
}

static enum err reconciliation_read_one(struct tx *tx, struct unit *u)
{
    struct reconciliation_call *c = CONTAINER_OF(u, struct reconciliation_call, answer.unit);

    return c->csv ? reconcile_show_csv(tx, u->arena, c->day, &c->answer.text)
                  : reconcile_show(tx, u->arena, c->day, &c->answer.text);
}

static void reconciliation_answer_one(struct unit *u)
{
    struct reconciliation_call *c = CONTAINER_OF(u, struct reconciliation_call, answer.unit);
    struct request *r = c->answer.request;

    if (u->err || !c->csv) {
        api_answer_show(u);
        return;
    }
    reply_header(r, S("Content-Disposition"), S("attachment"));
    reply_send(r, 200, S("text/csv; charset=utf-8"), c->answer.text);
}

void api_reconciliation_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "reconcile.show", UNIT_READ, reconciliation_read_one,
                                           NULL };
    struct reconciliation_call *c = reconciliation_call_new(r, ctx, p);

    if (c && reconciliation_read_day(r, c) && query_read(r, NULL, 0, c))
        api_answer_post(&c->answer, r, reconciliation_store_of(ctx), &kind,
                        reconciliation_answer_one);
}

/* --- start a comparison --- */

static enum err reconciliation_run_one(struct tx *tx, struct unit *u)
{
    struct reconciliation_call *c = CONTAINER_OF(u, struct reconciliation_call, answer.unit);
    bool began;
    enum err e = reconcile_begin(tx, c->reconcile, c->number, S("admin"), c->run,
                                 env_now_ms(tx_env(tx)), &began);

    if (e)
        return e;
    e = act_audit(tx, "RECONCILIATION_RUN", c->day, began ? S("") : S("it is under way already"),
                  c->user);
    return e ? e : reconcile_show(tx, u->arena, c->day, &c->answer.text);
}

/* The day ends at midnight of the reconciliation's zone; like all our times it is shown in UTC. */
static void reconciliation_reply_not_over(struct request *r, const struct reconciliation_call *c)
{
    char end[TIME_TEXT + 1], detail[256];

    time_text(day_begins_ms(c->reconcile->zone, c->number + 1), end);
    snprintf(
        detail, sizeof(detail),
        r->language == LANG_JA
            ? "その日はまだ終わっていません。%s（%.*s の日付が変わる時刻）から突き合わせできます。"
            : "That day is not over yet. It can be compared from %s on, when it ends in %.*s.",
        end, STR_ARG(c->reconcile->time_zone));
    reply_problem(r, ERR_UNPROCESSABLE, detail);
}

static void reconciliation_answer_run(struct unit *u)
{
    struct reconciliation_call *c = CONTAINER_OF(u, struct reconciliation_call, answer.unit);
    struct request *r = c->answer.request;

    if (u->err == ERR_UNPROCESSABLE)
        reconciliation_reply_not_over(r, c);
    else if (u->err)
        reply_problem(r, u->err, NULL);
    else
        reply_send(r, 202, S("application/json"), c->answer.text);
}

void api_reconciliation_run(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "reconcile.run", UNIT_FRONT, reconciliation_run_one,
                                           NULL };
    struct reconciliation_call *c = reconciliation_call_new(r, ctx, p);

    if (!c || !reconciliation_read_day(r, c) || !query_read(r, NULL, 0, c))
        return;
    c->run = env_uuid(r->env);
    api_answer_post(&c->answer, r, reconciliation_store_of(ctx), &kind, reconciliation_answer_run);
}
