#include "payment/follow.h"

#include "payment/payable.h"
#include "store/tx_log.h"

#include <stdio.h>

enum { JOB_ARENA = 64 * 1024, DAY = 24 * 3600 * 1000, BUSY_MS = 30 * 1000 };

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

static enum err add_look(struct tx *tx, struct payments *pp, const struct payment *p,
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
    return add_look(tx, t->payments, p, t->now_ms, S("paypay.poll"),
                    t->now_ms + LIMIT_POLL_FIRST_MS, until_ms);
}

enum err follow_lapsed(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms)
{
    return add_look(tx, pp, p, now_ms, S("payment.lapsed"),
                    p->capture_before_ms + LIMIT_LAPSE_LATE_MS, p->capture_before_ms);
}

static enum err read_payment(struct tx *tx, struct arena *a, const struct message *m,
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
    if (due_ms > t->now_ms) /* it got more time since */
        return due_ms == CLOCK_NEVER ? OK : follow_abandon(tx, t->payments, p, t->now_ms, due_ms);
    if (p->has_open_op) { /* somebody is at it; look again when that is over */
        return why_err(why, ERR_UNAVAILABLE, "another operation is under way");
    }
    e = operation_start_own(tx, t->payments, p, OP_VOID, 0, S("abandoned"));
    return e ? e : fault_point(&tx_env(tx)->faults, "payment.abandon");
}

static enum err payment_follow_abandon(struct tx *tx, const struct message *m, void *ctx,
                                       struct why *why)
{
    struct payment p;
    struct arena a;
    struct taking t = { .payments = ctx, .arena = &a, .now_ms = env_now_ms(tx_env(tx)) };
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = read_payment(tx, &a, m, &p);
    if (!e)
        e = cancel_if_pending(tx, &t, &p, why);
    arena_release(&a);
    return e;
}

static enum err payment_follow_lapse(struct tx *tx, const struct message *m, void *ctx,
                                     struct why *why)
{
    struct payment p;
    struct arena a;
    enum err e;

    (void)why;
    arena_init(&a, JOB_ARENA);
    e = read_payment(tx, &a, m, &p);
    if (!e && p.status == PAYMENT_AUTHORIZED)
        e = follow_lapsed(tx, ctx, &p, env_now_ms(tx_env(tx)));
    if (!e && p.status == PAYMENT_AUTHORIZED)
        e = audit_money(tx, "LAPSING", &p, p.money.minor, false,
                        S("the authorisation lapses within 24 hours"), NULL, NULL,
                        env_now_ms(tx_env(tx)));
    if (!e && p.status == PAYMENT_AUTHORIZED)
        LOG_AFTER_COMMIT(tx, LOG_WARN, "An authorisation lapses within 24 hours",
                         LOG_TEXT("paymentId", m->ref),
                         LOG_NUM("captureBeforeMs", p.capture_before_ms));
    arena_release(&a);
    return e;
}

/* A busy payment is looked at again for as long as it is busy: nobody else would end it. */
struct job_kind follow_abandon_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "payment.abandon",
                              .run = payment_follow_abandon,
                              .ctx = pp,
                              .retry = retry_table[RETRY_ABANDON] };
}

struct job_kind follow_lapse_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "payment.lapse",
                              .run = payment_follow_lapse,
                              .ctx = pp,
                              .retry = retry_table[RETRY_LAPSE_WARNING] };
}
