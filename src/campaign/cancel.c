/* cancel.c - a cancelled campaign: its open intents are cancelled at the gateway, and what was paid is
 * refunded.
 *
 *   cancel (one commit: status, audit line, message)
 *      '--> campaign.cancel: some purchases, each under its payment's lock --> the next ones ...
 *                   ^                                                              |
 *                   '---- a while later, until no payment has money any more <-----'
 *
 *   a refund that had succeeded fails --> campaign.cancel of that purchase alone
 *
 *   (1) Every step is one commit with the message of the next step, so a crash leaves one message.
 *   (2) Operations that were started for a payment are found by their cause, so a second scan starts
 *       nothing twice. A failed one is started again as often as RETRY_MONEY_BACK (domain/retry.c)
 *       says. Then an error is logged for the operator, once.
 *   (3) The scan misses no purchase: nothing is reserved or sold once the status is cancelled
 *       (campaign.h), and money that arrives later goes back by itself (D2).
 *   (4) It ends when each payment is REFUNDED or FAILED, or was left to an operator: a refund that is
 *       under way may still fail, weeks later. */
#include "base/json/json.h"
#include "base/limits.h"
#include "campaign/campaign.h"
#include "payment/rows.h"
#include "store/tx_log.h"

#include <stdio.h>
#include <string.h>

enum {
    JOB_ARENA = 64 * 1024,
    SCAN_TEXT = 64,
};

#define CAUSE S("campaign_cancelled")

/* --- the message's body: "<scan> <1: a payment was busy> <last purchase>", or "<scan> one
 * <purchase>" --- */

struct cancel_scan {
    struct uuid campaign;
    int64_t number; /* 0: the first scan */
    bool busy;
    bool one; /* only the purchase `after` */
    struct uuid after;
};

static bool scan_parse(const struct message *m, struct cancel_scan *ret_walk)
{
    struct str rest = m->body, number = str_cut(&rest, ' '), busy = str_cut(&rest, ' ');

    ret_walk->busy = str_eq(busy, S("1"));
    ret_walk->one = str_eq(busy, S("one"));
    return uuid_parse(m->ref, &ret_walk->campaign) && str_to_i64(number, &ret_walk->number) &&
           uuid_parse(rest, &ret_walk->after);
}

static enum err scan_continue(struct tx *tx, struct payments *pp, const struct cancel_scan *w,
                              int64_t now_ms, int64_t due_ms)
{
    char body[SCAN_TEXT], after[UUID_TEXT + 1], campaign[UUID_TEXT + 1];
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("campaign.cancel"),
                           .due_ms = due_ms };

    uuid_text(w->after, after);
    uuid_text(w->campaign, campaign);
    snprintf(body, sizeof(body), "%lld %s %s", (long long)w->number,
             w->one    ? "one"
             : w->busy ? "1"
                       : "0",
             after);
    m.ref = str_of(campaign);
    m.body = str_of(body);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

enum err campaign_give_back(struct tx *tx, struct payments *pp, struct uuid campaign,
                            struct uuid purchase, int64_t now_ms)
{
    struct cancel_scan w = { .campaign = campaign, .one = true, .after = purchase };
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_status_get, &row, v_uuid(&campaign));

    if (e || !str_eq(row.col[0].s, S("cancelled")))
        return e;
    return scan_continue(tx, pp, &w, now_ms, now_ms);
}

/* --- the operator's request --- */

static enum err campaign_audit_cancel(struct tx *tx, struct uuid id, struct uuid by, int64_t now_ms)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    return TX_DO(tx, STMT_campaign_audit, 1, V_INT(now_ms), V_TEXT(S("CAMPAIGN_CANCEL")),
                 V_TEXT(str_of(text)), V_NULL, v_uuid(&by));
}

static enum err cancel_rejection(struct tx *tx, struct uuid id)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_status_get, &row, v_uuid(&id));

    if (e)
        return e;
    return str_eq(row.col[0].s, S("cancelled")) ? OK : ERR_UNPROCESSABLE;
}

enum err campaign_cancel(struct tx *tx, struct payments *pp, struct uuid id, struct uuid by,
                         int64_t now_ms)
{
    struct cancel_scan first = { .campaign = id };
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_cancel, &row, V_INT(now_ms), v_uuid(&id));

    if (e)
        return e == ERR_NOT_FOUND ? cancel_rejection(tx, id) : e;
    e = campaign_audit_cancel(tx, id, by, now_ms);
    return e ? e : scan_continue(tx, pp, &first, now_ms, now_ms);
}

