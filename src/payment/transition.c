/* transition.c - a fact becomes the payment's new state.
 *
 *   fact --domain/payment_move--> APPLY ------> payments, payment_transactions, domain_events,
 *                            |                  what follows (confirm, abandon, lapse, cancel)
 *                            |--> SAME -------> payment_transactions only
 *                            |--> SUPERSEDED -> nothing: the payment is past this state
 *                            |--> STRAY ------> payment_transactions, and the money goes back (D2)
 *                            '--> MISMATCH ---> nothing: the caller rejects it (D10)
 *
 *   (1) The caller holds the payment's lock. All writes are in the caller's transaction, which may
 *       be run again; a crash before its commit leaves nothing.
 *   (2) Money is captured once. What was captured is refunded and never FAILED.
 *   (3) The pure rule is domain/payment.c; this file only stores what it decides. */
#include "payment/transition.h"

#include "base/buf.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "base/text.h"
#include "observe/metrics.h"
#include "payment/emit.h"
#include "payment/follow.h"
#include "payment/payable.h"
#include "store/tx_log.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ACTION_MAX = 8 * 1024 + LIMIT_BANK_DETAILS };

/* --- the gateway's row --- */

static struct str transaction_status(enum intent_state s)
{
    static const struct str names[INTENT_STATES] = {
        [INTENT_OPEN] = { "pending", 7 },        [INTENT_ACTION] = { "pending", 7 },
        [INTENT_DECLINED] = { "failed", 6 },     [INTENT_AUTHORIZED] = { "authorized", 10 },
        [INTENT_SUCCEEDED] = { "succeeded", 9 }, [INTENT_CANCELED] = { "canceled", 8 },
    };

    return names[s];
}

static enum err transaction_store_state(struct tx *tx, const struct taking *t,
                                        const struct payment *p, const struct fact *f)
{
    static const enum intent_state stamps[] = { INTENT_AUTHORIZED, INTENT_SUCCEEDED,
                                                INTENT_DECLINED, INTENT_CANCELED };
    struct uuid id = env_uuid(tx_env(tx));
    bool failed = f->state == INTENT_DECLINED || f->state == INTENT_CANCELED;
    struct val at[COUNT(stamps)];

    for (size_t i = 0; i < COUNT(stamps); i++)
        at[i] = f->state == stamps[i] ? V_INT(t->now_ms) : V_NULL;
    return TX_DO(tx, STMT_transaction_state, -1, v_uuid(&id), v_uuid(&p->id), V_TEXT(p->gateway),
                 V_TEXT(f->intent_id), V_MONEY(p->money), V_TEXT(transaction_status(f->state)),
                 f->received > 0 ? V_INT(f->received) : V_NULL, v_text(f->charge_id),
                 failed ? v_text(f->decline_code.n ? f->decline_code : f->failure_code) : V_NULL,
                 failed ? v_text(f->failure_message) : V_NULL, v_text(f->cancel_reason),
                 v_text(t->event_id), t->event_id.n ? V_INT(t->now_ms) : V_NULL, at[0], at[1],
                 at[2], at[3], V_INT(t->now_ms), v_text(f->konbini_number),
                 v_text(f->konbini_store),
                 f->action_expires_ms ? V_INT(f->action_expires_ms) : V_NULL);
}

/* The event that describes a konbini slip may come after the slip's money: it is stored (E7). */
static enum err transaction_store_konbini(struct tx *tx, const struct taking *t,
                                          const struct fact *f)
{
    if (!f->konbini_number.n && !f->konbini_store.n)
        return OK;
    return TX_DO(tx, STMT_transaction_konbini, -1, v_text(f->konbini_number),
                 v_text(f->konbini_store),
                 f->action_expires_ms ? V_INT(f->action_expires_ms) : V_NULL, V_INT(t->now_ms),
                 V_TEXT(f->intent_id));
}

/* --- what the customer has to do --- */

static struct str transition_action_json(struct arena *a, const struct fact *f)
{
    struct buf b;

