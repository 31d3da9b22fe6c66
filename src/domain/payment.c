/* payment.c - the tables behind payment.h.
 *
 * How a gateway's report about the intent moves a payment. Rows: the payment's status. Columns: the
 * reported state, in the order of rank (E6).
 *
 *                OPEN   ACTION   DECLINED   AUTHORIZED   SUCCEEDED    CANCELED
 *   PENDING      same   stay     decline?   hold?        take?        FAILED
 *   AUTHORIZED   less   less     less       same         CAPTURED     void
 *   CAPTURED     less   less     less       less         same         less
 *   REFUNDED     less   less     less       less         returned?    undone?
 *   FAILED       less   less     same       hold?        take?        same
 *
 *   less       SUPERSEDED: the report was true once
 *   stay       stays PENDING and stores what the customer has to do, unless an attempt has failed:
 *              the provider's times are whole seconds, so a failure outranks an action in any order
 *              (E6)
 *   void       REFUNDED with nothing captured; lapsed if the authorization expired (D8, D9)
 *   decline?   FAILED if the server confirms the payment; else PENDING with its last failure (D11)
 *   hold?      AUTHORIZED; a stray if we gave the payment up or the payable accepts no money (D2,
 *              D21)
 *   take?      CAPTURED; a stray in the same cases
 *   returned?  same if the payment was captured; a stray if it was voided, as money arrived after
 *              all
 *   undone?    same if the payment was voided; SUPERSEDED if it was captured
 *
 * An AUTHORIZED payment is captured even if its booking was cancelled: an operator decides
 * (D21). */
#include "domain/payment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

static const char *const status_names[PAYMENT_STATUSES] = {
    [PAYMENT_PENDING] = "PENDING",   [PAYMENT_AUTHORIZED] = "AUTHORIZED",
    [PAYMENT_CAPTURED] = "CAPTURED", [PAYMENT_REFUNDED] = "REFUNDED",
    [PAYMENT_FAILED] = "FAILED",
};

static const char *const context_names[PAYMENT_CONTEXTS] = {
    [CONTEXT_BOOKING] = "booking",
    [CONTEXT_PURCHASE] = "purchase",
    [CONTEXT_PARTICIPANT] = "participant",
};

static const char *const refund_names[REFUND_STATUSES] = {
    [REFUND_PENDING] = "pending",     [REFUND_REQUIRES_ACTION] = "requires_action",
    [REFUND_SUCCEEDED] = "succeeded", [REFUND_FAILED] = "failed",
    [REFUND_CANCELED] = "canceled",
};

/* The name's index in the list; n: it is not in the list. */
static unsigned find_name(const char *const *names, unsigned n, struct str name)
{
    unsigned i = 0;

    while (i < n && !str_eq(name, str_of(names[i])))
        i++;
    return i;
}

const char *payment_status_name(enum payment_status s)
{
    assert(s < PAYMENT_STATUSES);
    return status_names[s];
}

bool payment_status_parse(struct str name, enum payment_status *ret_status)
{
    unsigned i = find_name(status_names, PAYMENT_STATUSES, name);

    if (i == PAYMENT_STATUSES)
        return false;
    *ret_status = (enum payment_status)i;
    return true;
}

const char *payment_context_name(enum payment_context c)
{
    assert(c < PAYMENT_CONTEXTS);
    return context_names[c];
}

bool payment_context_parse(struct str name, enum payment_context *ret_context)
{
    unsigned i = find_name(context_names, PAYMENT_CONTEXTS, name);

    if (i == PAYMENT_CONTEXTS)
        return false;
    *ret_context = (enum payment_context)i;
    return true;
}

const char *refund_status_name(enum refund_status s)
{
    assert(s < REFUND_STATUSES);
    return refund_names[s];
}

bool refund_status_parse(struct str name, enum refund_status *ret_status)
{
    unsigned i = find_name(refund_names, REFUND_STATUSES, name);

    if (i == REFUND_STATUSES)
        return false;
    *ret_status = (enum refund_status)i;
    return true;
}

/* --- requests, and the statuses of refunds; a cell left out is false --- */