/* --- one payment, under its lock --- */

/* The result for one payment. STARTED and BUSY: it is checked again by the next scan. */
enum cancel_fate { FATE_DONE, FATE_STARTED, FATE_BUSY };

/* Logged and audited once for each payment and reason: an operator takes over. */
static enum err leave_to_operator(struct tx *tx, const struct payment *p, const char *why,
                                  int64_t now_ms)
{
    int64_t amount = minor_known(p->captured) ? p->captured.minor : p->money.minor;
    char id[UUID_TEXT + 1];
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_cancel_noted, &row, v_uuid(&p->id), V_TEXT(str_of(why)));

    if (e != ERR_NOT_FOUND)
        return e;
    uuid_text(p->id, id);
    LOG_AFTER_COMMIT(tx, LOG_ERROR,
                     "Campaign cancelled, but a payment of it is left to an operator",
                     LOG_TEXT("paymentId", str_of(id)), LOG_TEXT("why", str_of(why)),
                     LOG_NUM("amount", amount), LOG_TEXT("currency", str_of(p->money.currency)));
    return audit_money(tx, "CAMPAIGN_CANCELLED", p, amount, false, str_of(why), NULL, NULL, now_ms);
}

/* Starts the operation, unless one is under way, or its pause is not over, or its tries are spent. */
static enum err start_operation(struct tx *tx, struct payments *pp, const struct payment *p,
                                enum op_kind kind, int64_t amount, int64_t now_ms,
                                enum cancel_fate *ret_fate)
{
    int64_t tries, last_ms, pause_ms;
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_tries, &row, v_uuid(&p->id),
                        V_TEXT(str_of(op_name(kind))), V_TEXT(CAUSE));

    if (e)
        return e;
    tries = row.col[0].i;
    last_ms = row.col[1].i;
    *ret_fate = FATE_BUSY;
    if (row.col[2].i) /* under way */
        return OK;
    pause_ms = tries ? retry_delay_ms(&retry_table[RETRY_MONEY_BACK], tries) : 0;
    if (pause_ms < 0) {
        *ret_fate = FATE_DONE;
        return leave_to_operator(tx, p, "the gateway did not do it, however often it was asked",
                                 now_ms);
    }
    if (now_ms < last_ms + pause_ms)
        return OK;
    *ret_fate = FATE_STARTED;
    return operation_start_own(tx, pp, p, kind, amount, CAUSE);
}

/* Refunds what is not refunded or reserved yet. A reserved refund may still fail; then the next scan
 * refunds it. */
static enum err refund_available_rest(struct tx *tx, struct payments *pp, const struct payment *p,
                                      int64_t now_ms, enum cancel_fate *ret_fate)
{
    struct refund_sums sums;
    int64_t available;
    enum err e = refund_sums(tx, p->id, &sums);

    if (e)
        return e;
    available = refund_available(p->captured, sums.reserved);
    *ret_fate = FATE_BUSY;
    return available > 0 ? start_operation(tx, pp, p, OP_REFUND, available, now_ms, ret_fate) : OK;
}

/* A disputed payment's money is at the customer's bank, so it is left to an operator. */
static enum err cancel_or_refund(struct tx *tx, struct payments *pp, const struct payment *p,
                                 int64_t now_ms, enum cancel_fate *ret_fate)
{
    *ret_fate = p->has_open_op ? FATE_BUSY : FATE_DONE;
    if (p->has_open_op)
        return OK;
    switch (p->status) {
    case PAYMENT_PENDING:
    case PAYMENT_AUTHORIZED:
        if (!p->gateway_transaction_id.n)
            return OK; /* no intent to cancel */
        return start_operation(tx, pp, p, OP_VOID, 0, now_ms, ret_fate);
    case PAYMENT_CAPTURED:
        return p->disputed ? leave_to_operator(tx, p, "the payment is disputed", now_ms)
                           : refund_available_rest(tx, pp, p, now_ms, ret_fate);
    case PAYMENT_REFUNDED:
    case PAYMENT_FAILED:
    case PAYMENT_STATUSES: break;
    }
    return OK;
}

