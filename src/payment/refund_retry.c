/* refund_retry.c - see refund_retry.h.
 *
 *   failed --1, 8, 64, 512 min--> refund.again --under the payment's lock--> the next operation
 *      '--the fifth one--> an operator is told
 *
 *   (1) Until its time comes there is no row for the next try: so whoever asks for the money
 *       meanwhile, an event that is told again, may try at once.
 *   (2) One money, one refund that lives (D12): a try begins only where each one before it has
 *       failed, and all of them ask for the whole, of which a gateway gives no more than there is.
 *   (3) Tries are counted by their operations, so neither a crash nor an event begins anew. */
#include "payment/refund_retry.h"

#include "base/limits.h"
#include "domain/retry.h"
#include "payment/operate.h"
#include "store/tx_log.h"

#include <stdio.h>

enum { JOB_ARENA = 64 * 1024, DETAIL_MAX = LIMIT_GATEWAY_ID + 128 };

struct tried {
    struct str intent_id, cause;
    int64_t tries, live;
};

/* NOT_FOUND: no operation of ours made this refund. */
static enum err refund_retry_look(struct tx *tx, struct arena *a, const struct refund *r,
                                  struct tried *ret)
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

/* Told once for each money, however often somebody has it tried again. */
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
    struct tried so_far = { 0 };
    int64_t delay_ms;
    enum err e = refund_retry_look(tx, t->arena, r, &so_far);

    if (e || so_far.live) /* another one is under way, or was done */
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

static enum err try_again(struct tx *tx, struct arena *a, struct payments *pp, struct uuid payment,
                          struct uuid refund)
{
    struct tried so_far = { 0 };
    struct payment p;
    struct refund r;
    enum err e = payment_read(tx, a, payment, true, &p);

    if (!e)
        e = refund_read(tx, a, refund, &r);
    if (e || !has_failed(&r)) /* taken for failed, it came about after all */
        return e;
    e = refund_retry_look(tx, a, &r, &so_far);
    if (e || so_far.live || so_far.tries > retry_table[RETRY_MONEY_BACK].retries)
        return e;
    return operation_start_on(tx, pp, &p, so_far.intent_id, OP_REFUND, r.amount, so_far.cause);
}

static enum err refund_retry_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct uuid payment, refund;
    struct arena a;
    enum err e;

    if (!uuid_parse(m->ref, &payment) || !uuid_parse(m->body, &refund))
        return why_err(why, ERR_VALIDATION, "the message names no refund");
    arena_init(&a, JOB_ARENA);
    e = try_again(tx, &a, ctx, payment, refund);
    arena_release(&a);
    return e;
}

struct job_kind refund_again_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "refund.again",
                              .run = refund_retry_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_PLANNED] };
}
