/* limiter.c - the two limiters of a message, and which waiting message starts next.
 *
 *   queue   running < parallelism, not paused     a slot is held until the message has ended
 *   flow    running < parallelism, started < rate, not paused; a token is held during one attempt
 *
 * (1) Each limiter is a row that changes only under its lock (queue_lock_lanes(); SQLite has one
 *     writer anyway).
 * (2) running is the number of slots (tokens) stored in qstash_live, so a message keeps its slot
 *     when its node crashes.
 * (3) The commit that makes room also gives it to the message that has waited longest. No message
 *     waits while there is room. If all wait for the next period, one job qstash.window is due
 *     then.
 *
 * A crash leaves the rows of the last commit, which satisfy all three. */
#include "base/limits.h"
#include "qstash/rows.h"
#include "queue/lane.h"
#include "store/values.h"

#include <assert.h>
#include <stdio.h>

enum { START_BATCH = 50 }; /* messages that one statement starts */

/* --- locks and rows --- */

static int64_t queue_lane(int64_t id)
{
    char text[48];

    snprintf(text, sizeof(text), "qstash.queue:%lld", (long long)id);
    return lane_of(str_of(text));
}

static int64_t flow_lane(struct str key)
{
    char text[LIMIT_QSTASH_KEY + 16];
    int n = snprintf(text, sizeof(text), "qstash.flow:" STR_FMT, STR_ARG(key));

    return lane_of((struct str){ text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1 });
}

static enum err queue_limiter_read(struct tx *tx, int64_t id, struct queue_gate *ret_gate)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_read, &row, V_INT(id));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_gate = (struct queue_gate){ .id = id,
                                     .parallelism = row.col[2].i,
                                     .paused = row.col[3].i,
                                     .deleted = row.col[1].type == VAL_NULL,
                                     .running = row.col[4].i,
                                     .lag = row.col[5].i };
    return OK;
}

static enum err flow_limiter_read(struct tx *tx, struct str key, struct flow_gate *ret_gate)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_flow_read, &row, V_TEXT(key));
    const struct val *c = row.col;

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_gate = (struct flow_gate){ .key = key,
                                    .limits = { c[0].i, c[1].i, c[2].i },
                                    .paused = c[3].i,
                                    .running = c[6].i,
                                    .waiting = c[7].i,
                                    .started = c[8].i,
                                    .period_from_ms = c[9].i,
                                    .wake_ms = c[10].type == VAL_NULL ? 0 : c[10].i };
    return OK;
}

size_t gate_lanes(const struct live *l, int64_t lanes[2])
{
    size_t n = 0;

    if (l->queue_id)
        lanes[n++] = queue_lane(l->queue_id);
    if (l->flow_key.n)
        lanes[n++] = flow_lane(l->flow_key);
    return n;
}

enum err gates_take(struct tx *tx, int64_t queue_id, struct str flow_key)
{
    const struct live at = { .queue_id = queue_id, .flow_key = flow_key };
    int64_t lanes[2];

    return queue_lock_lanes(tx, lanes, gate_lanes(&at, lanes));
}

enum err gates_read(struct tx *tx, int64_t queue_id, struct str flow_key, struct gates *ret_gates)
{
    enum err e = OK;

    *ret_gates = (struct gates){ 0 };
    if (queue_id)
        e = queue_limiter_read(tx, queue_id, &ret_gates->queue);
    if (!e && flow_key.n)
        e = flow_limiter_read(tx, flow_key, &ret_gates->flow);
    return e;
}

enum err gates_lock(struct tx *tx, int64_t queue_id, struct str flow_key, struct gates *ret_gates)
{
    enum err e = gates_take(tx, queue_id, flow_key);

    return e ? e : gates_read(tx, queue_id, flow_key, ret_gates);
}

enum err queue_make(struct tx *tx, struct str name, int64_t now_ms)
{
    struct row row;
    enum err e = tx_row(tx, STMT_qstash_queue_count, NULL, 0, &row);

    _Static_assert(LIMIT_QSTASH_QUEUES == 10000, "QUEUES_FULL says it");
    if (!e && row.col[0].i >= LIMIT_QSTASH_QUEUES)
        e = ERR_UNPROCESSABLE;
    return e ? e
             : TX_DO(tx, STMT_qstash_queue_make, -1, V_TEXT(name), V_INT(1), V_INT(0),
                     V_INT(now_ms), V_INT(now_ms));
}

enum err queue_id_of(struct tx *tx, struct str name, int64_t now_ms, int64_t *ret_id)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_find, &row, V_TEXT(name));

    if (e == ERR_NOT_FOUND) {
        e = queue_make(tx, name, now_ms);
        if (!e)
            e = TX_ROW(tx, STMT_qstash_queue_find, &row, V_TEXT(name));
    }
    if (!e)
        *ret_id = row.col[0].i;
    return e;
}

/* --- room --- */

