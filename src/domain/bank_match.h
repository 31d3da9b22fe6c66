/* bank_match.h - whether a line of a bank's statement pays a transfer (G4): by reference and exact
 * amount, or it is left for a person, with the reason. Nothing is matched by name or amount alone.
 */
#pragma once

#include "base/str.h"

enum transfer_state {
    TRANSFER_OPEN,      /* waits for its money */
    TRANSFER_RECEIVED,  /* it came, and its payment took it */
    TRANSFER_RETURNING, /* it came when nobody wanted it any more: it goes back */
    TRANSFER_CANCELED,
    TRANSFER_STATES
};

const char *transfer_state_name(enum transfer_state s); /* "open" ... */
bool transfer_state_parse(struct str name, enum transfer_state *ret_state);

enum bank_match {
    BANK_TAKE,    /* it is the money that the transfer waits for */
    BANK_EXPLAIN, /* an operator confirmed the transfer by hand, and this is the bank's word of it
                   */
    /* left for a person */
    BANK_NO_REFERENCE,
    BANK_UNKNOWN_REFERENCE,
    BANK_SEVERAL_REFERENCES,
    BANK_OTHER_CURRENCY,
    BANK_TOO_LITTLE,
    BANK_TOO_MUCH,
    BANK_ALREADY_PAID,
    BANK_PAYMENT_ENDED, /* cancelled or expired: its money came too late */
    BANK_MATCHES
};

const char *bank_match_name(enum bank_match m); /* "too_little" ...: why it is left */

struct bank_view {
    bool has_digits;   /* something that could have been meant for a reference */
    size_t references; /* known ones in its text */
    /* the transfer, where there is one */
    enum transfer_state state;
    bool has_line; /* another line brought its money */
    bool same_currency;
    int64_t line_amount, expected;
};

enum bank_match bank_match(const struct bank_view *v);
