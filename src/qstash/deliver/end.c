/* end.c - what becomes of an attempt.
 *
 *   begin --> call --> 2xx              --> DELIVERED, gone
 *     |           |--> 489 and its header --> FAILED: a dead letter
 *     |           '--> anything else    --> ERROR, then RETRY, or FAILED where none is left
 *     '--> a limiter has no room: the message waits there, and its job ends
 *
 * (1) Each arrow is one commit with all that belongs to it: the log, the callbacks (messages of
 *     their own), the limiters, the dead letter and the job.
 * (2) On PostgreSQL the limiters are locked before any row is written that other units write too.
 *
 * If the node is killed between call and commit, the attempt is made again under the same id and
 * the same count. */
#include "base/json/json.h"
#include "base/limits.h"
#include "domain/cause.h"
#include "qstash/deliver/callback.h"
#include "qstash/rows.h"
#include "queue/lane.h"
#include "store/values.h"

#include <stdio.h>

/* --- before the call --- */

/* A callback reports an attempt that was made, so it leaves a paused queue too. */
static bool live_is_paused(const struct gates *g, const struct live *l)
{
    return g->queue.id && g->queue.paused && l->counts;
}

static bool live_may_start(struct gates *g, const struct live *l, int64_t now_ms)
{
    if (live_is_paused(g, l))
        return false;
    if (!g->flow.key.n || l->token)
        return true;
    return !g->flow.waiting && flow_room(&g->flow, now_ms) > 0;
}

static enum err live_take_token(struct tx *tx, struct gates *g, struct live *l, struct uuid id)
{
    if (!g->flow.key.n || l->token)
        return OK;
    g->flow.running++;
    g->flow.started++;
    l->token = true;
    return TX_DO(tx, STMT_qstash_live_token, 1, V_INT(1), v_uuid(&id));
}

static enum err live_pass_limiters(struct qstash *q, struct tx *tx, struct uuid id, struct live *l,
                                   bool *ret_pass)
{
    int64_t now_ms = env_now_ms(q->env);
    struct gates g;
    enum err e = gates_lock(tx, l->queue_id, l->flow_key, &g);

    *ret_pass = true;
    if (e || (!g.queue.id && !g.flow.key.n))
        return e;
    *ret_pass = live_may_start(&g, l, now_ms);
    if (!*ret_pass)
        return OK;
    e = live_take_token(tx, &g, l, id);
    return e || !g.flow.key.n ? e : gates_settle(q, tx, &g, now_ms);
}

enum err parcel_begin(struct qstash *q, struct tx *tx, struct arena *a, const struct message *m,
                      struct parcel *ret_parcel, struct live *ret_live,
                      enum begin_verdict *ret_verdict)
{
    bool pass = false;
    enum err e = live_read(tx, a, m->id, ret_live);

    *ret_verdict = BEGIN_GONE;
    if (!e)
        e = parcel_read(tx, a, m->id, true, ret_parcel);
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_verdict = BEGIN_CANCELED;
    if (ret_live->cancel)
        return OK;
    e = live_pass_limiters(q, tx, m->id, ret_live, &pass);
    *ret_verdict = pass ? BEGIN_GO : BEGIN_WAIT;
    if (e || !pass)
        return e;
    return log_add(tx, &(struct log_entry){
                           .id = m->id, .at_ms = env_now_ms(q->env), .state = QSTASH_ACTIVE });
}

struct begin_batch {
    struct begun *all;
    size_t n;
};

static enum err begin_batch_row(void *ctx, const struct row *row)
{
    struct begin_batch *m = ctx;
    const struct val *body = &row->col[PARCEL_COLUMN_COUNT], *state = body + 1;

    for (size_t i = 0; i < m->n; i++) {
        struct begun *b = &m->all[i];
        enum err e;

        if (!str_eq(row->col[0].s, uuid_bytes(&b->id)))
            continue;
        e = parcel_of_row(b->arena, row, 0, &b->parcel);
        if (e)
            return e;
        b->parcel.body = arena_str(b->arena, body->s);
        b->live = (struct live){ .retried = state->i / 2, .cancel = state->i % 2 };
        b->verdict = state->type == VAL_NULL ? BEGIN_GONE
                     : b->live.cancel        ? BEGIN_CANCELED
                                             : BEGIN_GO;
        return b->parcel.body.p || !body->s.n ? OK : ERR_NO_MEMORY;
    }
    return ERR_INTERNAL;
}

