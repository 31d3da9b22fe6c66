/* payments.h - what all use cases of payments share: their parts, and a payment's row. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/env.h"
#include "base/uuid.h"
#include "domain/payment.h"
#include "domain/reminder.h"
#include "gateway/gateways.h"
#include "notify/notification.h"
#include "queue/queue.h"
#include "queue/runtime.h"

struct payables;
struct replays;
struct waiting;

struct payments {
    struct runtime runtime;
    const struct gateways *gateways;
    const struct payables *payables; /* what is paid for (payable.h) */
    struct waiting *waiting;         /* requests that wait for an operation's answer */
    struct replays *replays;         /* how often keys were sent again; NULL: not counted */
    struct str return_url;   /* where 3-D Secure sends the customer afterwards; may be empty */
    int64_t key_ttl_ms;      /* 24 h (I2) */
    int64_t action_limit_ms; /* 60 min; a konbini slip and a bank transfer have their own (D23) */
    int64_t reservation_ms;  /* how long a position is reserved for its money (D19) */
    struct notifier notifier;
    /* Deletes other rows that expire, in the hourly job of the keys. NULL: there are none. */
    enum err (*expire_also)(struct tx *tx, int64_t now_ms, bool *ret_more);
    struct reminder_rule reminders; /* of collections that have no rule of their own (S2) */
    bool refetch;                   /* "succeeded" is applied only after a query (E2) */
};

enum { DESCRIPTION_MAX = 200, METHOD_MAX = 255, FAILURE_MAX = 500 };

struct payment {
    struct uuid id, subject_id, user_id, idempotency_key, claim_id;
    enum payment_context context;
    struct money money;
    struct minor captured, refunded;
    enum payment_status status;
    struct str description, gateway, gateway_transaction_id, failure_reason, action,
        checkout_session_id; /* .p NULL: NULL */
    int64_t version;
    bool has_open_op;
    struct uuid open_op;
    bool given_up, place_held, disputed;
    int64_t capture_before_ms; /* 0: NULL */
    int64_t created_ms, updated_ms;
};

struct refund {
    struct uuid id, payment_id;
    int64_t amount;
    enum refund_status status;
    struct str reason, gateway_refund_id, failure_reason; /* .p NULL: NULL */
    bool automatic;
    int64_t created_ms, updated_ms;
};

/* Texts go to the arena. NOT_FOUND. `lock`: the row is held until the commit (units that write). */
enum err payment_read(struct tx *tx, struct arena *a, struct uuid id, bool lock,
                      struct payment *ret_payment);
enum err payment_read_by_intent(struct tx *tx, struct arena *a, struct str intent_id,
                                struct payment *ret_payment);
/* The newest refunds of a payment, at most LIMIT_REFUNDS, the oldest of them first. */
enum err refunds_read(struct tx *tx, struct arena *a, struct uuid payment,
                      struct refund **ret_refunds, size_t *ret_count);

/* The Payment of 004 section 4 as JSON, with its refunds and requiresAction. .p NULL: no memory. */
struct str payment_json(struct arena *a, const struct payment *p, const struct refund *refunds,
                        size_t refund_count);

/* The same for readers other than the owner: without the clientSecret of requiresAction, with which
 * the customer's browser confirms the payment, also where an address contains it. */
struct str payment_json_seen(struct arena *a, const struct payment *p, const struct refund *refunds,
                             size_t refund_count);

/* The field of the payable: "bookingId", "purchaseId" or "participantId". */
void payment_out_subject(struct buf *b, const struct payment *p);

/* True if the payment's gateway is one of that provider. A gateway that is not configured any more is
 * recognized by its name. */
bool payment_is_at(const struct payments *pp, const struct payment *p, struct str provider);

/* Pages of payments, newest first. */
struct payment_filter {
    bool has_user, has_booking, has_status, has_before;
    struct uuid user, booking, before; /* before: an id, exclusive */
    enum payment_status status;
    int limit;
};
enum err payments_list(struct tx *tx, struct arena *a, const struct payment_filter *f,
                       struct payment *ret_payments, size_t *ret_count);
