/* runner.c - the queue's heart: a state machine on its executor that fetches what is due, posts it,
 * and sleeps until the exact time of the next.
 *
 *     start --> fetch --> items (job.c) --> fetch when there is room and something is due
 *                 |
 *                 '-- short: the same unit reads when the next one is due; the timer waits for it
 *
 *   (1) At most one fetch is under way. While it is, commits report into `reports`; before it, they
 *       were seen by it. So no message that is due is overlooked, and none is searched for.
 *   (2) Nothing is asked of the database while nothing is due. With other nodes (PostgreSQL) one
 *       fetch every LIMIT_POLL_MS covers lost hints.
 *   (3) Leases are renewed before anything else is tried, so that after a pause we do not take our
 *       own messages away from ourselves.
 *   (4) No error of the database ends the runner: it waits 100 ms, then up to 2 s, and goes on.
 *   (5) A suspect (queue.h) that is next waits until nothing is under way, but for those that work
 *       outside; then it is fetched, and until it has ended nothing else is. */
#include "queue/runner.h"

#include "base/limits.h"
#include "observe/log.h"

#include <stdlib.h>

/* --- trouble with the database --- */

bool is_trouble(enum err e)
{
    return e == ERR_INTERNAL || (e != ERR_STALE && e != ERR_UNCERTAIN && err_is_retryable(e));
}

void queue_trouble(struct queue *q, enum err e)
{
    int64_t now = now_of(q);

    if (now < q->trouble_until_ms)
        return; /* one of many units of the same outage */
    if (!q->trouble_ms)
        LOG(q->o.env->log, LOG_WARN, "The queue waits for the database",
            LOG_TEXT("code", str_of(err_code(e))));
    q->trouble_ms =
        q->trouble_ms ? least(q->trouble_ms * 2, LIMIT_TROUBLE_MAX_MS) : LIMIT_TROUBLE_MS;
    q->trouble_until_ms = now + q->trouble_ms;
}

void queue_well(struct queue *q)
{
    if (!q->trouble_ms)
        return;
    LOG(q->o.env->log, LOG_INFO, "The queue goes on", LOG_NUM("held", (int64_t)q->held));
    q->trouble_ms = 0;
    q->trouble_until_ms = 0;
}

static void runner_heed(struct queue *q, enum err e)
{
    if (e)
        queue_trouble(q, e);
    else
        queue_well(q);
}

/* --- start, on SQLite: whose leases they were is dead; and how much there is --- */

static enum err count_messages(struct tx *tx, int64_t *ret_count)
{
    struct row row;
    enum err e = tx_row(tx, STMT_message_count, NULL, 0, &row);

    if (!e)
        *ret_count = row.col[0].i;
    return e;
}

static enum err start_run(struct tx *tx, struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, start_unit);
    int64_t count = 0;
    enum err e = TX_DO(tx, STMT_message_release_all, -1, V_INT(now_of(q)),
                       V_BLOB(uuid_bytes(&q->o.env->node)));

    if (!e)
        e = count_messages(tx, &count);
    if (!e)
        queue_tell_count(q, tx, count); /* in the writer's order with all other changes: exact */
    return e;
}

static void start_done(struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, start_unit);

    q->starting = false;
    q->started = !u->err;
    q->next_ms = DUE_NOW;
    runner_heed(q, u->err);
    queue_pump(q);
}

static void start_alone(struct queue *q)
{
    static const struct unit_kind kind = { "queue.start", UNIT_BACK, start_run, NULL };

    q->starting = true;
    q->start_unit = (struct unit){ .kind = &kind, .executor = q->o.executor, .done = start_done };
    store_post(q->o.store, &q->start_unit);
}

/* --- renew --- */

static size_t next_of(const struct renewal *r)
{
    return r->count - r->done < LIMIT_LEASED ? r->count - r->done : LIMIT_LEASED;
}

static enum err renew_run(struct tx *tx, struct unit *u)
{
    struct renewal *r = CONTAINER_OF(u, struct renewal, unit);

    return queue_renew(tx, r->pointers + r->done, next_of(r), r->due_ms);
}

static void finish_move(struct queue *q)
{
    struct clock_move *m = q->moves;

    q->moves = m->next;
    clock_advance(&q->o.env->clock, m->ms);
    q->next_ms = DUE_NOW;
    q->renewed_ms = now_of(q);
    q->trouble_until_ms = 0;
    q->armed_ms = DUE_NOW; /* the same wall time is nearer now: arm it again */
    if (m->moved)
        m->moved(m->ctx);
    free(m);
}

static void renew_done(struct unit *u);

static void renew_some(struct renewal *r)
{
    static const struct unit_kind kind = { "queue.renew", UNIT_BACK, renew_run, NULL };

    r->unit = (struct unit){ .kind = &kind, .executor = r->queue->o.executor, .done = renew_done };
    store_post(r->queue->o.store, &r->unit);
}

