/* bank_match.h - decides whether a line of a bank's statement pays a transfer (G4). Reference and
 * amount must match exactly; otherwise the line is left for an operator, with the reason. Nothing
 * is matched by name or amount alone. */
#pragma once

#include "base/str.h"

enum transfer_state {
    TRANSFER_OPEN,      /* waits for its money */
    TRANSFER_RECEIVED,  /* the money arrived, and the payment was captured */
    TRANSFER_RETURNING, /* the money arrived too late: it must be sent back */
    TRANSFER_CANCELED,
    TRANSFER_STATES
};

const char *transfer_state_name(enum transfer_state s); /* "open" ... */
bool transfer_state_parse(struct str name, enum transfer_state *ret_state);

enum bank_match {
    BANK_TAKE,    /* the money that the transfer waits for */
    BANK_EXPLAIN, /* the bank's record of a transfer that an operator confirmed by hand */
    /* left for an operator: */
    BANK_NO_REFERENCE,
    BANK_UNKNOWN_REFERENCE,
    BANK_SEVERAL_REFERENCES,
    BANK_OTHER_CURRENCY,
    BANK_TOO_LITTLE,
    BANK_TOO_MUCH,
    BANK_ALREADY_PAID,
    BANK_PAYMENT_ENDED, /* cancelled or expired: the money came too late */
    BANK_MATCHES
};

const char *bank_match_name(enum bank_match m); /* "too_little" ... */

struct bank_view {
    bool has_digits;   /* the text has digits that may be meant as a reference */
    size_t references; /* how many known references are in the text */
    /* the transfer, if there is exactly one */
    enum transfer_state state;
    bool has_line; /* another line has paid the transfer */
    bool same_currency;
    int64_t line_amount, expected;
};

enum bank_match bank_match(const struct bank_view *v);
