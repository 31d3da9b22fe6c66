/* waiting.h - requests that wait for an answer which somebody else is working on (I4). Whoever
 * settles the operation answers all that wait for its key, after its commit, from any thread.
 *
 *   (1) A request enters BEFORE it looks the key up. So either it sees that the operation is done,
 *       or the one who settles it finds the request here. Nothing falls between.
 *   (2) Who is taken out to be answered comes back exactly once; who leaves by itself does not. */
#pragma once

#include "base/err.h"
#include "base/executor.h"
#include "base/uuid.h"
#include "domain/payment.h"

enum { SCOPE_BYTES = 33 };

struct scope { /* whose key, for which operation (I1) */
    unsigned char b[SCOPE_BYTES];
};

/* What everybody who waits is told. Shared; the last one frees it. */
struct answer {
    _Atomic int refs;
    enum err err; /* OK: status and body */
    bool unknown; /* with an err: whether it happened is not known yet */
    int status;
    enum payment_status settled_as; /* the payment's status in the body */
    struct uuid payment;
    size_t size;
    char body[];
};

struct waiter {
    struct scope scope;
    struct executor *executor;
    void (*answered)(
        struct waiter *w); /* on the executor; w->answer is held until answer_release() */
    struct answer *answer;

    struct waiter *next, **prev; /* the room's */
    struct task task;
};

struct waiting;

struct waiting *waiting_new(void);
void waiting_free(struct waiting *r);

bool waiting_enter(struct waiting *r, struct waiter *w); /* false: the room is full */
/* False: it is not there any more, its answer is on its way back. */
bool waiting_leave(struct waiting *r, struct waiter *w);

struct answer *answer_new(enum err e, int status, struct uuid payment, struct str body);
void answer_release(struct answer *a);
/* Gives it to all who wait for the scope, and takes the caller's hold on it. NULL is fine. */
void waiting_answer(struct waiting *r, const struct scope *s, struct answer *a);
