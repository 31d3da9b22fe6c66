/* jobs.c - what happens by itself, as messages of the sandbox's own queue. Each looks at the object
 * first: what has been done in the meantime, or is there no more, is no work. */
#include "base/limits.h"
#include "sandbox/checkout.h"

#define KIND(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
const struct str sb_job_balance = KIND("sandbox.balance");
const struct str sb_job_lapse = KIND("sandbox.lapse");
const struct str sb_job_refund_fail = KIND("sandbox.refund_fail");
const struct str sb_job_session_lapse = KIND("sandbox.session_lapse");
const struct str sb_job_voucher_lapse = KIND("sandbox.voucher_lapse");
const struct str sb_job_voucher_pay = KIND("sandbox.voucher_pay");

/* The charge reaches the balance: its transaction is there, and the fee with it. */
static void balance(struct work *w, struct str id)
{
    struct charge c;

    if (!work_ok(w, sb_charge_read(w->tx, id, &c)) || c.balanced_ms || !c.captured)
        return;
    c.balanced_ms = w->now_ms;
    if (sb_charge_write(w, &c))
        work_event(w, "charge.updated", sb_charge_json(w, &c, 0),
                   S("{\"balance_transaction\":null}"));
}

static void lapse(struct work *w, struct str id)
{
    struct intent p;
    struct charge c;

    if (!work_ok(w, sb_intent_read(w->tx, id, &p)) || p.status != INTENT_NEEDS_CAPTURE ||
        !work_ok(w, sb_charge_read(w->tx, p.latest_charge, &c)) || c.capture_before_ms > w->now_ms)
        return;
    if (sb_intent_cancel(w, &p, S("expired")))
        work_event(w, "charge.expired", sb_charge_json(w, &c, 0), S(""));
}

static void refund_fails(struct work *w, struct str id)
{
    struct refund r;

    if (work_ok(w, sb_refund_read(w->tx, id, &r)) && str_eq(r.status, S("succeeded")))
        sb_refund_move(w, &r, S("failed"), S("lost_or_stolen_card"));
}

static void session_lapses(struct work *w, struct str id)
{
    struct session s;

    if (work_ok(w, sb_session_read(w->tx, id, &s)) && str_eq(s.status, S("open")) &&
        s.expires_ms <= w->now_ms)
        sb_session_expire(w, &s);
}

/* A later slip of the same intent has a time and a message of its own. */
static void voucher_lapses(struct work *w, struct str id)
{
    struct voucher v;
    struct intent p;

    if (work_ok(w, sb_intent_read(w->tx, id, &p)) && sb_voucher_waits(&p) &&
        work_ok(w, sb_voucher_read(w->tx, id, &v)) && v.lapses_ms <= w->now_ms)
        sb_voucher_lapse(w, &p);
}

static void voucher_is_paid(struct work *w, struct str id)
{
    struct intent p;

    if (work_ok(w, sb_intent_read(w->tx, id, &p)) && sb_voucher_waits(&p))
        sb_voucher_pay(w, &p, sb_stores[0]);
}

static enum err run(struct sandbox *s, struct tx *tx, struct str id,
                    void (*act)(struct work *w, struct str id))
{
    struct arena a;
    struct work w = { .s = s, .tx = tx, .a = &a, .now_ms = env_now_ms(&s->env) };

    arena_init(&a, LIMIT_SANDBOX_ARENA);
    act(&w, id);
    arena_release(&a);
    return w.err == ERR_NOT_FOUND ? OK : w.err;
}

static enum err run_balance(struct tx *tx, const struct message *m, void *ctx, char why[256])
{
    (void)why;
    return run(ctx, tx, m->ref, balance);
}

static enum err run_balances(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    enum err e = OK;

    for (size_t i = 0; i < n && !e; i++)
        e = run(ctx, tx, m[i]->ref, balance);
    return e;
}

#define RUN_ONE(name, act)                                                                         \
    static enum err name(struct tx *tx, const struct message *m, void *ctx, char why[256])         \
    {                                                                                              \
        (void)why;                                                                                 \
        return run(ctx, tx, m->ref, act);                                                          \
    }
RUN_ONE(run_lapse, lapse)
RUN_ONE(run_refund_fail, refund_fails)
RUN_ONE(run_session_lapse, session_lapses)
RUN_ONE(run_voucher_lapse, voucher_lapses)
RUN_ONE(run_voucher_pay, voucher_is_paid)

void sandbox_job_kinds(struct sandbox *s, struct job_kind kinds[SANDBOX_JOBS])
{
    static const struct retry_policy retry = { .retries = 5, .first_ms = 100, .factor = 4 };
    const struct job_kind all[SANDBOX_JOBS] = {
        { .name = sb_job_balance.p, .run = run_balance, .run_many = run_balances },
        { .name = sb_job_lapse.p, .run = run_lapse },
        { .name = sb_job_refund_fail.p, .run = run_refund_fail },
        { .name = sb_job_session_lapse.p, .run = run_session_lapse },
        { .name = sb_job_voucher_lapse.p, .run = run_voucher_lapse },
        { .name = sb_job_voucher_pay.p, .run = run_voucher_pay },
    };

    for (size_t i = 0; i < SANDBOX_JOBS; i++) {
        kinds[i] = all[i];
        kinds[i].ctx = s;
        kinds[i].retry = retry;
    }
}