static void renew_done(struct unit *u)
{
    struct renewal *r = CONTAINER_OF(u, struct renewal, unit);
    struct queue *q = r->queue;

    r->done += next_of(r);
    if (!u->err && r->done < r->count) {
        renew_some(r);
        return;
    }
    q->renewal = NULL;
    if (!u->err) {
        q->renewed_ms = now_of(q);
        q->commits++;
    }
    runner_heed(q, u->err);
    free(r);
    if (q->moves)
        finish_move(q);
    queue_pump(q);
}

static struct renewal *renewal_new(struct queue *q)
{
    size_t bytes = q->held * (sizeof(struct message) + sizeof(struct message *));
    struct renewal *r = calloc(1, sizeof(*r) + bytes);

    if (!r)
        return NULL;
    r->queue = q;
    r->pointers = (void *)(r->fences + q->held);
    for (struct item *it = q->items; it; it = it->next) {
        r->fences[r->count] = it->message;
        r->pointers[r->count] = &r->fences[r->count];
        r->count++;
    }
    return r;
}

static void runner_renew(struct queue *q, int64_t due_ms)
{
    struct renewal *r = renewal_new(q);

    if (!r) {
        queue_trouble(q, ERR_NO_MEMORY);
        return;
    }
    q->renewal = r;
    r->due_ms = due_ms;
    renew_some(r);
}

/* --- the estimate, where others add and finish too --- */

static enum err count_run(struct tx *tx, struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, count_unit);

    return count_messages(tx, &q->count);
}

static void count_done(struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, count_unit);

    q->counting = false;
    if (!u->err) {
        atomic_store(&q->reports.live, q->count);
        q->count_wait_ms = LIMIT_RECOUNT_MS;
    } else {
        q->moved_since_count = true; /* try again */
    }
    queue_pump(q);
}

static void runner_recount(struct queue *q, int64_t now)
{
    static const struct unit_kind kind = { "queue.count", UNIT_READ, count_run, NULL };

    q->counting = true;
    q->moved_since_count = false;
    q->counted_ms = now;
    q->count_unit = (struct unit){ .kind = &kind, .executor = q->o.executor, .done = count_done };
    store_post(q->o.store, &q->count_unit);
}

/* Where there are many nodes nothing needs to be known, and leases run out by themselves. */
static void runner_start(struct queue *q, int64_t now)
{
    if (!q->many_nodes) {
        start_alone(q);
        return;
    }
    q->started = true;
    q->next_ms = DUE_NOW;
    runner_recount(q, now);
}

/* --- what to do now --- */

static bool renew_is_due(const struct queue *q, int64_t now)
{
    return q->held && !q->renewal && now >= q->renewed_ms + LIMIT_RENEW_MS;
}

static int64_t fetch_at(const struct queue *q)
{
    int64_t at = least(q->next_ms, q->expiry_ms);

    return q->many_nodes ? least(at, q->polled_ms + LIMIT_POLL_MS) : at;
}

static int64_t count_at(const struct queue *q)
{
    bool wanted = q->many_nodes && q->started && q->moved_since_count && !q->counting;

    return wanted ? q->counted_ms + q->count_wait_ms : CLOCK_NEVER;
}

static bool any_parked(const struct queue *q)
{
    return q->held > q->posted + q->away;
}

/* A move waits until no fetch and no renewal is under way: their times would be the old ones. */
static bool move_clock(struct queue *q, int64_t now)
{
    while (q->moves && !q->fetching && !q->renewal && !q->held)
        finish_move(q);
    if (!q->moves)
        return false;
    if (q->fetching || q->renewal)
        return true;
    runner_renew(q, now + q->moves->ms + LIMIT_LEASE_MS);
    if (!q->renewal)
        finish_move(q); /* no memory: then our leases lapse, and the fence sorts it out */
    return true;
}

static void runner_work(struct queue *q, int64_t now)
{
    if (now < q->trouble_until_ms || q->renewal)
        return;
    if (!q->started && !q->starting)
        runner_start(q, now);
    if (!q->started)
        return;
    if (renew_is_due(q, now)) {
        runner_renew(q, now + LIMIT_LEASE_MS);
        return;
    }
    if (any_parked(q))
        items_unpark(q, now);
    if (now >= q->watch_ms)
        adoptions_watch(q, now);
    if (!q->fetching && fetch_room(q) && now >= fetch_at(q))
        fetch_begin(q, now);
    if (now >= count_at(q))
        runner_recount(q, now);
}

static int64_t wake_at(const struct queue *q)
{
    int64_t at = CLOCK_NEVER;

    if (q->renewal || q->starting || q->moves)
        return CLOCK_NEVER; /* what is under way will pump when it comes back */
    if (q->held)
        at = least(at, q->renewed_ms + LIMIT_RENEW_MS);
    if (q->started && !q->fetching && fetch_room(q))
        at = least(at, fetch_at(q));
    if (q->started)
        at = least(at, q->watch_ms);
    at = least(at, count_at(q));
    if (any_parked(q))
        at = least(at, items_unpark_at(q));
    if (q->trouble_until_ms && at < q->trouble_until_ms)
        at = q->trouble_until_ms;
    if (q->trouble_until_ms && !q->started)
        at = least(at, q->trouble_until_ms);
    return at;
}

