/* transfer.h - money received by bank transfer (G4), entered by an operator or read from a
 * statement.
 *
 *   (1) It moves a payment only by take_intent(), under the payment's lock, in one commit with the
 *       transfer, the statement line and the audit line with the operator's name.
 *   (2) What was done before is reported, not repeated: a line is taken once, a transfer's money
 *       comes once, a return is sent once.
 *   (3) Only the exact amount is taken automatically. An operator assigns the rest, sets it aside
 *       or sends it back.
 *   (4) Money is never lost: what a payment cannot take is a return that stays due until an
 *       operator confirms that it was sent.
 *
 * PostgreSQL: a line is locked before its payment, a payment before its transfer and its return. */
#pragma once

#include "base/err.h"
#include "gateway/transfer_row.h"
#include "payment/payments.h"

struct tx;

enum line_state {
    LINE_OPEN,     /* an operator has to decide */
    LINE_MATCHED,  /* by reference and amount */
    LINE_ASSIGNED, /* by an operator */
    LINE_SET_ASIDE,
    LINE_TO_RETURN,
    LINE_RETURNED,
    LINE_STATES
};

const char *line_state_name(enum line_state s); /* "open" ... */
bool line_state_parse(struct str name, enum line_state *ret_state);

struct statement_line { /* a row of bank_lines; texts live until the unit's run ends */
    struct uuid id, import_id;
    int64_t line;
    struct money money;
    struct str booked_on, text, bank_id, payer, reason, note; /* all but the first may be empty */
    bool has_balance, has_payment;
    int64_t balance;
    enum line_state state;
    struct uuid payment_id;
    int64_t decided_ms, created_ms; /* decided_ms 0: not decided */
};

/* Takes the columns of line_get. False: the row is invalid. */
bool statement_line_of_row(const struct row *row, struct statement_line *ret_line);

/* The user who acts, and why the act was rejected. */
struct transfer_act {
    struct payments *payments;
    struct arena *arena;
    struct uuid user;

    const char *why_en, *why_ja; /* out: why the act was rejected; else NULL */
};

/* --- acts of an operator; each returns the new state as JSON --- */

struct transfer_word { /* entered by an operator */
    struct uuid payment;
    int64_t amount, days; /* days: since 1970, the day the bank received it */
    struct str note;      /* may be empty */
};
/* The transfer's money was received. NOT_FOUND: the payment has no transfer. */
enum err transfer_confirm(struct tx *tx, struct transfer_act *a, const struct transfer_word *w,
                          struct str *ret_json);

struct line_order {
    struct uuid line;
    bool has_payment; /* assign: the payment by id; else by its reference */
    struct uuid payment;
    struct str reference, note;
    bool to_return; /* set aside: the money is to be sent back */
};
/* Assigns the line's money to that payment. If it has its money already, or has ended, the money is
 * to be sent back. */
enum err line_assign(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                     struct str *ret_json);
/* The line belongs to no payment. note: why. */
enum err line_set_aside(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                        struct str *ret_json);

struct return_word {
    struct uuid id; /* of the refund, or of the line */
    int64_t days;
    struct str note; /* may be empty */
};
/* The money was sent back. */
enum err return_paid(struct tx *tx, struct transfer_act *a, const struct return_word *w,
                     struct str *ret_json);

/* --- what an import does with a line --- */

/* Takes money for a transfer; if the payment has ended, the money is to be sent back. `line` is
 * NULL when an operator entered it. *ret_state: the transfer's new state. UNPROCESSABLE, UNCERTAIN
 * with a->why_en set: rejected, nothing was written. */
enum err transfer_take(struct tx *tx, struct transfer_act *a, struct uuid payment,
                       struct str booked_on, const struct uuid *line, struct str detail,
                       enum transfer_state *ret_state);
/* Links the statement line to money that an operator had confirmed. */
enum err transfer_explain(struct tx *tx, struct transfer_act *a, struct uuid payment,
                          struct uuid line, struct str detail);
enum err line_decide(struct tx *tx, const struct transfer_act *a, struct uuid line,
                     enum line_state from, enum line_state to, struct str reason,
                     const struct uuid *payment, struct str note);

/* Decides which transfer a line is for, and whether it pays it. *ret_payment is set if there is
 * exactly one. */
struct line_view {
    struct str text;
    int64_t amount;
    const char *currency;
};
enum err line_match(struct tx *tx, const struct line_view *l, enum bank_match *ret_match,
                    struct uuid *ret_payment);