    buf_init(&b, ACTION_MAX);
    buf_char(&b, '{');
    out_text(&b, "type", f->action_type.n ? f->action_type : S("confirm"));
    if (f->action_url.n)
        out_text(&b, "url", f->action_url);
    if (f->client_secret.n)
        out_text(&b, "clientSecret", f->client_secret);
    if (f->action_expires_ms)
        out_time(&b, "expiresAt", f->action_expires_ms);
    if (f->action_details.n)
        out_json(&b, "details", f->action_details);
    buf_char(&b, '}');
    return out_done(&b, a);
}

struct str failure_text(struct arena *a, struct str decline_code, struct str code,
                        struct str message)
{
    struct str first = decline_code.n ? decline_code : code, copy = { 0 };
    struct buf b;

    buf_init(&b, 8 * 1024);
    buf_add(&b, first.n ? first : S("declined"));
    if (message.n) {
        buf_add(&b, S(": "));
        buf_add(&b, message);
    }
    if (!b.failed)
        copy = arena_str(a, cut_utf8(buf_str(&b), FAILURE_MAX));
    buf_release(&b);
    return copy;
}

/* --- applying --- */

static bool fact_brings_money(const struct fact *f)
{
    return f->state == INTENT_AUTHORIZED || f->state == INTENT_SUCCEEDED;
}

static void transition_keep_intent(struct payment *p, const struct fact *f)
{
    if (f->intent_id.n && (!is_paid_on_page(p) || fact_brings_money(f)))
        p->gateway_transaction_id = f->intent_id;
    if (f->capture_before_ms)
        p->capture_before_ms = f->capture_before_ms;
}

/* Stores what the customer has to do. The first time, also plans the cancel of a payment that stays
 * unfinished for too long. */
static enum err transition_wait_for_customer(struct tx *tx, const struct taking *t,
                                             struct payment *p, const struct fact *f)
{
    bool planned = p->action.n > 0;
    int64_t due_ms = CLOCK_NEVER;
    enum err e;

    if (is_paid_on_page(p)) /* the page shows it, and its session ends by itself */
        return OK;
    if (f->action_type.n || f->client_secret.n) /* otherwise the intent is processing */
        p->action = transition_action_json(t->arena, f);
    if (planned)
        return OK;
    e = follow_poll(tx, t, p, f);
    if (!e)
        e = subject_of(t->payments, p)->ends(tx, t, p, f, &due_ms);
    return e || due_ms == CLOCK_NEVER ? e : follow_abandon(tx, t->payments, p, t->now_ms, due_ms);
}

static enum err enter_pending(struct tx *tx, const struct taking *t, struct payment *p,
                              const struct fact *f)
{
    if (f->state == INTENT_DECLINED) /* the customer confirms and may try another card (D11) */
        p->failure_reason =
            failure_text(t->arena, f->decline_code, f->failure_code, f->failure_message);
    return transition_wait_for_customer(tx, t, p, f);
}

static enum err enter_authorized(struct tx *tx, const struct taking *t, struct payment *p)
{
    p->failure_reason = (struct str){ 0 };
    p->action = (struct str){ 0 };
    p->place_held = false;
    return p->capture_before_ms ? follow_lapse(tx, t->payments, p, t->now_ms) : OK;
}

static enum err enter_captured(struct tx *tx, struct payment *p, const struct move *m)
{
    struct refund_sums sums;
    int back;
    enum err e = refund_sums(tx, p->id, &sums);

    assert(!minor_known(p->captured)); /* invariant (2) */
    if (e)
        return e;
    p->captured = m->captured;
    p->failure_reason = (struct str){ 0 };
    p->action = (struct str){ 0 };
    p->place_held = false;
    back = minor_cmp(sums.succeeded, p->captured);
    if (back <= 0) { /* counts the refunds that were reported before the capture */
        p->refunded = minor_or_none(sums.succeeded);
        p->status = back ? PAYMENT_CAPTURED : PAYMENT_REFUNDED;
    }
    return OK;
}

