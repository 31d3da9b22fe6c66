/* rows.h - rows of payments, operations and refunds, and back. */
#pragma once

#include "payment/operate.h"
#include "payment/payments.h"
#include "store/values.h"

enum op_phase { PHASE_SEND, PHASE_UNKNOWN, PHASE_DONE };

struct operation {
    struct uuid id, payment_id, message_id;
    enum op_kind kind;
    enum op_phase phase;
    struct str cause;       /* "client", or the reason of our own operation */
    struct str gateway_key; /* every submit carries it */
    int64_t amount;         /* -1: none */
    bool has_refund, has_key;
    struct uuid refund_id;
    struct str method;    /* may be empty */
    struct str intent_id; /* empty: the payment's own */
    struct str details;   /* what the payable needs for the call, as JSON; may be empty */
    bool of_subject;      /* the answer is the payable with the payment in it */
    struct uuid user, key;
    int64_t claimed_ms, sent_ms, sends, asks;
    struct str list_after; /* a search through the gateway's list stopped there; may be empty */
    int64_t list_ms;       /* when that search began */
};

/* The key that every submit of an operation carries (D5): never the client's own key. */
enum { GATEWAY_KEY = 7 + UUID_TEXT + 1 + UUID_TEXT };
void gateway_key(struct uuid payment, struct uuid operation, char ret_key[GATEWAY_KEY + 1]);

const char *op_name(enum op_kind k);    /* "create": in operations */
const char *op_keyword(enum op_kind k); /* "CREATE": in idempotency_records and the audit */

enum err operation_read(struct tx *tx, struct arena *a, struct uuid id, struct operation *ret_op);
enum err operation_add(struct tx *tx, const struct operation *o);

/* A row with all of a payment's columns, in their order. */
enum err payment_of_row(struct arena *a, const struct row *row, struct payment *ret);
enum err payment_add(struct tx *tx, const struct payment *p);
/* Stores what may change, and raises p->version. STALE: another transaction has changed the row,
 * which is a bug, because the caller holds its lock. */
enum err payment_store(struct tx *tx, struct payment *p, int64_t now_ms);

enum err refund_read(struct tx *tx, struct arena *a, struct uuid id, struct refund *ret_refund);
enum err refund_read_by_gateway(struct tx *tx, struct arena *a, struct str gateway_id,
                                struct refund *ret_refund);
enum err refund_add(struct tx *tx, const struct refund *r);
/* from: the status that was read. */
enum err refund_store(struct tx *tx, const struct refund *r, enum refund_status from,
                      int64_t now_ms);
/* What was refunded, what is refunded or reserved, and how many refunds those are. Automatic and
 * failed refunds do not count. */
struct refund_sums {
    struct minor succeeded, reserved;
    int64_t count;
};
enum err refund_sums(struct tx *tx, struct uuid payment, struct refund_sums *ret_sums);

/* The audit line of a money operation (O6). user NULL: the server did it on its own, and detail says
 * why. key may be NULL. */
enum err audit_money(struct tx *tx, const char *operation, const struct payment *p, int64_t amount,
                     bool success, struct str detail, const struct uuid *user,
                     const struct uuid *key, int64_t now_ms);