enum err parcels_begin_plain(struct qstash *q, struct tx *tx, struct begun *b, size_t n)
{
    struct val ids[LIMIT_BULK], lines[LIMIT_BULK * LOG_VALUES];
    struct begin_batch m = { .all = b, .n = n };
    int64_t now_ms = env_now_ms(q->env);
    size_t count = 0;
    enum err e;

    for (size_t i = 0; i < n; i++) {
        b[i].verdict = BEGIN_GONE;
        ids[i] = v_uuid(&b[i].id);
    }
    e = tx_bulk(tx, STMT_qstash_begin_many, ids, n, 1, begin_batch_row, &m);
    for (size_t i = 0; i < n && !e; i++) {
        struct log_entry line = { .at_ms = now_ms, .state = QSTASH_ACTIVE };

        if (b[i].verdict != BEGIN_GO)
            continue;
        log_values(&line, lines + count * LOG_VALUES);
        lines[count++ * LOG_VALUES + 1] = ids[i];
    }
    return e || !count ? e : tx_bulk(tx, STMT_qstash_log_add, lines, count, LOG_VALUES, NULL, NULL);
}

/* --- what every end writes --- */

static enum err end_log(struct tx *tx, const struct parcel *p, const struct attempt *at,
                        enum qstash_state state, int64_t now_ms, int64_t next_ms)
{
    struct log_entry line = { .id = p->id, .at_ms = now_ms, .state = state, .next_ms = next_ms };

    if (at) {
        line.answered = true;
        line.status = at->status;
        line.error = at->error;
        line.response_header = at->response_header;
        line.response_body = at->response_body;
        if (line.response_body.n > LIMIT_QSTASH_LOGGED)
            line.response_body.n = LIMIT_QSTASH_LOGGED;
    }
    return log_add(tx, &line);
}

/* In a queue the next message waits for the callbacks of this one too: they share its slot. */
static enum err end_call_back(struct qstash *q, struct tx *tx, struct arena *a,
                              const struct parcel *p, const struct live *l,
                              const struct attempt *at, bool failure, struct str dlq_id)
{
    struct parcel back;
    enum err e = callback_make(a, p, at, l->retried, failure, dlq_id, &back);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e; /* none was asked for */
    back.id = failure ? at->failure_id : at->callback_id;
    back.created_ms = back.not_before_ms = env_now_ms(q->env);
    back.holds_queue_id = l->slot ? l->queue_id : 0;
    return parcel_post(q, tx, &back);
}

enum err parcel_leave(struct qstash *q, struct tx *tx, const struct parcel *p, const struct live *l)
{
    struct gates g;
    enum err e = gates_lock(tx, l->queue_id, p->flow_key, &g);

    if (!e)
        e = TX_DO(tx, STMT_qstash_live_remove, 1, v_uuid(&p->id));
    if (!e)
        e = labels_remove(tx, p, 0);
    if (e || (!g.queue.id && !g.flow.key.n))
        return e;
    gates_leave(&g, l, true);
    return gates_settle(q, tx, &g, env_now_ms(q->env));
}

/* --- dead letters --- */

static enum err end_add_dead_letter(struct tx *tx, const struct parcel *p, struct str reason,
                                    int64_t tries, int64_t now_ms)
{
    char ref[MESSAGE_ID_TEXT + 1], cause[CAUSE_TEXT + 1];
    enum err e;

    message_id_text(p->id, ref);
    e = TX_DO(tx, STMT_qstash_letter_add, -1, v_uuid(&p->id), V_TEXT(QSTASH_DELIVER_KIND),
              V_TEXT(str_of(ref)), V_TEXT(reason), V_TEXT(cause_of(reason, cause)), V_INT(tries),
              V_INT(p->created_ms), V_INT(now_ms));
    return e ? e
             : TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("DEAD_LETTER")),
                     V_TEXT(str_of(ref)), V_TEXT(S("failure")), V_INT(1), V_TEXT(reason));
}

static enum err end_add_dead_row(struct tx *tx, const struct parcel *p, const struct live *l,
                                 const struct attempt *at, int64_t now_ms, char ret_dlq_id[48])
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_dead_add, &row, v_uuid(&p->id), V_INT(now_ms),
                        V_INT(l->retried), V_INT(at->status), V_INT(lane_of(p->url)),
                        v_text(p->queue), v_text(p->topic), v_text(p->schedule_id),
                        v_text(p->flow_key), V_TEXT(p->caller_ip), v_text(at->response_header),
                        at->response_body.n ? V_BLOB(at->response_body) : V_NULL);

    if (e)
        return e;
    snprintf(ret_dlq_id, 48, "%lld-%lld", (long long)now_ms, (long long)row.col[0].i);
    return labels_add(tx, p, row.col[0].i);
}

