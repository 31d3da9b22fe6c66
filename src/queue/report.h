/* report.h - what commits tell the runner: how many messages came or went, and when one is due.
 * Called on store threads, after the commit; the runner hears of it on the executor. Only queue/
 * includes this. */
#pragma once

#include "base/executor.h"
#include "store/tx.h"

#include <stdatomic.h>

struct queue;

#define DUE_NOW (INT64_MIN + 1) /* look at once */
#define DUE_ANYWAY                                                                                 \
    INT64_MIN /* planned: a fetch follows in any case, nobody needs to ask for it                  \
               */

/* The one crossing between store threads and executor. No report is lost:
 *   (1) A report not before `planned` is dropped: the runner fetches at `planned` anyway.
 *   (2) While a fetch is under way `planned` is CLOCK_NEVER, so what commits behind the fetch's
 * back is kept in `reported`. (3) `woken` is true exactly while the task is in the executor's list.
 *   (4) A lease that was not fetched but given (queue_add_leased, queue_take) is in nobody's hands
 * until it is adopted. While `watched` is true the runner will look at the two numbers once more,
 * behind the time at which every lease that was given until now has run out. */
struct reports {
    struct executor *executor;
    struct task task;
    _Atomic int64_t planned_ms, reported_ms, live;
    _Atomic int64_t given, adopted;
    _Atomic bool woken, watched;
};

void reports_init(struct reports *r, struct executor *executor, void (*run)(struct task *t));
void reports_wake(struct reports *r); /* any thread: the task runs, soon */
/* On the executor. */
int64_t reports_take(struct reports *r); /* the smallest since the last call, or CLOCK_NEVER */
void reports_plan(struct reports *r, int64_t ms);
void reports_landed(struct reports *r); /* first thing that the task does */
/* True: the task is not in the list and never will be again. False: it comes once more. */
bool reports_close(struct reports *r);

/* In a transaction: told once that is durable. q may be NULL: nobody listens. */
void queue_tell_due(struct queue *q, struct tx *tx, int64_t due_ms);
void queue_tell_live(struct queue *q, struct tx *tx, int64_t change);
void queue_tell_leased(struct queue *q, struct tx *tx);
void queue_tell_count(struct queue *q, struct tx *tx, int64_t count);
