#include "domain/ledger_compare.h"

#include <string.h>

static const char *const names[DIFFERENCES] = {
    [DIFF_MISSING_HERE] = "missing_here",
    [DIFF_MISSING_THERE] = "missing_there",
    [DIFF_STRAY] = "stray",
    [DIFF_CURRENCY] = "currency",
    [DIFF_AMOUNT] = "amount",
    [DIFF_STATUS] = "status",
    [DIFF_CAPTURED] = "captured",
    [DIFF_REFUNDED] = "refunded",
    [DIFF_FEE] = "fee",
    [DIFF_NOT_ASKED] = "not_asked",
};

const char *difference_name(enum difference d)
{
    return names[d];
}

static unsigned difference_bit(enum difference d, bool is_so)
{
    return is_so ? 1U << d : 0;
}

/* The money could not be accepted and was refunded as a whole (D2). */
static bool went_back(const struct books_theirs *t)
{
    return t->state == INTENT_SUCCEEDED && t->refunded.minor >= t->received.minor;
}

static bool has_money(const struct books_theirs *t)
{
    return t->state == INTENT_AUTHORIZED || t->state == INTENT_SUCCEEDED;
}

/* Whether the provider's state corresponds to our status (D7). */
static bool status_fits(const struct books_ours *o, const struct books_theirs *t)
{
    bool is_void =
        o->status == PAYMENT_FAILED || (o->status == PAYMENT_REFUNDED && !minor_known(o->captured));

    switch (t->state) {
    case INTENT_OPEN:
    case INTENT_ACTION:
    case INTENT_DECLINED: return o->status == PAYMENT_PENDING;
    case INTENT_AUTHORIZED: return o->status == PAYMENT_AUTHORIZED;
    case INTENT_SUCCEEDED: return minor_known(o->captured) || (is_void && went_back(t));
    case INTENT_CANCELED: return is_void;
    case INTENT_STATES: break;
    }
    return false;
}

/* A payment code that expired unpaid: the provider's entry has no money and no currency. */
static bool is_moneyless(const struct books_theirs *t)
{
    return !t->currency[0] && !has_money(t);
}

static bool fits_moneyless(const struct books_ours *o)
{
    return o->status == PAYMENT_PENDING || o->status == PAYMENT_FAILED;
}

static unsigned compare_money(const struct books_ours *o, const struct books_theirs *t)
{
    int64_t received = t->state == INTENT_SUCCEEDED ? t->received.minor : 0;
    bool taken = minor_known(o->captured), kept = taken || !went_back(t);

    return difference_bit(DIFF_AMOUNT, o->money.minor != t->amount.minor) |
           difference_bit(DIFF_STATUS, !status_fits(o, t)) |
           difference_bit(DIFF_CAPTURED, kept && minor_or_0(o->captured) != received) |
           difference_bit(DIFF_REFUNDED, taken && minor_known(t->refunded) &&
                                             (minor_cmp(t->refunded, o->refunds_done) < 0 ||
                                              minor_cmp(t->refunded, o->refunds_all) > 0)) |
           difference_bit(DIFF_FEE, taken && minor_known(t->fee) && t->fee.minor != o->fee.minor);
}

unsigned books_compare(const struct books_ours *ours, const struct books_theirs *theirs)
{
    if (!ours->known)
        return difference_bit(DIFF_MISSING_HERE, theirs->known);
    if (!theirs->known)
        return difference_bit(DIFF_MISSING_THERE,
                              !ours->other_intent && ours->status != PAYMENT_FAILED);
    if (ours->other_intent)
        return difference_bit(DIFF_STRAY, has_money(theirs) && !went_back(theirs));
    if (is_moneyless(theirs))
        return difference_bit(DIFF_STATUS, !fits_moneyless(ours));
    if (strncmp(ours->money.currency, theirs->currency, sizeof(theirs->currency)) != 0)
        return difference_bit(DIFF_CURRENCY, true);
    return compare_money(ours, theirs);
}
