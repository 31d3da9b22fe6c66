/* run.h - one ask under way: paypay.c sends its steps, flow.c decides the next step, and lookup.c
 * interprets the state of the payment. Only files of this folder include it. */
#pragma once

#include "gateway/paypay/answer.h"
#include "gateway/paypay/read.h"

#include <string.h>

enum { PAYPAY_HEADERS = 4 };

struct paypay {
    struct gateway gateway;
    struct env *env;
    struct client *client;
    struct str base, api_key, api_secret, merchant_id;
};

struct paypay_run {
    struct paypay *paypay;
    struct gateway_call *call;
    struct paypay_ask ask; /* the step under way */
    int attempt;           /* which of the payment's ids */
    struct call http;
    struct header headers[PAYPAY_HEADERS];
    struct timer pause;
    struct arena scratch; /* one request and its answer at a time */
    struct tries tries;
    int steps;
    bool maybe;    /* something of it may have had its effect */
    bool accepted; /* PayPay will do it */
    bool not_so;   /* PayPay would not: code and message say why */
    bool unpaid;   /* PayPay says that the code is not paid */
    bool deleted;  /* the code, or it was paid just then: it is not tried twice */
    bool gone;     /* the code had ended by itself before it could be deleted */
    bool starting; /* within gateway_call() */
    char code[64], message[256];
    enum gateway_answer fallback; /* should there be no time for another try */
};

/* paypay.c */
void paypay_finish(struct paypay_run *r, enum gateway_answer answer);
void paypay_next(struct paypay_run *r, enum paypay_step step); /* sends it, if there is time */
/* Another try of the same step, after a pause. False: none is left, or no time for one. */
bool paypay_again(struct paypay_run *r, const struct paypay_reply *reply,
                  enum gateway_answer fallback);

/* flow.c */
void paypay_begin(struct paypay_run *r);
void paypay_heard(struct paypay_run *r, const struct paypay_reply *reply);

/* lookup.c */
void paypay_use_attempt(struct paypay_run *r, int attempt);
void paypay_use_intent(struct paypay_run *r);
void paypay_look(struct paypay_run *r);
void paypay_looked(struct paypay_run *r, const struct paypay_payment *p); /* it is there */
void paypay_not_there(struct paypay_run *r);
/* Its code is gone; or its cancel was accepted: PayPay sends back whatever may still come. */
void paypay_cancelled_unpaid(struct paypay_run *r);
void paypay_refund_found(struct paypay_run *r); /* it is the call's fact */

static inline bool paypay_is_by_intent(const struct paypay_run *r)
{
    return r->call->intent_id.n > 0;
}

static inline bool paypay_is_sum_asked(const struct gateway_call *c, const struct fact *f)
{
    return f->amount == c->money.minor && strcmp(f->currency, c->money.currency) == 0;
}
