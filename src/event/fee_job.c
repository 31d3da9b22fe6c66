/* fee_job.c - two jobs that follow a charge.
 *
 *   charge.fee      queries the gateway for fee and net, and stores them
 *   charge.refunds  later compares the refunded sum that the charge reported with our refunds, and
 *                   logs a difference
 *
 *   (1) Calls are spaced by LIMIT_FEE_PAUSE_MS, and at most LIMIT_FEES are under way: thousands of
 *       charges never hold up other calls. A job above the limit is put off.
 *   (2) Money is never counted by these jobs.
 *
 * A crash repeats a job; storing the same fee again is harmless. */
#include "event/fee_job.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "observe/metrics.h"
#include "payment/attempts.h"
#include "payment/rows.h"
#include "store/tx_log.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEE_ARENA = 512 * 1024, BODY_MAX = 2048 };

/* --- fees --- */

struct fee_query {
    struct arena arena;
    struct job *job;
    struct charge_later *later;
    struct uuid payment;
    struct str intent, charge, trace;
    bool put_off; /* LIMIT_FEES calls are under way */
    struct gateway_call call;
    struct gateway_tries tries;
};

static int64_t fee_reserve_slot(struct charge_later *c, int64_t now_ms)
{
    int64_t free_ms = atomic_load(&c->free_ms), due_ms;

    do
        due_ms = free_ms > now_ms ? free_ms : now_ms;
    while (!atomic_compare_exchange_weak(&c->free_ms, &free_ms, due_ms + LIMIT_FEE_PAUSE_MS));
    return due_ms;
}

enum err charge_ask_fee(struct tx *tx, struct charge_later *c, const struct payment *p,
                        const struct fact *f, int64_t now_ms, struct str trace)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("charge.fee"),
                           .due_ms = fee_reserve_slot(c, now_ms) };
    char payment[UUID_TEXT + 1];
    struct buf b;
    enum err e = ERR_NO_MEMORY;

    uuid_text(p->id, payment);
    buf_init(&b, BODY_MAX);
    buf_char(&b, '{');
    out_text(&b, "intent", f->intent_id);
    out_text(&b, "charge", f->charge_id);
    if (trace.n)
        out_text(&b, "trace", trace);
    buf_char(&b, '}');
    m.ref = str_of(payment);
    m.body = buf_str(&b);
    if (!b.failed)
        e = queue_add(c->payments->runtime.queue, tx, now_ms, &m, 1);
    buf_release(&b);
    return e;
}

static bool fee_read_message(struct fee_query *a, const struct message *m)
{
    static const char *const paths[] = { "intent", "charge", "trace" };
    struct json_value v[COUNT(paths)];

    if (!uuid_parse(m->ref, &a->payment) || json_pick(m->body, paths, COUNT(paths), v, NULL))
        return false;
    if (v[0].type != JSON_STRING || v[1].type != JSON_STRING)
        return false;
    a->trace = v[2].raw;
    return !json_unescape(&a->arena, &v[0], &a->intent) &&
           !json_unescape(&a->arena, &v[1], &a->charge);
}

static void fee_answered(struct gateway_call *c)
{
    struct fee_query *a = CONTAINER_OF(c, struct fee_query, call);

    if (c->answer == GATEWAY_OK)
        job_outside_done(a->job, OK, NULL);
    else if (c->answer == GATEWAY_ABSENT || c->answer == GATEWAY_REFUSED)
        job_outside_done(a->job, ERR_VALIDATION, "the gateway does not know this intent");
    else
        job_outside_done(a->job, ERR_UNAVAILABLE, "the gateway could not be asked");
}

static void fee_call_gateway(struct fee_query *a)
{
    struct payments *pp = a->later->payments;

    a->call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                     .payment = a->payment,
                                     .intent_id = a->intent,
                                     .env = pp->runtime.env,
                                     .span_name = "Payment.fetchFee",
                                     .seen = &a->tries,
                                     .arena = &a->arena,
                                     .executor = pp->runtime.executor,
                                     .done = fee_answered };
    span_place(&(struct span){ 0 }, a->trace, a->call.trace);
    gateways_call(gateways_of(pp->gateways, S("stripe")), &a->call);
}

static void fee_outside(struct job *j, void *ctx)
{
    struct fee_query *a = calloc(1, sizeof(*a));

    if (!a) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = a;
    a->job = j;
    a->later = ctx;
    a->tries.env = j->env;
    a->put_off = atomic_fetch_add(&a->later->underway, 1) >= LIMIT_FEES;
    arena_init(&a->arena, FEE_ARENA);
    j->arena = &a->arena;
    if (!fee_read_message(a, j->message))
        job_outside_done(j, ERR_VALIDATION, "the message's body cannot be read");
    else if (a->put_off)
        job_outside_done(j, OK, NULL);
    else
        fee_call_gateway(a);
}