static void end_reason(const struct attempt *at, char reason[256])
{
    if (at->status)
        snprintf(reason, 256, "%s answered %d",
                 at->fatal ? "the destination refused for good: it" : "the destination",
                 at->status);
    else
        snprintf(reason, 256, "the destination was not reached: " STR_FMT, STR_ARG(at->error));
}

static enum err end_failed(struct qstash *q, struct tx *tx, struct arena *a, const struct parcel *p,
                           const struct live *l, const struct attempt *at)
{
    int64_t now_ms = env_now_ms(q->env);
    char dlq_id[48] = "", reason[256];
    enum err e;

    end_reason(at, reason);
    e = end_log(tx, p, at, QSTASH_FAILED, now_ms, 0);
    if (!e)
        e = end_add_dead_letter(tx, p, str_of(reason), l->retried + 1, now_ms);
    if (!e)
        e = end_add_dead_row(tx, p, l, at, now_ms, dlq_id);
    if (!e)
        e = end_call_back(q, tx, a, p, l, at, true, str_of(dlq_id));
    return e ? e : parcel_leave(q, tx, p, l);
}

/* --- the ends --- */

static enum err end_delivered(struct qstash *q, struct tx *tx, struct arena *a,
                              const struct parcel *p, const struct live *l,
                              const struct attempt *at)
{
    enum err e = end_log(tx, p, at, QSTASH_DELIVERED, env_now_ms(q->env), 0);

    if (!e)
        e = end_call_back(q, tx, a, p, l, at, false, (struct str){ 0 });
    return e ? e : parcel_leave(q, tx, p, l);
}

static enum err end_canceled(struct qstash *q, struct tx *tx, const struct parcel *p,
                             const struct live *l)
{
    enum err e = end_log(tx, p, NULL, QSTASH_CANCELED, env_now_ms(q->env), 0);

    return e ? e : parcel_leave(q, tx, p, l);
}