/* A declined intent can still be paid at the gateway. It is cancelled, and until the cancel is
 * confirmed the payment keeps its subject's place (D1, D11). */
static enum err enter_failed(struct tx *tx, const struct taking *t, struct payment *p,
                             const struct fact *f)
{
    bool dead = f->state == INTENT_CANCELED || t->intent_is_dead;

    if (f->state == INTENT_CANCELED && !f->decline_code.n && !f->failure_code.n)
        p->failure_reason = f->cancel_reason.n ? f->cancel_reason : S("canceled");
    else
        p->failure_reason =
            failure_text(t->arena, f->decline_code, f->failure_code, f->failure_message);
    p->given_up = true;
    p->action = (struct str){ 0 };
    p->place_held = !dead;
    return dead ? OK : operation_start_own(tx, t->payments, p, OP_VOID, 0, S("declined"));
}

static enum err transition_enter(struct tx *tx, const struct taking *t, struct payment *p,
                                 const struct fact *f, const struct move *m)
{
    switch (m->to) {
    case PAYMENT_PENDING: return enter_pending(tx, t, p, f);
    case PAYMENT_AUTHORIZED: return enter_authorized(tx, t, p);
    case PAYMENT_CAPTURED: return enter_captured(tx, p, m);
    case PAYMENT_FAILED: return enter_failed(tx, t, p, f);
    case PAYMENT_REFUNDED:
        p->failure_reason = m->lapsed ? S("authorization_expired") : (struct str){ 0 };
        p->given_up = false;
        return OK;
    case PAYMENT_STATUSES: break;
    }
    return ERR_INTERNAL;
}

/* Counted after the commit, so once, however often the transaction is run (O2). */
static void count_amount(struct tx *tx, const struct payment *p, const struct move *m)
{
    bool captured = m->to == PAYMENT_CAPTURED;

    if (captured || m->to == PAYMENT_AUTHORIZED)
        tx_after_commit(tx, metrics_add,
                        metrics_amount_cell(tx_env(tx)->metrics, p->money.currency,
                                            captured ? AMOUNT_CAPTURED : AMOUNT_AUTHORIZED),
                        captured ? p->captured.minor : p->money.minor);
}

static enum err transition_apply(struct tx *tx, const struct taking *t, struct payment *p,
                                 const struct fact *f, const struct move *m)
{
    enum payment_status from = p->status;
    enum err e;

    transition_keep_intent(p, f);
    p->status = m->to;
    e = transition_enter(tx, t, p, f, m);
    if (!e)
        e = payment_store(tx, p, t->now_ms);
    if (e)
        return e;
    if (from != m->to) {
        count_amount(tx, p, m);
        e = tell_move(tx, t, p, m);
        if (e)
            return e;
    }
    if (m->to == PAYMENT_CAPTURED) {
        e = take_receipt(tx, t, p);
        if (e)
            return e;
    }
    return subject_of(t->payments, p)->moved(tx, t, p, f);
}

static enum err transition_apply_and_check(struct tx *tx, const struct taking *t, struct payment *p,
                                           const struct fact *f, const struct move *m,
                                           bool subject_open)
{
    enum err e = transaction_store_state(tx, t, p, f);

    if (!e)
        e = transition_apply(tx, t, p, f, m);
    if (e || subject_open || p->status != PAYMENT_CAPTURED ||
        !subject_of(t->payments, p)->captured_late)
        return e;
    return subject_of(t->payments, p)->captured_late(tx, t, p);
}

/* --- money that cannot be kept goes back (D2) --- */

/* Starts our own void or refund, with a log line and an audit line. *ret_started false: it was
 * started before. intent_id empty: the payment's own intent. */
