/* transfer.h - money that came by a bank (G4), as an operator or a bank's statement tells it.
 *
 *   (1) It moves a payment by take_intent() alone, under the payment's lock, in one commit with the
 *       transfer, the line that brought it and the audit line that says who did it.
 *   (2) What was done before is said and not done again: a line is taken once, a transfer's money
 *       comes once, a return is sent once.
 *   (3) Only the exact amount is taken. The rest is a person's: assigned, set aside or sent back.
 *   (4) Money is never lost: what a payment cannot take is a return that is due until somebody says
 *       that it was sent.
 *
 * PostgreSQL: a line is locked before its payment, a payment before its transfer and its return. */
#pragma once

#include "base/err.h"
#include "gateway/transfer_row.h"
#include "payment/payments.h"

struct tx;

enum line_state {
    LINE_OPEN,     /* for a person to decide */
    LINE_MATCHED,  /* by reference and amount */
    LINE_ASSIGNED, /* by a person */
    LINE_SET_ASIDE,
    LINE_TO_RETURN,
    LINE_RETURNED,
    LINE_STATES
};

const char *line_state_name(enum line_state s); /* "open" ... */
bool line_state_parse(struct str name, enum line_state *ret_state);

struct statement_line { /* a row of bank_lines; texts live as long as the unit */
    struct uuid id, import_id;
    int64_t line;
    struct money money;
    struct str booked_on, text, bank_id, payer, reason, note; /* may be empty but for the first */
    bool has_balance, has_payment;
    int64_t balance;
    enum line_state state;
    struct uuid payment_id;
    int64_t decided_ms, created_ms; /* decided_ms 0: nobody has */
};

/* The columns of line_get. False: not such a row. */
bool statement_line_of_row(const struct row *row, struct statement_line *ret_line);

/* Who acts, and why it was refused. */
struct transfer_act {
    struct payments *payments;
    struct arena *arena;
    struct uuid user;

    const char *why_en, *why_ja; /* out: of UNPROCESSABLE and STALE; else NULL */
};

/* --- what an operator does; each says in JSON what is so now --- */

struct transfer_word { /* an operator's */
    struct uuid payment;
    int64_t amount, days; /* days since 1970: when the bank had it */
    struct str note;      /* may be empty */
};
/* The transfer's money came. NOT_FOUND: no such transfer. */
enum err transfer_confirm(struct tx *tx, struct transfer_act *a, const struct transfer_word *w,
                          struct str *ret_json);

struct line_order {
    struct uuid line;
    bool has_payment; /* assign: by its id, or by its reference */
    struct uuid payment;
    struct str reference, note;
    bool to_return; /* set aside: and it goes back */
};
/* The line is that payment's money. Where that has its money already, or has ended, it goes back.
 */
enum err line_assign(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                     struct str *ret_json);
/* It is nobody's. note: why. */
enum err line_set_aside(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                        struct str *ret_json);

struct return_word {
    struct uuid id; /* of the refund, or of the line */
    int64_t days;
    struct str note; /* may be empty */
};
/* It was sent back. */
enum err return_paid(struct tx *tx, struct transfer_act *a, const struct return_word *w,
                     struct str *ret_json);

/* --- what an import does with one line --- */

/* Money for a transfer that waits for it, or whose payment has ended: then it goes back. `line` may
 * be NULL: an operator's word. *ret_state is what the transfer is now. UNPROCESSABLE, STALE:
 * nothing was done. */
enum err transfer_take(struct tx *tx, struct transfer_act *a, struct uuid payment,
                       struct str booked_on, const struct uuid *line, struct str detail,
                       enum transfer_state *ret_state);
/* The bank's word of what an operator had confirmed. */
enum err transfer_explain(struct tx *tx, struct transfer_act *a, struct uuid payment,
                          struct uuid line, struct str detail);
enum err line_decide(struct tx *tx, const struct transfer_act *a, struct uuid line,
                     enum line_state from, enum line_state to, struct str reason,
                     const struct uuid *payment, struct str note);

/* What one line says: which transfer it means, and whether it pays that. `payment` where there is
 * exactly one. */
struct line_view {
    struct str text;
    int64_t amount;
    const char *currency;
};
enum err line_match(struct tx *tx, const struct line_view *l, enum bank_match *ret_match,
                    struct uuid *ret_payment);
