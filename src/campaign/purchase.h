/* purchase.h - the purchase of a position (C1 to C5, D14, D15, D19, D22, E8).
 *
 *   reserve (claim) --> pending --success--> completed --all refunded--> refunded
 *                          |  '--failure---> failed  (position free again; a late success gets it
 *                          |                          back, or the money goes back)
 *                          '--cancel, expiry-----> cancelled (position free again)
 *
 *   (1) Two buyers never have one position: it changes owner by one UPDATE that names the previous
 *       owner.
 *   (2) Only this purchase's own reservation is released, once.
 *   (3) The payment decides the status, and it only climbs, with one exception: a refund that fails
 *       after it had succeeded makes refunded completed again (D12).
 *   (4) A purchase has one payment, made with it, and its row changes only under that payment's lock.
 *
 * purchase.c has the rows and the JSON, purchase_payable.c what payments do to them. */
#pragma once

#include "payment/payments.h"

/* In the order of their rank. */
enum purchase_status {
    PURCHASE_PENDING,
    PURCHASE_FAILED,
    PURCHASE_CANCELLED,
    PURCHASE_COMPLETED,
    PURCHASE_REFUNDED,
    PURCHASE_STATUSES
};

struct purchase {
    struct uuid id, campaign_id, layer_id, position_id, user_id, payment_id;
    struct money money;
    bool konbini; /* else by card */
    enum purchase_status status;
    struct minor revenue; /* its part of the campaign's and the user's sums */
    int64_t expires_ms, created_ms, completed_ms, failed_ms, cancelled_ms, refunded_ms; /* 0: not */
};

struct str purchase_method(const struct purchase *p); /* "card" or "konbini" */

/* NOT_FOUND. */
enum err purchase_read(struct tx *tx, struct uuid id, struct purchase *ret_purchase);
enum err purchase_payment(struct tx *tx, struct uuid id, struct uuid *ret_payment);

enum err purchase_add(struct tx *tx, const struct purchase *p);
/* Stores the columns that may change. */
enum err purchase_store(struct tx *tx, const struct purchase *p, int64_t now_ms);

extern const struct subject purchase_subject;

/* {"purchase": {...}, "payment": <payment>}. .p NULL: no memory. */
struct str purchase_json(struct arena *a, const struct purchase *p, struct str payment);

/* Pages of purchases, newest first: {"data": [...], "nextCursor": text or null}. */
struct purchase_filter {
    bool has_user, has_before;
    struct uuid user, before; /* before: an id, exclusive */
    int limit;
};
enum err purchases_json(struct tx *tx, struct arena *a, const struct purchase_filter *f,
                        struct str *ret_json);
