/* campaign_cancel.c - a campaign that will not take place: its open intents are cancelled at the
 * gateway, and what was paid goes back.
 *
 *   cancel (one commit: status, audit, message)
 *      '--> campaign.cancel: some purchases, each under its payment's lock --> the next ones ...
 *                   ^                                                              |
 *                   '---- a while later, while an operation was under way <--------'
 *
 *   (1) Every step is one commit with the message of the next; a crash leaves the one or the other.
 *   (2) What was started for a payment is found again (by its cause), so a second walk starts
 *       nothing twice.
 *   (3) The walk misses nobody: nothing is reserved or sold once the status is cancelled
 *       (campaign.h), and money that lands later goes back by itself (D2). */
#include "base/limits.h"
#include "flow/campaign.h"
#include "flow/rows.h"
#include "observe/log.h"

#include <stdio.h>
#include <string.h>

enum { JOB_ARENA = 64 * 1024, WALK_TEXT = 64, PAUSE_FIRST_MS = 1000, PAUSE_MAX_MS = 5 * 60 * 1000 };

#define CAUSE S("campaign_cancelled")

/* --- where the walk is: "<walk> <1: somebody was busy> <last purchase>" --- */

struct walk {
    struct uuid campaign;
    int64_t number; /* 0: the first walk */
    bool busy;
    struct uuid after;
};

static bool walk_parse(const struct message *m, struct walk *ret_walk)
{
    struct str rest = m->body, number = str_cut(&rest, ' '), busy = str_cut(&rest, ' ');

    ret_walk->busy = str_eq(busy, S("1"));
    return uuid_parse(m->ref, &ret_walk->campaign) && str_to_i64(number, &ret_walk->number) &&
           uuid_parse(rest, &ret_walk->after);
}

static enum err walk_on(struct tx *tx, struct payments *pp, const struct walk *w, int64_t now_ms,
                        int64_t due_ms)
{
    char body[WALK_TEXT], after[UUID_TEXT + 1], campaign[UUID_TEXT + 1];
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("campaign.cancel"),
                           .due_ms = due_ms };

    uuid_text(w->after, after);
    uuid_text(w->campaign, campaign);
    snprintf(body, sizeof(body), "%lld %d %s", (long long)w->number, w->busy, after);
    m.ref = str_of(campaign);
    m.body = str_of(body);
    return queue_add(pp->queue, tx, now_ms, &m, 1);
}

static int64_t pause_ms(int64_t walks)
{
    int64_t ms = PAUSE_FIRST_MS;

    while (walks-- > 0 && ms < PAUSE_MAX_MS)
        ms *= 2;
    return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* --- the operator's call --- */

static enum err note_cancel(struct tx *tx, struct uuid id, struct uuid by, int64_t now_ms)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    return TX_DO(tx, STMT_campaign_audit, 1, V_INT(now_ms), V_TEXT(S("CAMPAIGN_CANCEL")),
                 V_TEXT(str_of(text)), V_NULL, v_uuid(&by));
}

static enum err why_not(struct tx *tx, struct uuid id)
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
    struct walk first = { .campaign = id };
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_cancel, &row, V_INT(now_ms), v_uuid(&id));

    if (e)
        return e == ERR_NOT_FOUND ? why_not(tx, id) : e;
    e = note_cancel(tx, id, by, now_ms);
    return e ? e : walk_on(tx, pp, &first, now_ms, now_ms);
}

/* --- one payment, under its lock --- */

static enum err was_started(struct tx *tx, const struct payment *p, enum op_kind kind,
                            bool *ret_started)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_operation_own_find, &row, v_uuid(&p->id),
                        V_TEXT(str_of(op_name(kind))), V_TEXT(CAUSE));

    *ret_started = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* What one look at a payment came to. */
enum fate { FATE_DONE, FATE_STARTED, FATE_BUSY };

static enum err start(struct tx *tx, struct payments *pp, const struct payment *p,
                      enum op_kind kind, int64_t amount, enum fate *ret_fate)
{
    *ret_fate = FATE_STARTED;
    return operation_start_own(tx, pp, p, kind, amount, CAUSE);
}

static enum err cancel_intent(struct tx *tx, struct payments *pp, const struct payment *p,
                              enum fate *ret_fate)
{
    bool started;
    enum err e;

    if (!p->gateway_transaction_id.n)
        return OK; /* there is nothing to cancel */
    e = was_started(tx, p, OP_VOID, &started);
    return e || started ? e : start(tx, pp, p, OP_VOID, 0, ret_fate);
}

/* Its bank has the money: an operator decides. Told once, however often the walk comes by. */
static enum err note_disputed(struct tx *tx, const struct payment *p, int64_t now_ms)
{
    char id[UUID_TEXT + 1];
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_cancel_noted, &row, v_uuid(&p->id));

    if (e != ERR_NOT_FOUND)
        return e;
    uuid_text(p->id, id);
    LOG(tx_env(tx)->log, LOG_ERROR, "Campaign cancelled, but a payment of it is disputed",
        LOG_TEXT("paymentId", str_of(id)), LOG_NUM("capturedAmount", p->captured),
        LOG_TEXT("currency", str_of(p->money.currency)));
    return audit_money(tx, "CAMPAIGN_CANCELLED", p, p->captured, false,
                       S("the campaign was cancelled, but the payment is disputed"), NULL, NULL,
                       now_ms);
}

