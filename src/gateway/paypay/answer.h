/* answer.h - what the end of one HTTP request to PayPay means. Pure: it reads, and writes
 * only error_code and error_message of the call. */
#pragma once

#include "base/json/json.h"
#include "gateway/paypay/request.h"
#include "gateway/tries.h"

enum paypay_said {
    SAID_DONE,      /* data has the present state */
    SAID_ACCEPTED,  /* PayPay will do it; a look shows when it is done */
    SAID_CONFIRM,   /* a capture waits for its customer */
    SAID_MISSING,   /* there is no such thing */
    SAID_UNPAID,    /* of a code: it is not paid, or there is none */
    SAID_DUPLICATE, /* a code with this id exists, and its address is not returned again */
    SAID_NOT_SO,    /* the payment's state does not allow it; a look shows the state */
    SAID_DECLINED,  /* the money was refused */
    SAID_REFUSED,   /* it will never do that */
    SAID_SETTINGS,  /* our key, clock or contract is wrong: no try heals that */
    SAID_LATER,     /* nothing happened; not now */
    SAID_AGAIN,     /* nothing happened; another try may end better */
    SAID_UNKNOWN,   /* it may have happened */
};

struct paypay_reply {
    enum paypay_said said;
    bool lost;         /* SAID_UNKNOWN: the connection broke */
    bool timed_out;    /* all of its time is gone: no other try (P6) */
    const cJSON *data; /* of the tree; NULL: none */
};

/* timed_out: the request took all the time it had. *ret_tree is the caller's to free. */
struct paypay_reply paypay_judge(struct gateway_call *c, const struct call *http, bool timed_out,
                                 cJSON **ret_tree);

/* What one reply alone means to the port, for the record of tries. */
enum gateway_answer paypay_answer_of(enum paypay_said said);
