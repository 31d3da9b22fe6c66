/* refund_retry.c - see refund_retry.h.
 *
 *   failed --1, 8, 64, 512 min--> refund.again --under the payment's lock--> the next operation
 *      '--the fifth time--> an error is logged for the operator
 *
 *   (1) Until its time comes there is no operation for the next try, so an event that reports the
 *       money again may start one at once.
 *   (2) Only one refund of the money is alive (D12): a try begins only if every try before it has
 *       failed. All of them ask for the whole amount, and a gateway refunds no more than it has.
 *   (3) Tries are counted by their operations, so neither a crash nor an event restarts the count.
 *       A crash between two tries leaves the message of the next one. */
#include "payment/refund_retry.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "domain/retry.h"
#include "payment/operate.h"
#include "store/tx_log.h"

#include <stdio.h>

enum { JOB_ARENA = 64 * 1024, DETAIL_MAX = LIMIT_GATEWAY_ID + 128 };

struct refund_tries {
    struct str intent_id, cause;
    int64_t tries, live;
};

/* NOT_FOUND: no operation of ours made this refund. */
static enum err refund_tries_read(struct tx *tx, struct arena *a, const struct refund *r,
                                  struct refund_tries *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_refund_cause, &row, v_uuid(&r->payment_id), v_uuid(&r->id));

    if (e)
        return e;
    ret->intent_id = arena_str(a, row.col[0].s);
    ret->cause = arena_str(a, row.col[1].s);
    if (!ret->cause.p)
        return ERR_NO_MEMORY;
    e = TX_ROW(tx, STMT_refund_tries, &row, v_uuid(&r->payment_id), V_TEXT(ret->cause));
    if (e)
        return e;
    ret->tries = row.col[0].i;
    ret->live = row.col[1].i;
    return OK;
}

/* Logged and audited once for each cause, however often an operator has it tried again. */
static enum err leave_to_operator(struct tx *tx, const struct taking *t, const struct payment *p,
                                  const struct refund *r, struct str cause)
{
    char id[UUID_TEXT + 1], detail[DETAIL_MAX];
    struct row row;
    enum err e;

    snprintf(detail, sizeof(detail), STR_FMT ": it was not refunded, however often it was tried",
             STR_ARG(cause));
    e = TX_ROW(tx, STMT_refund_noted, &row, v_uuid(&p->id), V_TEXT(str_of(detail)));
    if (e != ERR_NOT_FOUND)
        return e;
    uuid_text(p->id, id);
    LOG_AFTER_COMMIT(
        tx, LOG_ERROR, "Money that must go back was not refunded, however often it was tried",
        LOG_TEXT("paymentId", str_of(id)), LOG_TEXT("cause", cause), LOG_NUM("amount", r->amount),
        LOG_TEXT("currency", str_of(p->money.currency)), LOG_TRACE(t->trace));
    return audit_money(tx, "REFUND", p, r->amount, false, str_of(detail), NULL, NULL, t->now_ms);
}

static enum err refund_retry_plan(struct tx *tx, const struct taking *t, const struct refund *r,
                                  int64_t delay_ms)
{
    char payment[UUID_TEXT + 1], refund[UUID_TEXT + 1];
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("refund.again"),
                           .due_ms = t->now_ms + delay_ms };

    uuid_text(r->payment_id, payment);
    uuid_text(r->id, refund);
    m.ref = str_of(payment);
    m.body = str_of(refund);
    return queue_add(t->payments->runtime.queue, tx, t->now_ms, &m, 1);
}

enum err refund_again(struct tx *tx, const struct taking *t, const struct payment *p,
                      const struct refund *r)
{
    struct refund_tries so_far = { 0 };
    int64_t delay_ms;
    enum err e = refund_tries_read(tx, t->arena, r, &so_far);

    if (e || so_far.live) /* another try is under way, or has succeeded */
        return e == ERR_NOT_FOUND ? OK : e;
    delay_ms = retry_delay_ms(&retry_table[RETRY_MONEY_BACK], so_far.tries);
    return delay_ms < 0 ? leave_to_operator(tx, t, p, r, so_far.cause)
                        : refund_retry_plan(tx, t, r, delay_ms);
}

/* --- the job --- */

static bool has_failed(const struct refund *r)
{
    return r->status == REFUND_FAILED || r->status == REFUND_CANCELED;
}

static enum err refund_try_again(struct tx *tx, struct arena *a, struct payments *pp,
                                 struct uuid payment, struct uuid refund)
{
    struct refund_tries so_far = { 0 };
    struct payment p;
    struct refund r;
    enum err e = payment_read(tx, a, payment, true, &p);

    if (!e)
        e = refund_read(tx, a, refund, &r);
    if (e || !has_failed(&r)) /* it has succeeded after all */
        return e;
    e = refund_tries_read(tx, a, &r, &so_far);
    if (e || so_far.live || so_far.tries > retry_table[RETRY_MONEY_BACK].retries)
        return e;
    return operation_start_on(tx, pp, &p, so_far.intent_id, OP_REFUND, r.amount, so_far.cause);
}

static enum err refund_retry_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    CLEANUP(arena_release) struct arena a = { 0 };
    struct uuid payment, refund;

    if (!uuid_parse(m->ref, &payment) || !uuid_parse(m->body, &refund))
        return why_err(why, ERR_VALIDATION, "the message names no refund");
    arena_init(&a, JOB_ARENA);
    return refund_try_again(tx, &a, ctx, payment, refund);
}

struct job_kind refund_again_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "refund.again",
                              .run = refund_retry_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_PLANNED] };
}
