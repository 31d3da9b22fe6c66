/* jobs.c - what happens later without a call: jobs of the sandbox's own queue. Each job reads its
 * object first. If the object is gone or has moved on, there is nothing to do. */
#include "base/limits.h"
#include "sandbox/stripe/checkout.h"
#include "sandbox/stripe/customers.h"

const struct str sb_job_balance = WORK_KIND("sandbox.balance");
const struct str sb_job_lapse = WORK_KIND("sandbox.lapse");
const struct str sb_job_refund_fail = WORK_KIND("sandbox.refund_fail");
const struct str sb_job_session_lapse = WORK_KIND("sandbox.session_lapse");
const struct str sb_job_voucher_lapse = WORK_KIND("sandbox.voucher_lapse");
const struct str sb_job_voucher_pay = WORK_KIND("sandbox.voucher_pay");
const struct str sb_job_debit = WORK_KIND("sandbox.debit");
const struct str sb_job_refund_end = WORK_KIND("sandbox.refund_end");
static const struct str job_forget = WORK_KIND("sandbox.forget");

/* The charge reaches the balance: its balance transaction and the fee appear. */
static void charge_balance(struct work *w, struct str id)
{
    struct charge c;

    if (!work_ok(w, sb_charge_read(w->tx, id, &c)) || c.balanced_ms || !c.captured)
        return;
    c.balanced_ms = w->now_ms;
    if (sb_charge_write(w, &c))
        work_emit(w, "charge.updated", sb_charge_json(w, &c, 0),
                  S("{\"balance_transaction\":null}"));
}

bool sb_intent_expire(struct work *w, struct intent *p, struct charge *c)
{
    return sb_intent_cancel(w, p, S("expired")) &&
           work_emit(w, "charge.expired", sb_charge_json(w, c, 0), S(""));
}

static void hold_expires(struct work *w, struct str id)
{
    struct intent p;
    struct charge c;

    if (!work_ok(w, sb_intent_read(w->tx, id, &p)) || p.status != INTENT_NEEDS_CAPTURE ||
        !work_ok(w, sb_charge_read(w->tx, p.latest_charge, &c)) || c.capture_before_ms > w->now_ms)
        return;
    sb_intent_expire(w, &p, &c);
}

static void refund_fails(struct work *w, struct str id)
{
    struct refund r;

    if (work_ok(w, sb_refund_read(w->tx, id, &r)) && str_eq(r.status, S("succeeded")))
        sb_refund_move(w, &r, S("failed"), S("lost_or_stolen_card"));
}

/* The customer never named an account for the refund. */
static void refund_ends(struct work *w, struct str id)
{
    struct refund r;

    if (work_ok(w, sb_refund_read(w->tx, id, &r)) && str_eq(r.status, S("requires_action")))
        sb_refund_move(w, &r, S("failed"), S("unknown"));
}

static void debit_ends(struct work *w, struct str id)
{
    struct intent p;

    if (work_ok(w, sb_intent_read(w->tx, id, &p)) && p.status == INTENT_PROCESSING)
        sb_debit_end(w, &p);
}

static void session_expires(struct work *w, struct str id)
{
    struct session s;

    if (work_ok(w, sb_session_read(w->tx, id, &s)) && str_eq(s.status, S("open")) &&
        s.expires_ms <= w->now_ms)
        sb_session_expire(w, &s);
}

/* A later slip of the same intent has its own time and its own message. */
static void voucher_expires(struct work *w, struct str id)
{
    struct voucher v;
    struct intent p;

    if (work_ok(w, sb_intent_read(w->tx, id, &p)) && sb_voucher_waits(&p) &&
        work_ok(w, sb_voucher_read(w->tx, id, &v)) && v.lapses_ms <= w->now_ms)
        sb_voucher_expire(w, &p);
}

static void voucher_is_paid(struct work *w, struct str id)
{
    struct intent p;

    if (work_ok(w, sb_intent_read(w->tx, id, &p)) && sb_voucher_waits(&p))
        sb_voucher_pay(w, &p, sb_stores[0]);
}

WORK_JOB(run_balance, charge_balance)

static enum err run_balances(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    enum err e = OK;

    for (size_t i = 0; i < n && !e; i++)
        e = work_run(ctx, tx, m[i]->ref, charge_balance);
    return e;
}

WORK_JOB(run_lapse, hold_expires)
WORK_JOB(run_refund_fail, refund_fails)
WORK_JOB(run_session_lapse, session_expires)
WORK_JOB(run_voucher_lapse, voucher_expires)
WORK_JOB(run_voucher_pay, voucher_is_paid)
WORK_JOB(run_debit, debit_ends)
WORK_JOB(run_refund_end, refund_ends)

/* --- old events: one message that never ends, put off each time --- */

enum { HOUR_MS = 3600 * 1000 };

static enum err count_row(void *ctx, const struct row *row)
{
    (void)row;
    ++*(int *)ctx;
    return OK;
}

static enum err forget_run(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    int64_t now_ms = env_now_ms(j->env);
    struct val v[] = { V_INT(LIMIT_SANDBOX_FORGET_STEP),
                       V_INT(now_ms - LIMIT_SANDBOX_EVENT_DAYS * INT64_C(24) * HOUR_MS) };
    int gone = 0;
    enum err e = tx_each(tx, STMT_sandbox_events_forget, v, COUNT(v), count_row, &gone);

    (void)ctx;
    (void)why;
    j->again_ms = now_ms + (gone ? LIMIT_SANDBOX_FORGET_PAUSE_MS : HOUR_MS);
    return e;
}

enum err sandbox_forget_start(struct sandbox *s, struct tx *tx, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('f', 'o', 'r', 'g', 'e', 't');
    struct queue_new first = { .id = only, .kind = job_forget, .due_ms = now_ms + HOUR_MS };
    struct str bytes = { (const char *)only.b, sizeof(only.b) };
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_message_known, &row, V_BLOB(bytes));

    return e == ERR_NOT_FOUND ? queue_add(s->queue, tx, now_ms, &first, 1) : e;
}

/* --- the kinds --- */

void sandbox_job_kinds(struct sandbox *s, struct job_kind kinds[SANDBOX_JOBS])
{
    const struct job_kind all[SANDBOX_JOBS] = {
        { .name = sb_job_balance.p, .run = run_balance, .run_many = run_balances },
        { .name = sb_job_lapse.p, .run = run_lapse },
        { .name = sb_job_refund_fail.p, .run = run_refund_fail },
        { .name = sb_job_session_lapse.p, .run = run_session_lapse },
        { .name = sb_job_voucher_lapse.p, .run = run_voucher_lapse },
        { .name = sb_job_voucher_pay.p, .run = run_voucher_pay },
        { .name = sb_job_debit.p, .run = run_debit },
        { .name = sb_job_refund_end.p, .run = run_refund_end },
        { .name = job_forget.p,
          .outside = job_without_outside,
          .settle = forget_run,
          .patient = true },
    };

    for (size_t i = 0; i < SANDBOX_JOBS; i++) {
        kinds[i] = all[i];
        kinds[i].ctx = s;
        /* a job that puts itself off spends an attempt each time */
        kinds[i].retry = retry_table[kinds[i].settle ? RETRY_SANDBOX_FORGET : RETRY_SANDBOX_WORK];
    }
}
