/* follow.c - messages about one payment that come due later.
 *
 *   payment.abandon  an unfinished payment is cancelled at the gateway when its time is up
 *   payment.lapse    24 h before an authorization lapses: a warning, and payment.lapsed is planned
 *   paypay.poll, payment.lapsed    queries of the gateway; their job is event/payment_poll.c
 *
 * A message is added in the transaction that creates its reason, and its job reads the payment under
 * its lock, so a crash loses none and a repeat changes nothing. */
#include "payment/follow.h"

#include "base/json/json.h"
#include "payment/payable.h"
#include "store/tx_log.h"

#include <stdio.h>

enum { JOB_ARENA = 64 * 1024, DAY = 24 * 3600 * 1000 };

static enum err follow_add(struct tx *tx, struct payments *pp, struct str kind,
                           const struct payment *p, int64_t now_ms, int64_t due_ms)
{
    char id[UUID_TEXT + 1];
    struct queue_new m = { .id = env_uuid(tx_env(tx)), .kind = kind, .due_ms = due_ms };

    uuid_text(p->id, id);
    m.ref = str_of(id);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

enum err follow_abandon(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms,
                        int64_t due_ms)
{
    return follow_add(tx, pp, S("payment.abandon"), p, now_ms, due_ms);
}

enum err follow_lapse(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms)
{
    int64_t due = p->capture_before_ms - DAY;

    return follow_add(tx, pp, S("payment.lapse"), p, now_ms, due > now_ms ? due : now_ms);
}

static enum err follow_add_poll(struct tx *tx, struct payments *pp, const struct payment *p,
                                int64_t now_ms, struct str kind, int64_t due_ms, int64_t until_ms)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)), .kind = kind, .due_ms = due_ms };
    char id[UUID_TEXT + 1], body[64];

    uuid_text(p->id, id);
    snprintf(body, sizeof(body), "{\"until\":%lld}", (long long)until_ms);
    m.ref = str_of(id);
    m.body = str_of(body);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

enum err follow_poll(struct tx *tx, const struct taking *t, const struct payment *p,
                     const struct fact *f)
{
    int64_t until_ms =
        LIMIT_POLL_LATE_MS +
        (f->action_expires_ms ? f->action_expires_ms : t->now_ms + t->payments->action_limit_ms);

    if (!f->intent_id.n || !payment_is_at(t->payments, p, S("paypay")))
        return OK;
    return follow_add_poll(tx, t->payments, p, t->now_ms, S("paypay.poll"),
                           t->now_ms + LIMIT_POLL_FIRST_MS, until_ms);
}

enum err follow_lapsed(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms)
{
    return follow_add_poll(tx, pp, p, now_ms, S("payment.lapsed"),
                           p->capture_before_ms + LIMIT_LAPSE_LATE_MS, p->capture_before_ms);
}

static enum err follow_read_payment(struct tx *tx, struct arena *a, const struct message *m,
                                    struct payment *ret)
{
    struct uuid id;

    if (!uuid_parse(m->ref, &id))
        return ERR_VALIDATION;
    return payment_read(tx, a, id, true, ret);
}

static enum err cancel_if_pending(struct tx *tx, const struct taking *t, const struct payment *p,
                                  struct why *why)
{
    int64_t due_ms;
    enum err e;

    if (p->status != PAYMENT_PENDING || !p->gateway_transaction_id.n)
        return OK;
    e = subject_of(t->payments, p)->ends(tx, t, p, NULL, &due_ms);
    if (e)
        return e;
    if (due_ms > t->now_ms) /* it was given more time since */
        return due_ms == CLOCK_NEVER ? OK : follow_abandon(tx, t->payments, p, t->now_ms, due_ms);
    if (p->has_open_op) /* the job is retried until that operation has ended */
        return why_err(why, ERR_UNAVAILABLE, "another operation is under way");
    e = operation_start_own(tx, t->payments, p, OP_VOID, 0, S("abandoned"));
    return e ? e : fault_point(&tx_env(tx)->faults, "payment.abandon");
}

static enum err abandon_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    CLEANUP(arena_release) struct arena a;
    struct payment p;
    struct taking t = { .payments = ctx, .arena = &a, .now_ms = env_now_ms(tx_env(tx)) };
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = follow_read_payment(tx, &a, m, &p);
    return e ? e : cancel_if_pending(tx, &t, &p, why);
}

static enum err lapse_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    CLEANUP(arena_release) struct arena a;
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct payment p;
    enum err e;

    (void)why;
    arena_init(&a, JOB_ARENA);
    e = follow_read_payment(tx, &a, m, &p);
    if (e || p.status != PAYMENT_AUTHORIZED)
        return e;
    e = follow_lapsed(tx, ctx, &p, now_ms);
    if (!e)
        e = audit_money(tx, "LAPSING", &p, p.money.minor, false,
                        S("the authorisation lapses within 24 hours"), NULL, NULL, now_ms);
    if (e)
        return e;
    LOG_AFTER_COMMIT(tx, LOG_WARN, "An authorisation lapses within 24 hours",
                     LOG_TEXT("paymentId", m->ref),
                     LOG_NUM("captureBeforeMs", p.capture_before_ms));
    return OK;
}

/* A payment with an open operation is retried for as long as that takes: no other job ends it. */
struct job_kind follow_abandon_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "payment.abandon",
                              .run = abandon_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_ABANDON] };
}

struct job_kind follow_lapse_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "payment.lapse",
                              .run = lapse_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_LAPSE_WARNING] };
}
