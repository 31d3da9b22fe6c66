#include "domain/bank_match.h"

#include <assert.h>

static const char *const state_names[TRANSFER_STATES] = {
    [TRANSFER_OPEN] = "open",
    [TRANSFER_RECEIVED] = "received",
    [TRANSFER_RETURNING] = "returning",
    [TRANSFER_CANCELED] = "canceled",
};

static const char *const match_names[BANK_MATCHES] = {
    [BANK_TAKE] = "matched",
    [BANK_EXPLAIN] = "confirmed_by_hand",
    [BANK_NO_REFERENCE] = "no_reference",
    [BANK_UNKNOWN_REFERENCE] = "unknown_reference",
    [BANK_SEVERAL_REFERENCES] = "several_references",
    [BANK_OTHER_CURRENCY] = "other_currency",
    [BANK_TOO_LITTLE] = "too_little",
    [BANK_TOO_MUCH] = "too_much",
    [BANK_ALREADY_PAID] = "already_paid",
    [BANK_PAYMENT_ENDED] = "payment_ended",
};

const char *transfer_state_name(enum transfer_state s)
{
    assert(s < TRANSFER_STATES);
    return state_names[s];
}

bool transfer_state_parse(struct str name, enum transfer_state *ret_state)
{
    for (int i = 0; i < TRANSFER_STATES; i++)
        if (str_eq(name, str_of(state_names[i]))) {
            *ret_state = (enum transfer_state)i;
            return true;
        }
    return false;
}

const char *bank_match_name(enum bank_match m)
{
    assert(m < BANK_MATCHES);
    return match_names[m];
}

static enum bank_match by_amount(const struct bank_view *v, enum bank_match exact)
{
    if (v->line_amount == v->expected)
        return exact;
    return v->line_amount < v->expected ? BANK_TOO_LITTLE : BANK_TOO_MUCH;
}

enum bank_match bank_match(const struct bank_view *v)
{
    if (!v->references)
        return v->has_digits ? BANK_UNKNOWN_REFERENCE : BANK_NO_REFERENCE;
    if (v->references > 1)
        return BANK_SEVERAL_REFERENCES;
    if (!v->same_currency)
        return BANK_OTHER_CURRENCY;
    switch (v->state) {
    case TRANSFER_OPEN: return by_amount(v, BANK_TAKE);
    case TRANSFER_CANCELED: return BANK_PAYMENT_ENDED;
    case TRANSFER_RECEIVED:
    case TRANSFER_RETURNING:
        return v->has_line || v->line_amount != v->expected ? BANK_ALREADY_PAID : BANK_EXPLAIN;
    case TRANSFER_STATES: break;
    }
    return BANK_NO_REFERENCE;
}
