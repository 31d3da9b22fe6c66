/* report.c - the reports of commits to the runner; report.h has the invariants. Everything here is
 * in memory: after a crash the runner's first fetch reads what is due. */
#include "queue/report.h"

#include "queue/runner.h"

void reports_init(struct reports *r, struct executor *executor, void (*run)(struct task *t))
{
    r->executor = executor;
    r->task = (struct task){ .run = run };
    atomic_init(&r->planned_ms, DUE_ANYWAY);
    atomic_init(&r->reported_ms, CLOCK_NEVER);
    atomic_init(&r->live, 0);
    atomic_init(&r->given, 0);
    atomic_init(&r->adopted, 0);
    atomic_init(&r->woken, false);
    atomic_init(&r->watched, false);
}

void reports_wake(struct reports *r)
{
    if (!atomic_exchange(&r->woken, true))
        executor_post(r->executor, &r->task);
}

/* any thread */
static void reports_due(struct reports *r, int64_t due_ms)
{
    int64_t seen = atomic_load(&r->reported_ms);

    if (due_ms >= atomic_load(&r->planned_ms))
        return;
    while (due_ms < seen && !atomic_compare_exchange_weak(&r->reported_ms, &seen, due_ms))
        ;
    reports_wake(r);
}

/* any thread */
static void reports_given(struct reports *r)
{
    atomic_fetch_add(&r->given, 1);
    if (!atomic_exchange(&r->watched, true))
        reports_wake(r);
}

int64_t reports_take(struct reports *r)
{
    return atomic_exchange(&r->reported_ms, CLOCK_NEVER);
}

void reports_plan(struct reports *r, int64_t ms)
{
    atomic_store(&r->planned_ms, ms);
}

void reports_landed(struct reports *r)
{
    atomic_store(&r->woken, false);
}

bool reports_close(struct reports *r)
{
    atomic_store(&r->planned_ms, DUE_ANYWAY);
    return !atomic_exchange(&r->woken, true);
}

static void due_is_durable(void *ctx, int64_t due_ms)
{
    struct queue *q = ctx;

    if (q->many_nodes && due_ms <= env_now_ms(q->o.env))
        store_hint(q->o.store);
    reports_due(&q->reports, due_ms);
}

static void change_is_durable(void *ctx, int64_t change)
{
    struct queue *q = ctx;

    atomic_fetch_add(&q->reports.live, change);
}

/* With several nodes a fetch every LIMIT_POLL_MS finds a lease that expired. */
static void lease_is_durable(void *ctx, int64_t unused)
{
    struct queue *q = ctx;

    (void)unused;
    if (!q->many_nodes)
        reports_given(&q->reports);
}

static void count_is_durable(void *ctx, int64_t count)
{
    struct queue *q = ctx;

    atomic_store(&q->reports.live, count);
}

void queue_tell_due(struct queue *q, struct tx *tx, int64_t due_ms)
{
    if (q)
        tx_after_commit(tx, due_is_durable, q, due_ms);
}

static void others_are_told(void *ctx, int64_t unused)
{
    struct queue *q = ctx;

    (void)unused;
    if (q->many_nodes)
        store_hint(q->o.store);
}

void queue_tell_others(struct queue *q, struct tx *tx)
{
    if (q)
        tx_after_commit(tx, others_are_told, q, 0);
}

void queue_tell_live(struct queue *q, struct tx *tx, int64_t change)
{
    if (q)
        tx_after_commit(tx, change_is_durable, q, change);
}

void queue_tell_leased(struct queue *q, struct tx *tx)
{
    tx_after_commit(tx, lease_is_durable, q, 0);
}

void queue_tell_count(struct queue *q, struct tx *tx, int64_t count)
{
    if (q)
        tx_after_commit(tx, count_is_durable, q, count);
}

void queue_wake(struct queue *q)
{
    reports_due(&q->reports, DUE_NOW);
}

int64_t queue_live(const struct queue *q)
{
    return atomic_load(&q->reports.live);
}
