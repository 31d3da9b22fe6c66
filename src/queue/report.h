/* report.h - what commits report to the runner: how many messages were added or ended, and when one
 * is due. Reports are made on store threads after the commit; the runner reads them on the executor.
 * Only queue/ includes this. */
#pragma once

#include "base/executor.h"
#include "store/tx.h"

#include <stdatomic.h>

struct queue;

#define DUE_NOW (INT64_MIN + 1) /* fetch at once */
#define DUE_ANYWAY INT64_MIN    /* as planned_ms: a fetch follows anyway, every report is dropped */

/* The one crossing between store threads and the executor. No report is lost:
 *
 *   (1) A report not earlier than planned_ms is dropped: the runner fetches at planned_ms anyway.
 *   (2) While a fetch is under way planned_ms is CLOCK_NEVER, so the due time of every commit that
 *       the fetch may not have seen is kept in reported_ms.
 *   (3) `woken` is true exactly while the task is in the executor's list.
 *   (4) A lease that was given and not fetched (queue_add_leased, queue_take) is not renewed until
 *       it is adopted. While `watched` is true the runner will compare `given` and `adopted` once
 *       more, after every lease given until now has expired. */
struct reports {
    struct executor *executor;
    struct task task;
    _Atomic int64_t planned_ms, reported_ms, live;
    _Atomic int64_t given, adopted;
    _Atomic bool woken, watched;
};

void reports_init(struct reports *r, struct executor *executor, void (*run)(struct task *t));
void reports_wake(struct reports *r); /* any thread: posts the task unless it is posted */
/* On the executor. */
int64_t reports_take(struct reports *r); /* the earliest since the last call, or CLOCK_NEVER */
void reports_plan(struct reports *r, int64_t ms);
void reports_landed(struct reports *r); /* the task calls it first */
/* True: the task is not in the list and is never posted again. False: it runs once more. */
bool reports_close(struct reports *r);

/* In a transaction: reported once it is durable. q may be NULL: nothing is reported. */
void queue_tell_due(struct queue *q, struct tx *tx, int64_t due_ms);
void queue_tell_live(struct queue *q, struct tx *tx, int64_t change);
void queue_tell_leased(struct queue *q, struct tx *tx);
void queue_tell_count(struct queue *q, struct tx *tx, int64_t count);
