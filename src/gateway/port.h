/* port.h - what a payment needs of a gateway (G1). The words of Stripe and PayPay stop at their
 * adapters: in goes one of these asks, out comes one of these answers and a fact.
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
    GATEWAY_AUTHORIZE, /* makes the intent and, with a payment method, confirms it */
    GATEWAY_CAPTURE,
    GATEWAY_VOID, /* cancels the intent, whatever its state */
    GATEWAY_REFUND,
    GATEWAY_FETCH,        /* by intent_id; without one: by payment_id among those made since */
    GATEWAY_FETCH_REFUND, /* by refund_id (re_); without one: by refund among the intent's refunds
                           */
    GATEWAY_CHECKOUT, /* makes a session of the gateway's own page; fact is a FACT_SESSION. Harmless
                         to send again with its key */
    GATEWAY_EXPIRE,   /* ends session_id. OK: it is over, and fact says how: it may be complete.
                         RETRY_LATER also where it is still open, whatever was asked for */
    GATEWAY_ASKS
};

enum gateway_answer {
    GATEWAY_OK,       /* fact says what is so now */
    GATEWAY_DECLINED, /* the money was refused: fact.failure_*, and fact.state where there is one */
    GATEWAY_REFUSED,  /* it understood and will never do that; nothing happened; error_* says why.
                         Where it told the intent's state, fact is it (kind is FACT_INTENT) */
    GATEWAY_ABSENT,   /* FETCH, VOID and EXPIRE: it surely has no such thing */
    GATEWAY_RETRY_LATER, /* surely nothing happened; try again later */
    GATEWAY_UNCERTAIN,   /* it may have happened */
};

struct gateway_note { /* one more entry of the intent's metadata */
    const char *name;
    struct str value;
};

struct gateway_call {
    /* in: all of it lives until done */
    enum gateway_ask ask;
    struct str key; /* Idempotency-Key; empty for FETCH */
    struct uuid payment, user, subject;
    enum payment_context context;
    const struct gateway_note *notes; /* AUTHORIZE, CHECKOUT */
    size_t note_count;
    bool capture_now;          /* AUTHORIZE: captured at once, no second step */
    struct str method_type;    /* AUTHORIZE: "card" or "konbini"; empty: card */
    int konbini_days;          /* ... until its slip ends */
    struct money money;        /* AUTHORIZE: asked for; CAPTURE, REFUND: this much */
    struct str payment_method; /* AUTHORIZE; empty: client-confirmed, do not confirm. "konbini": a
                                  method of that type without details, for the sandbox */
    struct str success_url, cancel_url, item, email, session_id; /* CHECKOUT, EXPIRE; email may be
                                                                    empty */
    struct str description;                                      /* may be empty */
    struct str return_url;                                       /* may be empty */
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
