/* store_message.c - stores new messages: content, live row, first line of the log, and the job that
 * delivers it, or its place among those that wait at a limiter. All of it is one commit. */
#include "base/limits.h"
#include "qstash/rows.h"
#include "queue/lane.h"
#include "store/values.h"

#include <assert.h>

enum { LIVE_VALUES = 13 };

struct new_state { /* the state of a new message */
    enum place place;
    int64_t queue_id;
    bool slot, counts;
};

static void live_values(const struct parcel *p, const struct new_state *s,
                        struct val v[LIVE_VALUES])
{
    v[0] = v_uuid(&p->id);
    v[1] = V_INT(s->place);
    v[2] = V_INT(p->not_before_ms);
    v[3] = s->queue_id ? V_INT(s->queue_id) : V_NULL;
    v[4] = V_INT(s->slot);
    v[5] = V_INT(s->counts);
    v[6] = v_text(p->flow_key);
    v[7] = V_INT((int64_t)p->body.n);
    v[8] = V_INT(lane_of(p->host));
    v[9] = V_INT(lane_of(p->path));
    v[10] = V_TEXT(p->caller_ip);
    v[11] = v_text(p->schedule_id);
    v[12] = v_text(p->topic);
}

/* --- many plain messages --- */

static enum err add_contents(struct tx *tx, const struct parcel *const *p, size_t n)
{
    struct val v[LIMIT_BULK * PARCEL_VALUES];
    char flow[FLOW_JSON];

    for (size_t i = 0; i < n; i++)
        parcel_values(p[i], flow, v + i * PARCEL_VALUES);
    return tx_bulk(tx, STMT_qstash_message_add, v, n, PARCEL_VALUES, NULL, NULL);
}

static enum err add_log_lines(struct tx *tx, const struct parcel *const *p, size_t n)
{
    struct val v[LIMIT_BULK * LOG_VALUES];

    for (size_t i = 0; i < n; i++) {
        struct log_entry first = { .at_ms = p[i]->created_ms, .state = QSTASH_CREATED };

        log_values(&first, v + i * LOG_VALUES);
        v[i * LOG_VALUES + 1] = v_uuid(&p[i]->id); /* borrowed: first ends with the loop */
    }
    return tx_bulk(tx, STMT_qstash_log_add, v, n, LOG_VALUES, NULL, NULL);
}

static enum err add_jobs(struct qstash *q, struct tx *tx, const struct parcel *const *p, size_t n,
                         bool gated)
{
    struct queue_new m[LIMIT_BULK];
    char text[LIMIT_BULK][JOB_TEXT];

    for (size_t i = 0; i < n; i++)
        m[i] =
            (struct queue_new){ .id = p[i]->id,
                                .kind = QSTASH_DELIVER_KIND,
                                .body = job_text(gated, (int64_t)p[i]->body.n, p[i]->host, text[i]),
                                .due_ms = p[i]->not_before_ms };
    return queue_add(q->queue, tx, p[0]->created_ms, m, n);
}

static enum err add_rows(struct tx *tx, const struct parcel *const *p, size_t n,
                         const struct new_state *s)
{
    struct val v[LIMIT_BULK * LIVE_VALUES];
    enum err e;

    assert(n && n <= LIMIT_BULK);
    e = add_contents(tx, p, n);
    for (size_t i = 0; i < n; i++)
        live_values(p[i], s, v + i * LIVE_VALUES);
    if (!e)
        e = tx_bulk(tx, STMT_qstash_live_add, v, n, LIVE_VALUES, NULL, NULL);
    return e ? e : add_log_lines(tx, p, n);
}

enum err parcels_post_plain(struct qstash *q, struct tx *tx, const struct parcel *const *p,
                            size_t n)
{
    const struct new_state given = { .place = PLACE_GIVEN };
    enum err e;

    for (size_t i = 0; i < n; i++)
        assert(parcel_is_plain(p[i]));
    e = add_rows(tx, p, n, &given);
    return e ? e : add_jobs(q, tx, p, n, false);
}

/* --- one message with its limiters --- */

/* A callback does not wait in its queue: it shares the slot of its source. */
static void enter_queue(struct queue_gate *g, const struct parcel *p, struct new_state *s)
{
    if (!g->id)
        return;
    s->queue_id = g->id;
    s->counts = !p->holds_queue_id;
    s->slot = p->holds_queue_id || (!g->paused && g->running < g->parallelism);
    s->place = s->slot ? PLACE_GIVEN : PLACE_QUEUE;
    g->running += s->slot;
    g->lag += s->counts;
}

/* It waits at once if others wait for the flow key, instead of getting a job first. */
static void enter_flow(struct flow_gate *f, const struct parcel *p, struct new_state *s)
{
    if (!f->key.n || s->place != PLACE_GIVEN || !f->waiting || p->not_before_ms > p->created_ms)
        return;
    s->place = PLACE_FLOW;
    f->waiting++;
}

static enum err limiters_try(struct tx *tx, const struct parcel *p, struct gates *ret_gates)
{
    int64_t queue_id = p->holds_queue_id;
    enum err e = OK;

    if (!queue_id && p->queue.n)
        e = queue_id_of(tx, p->queue, p->created_ms, &queue_id);
    if (!e) /* before the rows, which only the owner of the lock may write */
        e = gates_take(tx, queue_id, p->flow_key);
    if (!e && p->flow_key.n)
        e = TX_DO(tx, STMT_qstash_flow_configure, -1, V_TEXT(p->flow_key),
                  V_INT(p->flow.parallelism), V_INT(p->flow.rate), V_INT(p->flow.period_s),
                  V_INT(p->created_ms));
    return e ? e : gates_read(tx, queue_id, p->flow_key, ret_gates);
}

/* On PostgreSQL a queue may be deleted before we have its lock: then its name means a new queue. */
static enum err limiters_of_new(struct tx *tx, const struct parcel *p, struct gates *ret_gates)
{
    bool by_name = p->queue.n && !p->holds_queue_id;

    for (int tries = 0; tries < QUEUE_TRIES; tries++) {
        enum err e = limiters_try(tx, p, ret_gates);

        if (e || !by_name || (ret_gates->queue.id && !ret_gates->queue.deleted))
            return e;
    }
    return ERR_TIMEOUT;
}

enum err parcel_post(struct qstash *q, struct tx *tx, const struct parcel *p)
{
    struct new_state s = { .place = PLACE_GIVEN };
    struct gates g;
    enum err e;

    if (parcel_is_plain(p))
        return parcels_post_plain(q, tx, &p, 1);
    e = limiters_of_new(tx, p, &g);
    if (e)
        return e;
    enter_queue(&g.queue, p, &s);
    enter_flow(&g.flow, p, &s);
    e = add_rows(tx, &p, 1, &s);
    if (!e)
        e = labels_add(tx, p, 0);
    if (!e && s.place == PLACE_GIVEN)
        e = add_jobs(q, tx, &p, 1, g.queue.id || g.flow.key.n);
    return e ? e : gates_settle(q, tx, &g, p->created_ms);
}
