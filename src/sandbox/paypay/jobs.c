/* jobs.c - what happens later at the simulated PayPay: jobs of the sandbox's queue. Each job reads
 * its object first. If the object has moved on, there is nothing to do. */
#include "base/limits.h"
#include "sandbox/paypay/paypay.h"

const struct str pp_job_code_lapse = WORK_KIND("sandbox.paypay_code_lapse");
const struct str pp_job_lapse = WORK_KIND("sandbox.paypay_lapse");
const struct str pp_job_confirm_lapse = WORK_KIND("sandbox.paypay_confirm_lapse");
const struct str pp_job_refund = WORK_KIND("sandbox.paypay_refund");

static void code_lapses(struct work *w, struct str id)
{
    struct pp_code c;

    if (!work_ok(w, pp_code_read(w->tx, id, &c)) || !str_eq(c.status, S("open")) ||
        c.expires_ms > w->now_ms)
        return;
    c.status = S("expired");
    pp_code_write(w, &c);
}

static void payment_lapses(struct work *w, struct str id)
{
    struct pp_payment p;

    if (work_ok(w, pp_payment_read(w->tx, id, &p)))
        pp_expire(w, &p);
}

/* A later question about the same payment has its own time and its own message. */
static void confirmation_lapses(struct work *w, struct str id)
{
    struct pp_payment p;
    struct pp_capture c;

    if (work_ok(w, pp_payment_read(w->tx, id, &p)) && p.status == PP_REAUTHORIZING &&
        work_ok(w, pp_capture_read(w->tx, id, &c)) && c.expires_ms <= w->now_ms)
        pp_capture_refused(w, &p);
}

static void refund_completes(struct work *w, struct str id)
{
    struct pp_refund r;

    if (!work_ok(w, pp_refund_read(w->tx, id, &r)))
        return;
    r.status = S("REFUNDED");
    pp_refund_write(w, &r);
}

WORK_JOB(run_code_lapse, code_lapses)
WORK_JOB(run_lapse, payment_lapses)
WORK_JOB(run_confirm_lapse, confirmation_lapses)
WORK_JOB(run_refund, refund_completes)

void pp_job_kinds(struct sandbox *s, struct job_kind kinds[PP_KINDS])
{
    const struct job_kind all[PP_KINDS - 1] = {
        { .name = pp_job_code_lapse.p, .run = run_code_lapse },
        { .name = pp_job_lapse.p, .run = run_lapse },
        { .name = pp_job_confirm_lapse.p, .run = run_confirm_lapse },
        { .name = pp_job_refund.p, .run = run_refund },
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        kinds[i] = all[i];
        kinds[i].ctx = s;
        kinds[i].retry = retry_table[RETRY_SANDBOX_WORK];
    }
    kinds[PP_KINDS - 1] = pp_notice_kind(s);
}