/* There may be no fee in the payment's currency. If another charge has paid the intent since, it has
 * a message of its own. */
static enum err fee_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct fee_query *a = j->state;
    const struct fact *f = &a->call.fact;
    int64_t now_ms = env_now_ms(j->env);
    enum err e;

    (void)why;
    if (a->put_off) {
        j->again_ms = fee_reserve_slot(ctx, now_ms + LIMIT_FEE_PAUSE_MS);
        return OK;
    }
    e = attempts_write(tx, a->payment, j->message->id, &a->tries);
    if (e || !f->has_fee || !str_eq(f->charge_id, a->charge))
        return e;
    return TX_DO(tx, STMT_transaction_fee, -1, V_INT(f->fee), V_INT(f->net), v_text(f->receipt_url),
                 V_INT(now_ms), V_TEXT(a->intent), V_TEXT(a->charge));
}

static void fee_release(struct job *j, void *ctx)
{
    struct fee_query *a = j->state;

    (void)ctx;
    if (!a)
        return;
    atomic_fetch_sub(&a->later->underway, 1);
    arena_release(&a->arena);
    free(a);
    j->state = NULL;
}

struct job_kind charge_fee_kind(struct charge_later *c)
{
    return (struct job_kind){
        .name = "charge.fee",
        .ctx = c,
        .retry = retry_table[RETRY_CHARGE_FEE],
        .outside = fee_outside,
        .settle = fee_settle,
        .release = fee_release,
        .patient = true,
    };
}

/* --- refunds that were never reported --- */

static enum err refunds_known_sum(struct tx *tx, struct uuid payment, struct minor *ret_sum)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_refunds_that_stand, &row, v_uuid(&payment));

    *ret_sum = e ? MINOR_NONE : minor_of(&row.col[0]);
    return e;
}

enum err charge_check_refunds(struct tx *tx, struct payments *pp, const struct payment *p,
                              const struct fact *f, int64_t now_ms)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("charge.refunds"),
                           .due_ms = now_ms + LIMIT_REFUND_LATE_MS };
    struct minor told = { f->charge_refunded }, sum;
    char payment[UUID_TEXT + 1], body[64];
    enum err e;

    if (!f->charge_refunded)
        return OK;
    e = refunds_known_sum(tx, p->id, &sum);
    if (e || minor_change(sum, told) <= 0)
        return e;
    uuid_text(p->id, payment);
    snprintf(body, sizeof(body), "{\"refunded\":%lld}", (long long)f->charge_refunded);
    m.ref = str_of(payment);
    m.body = str_of(body);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

static void count_missing(void *ctx, int64_t arg)
{
    (void)arg;
    metrics_count(((struct env *)ctx)->metrics, COUNT_REFUND_MISSING, 1);
}

static enum err log_missing_refunds(struct tx *tx, const struct payment *p, struct minor refunded,
                                    struct minor sum)
{
    char id[UUID_TEXT + 1];

    uuid_text(p->id, id);
    LOG_AFTER_COMMIT(tx, LOG_WARN, "More was refunded at the gateway than its refunds say",
                     LOG_TEXT("paymentId", str_of(id)), LOG_NUM("refunded", refunded.minor),
                     LOG_NUM("known", sum.minor));
    tx_after_commit(tx, count_missing, tx_env(tx), 0);
    return audit_money(tx, "REFUND", p, minor_change(sum, refunded), false,
                       S("more was refunded at the gateway than its refunds say"), NULL, NULL,
                       env_now_ms(tx_env(tx)));
}

static enum err compare_refunds(struct tx *tx, struct arena *a, struct uuid payment,
                                struct minor refunded)
{
    struct payment p;
    struct minor sum;
    enum err e = refunds_known_sum(tx, payment, &sum);

    if (e || minor_change(sum, refunded) <= 0)
        return e;
    e = payment_read(tx, a, payment, false, &p);
    return e ? e : log_missing_refunds(tx, &p, refunded, sum);
}

static enum err charge_refunds_run(struct tx *tx, const struct message *m, void *ctx,
                                   struct why *why)
{
    static const char *const paths[] = { "refunded" };
    struct json_value v[COUNT(paths)];
    CLEANUP(arena_release) struct arena a = { 0 };
    struct uuid payment;
    struct minor refunded;

    (void)ctx;
    if (!uuid_parse(m->ref, &payment) || json_pick(m->body, paths, COUNT(paths), v, NULL) ||
        v[0].type != JSON_NUMBER || !str_to_i64(v[0].raw, &refunded.minor))
        return why_err(why, ERR_VALIDATION, "the message's body cannot be read");
    arena_init(&a, FEE_ARENA);
    return compare_refunds(tx, &a, payment, refunded);
}

struct job_kind charge_refunds_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "charge.refunds",
                              .run = charge_refunds_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_CHARGE_REFUNDS] };
}