static enum err cancel_payment(struct tx *tx, struct payments *pp, struct uuid payment,
                               int64_t now_ms, enum cancel_fate *ret_fate)
{
    CLEANUP(arena_release) struct arena a;
    struct payment p;
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = payment_read(tx, &a, payment, true, &p);
    return e ? e : cancel_or_refund(tx, pp, &p, now_ms, ret_fate);
}

/* --- one step: some purchases, at most LIMIT_CANCELLED of them locked --- */

struct cancel_item {
    struct uuid purchase, payment;
    bool over; /* nothing can be left to do */
};

struct cancel_step {
    struct cancel_item all[LIMIT_STATEMENT_ROWS];
    size_t n;
};

/* FAILED and REFUNDED payments are skipped: a late success asks the campaign first, which is
 * cancelled, and a refund that fails starts a scan of its own. */
static enum err cancel_step_add(void *ctx, const struct row *row)
{
    struct cancel_step *s = ctx;
    struct cancel_item *one = &s->all[s->n++];
    enum payment_status status;

    if (!uuid_of_bytes(row->col[0].s, &one->purchase) ||
        !uuid_of_bytes(row->col[1].s, &one->payment) ||
        !payment_status_parse(row->col[2].s, &status))
        return ERR_INTERNAL;
    one->over = status == PAYMENT_FAILED || status == PAYMENT_REFUNDED;
    return OK;
}

/* *ret_n: the number of purchases that were handled. */
static enum err cancel_payments(struct tx *tx, struct payments *pp, const struct cancel_step *s,
                                struct cancel_scan *w, int64_t now_ms, size_t *ret_n)
{
    size_t i, looked = 0;
    enum err e = OK;

    for (i = 0; !e && i < s->n && looked < LIMIT_CANCELLED; i++) {
        enum cancel_fate cancel_fate = FATE_DONE;

        if (!s->all[i].over)
            e = cancel_payment(tx, pp, s->all[i].payment, now_ms, &cancel_fate);
        looked += !s->all[i].over;
        w->busy = w->busy || cancel_fate != FATE_DONE;
        w->after = s->all[i].purchase;
    }
    *ret_n = i;
    return e;
}

static enum err scan_end(struct tx *tx, struct payments *pp, const struct cancel_scan *w,
                         int64_t now_ms)
{
    struct cancel_scan again = { .campaign = w->campaign, .number = w->number + 1, .one = w->one };
    char id[UUID_TEXT + 1];

    if (w->one)
        again.after = w->after;
    if (w->busy)
        return scan_continue(tx, pp, &again, now_ms,
                             now_ms +
                                 retry_delay_ms(&retry_table[RETRY_CAMPAIGN_WALK], w->number + 1));
    uuid_text(w->campaign, id);
    LOG_AFTER_COMMIT(tx, LOG_INFO, "Campaign cancelled: nothing is left to do for it",
                     LOG_TEXT("campaignId", str_of(id)), LOG_NUM("walks", w->number + 1));
    return OK;
}

static enum err cancel_step_read(struct tx *tx, const struct cancel_scan *w, struct cancel_step *s)
{
    struct val v[] = { v_uuid(&w->campaign), v_uuid(&w->after), V_INT(LIMIT_STATEMENT_ROWS) };

    return w->one ? tx_each(tx, STMT_campaign_purchase, v, 2, cancel_step_add, s)
                  : tx_each(tx, STMT_campaign_purchases, v, COUNT(v), cancel_step_add, s);
}

static enum err cancel_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct payments *pp = ctx;
    int64_t now_ms = env_now_ms(pp->runtime.env);
    struct cancel_scan w = { .number = 0 };
    struct cancel_step s = { .n = 0 };
    size_t n = 0;
    enum err e;

    if (!scan_parse(m, &w))
        return why_err(why, ERR_VALIDATION, "the message names no campaign, or no place in it");
    e = cancel_step_read(tx, &w, &s);
    if (!e)
        e = cancel_payments(tx, pp, &s, &w, now_ms, &n);
    fault_point(&pp->runtime.env->faults, "campaign.cancel");
    if (e)
        return e;
    if (s.n == LIMIT_STATEMENT_ROWS || n < s.n)
        return scan_continue(tx, pp, &w, now_ms, now_ms);
    return scan_end(tx, pp, &w, now_ms);
}

struct job_kind campaign_cancel_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "campaign.cancel",
                              .run = cancel_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_CAMPAIGN_CANCEL] };
}
