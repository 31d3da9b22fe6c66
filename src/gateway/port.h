/* port.h - what a payment needs of a gateway (G1). Only their adapters know the terms of Stripe and
 * PayPay: a call takes one of these asks, and gives one of these answers and a fact.
 *
 *   (1) Every ask that moves money carries a key derived from our operation, the same on each try.
 *   (2) UNCERTAIN is an answer: it may have happened. Ask with GATEWAY_FETCH, never guess.
 *   (3) An adapter tries again by itself at most twice, with growing pauses, within the budget;
 *       never after a timeout (P6). */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/executor.h"
#include "base/uuid.h"
#include "domain/payment.h"
#include "observe/span.h"

#include <stdalign.h>

struct gateway_call;

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
    GATEWAY_OK,          /* fact is the present state */
    GATEWAY_DECLINED,    /* the money was declined: fact.failure_*, and fact.state if it is known */
    GATEWAY_REFUSED,     /* the request is never possible; nothing happened; error_* says why. Where
                         the gateway told the intent's state, fact has it (kind is FACT_INTENT) */
    GATEWAY_ABSENT,      /* FETCH, VOID and EXPIRE: proven that no such object exists */
    GATEWAY_RETRY_LATER, /* proven that nothing happened; try again later */
    GATEWAY_UNCERTAIN,   /* it may have happened */
};

struct gateway_note { /* one more entry of the intent's metadata */
    const char *name;
    struct str value;
};

/* One request to the gateway, for the list of a payment's attempts (O7). */
struct gateway_try {
    struct gateway_try *next;
    enum gateway_ask ask;
    enum gateway_answer answer; /* of this request alone */
    bool timed_out, sent;
    bool retried;                     /* another try of the same ask followed */
    int status;                       /* of its HTTP answer; 0: none */
    int64_t at_ms, began_us, took_ms; /* began_us: monotonic */
    struct str code;                  /* the gateway's error code; may be empty */
    int64_t times;                    /* 1, and later tries that exceeded the limit of the list */
};

struct gateway_tries {
    struct env *env; /* whose clock */
    struct gateway_try *first, *last;
    int count; /* of the list: LIMIT_GATEWAY_TRIES at most */
};

/* What a layer in front of the adapter keeps with a call until the call ends: layer.h */
enum { GATEWAY_LAYERS = 3, GATEWAY_FRAME_ROOM = 96 };
struct gateway_frame {
    void *layer;
    void (*done)(struct gateway_call *c); /* of the layer outside */
    alignas(int64_t) unsigned char own[GATEWAY_FRAME_ROOM];
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
    struct str method_type;    /* AUTHORIZE: one of the gateway's methods; empty: its first */
    int konbini_days;          /* ... until its slip ends */
    struct money money;        /* AUTHORIZE: asked for; CAPTURE, REFUND: this much */
    struct str payment_method; /* AUTHORIZE; empty: client-confirmed, do not confirm. "konbini": a
                                  method of that type without details, for the sandbox */
    struct str success_url, cancel_url, item, email, session_id; /* CHECKOUT, EXPIRE; email may be
                                                                    empty */
    struct str description;                                      /* may be empty */
    struct str return_url;                                       /* may be empty */
    struct str intent_id, refund_id;
    struct str action;     /* VOID: the customer's action as it is stored; may be empty */
    struct uuid refund;    /* REFUND: ours, for its metadata */
    struct str reason;     /* VOID: abandoned, requested_by_customer, duplicate; REFUND: free */
    int64_t since_ms;      /* FETCH without intent_id: not made before the first send, ... */
    int64_t until_ms;      /* ... nor long after the last one; 0: not known */
    int64_t budget_ms;     /* all tries together; 0: LIMIT_GATEWAY_BUDGET_MS */
    int64_t try_ms;        /* one of them; 0: LIMIT_GATEWAY_CALL_MS. Set by guard.c */
    char trace[56];        /* traceparent to send; "" : none. With env, its span's own */
    struct env *env;       /* for a span of the call (O3); NULL: none */
    const char *span_name; /* NULL: "Gateway.call" */
    struct gateway_tries *seen; /* each try is added here, in the arena; NULL: not wanted */
    struct arena *arena;        /* the answer's texts */
    struct executor *executor;
    void (*done)(
        struct gateway_call *c); /* on the executor, once, never from within gateway_call() */

    /* in and out. FETCH in a list: continues after this id; empty: from the beginning. Afterwards
     * the last id that was read; empty: the list has ended, or the place in it is lost. */
    struct str list_after;
    /* For many payments at once (create_lookup.c): the payments of the calls in `wanted` are searched
     * for, and no other. A call whose payment is found moves to `found`, with answer and fact. */
    struct gateway_call *wanted, *found;

    /* out */
    enum gateway_answer answer;
    struct fact fact;
    bool timed_out;                          /* UNCERTAIN because of time */
    bool sent;                               /* something may have reached it */
    bool list_more;                          /* UNCERTAIN only because the list has more pages */
    int status;                              /* of the last HTTP answer; 0: none */
    char error_code[64], error_message[256]; /* for the log and failureReason; nothing secret */
    int tries;                               /* HTTP requests, pages included */

    /* inside gateway/ */
    struct gateway_call
        *next; /* in the line of a layer, or in `wanted` or `found` of another call */
    struct gateway_frame frames[GATEWAY_LAYERS]; /* of the layers that it has passed: layer.c */
    int depth;                                   /* so many */
    struct task back;                            /* tries.c */
};

struct gateway;

struct gateway_ops {
    void (*call)(struct gateway *g, struct gateway_call *c); /* on c->executor; never fails */
    void (*free)(struct gateway *g);
};

struct gateway {
    const struct gateway_ops *ops;
    const char *name;          /* "stripe", "sandbox", "paypay", "manual": in the payment's row */
    const char *provider;      /* whose API it uses: "stripe" is also the sandbox's */
    const char *methods;       /* separated by commas; the first where a client names none */
    bool replays;              /* a repeated key gets its first answer again, a decline too */
    struct str default_method; /* of the type "card", where a client names none; empty: the client
                                  confirms the payment itself (P1) */
};

bool gateway_takes(const struct gateway *g, struct str method); /* gateways.c */
const char *gateway_ask_name(enum gateway_ask ask);             /* "authorize"; gateways.c */
/* Ends a call of which nothing was sent: done() is called later, on the executor. */
void gateway_turn_away(struct gateway_call *c, enum gateway_answer answer, const char *code,
                       const char *message); /* tries.c */

static inline void gateway_call(struct gateway *g, struct gateway_call *c)
{
    g->ops->call(g, c);
}
