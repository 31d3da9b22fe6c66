/* claim.h - the unit of work that makes an operation exist: key, payment or refund, operation,
 * message and domain event in one commit, before the gateway hears of it (I7). */
#pragma once

#include "payment/operation_run.h"

enum claimed {
    CLAIMED,         /* ours: run is ready to be adopted with message */
    CLAIM_DONE,      /* the record has the answer */
    CLAIM_OTHER,     /* the key was used for something else */
    CLAIM_RUNNING,   /* the operation is under way: wait for its answer */
    CLAIM_IMPOSSIBLE /* the unit's err says why; nothing was changed */
};

struct claim {
    struct unit unit;
    struct operate *o;

    /* made before the unit (M1) */
    struct uuid payment_id, operation_id, message_id, refund_id, subject_id;
    struct op_run *run; /* becomes the job's when it is adopted */

    /* out */
    enum claimed result;
    struct key_record record;
    struct message message;
    struct str details;    /* of the operation, in run->arena (payable.h) */
    bool goes_on;          /* OP_CREATE of a payment that exists already */
    struct lap validating; /* the span of the checks */
    enum err invalid;      /* their result */
};

/* Sets the problem's detail and returns e, with which the unit of work rolls back. */
enum err claim_refuse(struct operate *o, enum err e, const char *why);
/* ERR_PAYMENT_EXISTS, and o->payment_id, if another payment holds the subject's place (D1). */
enum err claim_check_place(struct tx *tx, struct operate *o, enum payment_context context,
                           struct uuid subject);

extern const struct unit_kind claim_kind;