static int64_t limiter_lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t flow_room(struct flow_gate *f, int64_t now_ms)
{
    int64_t room = INT64_MAX;

    if (f->limits.rate && now_ms >= f->period_from_ms + f->limits.period_s * 1000) {
        f->period_from_ms = now_ms;
        f->started = 0;
    }
    if (f->limits.parallelism)
        room = limiter_lesser(room, f->limits.parallelism - f->running);
    if (f->limits.rate)
        room = limiter_lesser(room, f->limits.rate - f->started);
    return f->paused || room < 0 ? 0 : room;
}

static int64_t queue_room(const struct queue_gate *g)
{
    return g->paused || g->running >= g->parallelism ? 0 : g->parallelism - g->running;
}

void gates_leave(struct gates *g, const struct live *l, bool ended)
{
    if (l->token && g->flow.key.n)
        g->flow.running--;
    if (l->place == PLACE_FLOW && ended && g->flow.key.n)
        g->flow.waiting--;
    if (!ended || !g->queue.id)
        return;
    g->queue.running -= l->slot;
    g->queue.lag -= l->counts;
}

/* --- starting messages that wait: each gets a job --- */

struct start_batch {
    struct uuid id[START_BATCH];
    int64_t due_ms[START_BATCH];
    struct str body[START_BATCH];
    char text[START_BATCH][JOB_TEXT];
    size_t n;
};

struct str job_text(bool gated, int64_t bytes, struct str host, char text[JOB_TEXT])
{
    int n = snprintf(text, JOB_TEXT, "%c %lld " STR_FMT, gated ? 'g' : 'p', (long long)bytes,
                     STR_ARG(host));

    return (struct str){ text, n < JOB_TEXT ? (size_t)n : JOB_TEXT - 1 };
}

static enum err start_batch_add(void *ctx, const struct row *row)
{
    struct start_batch *l = ctx;
    size_t i = l->n;

    if (i == START_BATCH || !uuid_of_bytes(row->col[0].s, &l->id[i]))
        return ERR_INTERNAL;
    l->due_ms[i] = row->col[1].i;
    l->body[i] = job_text(true, row->col[2].i, row->col[3].s, l->text[i]);
    l->n++;
    return OK;
}

static enum err start_batch_store(struct qstash *q, struct tx *tx, enum stmt stmt,
                                  struct start_batch *l, int64_t now_ms)
{
    struct queue_new m[START_BATCH];
    struct val v[START_BATCH];
    enum err e;

    for (size_t i = 0; i < l->n; i++) {
        v[i] = v_uuid(&l->id[i]);
        m[i] = (struct queue_new){ .id = l->id[i],
                                   .kind = QSTASH_DELIVER_KIND,
                                   .body = l->body[i],
                                   .due_ms = l->due_ms[i] > now_ms ? l->due_ms[i] : now_ms };
    }
    e = tx_bulk(tx, stmt, v, l->n, 1, NULL, NULL);
    return e ? e : queue_add(q->queue, tx, now_ms, m, l->n);
}

static enum err limiter_start_queue(struct qstash *q, struct tx *tx, struct queue_gate *g,
                                    int64_t now_ms)
{
    struct start_batch l;
    int64_t room;

    while ((room = limiter_lesser(queue_room(g), START_BATCH)) > 0) {
        struct val v[] = { V_INT(g->id), V_INT(PLACE_QUEUE), V_INT(room) };
        enum err e;

        l.n = 0;
        e = tx_each(tx, STMT_qstash_queue_waiting, v, COUNT(v), start_batch_add, &l);
        if (!e && l.n)
            e = start_batch_store(q, tx, STMT_qstash_live_give_slot, &l, now_ms);
        if (e || !l.n)
            return e;
        g->running += (int64_t)l.n;
        if ((int64_t)l.n < room)
            return OK;
    }
    return OK;
}

/* Messages that a pause stopped between two attempts still have their slots. */
static enum err limiter_start_paused(struct qstash *q, struct tx *tx, const struct queue_gate *g,
                                     int64_t now_ms)
{
    struct val v[] = { V_INT(g->id), V_INT(PLACE_HELD), V_INT(START_BATCH) };
    struct start_batch l;

    if (g->paused)
        return OK;
    do {
        enum err e;

        l.n = 0;
        e = tx_each(tx, STMT_qstash_queue_waiting, v, COUNT(v), start_batch_add, &l);
        if (!e && l.n)
            e = start_batch_store(q, tx, STMT_qstash_live_give_slot, &l, now_ms);
        if (e)
            return e;
    } while (l.n == START_BATCH);
    return OK;
}

/* A rate may allow thousands: the rest starts with the next wake-up, so that a unit stays short. */
enum { START_MOST = 400 };

