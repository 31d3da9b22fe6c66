/* request.h - one step of an ask as one HTTP request. The same step of the same call always
 * gives the same bytes, but for requestedAt. */
#pragma once

#include "base/err.h"
#include "gateway/paypay/id.h"
#include "gateway/port.h"

enum paypay_step {
    STEP_CODE, /* a web cashier code, which the customer pays */
    STEP_PAY,  /* by the customer's authorization, without the customer */
    STEP_CAPTURE,
    STEP_REVERT, /* an authorization */
    STEP_DELETE, /* an unpaid code, by PayPay's id */
    STEP_CANCEL, /* a payment, by our id */
    STEP_REFUND,
    STEP_LOOK_CODE,    /* the payment of a code */
    STEP_LOOK_PAYMENT, /* any other */
    STEP_LOOK_REFUND,
    STEPS
};

struct paypay_ask { /* what a step needs beside its call */
    enum paypay_step step;
    struct paypay_id payment; /* merchantPaymentId */
    struct str paypay_id;     /* PayPay's own: STEP_REVERT, STEP_REFUND */
    struct str code_id;       /* STEP_DELETE */
    int64_t now_s;            /* of the calendar */
};

struct paypay_request {
    struct str method, path, body; /* path: as it is signed and sent */
};

#define PAYPAY_CONTENT_TYPE S("application/json")

bool paypay_moves_nothing(enum paypay_step step); /* a GET, which may be sent at any time */
bool paypay_takes(struct money m);                /* whole yen, up to eleven digits */

/* Writes to `a`, which may be released after the request. */
enum err paypay_request_make(struct arena *a, const struct gateway_call *c,
                             const struct paypay_ask *ask, struct paypay_request *ret_request);

/* The ids of this call's capture and refund. */
struct paypay_id paypay_capture_of(const struct gateway_call *c);
struct paypay_id paypay_refund_of_call(const struct gateway_call *c);