bool payment_allows(enum payment_status s, enum payment_request r)
{
    static const bool table[PAYMENT_STATUSES][PAYMENT_REQUESTS] = {
        [PAYMENT_PENDING] = { [ASK_VOID] = true },
        [PAYMENT_AUTHORIZED] = { [ASK_CAPTURE] = true, [ASK_VOID] = true },
        [PAYMENT_CAPTURED] = { [ASK_REFUND] = true },
    };

    assert(s < PAYMENT_STATUSES && r < PAYMENT_REQUESTS);
    return table[s][r];
}

bool refund_moves(enum refund_status from, enum refund_status to)
{
    static const bool table[REFUND_STATUSES][REFUND_STATUSES] = {
        [REFUND_PENDING] = { [REFUND_REQUIRES_ACTION] = true,
                             [REFUND_SUCCEEDED] = true,
                             [REFUND_FAILED] = true,
                             [REFUND_CANCELED] = true },
        [REFUND_REQUIRES_ACTION] = { [REFUND_PENDING] = true,
                                     [REFUND_SUCCEEDED] = true,
                                     [REFUND_FAILED] = true,
                                     [REFUND_CANCELED] = true },
        [REFUND_SUCCEEDED] = { [REFUND_FAILED] = true },
    };

    assert(from < REFUND_STATUSES && to < REFUND_STATUSES);
    return table[from][to];
}

int64_t refund_available(struct minor captured, struct minor reserved)
{
    int64_t left = minor_change(reserved, captured);

    return left > 0 ? left : 0;
}

bool payment_sums_fit(struct money whole, struct minor captured, struct minor refunded)
{
    if (!minor_known(captured))
        return !minor_known(refunded);
    return captured.minor >= 1 && money_covers(whole, captured.minor) &&
           minor_cmp(refunded, captured) <= 0;
}

/* --- the transition --- */

enum cell {
    LESS,
    SAME,
    FAIL,
    CAPTURE,
    VOID,
    DECLINE_IF_SERVER_CONFIRMED,
    STAY_UNLESS_DECLINED,
    HOLD_IF_WANTED,
    TAKE_IF_WANTED,
    SAME_IF_CAPTURED,
    SAME_IF_VOIDED,
};

static const enum cell cells[PAYMENT_STATUSES][INTENT_STATES] = {
    [PAYMENT_PENDING] = { [INTENT_OPEN] = SAME,
                          [INTENT_ACTION] = STAY_UNLESS_DECLINED,
                          [INTENT_DECLINED] = DECLINE_IF_SERVER_CONFIRMED,
                          [INTENT_AUTHORIZED] = HOLD_IF_WANTED,
                          [INTENT_SUCCEEDED] = TAKE_IF_WANTED,
                          [INTENT_CANCELED] = FAIL },
    [PAYMENT_AUTHORIZED] = { [INTENT_OPEN] = LESS,
                             [INTENT_ACTION] = LESS,
                             [INTENT_DECLINED] = LESS,
                             [INTENT_AUTHORIZED] = SAME,
                             [INTENT_SUCCEEDED] = CAPTURE,
                             [INTENT_CANCELED] = VOID },
    [PAYMENT_CAPTURED] = { [INTENT_OPEN] = LESS,
                           [INTENT_ACTION] = LESS,
                           [INTENT_DECLINED] = LESS,
                           [INTENT_AUTHORIZED] = LESS,
                           [INTENT_SUCCEEDED] = SAME,
                           [INTENT_CANCELED] = LESS },
    [PAYMENT_REFUNDED] = { [INTENT_OPEN] = LESS,
                           [INTENT_ACTION] = LESS,
                           [INTENT_DECLINED] = LESS,
                           [INTENT_AUTHORIZED] = LESS,
                           [INTENT_SUCCEEDED] = SAME_IF_CAPTURED,
                           [INTENT_CANCELED] = SAME_IF_VOIDED },
    [PAYMENT_FAILED] = { [INTENT_OPEN] = LESS,
                         [INTENT_ACTION] = LESS,
                         [INTENT_DECLINED] = SAME,
                         [INTENT_AUTHORIZED] = HOLD_IF_WANTED,
                         [INTENT_SUCCEEDED] = TAKE_IF_WANTED,
                         [INTENT_CANCELED] = SAME },
};