static void runner_arm(struct queue *q, int64_t at)
{
    if (at != q->armed_ms)
        executor_arm(q->o.executor, &q->timer, at);
    q->armed_ms = at;
}

static void runner_plan(struct queue *q)
{
    int64_t at = wake_at(q);

    if (q->fetching)
        reports_plan(&q->reports, CLOCK_NEVER);
    else if (!q->started || !fetch_room(q))
        reports_plan(&q->reports, DUE_ANYWAY);
    else
        reports_plan(&q->reports, fetch_at(q));
    if (!q->fetching && !fetch_room(q))
        q->next_ms =
            DUE_NOW; /* what is reported meanwhile is dropped, so look when there is room */
    runner_arm(q, at);
}

static bool at_rest(const struct queue *q)
{
    return !q->posted && !q->away && !q->fetching && !q->renewal && !q->starting && !q->counting;
}

/* True: it has stopped, and may be gone. */
static bool try_to_stop(struct queue *q)
{
    items_drop(q, true);
    while (q->moves && !q->renewal)
        finish_move(q);
    if (!at_rest(q) || q->closed)
        return q->closed;
    executor_arm(q->o.executor, &q->timer, CLOCK_NEVER);
    q->armed_ms = CLOCK_NEVER;
    if (!reports_close(&q->reports))
        return false; /* the task comes once more */
    q->closed = true;
    adoptions_drop(q);
    q->stopped(q->stopped_ctx);
    return true;
}

/* What is outside may take longer than a lease, and must be ours when it comes back. */
static void keep_leases(struct queue *q, int64_t now)
{
    int64_t at = q->renewed_ms + LIMIT_RENEW_MS;

    if (renew_is_due(q, now) && now >= q->trouble_until_ms)
        runner_renew(q, now + LIMIT_LEASE_MS);
    if (!q->held || q->renewal)
        at = CLOCK_NEVER;
    else if (at < q->trouble_until_ms)
        at = q->trouble_until_ms;
    runner_arm(q, at);
}

void queue_pump(struct queue *q)
{
    int64_t now = now_of(q);

    if (q->stopping) {
        if (!try_to_stop(q))
            keep_leases(q, now);
        return;
    }
    if (!move_clock(q, now))
        runner_work(q, now_of(q));
    runner_plan(q);
}

static void timer_fired(struct timer *t)
{
    struct queue *q = CONTAINER_OF(t, struct queue, timer);

    q->armed_ms = CLOCK_NEVER;
    queue_pump(q);
}

static void runner_woken(struct task *t)
{
    struct queue *q = CONTAINER_OF(t, struct queue, reports.task);

    reports_landed(&q->reports);
    q->moved_since_count = true;
    q->next_ms = least(q->next_ms, reports_take(&q->reports));
    if (q->watch_ms == CLOCK_NEVER)
        adoptions_watch(q, now_of(q));
    adoptions_begin(q);
    queue_pump(q);
}

/* --- from outside --- */

struct queue *queue_new_runner(const struct queue_options *o)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->o = *o;
    q->many_nodes = store_health(o->store).many_nodes;
    q->timer = (struct timer){ .fire = timer_fired, .due_ms = CLOCK_NEVER };
    q->most = LIMIT_STATEMENT_ROWS;
    q->count_wait_ms = LIMIT_TROUBLE_MAX_MS;
    q->next_ms = q->expiry_ms = q->armed_ms = q->watch_ms = CLOCK_NEVER;
    atomic_init(&q->adoptions, NULL);
    reports_init(&q->reports, o->executor, runner_woken);
    arena_init(&q->fetch_arena, LIMIT_LEASE_ARENA);
    if (!slots_init(q)) {
        free(q);
        return NULL;
    }
    return q;
}

void queue_start(struct queue *q)
{
    queue_pump(q);
}

void queue_stop(struct queue *q, void (*stopped)(void *ctx), void *ctx)
{
    q->stopping = true;
    q->stopped = stopped;
    q->stopped_ctx = ctx;
    queue_pump(q);
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    adoptions_drop(q);
    items_drop(q, false);
    free(q->renewal);
    while (q->moves) {
        struct clock_move *m = q->moves;

        q->moves = m->next;
        free(m);
    }
    arena_release(&q->fetch_arena);
    free(q->slots);
    free(q);
}

void queue_clock_moved(struct queue *q, int64_t ms, void (*moved)(void *ctx), void *ctx)
{
    struct clock_move *m = calloc(1, sizeof(*m)), **end = &q->moves;

    if (!m)
        abort(); /* a test clock that stands still would be silent */
    *m = (struct clock_move){ .ms = ms, .moved = moved, .ctx = ctx };
    while (*end)
        end = &(*end)->next;
    *end = m;
    queue_pump(q);
}