static enum err limiter_start_flow(struct qstash *q, struct tx *tx, struct flow_gate *f,
                                   int64_t now_ms)
{
    struct start_batch l;

    for (int64_t given = 0, room; f->waiting > 0 && given < START_MOST; given += (int64_t)l.n) {
        enum err e;

        room = limiter_lesser(flow_room(f, now_ms), START_BATCH);
        l.n = 0;
        if (room) {
            struct val v[] = { V_TEXT(f->key), V_INT(room) };

            e = tx_each(tx, STMT_qstash_flow_waiting, v, COUNT(v), start_batch_add, &l);
            if (!e && l.n)
                e = start_batch_store(q, tx, STMT_qstash_live_give_token, &l, now_ms);
            if (e)
                return e;
        }
        if ((int64_t)l.n < room)
            f->waiting = (int64_t)l.n; /* the rows are right, not the stored count */
        if (!l.n)
            break;
        f->running += (int64_t)l.n;
        f->started += (int64_t)l.n;
        f->waiting -= (int64_t)l.n;
    }
    return OK;
}

/* --- the next period --- */

static bool flow_needs_wake(struct flow_gate *f, int64_t now_ms, int64_t *ret_ms)
{
    if (!f->waiting || f->paused)
        return false;
    *ret_ms = now_ms;
    if (flow_room(f, now_ms))
        return true; /* START_MOST was reached */
    *ret_ms = f->period_from_ms + f->limits.period_s * 1000;
    return f->limits.rate && f->started >= f->limits.rate;
}

/* A wake-up that is long overdue does not count: another one is planned. */
static bool flow_wake_is_planned(const struct flow_gate *f, int64_t at, int64_t now_ms)
{
    return f->wake_ms && f->wake_ms <= at && f->wake_ms > now_ms - LIMIT_QSTASH_WINDOW_LATE_MS;
}

static enum err flow_plan_wake(struct qstash *q, struct tx *tx, struct flow_gate *f, int64_t now_ms)
{
    struct queue_new m = { .kind = QSTASH_WINDOW_KIND, .ref = f->key };
    char text[24];
    int64_t at;

    if (!flow_needs_wake(f, now_ms, &at) || flow_wake_is_planned(f, at, now_ms))
        return OK;
    snprintf(text, sizeof(text), "%lld", (long long)at);
    f->wake_ms = m.due_ms = at;
    m.id = env_uuid(q->env);
    m.body = str_of(text);
    return queue_add(q->queue, tx, now_ms, &m, 1);
}

/* The row of a deleted queue is deleted with the last message that was in it. */
static enum err queue_limiter_save(struct tx *tx, const struct queue_gate *g)
{
    enum err e =
        TX_DO(tx, STMT_qstash_queue_save, 1, V_INT(g->running), V_INT(g->lag), V_INT(g->id));

    if (e || !g->deleted || g->running || g->lag)
        return e;
    return TX_DO(tx, STMT_qstash_queue_gone, 1, V_INT(g->id));
}

enum err gates_save(struct qstash *q, struct tx *tx, struct gates *g, int64_t now_ms)
{
    struct flow_gate *f = &g->flow;
    enum err e = OK;

    /* No message gives back a slot or a token that it does not have (2). */
    assert(g->queue.running >= 0 && g->queue.lag >= 0 && f->running >= 0);
    if (f->key.n)
        e = flow_plan_wake(q, tx, f, now_ms);
    if (!e && g->queue.id)
        e = queue_limiter_save(tx, &g->queue);
    if (!e && f->key.n)
        e = TX_DO(tx, STMT_qstash_flow_save, 1, V_INT(f->running), V_INT(f->waiting),
                  V_INT(f->started), V_INT(f->period_from_ms),
                  f->wake_ms ? V_INT(f->wake_ms) : V_NULL, V_TEXT(f->key));
    return e;
}

enum err gates_settle(struct qstash *q, struct tx *tx, struct gates *g, int64_t now_ms)
{
    enum err e = OK;

    if (g->queue.id) {
        e = limiter_start_paused(q, tx, &g->queue, now_ms);
        if (!e)
            e = limiter_start_queue(q, tx, &g->queue, now_ms);
    }
    if (!e && g->flow.key.n)
        e = limiter_start_flow(q, tx, &g->flow, now_ms);
    return e ? e : gates_save(q, tx, g, now_ms);
}

/* --- qstash.window --- */

/* The planned wake-up is over when its job runs, even if it ran too early by this node's clock. A
 * late job that was replaced meanwhile leaves the plan as it is, or there would always be two. */
static bool window_is_planned(const struct message *m, const struct flow_gate *f)
{
    int64_t at;

    return !str_to_i64(m->body, &at) || at == f->wake_ms;
}

static enum err window_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct qstash *q = ctx;
    int64_t now_ms = env_now_ms(q->env);
    struct gates g;
    enum err e = gates_lock(tx, 0, m->ref, &g);

    (void)why;
    if (e || !g.flow.key.n)
        return e;
    if (window_is_planned(m, &g.flow))
        g.flow.wake_ms = 0;
    return gates_settle(q, tx, &g, now_ms);
}

struct job_kind qstash_window_kind(struct qstash *q)
{
    return (struct job_kind){
        .name = "qstash.window", .run = window_run, .ctx = q, .retry = retry_table[RETRY_QSTASH]
    };
}
