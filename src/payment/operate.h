/* operate.h - one money operation of a client, from its claim to its answer (I1 to I7, P6, P7).
 *
 *   look up (read) --> replay the stored answer, or wait for the one under way
 *        '--> claim (one commit: key, payment, operation, message, event)
 *                 '--> the `op` job: gateway, settle (one commit) --> all waiting requests
 *
 * The request only waits; the same job resumes the operation after a crash. */
#pragma once

#include "domain/key.h"
#include "payment/payments.h"

enum op_kind { OP_CREATE, OP_CAPTURE, OP_REFUND, OP_VOID, OP_KINDS };

struct operate {
    /* in: all of it lives until done */
    struct payments *payments;
    enum op_kind kind;
    struct uuid user; /* who sends the request */
    bool may_any;     /* service or admin: need not be the owner */
    struct uuid key;
    char hash[KEY_HASH + 1];
    /* OP_CREATE */
    enum payment_context context;
    struct uuid subject; /* the booking, the position to buy, the participant */
    struct money money;  /* booking only: the others have a price */
    struct str method, method_type, description; /* may be empty */
    struct str success_url, cancel_url;          /* participant */
    /* the others */
    struct uuid payment;
    bool by_purchase; /* OP_VOID: `payment` is the id of a purchase */
    bool has_amount;
    int64_t amount;
    struct str reason; /* OP_REFUND; may be empty */
    bool of_subject;   /* the answer is the subject with the payment in it */

    char trace[56];
    struct str request_id;    /* for the log; may be empty */
    int64_t deadline_mono_ms; /* when the client gets 503 or 504 whatever happens */
    struct arena *arena;
    struct executor *executor;
    void (*done)(struct operate *o); /* on the executor, once */
    void *ctx;

    /* out */
    enum err err; /* OK: status and body are the answer, which may be a stored problem */
    int status;   /* as stored: 201 or 200, or a stored problem's */
    struct str body;
    enum payment_status settled_as; /* the payment's status in the body; not of a replay */
    bool replayed;
    bool unknown;     /* with an err of the gateway: the outcome is not known yet */
    const char *why;  /* English detail for a problem; NULL: the err's own words */
    bool has_payment; /* the problem names it */
    struct uuid payment_id;
    bool has_subject; /* the claim made it: for the answer's Location header */
    struct uuid subject_id;
    bool has_current; /* 422: the state that does not allow it */
    enum payment_status current;
};

void operate_begin(struct operate *o); /* on o->executor */

/* The job kinds of operations: "op". */
struct job_kind operation_kind(struct payments *p);

/* --- our own operations, inside a transaction --- */

/* Cancels the intent of a payment that is no longer wanted (OP_VOID), or refunds money that was
 * captured and cannot be kept (OP_REFUND, amount > 0). cause: "declined", "abandoned",
 * "booking_cancelled", "campaign_cancelled", "stray". The money of a stray never was revenue (D22).
 * The operation is submitted until the gateway has replied. It does not set open_op, because no
 * client's operation may start on such a payment. */
enum err operation_start_own(struct tx *tx, struct payments *p, const struct payment *payment,
                             enum op_kind kind, int64_t amount, struct str cause);
/* The same for another intent than the payment's own. */
enum err operation_start_on(struct tx *tx, struct payments *p, const struct payment *payment,
                            struct str intent_id, enum op_kind kind, int64_t amount,
                            struct str cause);
