/* waiting.h - requests that wait for the answer of an operation under way (I4). The settle of the
 * operation answers all requests that wait for its key, after its commit, from any thread.
 *
 *   (1) A request enters BEFORE it looks its key up. So either it sees that the operation is done, or
 *       the settle finds the request here; no answer is missed.
 *   (2) A waiter that is taken out to be answered gets exactly one callback; one that leaves by
 *       itself gets none. */
#pragma once

#include "base/err.h"
#include "base/executor.h"
#include "base/uuid.h"
#include "domain/payment.h"

enum { SCOPE_BYTES = 33 };

struct scope { /* user, kind of operation, key (I1) */
    unsigned char b[SCOPE_BYTES];
};

/* The answer for all waiting requests; counted references. */
struct answer {
    _Atomic int refs;
    enum err err; /* OK: status and body */
    bool unknown; /* with an err: the outcome is not known yet */
    int status;
    enum payment_status settled_as; /* the payment's status in the body */
    struct uuid payment;
    size_t size;
    char body[];
};

struct waiter {
    struct scope scope;
    struct executor *executor;
    void (*answered)(struct waiter *w); /* on the executor; releases w->answer */
    struct answer *answer;

    struct waiter *next, **prev; /* the waiting room's list */
    struct task task;
};

struct waiting;

struct waiting *waiting_new(void);
void waiting_free(struct waiting *r);

bool waiting_enter(struct waiting *r, struct waiter *w); /* false: the room is full */
/* False: it was taken out already, and its callback is under way. */
bool waiting_leave(struct waiting *r, struct waiter *w);

struct answer *answer_new(enum err e, int status, struct uuid payment, struct str body);
void answer_release(struct answer *a);
/* Posts the answer to all requests that wait for the scope, and takes the caller's reference. NULL is
 * fine. */
void waiting_answer(struct waiting *r, const struct scope *s, struct answer *a);
