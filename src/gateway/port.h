/* port.h - what a payment needs of a gateway (G1). The words of Stripe and PayPay stop at their
 * adapters: in goes one of five asks, out comes one of five answers and a fact.
 *
 *   (1) Every ask that moves money carries a key derived from our operation, the same on each try.
 *   (2) UNCERTAIN is an answer: it may have happened. Ask with GATEWAY_FETCH, never guess.
 *   (3) An adapter tries again by itself at most twice, with growing pauses, within the budget;
 *       never after a timeout (P6). */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/home.h"
#include "base/uuid.h"
#include "domain/payment.h"

enum gateway_ask {
    GATEWAY_AUTHORIZE, /* makes the intent and confirms it, for manual capture */
    GATEWAY_CAPTURE,
    GATEWAY_VOID, /* cancels the intent, whatever its state */
    GATEWAY_REFUND,
    GATEWAY_FETCH,        /* by intent_id; without one: by payment_id among those made since */
    GATEWAY_FETCH_REFUND, /* by refund_id (re_); without one: by refund among the intent's refunds
                           */
    GATEWAY_ASKS
};

enum gateway_answer {
    GATEWAY_OK,       /* fact says what is so now */
    GATEWAY_DECLINED, /* the money was refused: fact.failure_*, and fact.state where there is one */
    GATEWAY_REFUSED,  /* it understood and will never do that; nothing happened; error_* says why.
                         Where it told the intent's state, fact is it (kind is FACT_INTENT) */
    GATEWAY_ABSENT,   /* FETCH only: it surely has no such thing */
    GATEWAY_RETRY_LATER, /* surely nothing happened; try again later */
    GATEWAY_UNCERTAIN,   /* it may have happened */
};

struct gateway_call {
    /* in: all of it lives until done */
    enum gateway_ask ask;
    struct str key; /* Idempotency-Key; empty for FETCH */
    struct uuid payment, user, subject;
    struct str context;        /* "booking" */
    struct money money;        /* AUTHORIZE: asked for; CAPTURE, REFUND: this much */
    struct str payment_method; /* AUTHORIZE; empty: client-confirmed, do not confirm */
    struct str description;    /* may be empty */
    struct str return_url;     /* may be empty */
    struct str intent_id, refund_id;
    struct uuid refund;  /* REFUND: ours, for its metadata */
    struct str reason;   /* VOID: abandoned, requested_by_customer, duplicate; REFUND: free */
    int64_t since_ms;    /* FETCH without intent_id: not made before the first send, ... */
    int64_t until_ms;    /* ... nor long after the last one; 0: not known */
    int64_t budget_ms;   /* all tries together; 0: LIMIT_GATEWAY_BUDGET_MS */
    char trace[56];      /* traceparent to send; "" : none */
    struct arena *arena; /* the answer's texts */
    struct home *home;
    void (*done)(struct gateway_call *c); /* at home, once, never from within gateway_call() */

    /* out */
    enum gateway_answer answer;
    struct fact fact;
    bool timed_out;                          /* UNCERTAIN because of time */
    bool sent;                               /* something may have reached it */
    int status;                              /* of the last HTTP answer; 0: none */
    char error_code[64], error_message[256]; /* for the log and failureReason; nothing secret */
    int tries;                               /* HTTP requests, pages included */

    struct task back; /* the adapter's */
    void *impl;
};

struct gateway;

struct gateway_ops {
    void (*call)(struct gateway *g, struct gateway_call *c); /* at c->home; never fails */
    void (*free)(struct gateway *g);
};

struct gateway {
    const struct gateway_ops *ops;
    const char *name; /* "stripe", "sandbox" */
};

static inline void gateway_call(struct gateway *g, struct gateway_call *c)
{
    g->ops->call(g, c);
}
