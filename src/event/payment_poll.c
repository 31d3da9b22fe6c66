/* payment_poll.c - queries open PayPay payments and overdue authorizations.
 *
 *   due --> read --not open any more--> done
 *             '--PENDING--> query --> settle --money, or its end--> applied, done
 *                                       |---not paid, or no reply--> again later
 *                                       '---the same, and its time is over--> cancelled, done
 *
 * An AUTHORIZED payment past its time goes the same way, but is never cancelled here.
 *
 * If a notification was faster, a poll costs one read. A poll without news writes only its own message
 * and its line of the timeline (O7). A crash repeats the poll. */
#include "event/payment_poll.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "event/refetch.h"
#include "payment/attempts.h"

#include <stdlib.h>

enum { POLL_ARENA = 512 * 1024 };

struct payment_poll {
    struct arena arena;
    struct payments *payments;
    struct job *job;
    struct uuid payment;
    bool lapsing; /* an AUTHORIZED payment; until_ms is the end of its authorization */
    int64_t until_ms;
    struct unit load;
    struct payment p; /* as it was before the call */
    bool called;
    struct gateway_call call;
    struct gateway_tries tries;
};

/* The pause before the next query: the gateway may have extended the authorization, or be late in
 * ending it. */
static int64_t poll_lapse_pause_ms(const struct payment_poll *l, int64_t now_ms)
{
    int64_t more = l->call.answer == GATEWAY_OK ? l->call.fact.capture_before_ms - now_ms : 0;

    return more > 0 ? more + LIMIT_LAPSE_LATE_MS
                    : retry_aged_ms(&retry_table[RETRY_LAPSED], now_ms - l->until_ms);
}

/* --- the query --- */

static bool poll_is_open(const struct payment_poll *l, const struct payment *p)
{
    return p->status == (l->lapsing ? PAYMENT_AUTHORIZED : PAYMENT_PENDING) &&
           p->gateway_transaction_id.n;
}

static void poll_call_done(struct gateway_call *c)
{
    struct payment_poll *l = CONTAINER_OF(c, struct payment_poll, call);

    l->called = true;
    job_outside_done(l->job, OK, NULL);
}

static void poll_call_gateway(struct payment_poll *l)
{
    struct payments *pp = l->payments;

    l->call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                     .payment = l->payment,
                                     .intent_id = l->p.gateway_transaction_id,
                                     .money = l->p.money,
                                     .seen = &l->tries,
                                     .arena = &l->arena,
                                     .executor = pp->runtime.executor,
                                     .done = poll_call_done };
    gateways_call(gateways_named(pp->gateways, l->p.gateway), &l->call);
}

static enum err poll_load(struct tx *tx, struct unit *u)
{
    struct payment_poll *l = CONTAINER_OF(u, struct payment_poll, load);

    return payment_read(tx, &l->arena, l->payment, false, &l->p);
}

static void poll_loaded(struct unit *u)
{
    struct payment_poll *l = CONTAINER_OF(u, struct payment_poll, load);

    if (u->err)
        job_outside_done(l->job, u->err, "the payment could not be read");
    else if (!poll_is_open(l, &l->p))
        job_outside_done(l->job, OK, NULL);
    else
        poll_call_gateway(l);
}

static bool poll_read_message(struct payment_poll *l, const struct message *m)
{
    static const char *const paths[] = { "until" };
    struct json_value v[COUNT(paths)];

    l->lapsing = str_eq(m->kind, S("payment.lapsed"));
    return uuid_parse(m->ref, &l->payment) && !json_pick(m->body, paths, COUNT(paths), v, NULL) &&
           v[0].type == JSON_NUMBER && str_to_i64(v[0].raw, &l->until_ms);
}

static void poll_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "poll.load", UNIT_READ, poll_load, NULL };
    struct payment_poll *l = calloc(1, sizeof(*l));

    if (!l) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = l;
    l->job = j;
    l->payments = ctx;
    l->tries.env = j->env;
    arena_init(&l->arena, POLL_ARENA);
    j->arena = &l->arena;
    if (!poll_read_message(l, j->message)) {
        job_outside_done(j, ERR_VALIDATION, "the message cannot be read");
        return;
    }
    l->load = (struct unit){ .kind = &kind,
                             .executor = l->payments->runtime.executor,
                             .done = poll_loaded,
                             .arena = &l->arena };
    store_post(l->payments->runtime.store, &l->load);
}

/* --- the transaction --- */

static bool poll_brings_news(const struct payment_poll *l)
{
    const struct fact *f = &l->call.fact;
    enum intent_state known = l->lapsing ? INTENT_AUTHORIZED : INTENT_OPEN;

    return l->call.answer == GATEWAY_OK && f->kind == FACT_INTENT && f->state > known;
}

static enum err poll_apply_reply(struct tx *tx, const struct taking *t,
                                 const struct payment_poll *l, struct payment *p, struct why *why)
{
    enum verdict v = VERDICT_SAME;
    enum err e;

    if (!poll_brings_news(l))
        return OK;
    e = take_intent(tx, t, p, &l->call.fact, &v);
    if (e || v != VERDICT_MISMATCH)
        return e;
    why_set(why, "other currency, or not the money that was asked for");
    return ERR_VALIDATION; /* becomes a dead letter (D10) */
}

/* Plans the next query. A code that has expired unpaid is cancelled at once, so that its subject can
 * be paid again. */
static enum err poll_again(struct tx *tx, const struct taking *t, const struct payment_poll *l,
                           const struct payment *p)
{
    if (l->lapsing) {
        l->job->again_ms = t->now_ms + poll_lapse_pause_ms(l, t->now_ms);
        return OK;
    }
    if (t->now_ms >= l->until_ms && !p->has_open_op)
        return operation_start_own(tx, t->payments, p, OP_VOID, 0, S("abandoned"));
    l->job->again_ms =
        t->now_ms + retry_aged_ms(&retry_table[RETRY_POLL], t->now_ms - l->job->message->added_ms);
    return OK;
}

static enum err poll_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct payment_poll *l = j->state;
    struct taking t = { .payments = ctx, .arena = &l->arena, .now_ms = env_now_ms(tx_env(tx)) };
    struct payment p;
    enum err e;

    if (!l->called)
        return OK;
    e = payment_read(tx, &l->arena, l->payment, true, &p);
    if (!e)
        e = attempts_write(tx, l->payment, j->message->id, &l->tries);
    if (e || !poll_is_open(l, &p))
        return e;
    e = poll_apply_reply(tx, &t, l, &p, why);
    return e || !poll_is_open(l, &p) ? e : poll_again(tx, &t, l, &p);
}

static void poll_release(struct job *j, void *ctx)
{
    struct payment_poll *l = j->state;

    (void)ctx;
    if (l)
        arena_release(&l->arena);
    free(l);
    j->state = NULL;
}

/* Every poll costs an attempt, and only time ends the polls. */
static struct job_kind poll_job_kind(const char *name, struct payments *pp)
{
    return (struct job_kind){
        .name = name,
        .ctx = pp,
        .retry = retry_table[RETRY_POLL_JOB],
        .outside = poll_outside,
        .settle = poll_settle,
        .release = poll_release,
        .patient = true,
    };
}

struct job_kind poll_kind(struct payments *pp)
{
    return poll_job_kind("paypay.poll", pp);
}

struct job_kind poll_lapsed_kind(struct payments *pp)
{
    return poll_job_kind("payment.lapsed", pp);
}
