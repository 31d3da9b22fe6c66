/* runner.c - the runner: a state machine on its executor that fetches the messages that are due,
 * posts them, and sleeps until exactly the next due time.
 *
 *     start --> fetch --> items (job.c) --> fetch when there is room and something is due
 *                 |
 *                 '-- got fewer than asked: the same unit reads the next due time for the timer
 *
 *   (1) At most one fetch is under way. Commits before it are seen by it; commits during it report
 *       into `reports`. So no due message is missed, and none is searched for.
 *   (2) While nothing is due the database is not asked. With other nodes (PostgreSQL) one fetch
 *       every LIMIT_POLL_MS covers lost hints.
 *   (3) Leases are renewed before anything else is tried, so that after a pause this node does not
 *       fetch its own messages again.
 *   (4) No error of the database ends the runner: it waits 100 ms, then up to 2 s, and goes on.
 *   (5) If a suspect (queue.h) is next, nothing is fetched until no item is under way, except those
 *       that work outside. Then it is fetched, and nothing else until it has ended.
 *
 * All state is in memory and is rebuilt after a crash by the first fetch. On SQLite the start also
 * releases the leases of the process that died; on PostgreSQL they expire. */
#include "queue/runner.h"

#include "base/limits.h"
#include "observe/log.h"

#include <stdlib.h>

/* --- trouble with the database --- */

bool is_trouble(enum err e)
{
    return e == ERR_INTERNAL || (e != ERR_STALE && e != ERR_UNCERTAIN && err_is_retryable(e));
}

void queue_note_trouble(struct queue *q, enum err e)
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

void queue_note_success(struct queue *q)
{
    if (!q->trouble_ms)
        return;
    LOG(q->o.env->log, LOG_INFO, "The queue goes on", LOG_NUM("held", (int64_t)q->held));
    q->trouble_ms = 0;
    q->trouble_until_ms = 0;
}

static void runner_note_result(struct queue *q, enum err e)
{
    if (e)
        queue_note_trouble(q, e);
    else
        queue_note_success(q);
}

/* --- start on SQLite: releases the leases of earlier processes, and counts the messages --- */

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
        queue_tell_count(q, tx,
                         count); /* exact: ordered with all other changes by the one writer */
    return e;
}

static void start_done(struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, start_unit);

    q->starting = false;
    q->started = !u->err;
    q->next_ms = DUE_NOW;
    runner_note_result(q, u->err);
    queue_pump(q);
}

static void start_on_sqlite(struct queue *q)
{
    static const struct unit_kind kind = { "queue.start", UNIT_BACK, start_run, NULL };

    q->starting = true;
    q->start_unit = (struct unit){ .kind = &kind, .executor = q->o.executor, .done = start_done };
    store_post(q->o.store, &q->start_unit);
}

/* --- renew --- */

static size_t renewal_batch(const struct renewal *r)
{
    return r->count - r->done < LIMIT_LEASED ? r->count - r->done : LIMIT_LEASED;
}

static enum err renew_run(struct tx *tx, struct unit *u)
{
    struct renewal *r = CONTAINER_OF(u, struct renewal, unit);

    return queue_renew(tx, r->pointers + r->done, renewal_batch(r), r->due_ms);
}

static void clock_move_finish(struct queue *q)
{
    struct clock_move *m = q->moves;

    q->moves = m->next;
    clock_advance(&q->o.env->clock, m->ms);
    q->next_ms = DUE_NOW;
    q->renewed_ms = now_of(q);
    q->trouble_until_ms = 0;
    q->armed_ms =
        DUE_NOW; /* the same wall time is nearer now: forces the timer to be armed again */
    if (m->moved)
        m->moved(m->ctx);
    free(m);
}

static void renew_done(struct unit *u);

static void renewal_post(struct renewal *r)
{
    static const struct unit_kind kind = { "queue.renew", UNIT_BACK, renew_run, NULL };

    r->unit = (struct unit){ .kind = &kind, .executor = r->queue->o.executor, .done = renew_done };
    store_post(r->queue->o.store, &r->unit);
}

static void renew_done(struct unit *u)
{
    struct renewal *r = CONTAINER_OF(u, struct renewal, unit);
    struct queue *q = r->queue;

    r->done += renewal_batch(r);
    if (!u->err && r->done < r->count) {
        renewal_post(r);
        return;
    }
    q->renewal = NULL;
    if (!u->err) {
        q->renewed_ms = now_of(q);
        q->commits++;
    }
    runner_note_result(q, u->err);
    free(r);
    if (q->moves)
        clock_move_finish(q);
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
        queue_note_trouble(q, ERR_NO_MEMORY);
        return;
    }
    q->renewal = r;
    r->due_ms = due_ms;
    renewal_post(r);
}

/* --- the estimated number of messages, with several nodes --- */

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

/* With several nodes a start needs no count, and the leases of dead nodes expire. */
static void runner_start(struct queue *q, int64_t now)
{
    if (!q->many_nodes) {
        start_on_sqlite(q);
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

/* A clock move waits until no fetch and no renewal is under way: they use times before the move. */
static bool clock_move_begin(struct queue *q, int64_t now)
{
    while (q->moves && !q->fetching && !q->renewal && !q->held)
        clock_move_finish(q);
    if (!q->moves)
        return false;
    if (q->fetching || q->renewal)
        return true;
    runner_renew(q, now + q->moves->ms + LIMIT_LEASE_MS);
    if (!q->renewal)
        clock_move_finish(q); /* out of memory: our leases may expire, and the fence decides */
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
        return CLOCK_NEVER; /* the unit that is under way calls queue_pump() when it is done */
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
        q->next_ms = DUE_NOW; /* reports are dropped meanwhile, so fetch once there is room */
    runner_arm(q, at);
}

static bool at_rest(const struct queue *q)
{
    return !q->posted && !q->away && !q->fetching && !q->renewal && !q->starting && !q->counting;
}

/* True: it has stopped, and q may have been freed. */
static bool try_to_stop(struct queue *q)
{
    items_drop(q, true);
    while (q->moves && !q->renewal)
        clock_move_finish(q);
    if (!at_rest(q) || q->closed)
        return q->closed;
    executor_arm(q->o.executor, &q->timer, CLOCK_NEVER);
    q->armed_ms = CLOCK_NEVER;
    if (!reports_close(&q->reports))
        return false; /* the task runs once more */
    q->closed = true;
    adoptions_drop(q);
    q->stopped(q->stopped_ctx);
    return true;
}

/* While stopping: outside parts may take longer than a lease, so leases are still renewed. */
static void stopping_renew(struct queue *q, int64_t now)
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
            stopping_renew(q, now);
        return;
    }
    if (!clock_move_begin(q, now))
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

/* --- interface --- */

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
        abort(); /* a test clock that did not move would go unnoticed */
    *m = (struct clock_move){ .ms = ms, .moved = moved, .ctx = ctx };
    while (*end)
        end = &(*end)->next;
    *end = m;
    queue_pump(q);
}