static enum err start_money_return(struct tx *tx, const struct taking *t, const struct payment *p,
                                   const struct fact *f, struct str intent_id, struct str cause,
                                   const char *line, struct str detail, bool *ret_started)
{
    bool captured = f->state == INTENT_SUCCEEDED;
    enum op_kind kind = captured ? OP_REFUND : OP_VOID;
    int64_t amount = captured ? f->received : 0;
    char id[UUID_TEXT + 1];
    struct row row;
    enum err e = TX_ROW(tx, STMT_operation_own_find, &row, v_uuid(&p->id),
                        V_TEXT(str_of(op_name(kind))), V_TEXT(cause));

    *ret_started = e == ERR_NOT_FOUND;
    if (!*ret_started)
        return e;
    uuid_text(p->id, id);
    LOG_AFTER_COMMIT(tx, LOG_ERROR, line, LOG_TEXT("paymentId", str_of(id)),
                     LOG_NUM("amount", f->amount), LOG_TRACE(t->trace));
    e = operation_start_on(tx, t->payments, p, intent_id, kind, amount, cause);
    return e ? e
             : audit_money(tx, op_keyword(kind), p, amount, true, detail, NULL, NULL, t->now_ms);
}

static enum err transition_return_money(struct tx *tx, const struct taking *t, struct payment *p,
                                        const struct fact *f)
{
    bool started, captured = f->state == INTENT_SUCCEEDED;
    enum err e = start_money_return(
        tx, t, p, f, S(""), S("stray"), "Money landed where it cannot be taken; it goes back",
        S("money landed where it cannot be taken; it goes back"), &started);

    if (e || !started)
        return e;
    transition_keep_intent(p, f);
    p->place_held = p->place_held && !captured; /* a captured intent cannot be paid again */
    if (captured && p->status == PAYMENT_PENDING)
        e = payment_fail(tx, t, p, S("refunded_automatically"));
    else
        e = payment_store(tx, p, t->now_ms);
    return e || !subject_of(t->payments, p)->given_back
               ? e
               : subject_of(t->payments, p)->given_back(tx, t, p, f);
}

enum err take_other_intent(struct tx *tx, const struct taking *t, const struct payment *p,
                           const struct fact *f)
{
    return transaction_store_state(tx, t, p, f);
}

enum err give_back_other(struct tx *tx, const struct taking *t, const struct payment *p,
                         const struct fact *f)
{
    char cause[LIMIT_GATEWAY_ID + 8];
    bool started;
    enum err e = transaction_store_state(tx, t, p, f);

    if (e || !fact_brings_money(f))
        return e;
    snprintf(cause, sizeof(cause), "stray:%.*s", (int)f->intent_id.n, f->intent_id.p);
    e = start_money_return(tx, t, p, f, f->intent_id, str_of(cause),
                           "Money on a second intent of a payment; it goes back",
                           S("money on a second intent of this payment; it goes back"), &started);
    if (e || !started)
        return e;
    tx_after_commit(
        tx, metrics_add,
        metrics_cell(tx_env(tx)->metrics, COUNT_VIOLATION, AT(VIOLATION_SECOND_PAYMENT)), 1);
    return subject_of(t->payments, p)->given_back
               ? subject_of(t->payments, p)->given_back(tx, t, p, f)
               : OK;
}

/* --- applying a fact about an intent --- */

/* "Authorized" arrives after "canceled", which ended the intent. In the right order this would have
 * been a void, so the payment becomes REFUNDED (E7). If a try of the intent had failed, it stays
 * FAILED. */
static enum err transition_recall_canceled(struct tx *tx, const struct payment *p,
                                           const struct fact *f, bool subject_open, struct move *m)
{
    struct row row;
    enum err e;

    if (p->status != PAYMENT_FAILED || f->state != INTENT_AUTHORIZED)
        return OK;
    e = TX_ROW(tx, STMT_transaction_canceled, &row, V_TEXT(f->intent_id));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (row.col[0].i && subject_open && str_eq(p->failure_reason, row.col[1].s))
        *m = (struct move){ .verdict = VERDICT_APPLY,
                            .to = PAYMENT_REFUNDED,
                            .captured = MINOR_NONE,
                            .voided = true,
                            .lapsed = cancel_is_lapse(p->failure_reason) };
    else
        m->verdict = VERDICT_SUPERSEDED;
    return OK;
}