/* What is left goes back. Where somebody's own refund holds all of it, that may still fail. */
static enum err refund_rest(struct tx *tx, struct payments *pp, const struct payment *p,
                            enum fate *ret_fate)
{
    struct refund_sums sums;
    int64_t available;
    bool started;
    enum err e = was_started(tx, p, OP_REFUND, &started);

    if (e || started)
        return e;
    e = refund_sums(tx, p->id, &sums);
    if (e)
        return e;
    available = refund_available(p->captured, sums.reserved);
    if (available > 0)
        return start(tx, pp, p, OP_REFUND, available, ret_fate);
    *ret_fate = FATE_BUSY;
    return OK;
}

static enum err let_go(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms,
                       enum fate *ret_fate)
{
    *ret_fate = p->has_open_op ? FATE_BUSY : FATE_DONE;
    if (p->has_open_op)
        return OK;
    switch (p->status) {
    case PAYMENT_PENDING:
    case PAYMENT_AUTHORIZED: return cancel_intent(tx, pp, p, ret_fate);
    case PAYMENT_CAPTURED:
        return p->disputed ? note_disputed(tx, p, now_ms) : refund_rest(tx, pp, p, ret_fate);
    case PAYMENT_REFUNDED:
    case PAYMENT_FAILED:
    case PAYMENT_STATUSES: break;
    }
    return OK;
}

static enum err let_go_of(struct tx *tx, struct payments *pp, struct uuid payment, int64_t now_ms,
                          enum fate *ret_fate)
{
    struct payment p;
    struct arena a;
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = payment_read(tx, &a, payment, true, &p);
    if (!e)
        e = let_go(tx, pp, &p, now_ms, ret_fate);
    arena_release(&a);
    return e;
}

/* --- one step: some purchases, and not more operations than LIMIT_CANCELLED --- */

struct purchased {
    struct uuid purchase, payment;
    bool over; /* nothing can be left to do */
};

struct step {
    struct purchased all[LIMIT_STATEMENT_ROWS];
    size_t n;
};

/* FAILED and REFUNDED need nothing: whatever could still bring them to life asks the campaign
 * first, which is cancelled. */
static enum err add_purchase(void *ctx, const struct row *row)
{
    struct step *s = ctx;
    struct purchased *one = &s->all[s->n++];
    enum payment_status status;

    if (!uuid_of_bytes(row->col[0].s, &one->purchase) ||
        !uuid_of_bytes(row->col[1].s, &one->payment) ||
        !payment_status_parse(row->col[2].s, &status))
        return ERR_INTERNAL;
    one->over = status == PAYMENT_FAILED || status == PAYMENT_REFUNDED;
    return OK;
}

/* *ret_n: how many of them were dealt with. */
static enum err let_go_of_some(struct tx *tx, struct payments *pp, const struct step *s,
                               struct walk *w, int64_t now_ms, size_t *ret_n)
{
    size_t i, started = 0;
    enum err e = OK;

    for (i = 0; !e && i < s->n && started < LIMIT_CANCELLED; i++) {
        enum fate fate = FATE_DONE;

        if (!s->all[i].over)
            e = let_go_of(tx, pp, s->all[i].payment, now_ms, &fate);
        started += fate == FATE_STARTED;
        w->busy = w->busy || fate == FATE_BUSY;
        w->after = s->all[i].purchase;
    }
    *ret_n = i;
    return e;
}

static enum err end_walk(struct tx *tx, struct payments *pp, const struct walk *w, int64_t now_ms)
{
    struct walk again = { .campaign = w->campaign, .number = w->number + 1 };
    char id[UUID_TEXT + 1];

    if (w->busy)
        return walk_on(tx, pp, &again, now_ms, now_ms + pause_ms(w->number));
    uuid_text(w->campaign, id);
    LOG(tx_env(tx)->log, LOG_INFO, "Campaign cancelled: nothing is left to do for it",
        LOG_TEXT("campaignId", str_of(id)), LOG_NUM("walks", w->number + 1));
    return OK;
}

static enum err run(struct tx *tx, const struct message *m, void *ctx, char why[256])
{
    struct payments *pp = ctx;
    int64_t now_ms = env_now_ms(pp->env);
    struct walk w = { .number = 0 };
    struct step s = { .n = 0 };
    size_t n = 0;
    enum err e;

    if (!walk_parse(m, &w)) {
        snprintf(why, 256, "the message names no campaign, or no place in it");
        return ERR_VALIDATION;
    }
    e = tx_each(
        tx, STMT_campaign_purchases,
        (const struct val[]){ v_uuid(&w.campaign), v_uuid(&w.after), V_INT(LIMIT_STATEMENT_ROWS) },
        3, add_purchase, &s);
    if (!e)
        e = let_go_of_some(tx, pp, &s, &w, now_ms, &n);
    fault_point(&pp->env->faults, "campaign.cancel");
    if (e)
        return e;
    if (s.n == LIMIT_STATEMENT_ROWS || n < s.n)
        return walk_on(tx, pp, &w, now_ms, now_ms);
    return end_walk(tx, pp, &w, now_ms);
}

struct job_kind campaign_cancel_kind(struct payments *pp)
{
    static const struct retry_policy patient = {
        .retries = 350, .first_ms = 1000, .max_ms = PAUSE_MAX_MS, .factor = 2
    };

    return (struct job_kind){ .name = "campaign.cancel", .run = run, .ctx = pp, .retry = patient };
}