/* A payment that is captured at once must bring its whole amount, since it then counts as paid. */
static bool is_other_sum(const struct payment_view *p, const struct fact *f)
{
    return p->server_confirmed ? f->received == 0 : f->received != p->money.minor;
}

/* Another currency, more money than was requested, a success without money, or one with less than
 * the whole where no partial capture is possible (D10). */
static bool is_mismatch(const struct payment_view *p, const struct fact *f)
{
    if (f->state == INTENT_CANCELED && !f->received)
        return false; /* canceled without money: nothing can be wrong with the amount */
    if (f->currency[0] && strncmp(f->currency, p->money.currency, sizeof(f->currency)) != 0)
        return true;
    if (!money_covers(p->money, f->amount) || !money_covers(p->money, f->received))
        return true;
    return f->state == INTENT_SUCCEEDED && is_other_sum(p, f);
}

bool cancel_is_lapse(struct str cancel_reason)
{
    return str_eq(cancel_reason, S("expired")) || str_eq(cancel_reason, S("automatic"));
}

static bool is_wanted(const struct payment_view *p)
{
    return !p->given_up && p->subject_open;
}

static struct move payment_keep(const struct payment_view *p, enum verdict v)
{
    return (struct move){ .verdict = v, .to = p->status, .captured = p->captured };
}

static struct move payment_apply(const struct payment_view *p, enum payment_status to)
{
    return (struct move){ .verdict = VERDICT_APPLY, .to = to, .captured = p->captured };
}

/* is_mismatch() has checked the amount (D10). */
static struct move apply_capture(const struct payment_view *p, const struct fact *f)
{
    assert(f->received > 0 && money_covers(p->money, f->received));
    return (struct move){ VERDICT_APPLY, PAYMENT_CAPTURED, { f->received }, false, false };
}

static struct move apply_void(const struct fact *f)
{
    return (struct move){ VERDICT_APPLY, PAYMENT_REFUNDED, MINOR_NONE, true,
                          cancel_is_lapse(f->cancel_reason) };
}

static struct move payment_decide_cell(enum cell c, const struct payment_view *p,
                                       const struct fact *f)
{
    switch (c) {
    case LESS: return payment_keep(p, VERDICT_SUPERSEDED);
    case SAME: return payment_keep(p, VERDICT_SAME);
    case FAIL: return payment_apply(p, PAYMENT_FAILED);
    case CAPTURE: return apply_capture(p, f);
    case VOID: return apply_void(f);
    case DECLINE_IF_SERVER_CONFIRMED:
        return payment_apply(p, p->server_confirmed ? PAYMENT_FAILED : PAYMENT_PENDING);
    case STAY_UNLESS_DECLINED:
        return p->declined ? payment_keep(p, VERDICT_SUPERSEDED)
                           : payment_apply(p, PAYMENT_PENDING);
    case HOLD_IF_WANTED:
        return is_wanted(p) ? payment_apply(p, PAYMENT_AUTHORIZED)
                            : payment_keep(p, VERDICT_STRAY_AUTHORIZED);
    case TAKE_IF_WANTED:
        return is_wanted(p) ? apply_capture(p, f) : payment_keep(p, VERDICT_STRAY_SUCCEEDED);
    case SAME_IF_CAPTURED:
        return payment_keep(p, minor_known(p->captured) ? VERDICT_SAME : VERDICT_STRAY_SUCCEEDED);
    case SAME_IF_VOIDED:
        return payment_keep(p, minor_known(p->captured) ? VERDICT_SUPERSEDED : VERDICT_SAME);
    }
    abort();
}

struct move payment_move(const struct payment_view *p, const struct fact *f)
{
    assert(f->kind == FACT_INTENT && f->state < INTENT_STATES && p->status < PAYMENT_STATUSES);
    if (is_mismatch(p, f))
        return payment_keep(p, VERDICT_MISMATCH);
    return payment_decide_cell(cells[p->status][f->state], p, f);
}