enum err parcel_end_canceled(struct qstash *q, struct tx *tx, const struct message *m,
                             const struct parcel *p)
{
    CLEANUP(arena_release) struct arena a;
    struct live l;
    enum err e;

    arena_init(&a, 4 * 1024);
    e = live_read(tx, &a, m->id, &l);
    if (!e)
        e = end_canceled(q, tx, p, &l);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- not now --- */

/* Locks both limiters at once (2), because storing a callback locks only the queue. */
static enum err live_read_locked(struct tx *tx, struct arena *a, struct uuid id,
                                 struct live *ret_live)
{
    enum err e = live_read(tx, a, id, ret_live);

    if (e || (!ret_live->queue_id && !ret_live->flow_key.n))
        return e;
    e = gates_take(tx, ret_live->queue_id, ret_live->flow_key);
    return e ? e : live_read(tx, a, id, ret_live);
}

static enum err live_park(struct qstash *q, struct tx *tx, struct gates *g, const struct live *l,
                          struct uuid id, int64_t now_ms)
{
    bool held = live_is_paused(g, l);
    enum err e = TX_DO(tx, STMT_qstash_live_move, 1, V_INT(held ? PLACE_HELD : PLACE_FLOW),
                       V_INT(now_ms), v_uuid(&id));

    gates_leave(g, l, false);
    g->flow.waiting += !held;
    if (e)
        return e;
    /* Its present job ends with this commit, which must not start it again. */
    return held ? gates_settle(q, tx, g, now_ms) : gates_save(q, tx, g, now_ms);
}

static enum err live_park_or_start(struct qstash *q, struct tx *tx, const struct live *l,
                                   struct uuid id, int64_t *ret_again_ms)
{
    int64_t now_ms = env_now_ms(q->env);
    struct gates g;
    enum err e = gates_lock(tx, l->queue_id, l->flow_key, &g);

    if (!e) /* a new period may have begun: messages that wait came before this one */
        e = gates_settle(q, tx, &g, now_ms);
    if (e)
        return e;
    if (!live_may_start(&g, l, now_ms))
        return live_park(q, tx, &g, l, id, now_ms);
    *ret_again_ms = now_ms;
    return OK;
}

enum err parcel_park(struct qstash *q, struct tx *tx, const struct message *m,
                     const struct parcel *p, int64_t *ret_again_ms)
{
    CLEANUP(arena_release) struct arena a;
    struct live l;
    enum err e;

    *ret_again_ms = 0;
    arena_init(&a, 4 * 1024);
    e = live_read_locked(tx, &a, m->id, &l);
    if (!e)
        e = l.cancel ? end_canceled(q, tx, p, &l)
                     : live_park_or_start(q, tx, &l, m->id, ret_again_ms);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* A start that did not happen does not count for the rate, if it was in the present period. */
static enum err live_return_token(struct qstash *q, struct tx *tx, const struct live *l,
                                  const struct message *m)
{
    struct gates g;
    enum err e = gates_lock(tx, l->queue_id, l->flow_key, &g);

    if (!e)
        e = TX_DO(tx, STMT_qstash_live_token, 1, V_INT(0), v_uuid(&m->id));
    if (e)
        return e;
    gates_leave(&g, l, false);
    g.flow.started -= g.flow.started > 0 && m->added_ms >= g.flow.period_from_ms;
    return gates_settle(q, tx, &g, env_now_ms(q->env));
}

enum err parcel_yield(struct qstash *q, struct tx *tx, const struct message *m)
{
    CLEANUP(arena_release) struct arena a;
    struct live l;
    enum err e;

    arena_init(&a, 4 * 1024);
    e = live_read_locked(tx, &a, m->id, &l);
    if (!e && l.token)
        e = live_return_token(q, tx, &l, m);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- the end of an attempt --- */

static enum err end_retry(struct qstash *q, struct tx *tx, const struct parcel *p,
                          const struct live *l, int64_t next_ms)
{
    struct gates g;
    enum err e = end_log(tx, p, NULL, QSTASH_RETRY, env_now_ms(q->env), next_ms);

    if (!e && l->token)
        e = gates_lock(tx, l->queue_id, p->flow_key, &g);
    if (!e)
        e = TX_DO(tx, STMT_qstash_live_retried, 1, v_uuid(&p->id));
    if (e || !l->token)
        return e;
    gates_leave(&g, l, false);
    return gates_settle(q, tx, &g, env_now_ms(q->env));
}

static enum settled settled_of(const struct parcel *p, const struct live *l,
                               const struct attempt *at)
{
    if (at->delivered)
        return SETTLED_DELIVERED;
    if (l->cancel)
        return SETTLED_CANCELED;
    return at->fatal || l->retried >= p->retries ? SETTLED_FAILED : SETTLED_RETRY;
}

enum err parcel_settle(struct qstash *q, struct tx *tx, struct arena *a, const struct message *m,
                       const struct parcel *p, const struct attempt *at, enum settled *ret_settled,
                       int64_t *ret_again_ms)
{
    int64_t now_ms = env_now_ms(q->env);
    struct live l;
    enum err e = live_read_locked(tx, a, m->id, &l);

    *ret_again_ms = 0;
    *ret_settled = SETTLED_GONE;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_settled = settled_of(p, &l, at);
    if (*ret_settled == SETTLED_DELIVERED)
        return end_delivered(q, tx, a, p, &l, at);
    e = end_log(tx, p, at, QSTASH_ERROR, now_ms, 0);
    if (!e)
        e = end_call_back(q, tx, a, p, &l, at, false, (struct str){ 0 });
    if (e)
        return e;
    if (*ret_settled == SETTLED_FAILED) {
        queue_count_dead(tx);
        return end_failed(q, tx, a, p, &l, at);
    }
    if (*ret_settled == SETTLED_CANCELED)
        return end_canceled(q, tx, p, &l);
    *ret_again_ms = now_ms + at->next_delay_ms + !at->next_delay_ms;
    return end_retry(q, tx, p, &l, *ret_again_ms);
}

enum err parcel_give_up(struct qstash *q, struct tx *tx, struct uuid id, struct str why)
{
    struct attempt at = { .error = why,
                          .callback_id = env_uuid(q->env),
                          .failure_id = env_uuid(q->env) };
    CLEANUP(arena_release) struct arena a;
    struct parcel p;
    struct live l;
    enum err e;

    arena_init(&a, 4 * LIMIT_QSTASH_BODY);
    e = live_read_locked(tx, &a, id, &l);
    if (!e)
        e = parcel_read(tx, &a, id, true, &p);
    if (!e)
        e = end_log(tx, &p, &at, QSTASH_ERROR, env_now_ms(q->env), 0);
    if (!e)
        e = end_failed(q, tx, &a, &p, &l, &at);
    return e == ERR_NOT_FOUND ? OK : e;
}