/* Whether the subject still takes money is read only when the fact is about to bring money. */
static enum err transition_subject_open(struct tx *tx, const struct taking *t,
                                        const struct payment *p, const struct fact *f,
                                        bool *ret_open)
{
    *ret_open = true;
    if (minor_known(p->captured) || !fact_brings_money(f))
        return OK;
    return subject_of(t->payments, p)->is_open(tx, p, ret_open);
}

/* The cancel of an intent whose payment is FAILED already: the place is free again (D1). */
static enum err transition_free_place(struct tx *tx, const struct taking *t, struct payment *p,
                                      const struct fact *f)
{
    if (!p->place_held || f->state != INTENT_CANCELED)
        return OK;
    p->place_held = false;
    return payment_store(tx, p, t->now_ms);
}

/* A try on the gateway's page that ended unpaid with its session. The payment stays PENDING for its
 * next session (D18). */
static bool is_lost_try(const struct payment *p, const struct fact *f)
{
    return is_paid_on_page(p) && p->status == PAYMENT_PENDING && !p->gateway_transaction_id.n &&
           f->state == INTENT_CANCELED;
}

enum err take_intent(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict)
{
    struct payment_view view = {
        .status = p->status,
        .money = p->money,
        .captured = p->captured,
        .given_up = p->given_up,
        .server_confirmed = p->context == CONTEXT_BOOKING,
        .declined = p->status == PAYMENT_PENDING && p->failure_reason.n,
    };
    struct move m;
    enum err e = transition_subject_open(tx, t, p, f, &view.subject_open);

    *ret_verdict = VERDICT_SAME;
    if (e)
        return e;
    if (is_of_other_intent(p, f)) /* another intent has paid since the gateway was queried */
        return give_back_other(tx, t, p, f);
    if (is_lost_try(p, f))
        return transaction_store_state(tx, t, p, f);
    m = payment_move(&view, f);
    e = transition_recall_canceled(tx, p, f, view.subject_open, &m);
    if (e)
        return e;
    *ret_verdict = m.verdict;
    switch (m.verdict) {
    case VERDICT_APPLY: return transition_apply_and_check(tx, t, p, f, &m, view.subject_open);
    case VERDICT_SAME:
        e = transaction_store_state(tx, t, p, f);
        return e ? e : transition_free_place(tx, t, p, f);
    case VERDICT_STRAY_AUTHORIZED:
    case VERDICT_STRAY_SUCCEEDED:
        e = transaction_store_state(tx, t, p, f);
        return e ? e : transition_return_money(tx, t, p, f);
    case VERDICT_SUPERSEDED: return transaction_store_konbini(tx, t, f);
    case VERDICT_MISMATCH: return OK;
    }
    return ERR_INTERNAL;
}

enum err take_open(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f)
{
    enum err e;

    transition_keep_intent(p, f);
    e = transition_wait_for_customer(tx, t, p, f); /* plans the poll and the cancel */
    return e ? e : payment_store(tx, p, t->now_ms);
}

enum err payment_fail(struct tx *tx, const struct taking *t, struct payment *p, struct str reason)
{
    static const struct move failed = { .verdict = VERDICT_APPLY,
                                        .to = PAYMENT_FAILED,
                                        .captured = MINOR_NONE };
    enum err e;

    assert(!minor_known(p->captured)); /* invariant (2) */
    p->status = PAYMENT_FAILED;
    p->failure_reason = cut_utf8(reason, FAILURE_MAX);
    p->given_up = true;
    p->action = (struct str){ 0 };
    e = payment_store(tx, p, t->now_ms);
    if (!e)
        e = tell_move(tx, t, p, &failed);
    return e ? e : subject_of(t->payments, p)->moved(tx, t, p, NULL);
}
