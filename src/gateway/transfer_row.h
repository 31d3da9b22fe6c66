/* transfer_row.h - the manual gateway's ledger (G4): transfers that wait for their money. transfer/
 * changes the rows by bank statements and by what operators enter. */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"
#include "domain/bank_match.h"
#include "domain/money.h"
#include "store/tx.h"

struct transfer {
    struct uuid payment_id;
    struct str reference, account;
    struct money money;
    int64_t received;
    enum transfer_state state;
    int64_t expires_ms;
    struct str received_on, cancel_reason; /* may be empty */
    bool has_line;
    struct uuid line_id;
    int64_t created_ms, updated_ms;
};

/* The columns of transfer_get. Texts are copied to the arena; NULL: they live as long as the row.
 */
enum err transfer_of_row(struct arena *a, const struct row *row, struct transfer *ret_transfer);

/* NOT_FOUND. lock: held until the commit. */
enum err transfer_read(struct tx *tx, struct arena *a, struct uuid payment, bool lock,
                       struct transfer *ret_transfer);

/* "bt_<payment>", "btr_<refund>": what this gateway calls its intents and refunds. */
enum { TRANSFER_ID_TEXT = 4 + UUID_TEXT };
void transfer_intent_id(struct uuid payment, char text[TRANSFER_ID_TEXT + 1]);
void transfer_refund_id(struct uuid refund, char text[TRANSFER_ID_TEXT + 1]);
