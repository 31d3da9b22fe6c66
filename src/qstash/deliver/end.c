/* end.c - what becomes of an attempt.
 *
 *   begin --> call --> 2xx              --> DELIVERED, gone
 *     |           |--> 489 and its header --> FAILED: a dead letter
 *     |           '--> anything else    --> ERROR, then RETRY, or FAILED where none is left
 *     '--> a gate is closed: it waits there, and its message ends
 *
 * Each arrow is one commit with everything that belongs to it: the log, the callbacks (parcels of
 * their own), the gates, the dead letter, and the message. Killed between call and commit, the
 * attempt is made again, under the same id and the same count. */
#include "base/limits.h"
#include "domain/cause.h"
#include "qstash/deliver/callback.h"
#include "qstash/rows.h"
#include "queue/lane.h"
#include "store/values.h"

#include <stdio.h>

/* --- before the call --- */

/* A callback belongs to an attempt that was made: it goes out of a paused queue too. */
static bool is_held(const struct gates *g, const struct live *l)
{
    return g->queue.id && g->queue.paused && l->counts;
}

static bool may_go(struct gates *g, const struct live *l, int64_t now_ms)
{
    if (is_held(g, l))
        return false;
    if (!g->flow.key.n || l->token)
        return true;
    return !g->flow.waiting && flow_room(&g->flow, now_ms) > 0;
}

static enum err take_token(struct tx *tx, struct gates *g, struct live *l, struct uuid id)
{
    if (!g->flow.key.n || l->token)
        return OK;
    g->flow.running++;
    g->flow.started++;
    l->token = true;
    return TX_DO(tx, STMT_qstash_live_token, 1, V_INT(1), v_uuid(&id));
}

static enum err pass_gates(struct qstash *q, struct tx *tx, struct uuid id, struct live *l,
                           bool *ret_pass)
{
    int64_t now_ms = env_now_ms(q->env);
    struct gates g;
    enum err e = gates_lock(tx, l->queue_id, l->flow_key, &g);

    *ret_pass = true;
    if (e || (!g.queue.id && !g.flow.key.n))
        return e;
    *ret_pass = may_go(&g, l, now_ms);
    if (!*ret_pass)
        return OK;
    e = take_token(tx, &g, l, id);
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
    e = pass_gates(q, tx, m->id, ret_live, &pass);
    *ret_verdict = pass ? BEGIN_GO : BEGIN_WAIT;
    if (e || !pass)
        return e;
    return log_add(tx, &(struct log_entry){
                           .id = m->id, .at_ms = env_now_ms(q->env), .state = QSTASH_ACTIVE });
}

struct many {
    struct begun *all;
    size_t n;
};

static enum err begin_row(void *ctx, const struct row *row)
{
    struct many *m = ctx;
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
    struct many m = { .all = b, .n = n };
    int64_t now_ms = env_now_ms(q->env);
    size_t count = 0;
    enum err e;

    for (size_t i = 0; i < n; i++) {
        b[i].verdict = BEGIN_GONE;
        ids[i] = v_uuid(&b[i].id);
    }
    e = tx_bulk(tx, STMT_qstash_begin_many, ids, n, 1, begin_row, &m);
    for (size_t i = 0; i < n && !e; i++) {
        struct log_entry line = { .at_ms = now_ms, .state = QSTASH_ACTIVE };

        if (b[i].verdict != BEGIN_GO)
            continue;
        log_values(&line, lines + count * LOG_VALUES);
        lines[count++ * LOG_VALUES + 1] = ids[i];
    }
    return e || !count ? e : tx_bulk(tx, STMT_qstash_log_add, lines, count, LOG_VALUES, NULL, NULL);
}

/* --- behind it --- */

static struct str deliver_end_cut(struct str s, size_t most)
{
    return (struct str){ s.p, s.n < most ? s.n : most };
}

static enum err deliver_end_note(struct tx *tx, const struct parcel *p, const struct attempt *at,
                                 enum qstash_state state, int64_t now_ms, int64_t next_ms)
{
    struct log_entry line = { .id = p->id, .at_ms = now_ms, .state = state, .next_ms = next_ms };

    if (at) {
        line.answered = true;
        line.status = at->status;
        line.error = at->error;
        line.response_header = at->response_header;
        line.response_body = deliver_end_cut(at->response_body, LIMIT_QSTASH_LOGGED);
    }
    return log_add(tx, &line);
}

/* Callbacks are parcels like any other; in a queue the next one waits for them too. */
static enum err call_back(struct qstash *q, struct tx *tx, struct arena *a, const struct parcel *p,
                          const struct live *l, const struct attempt *at, bool failure,
                          struct str dlq_id)
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

/* It has ended: nothing of it moves any more, and what it held is free. */
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

static enum err add_letter(struct tx *tx, const struct parcel *p, struct str reason, int64_t tries,
                           int64_t now_ms)
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

static enum err add_dead(struct tx *tx, const struct parcel *p, const struct live *l,
                         const struct attempt *at, int64_t now_ms, char dlq_id[48])
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_dead_add, &row, v_uuid(&p->id), V_INT(now_ms),
                        V_INT(l->retried), V_INT(at->status), V_INT(lane_of(p->url)),
                        v_text(p->queue), v_text(p->topic), v_text(p->schedule_id),
                        v_text(p->flow_key), V_TEXT(p->caller_ip), v_text(at->response_header),
                        at->response_body.n ? V_BLOB(at->response_body) : V_NULL);

    if (!e)
        snprintf(dlq_id, 48, "%lld-%lld", (long long)now_ms, (long long)row.col[0].i);
    return e ? e : labels_add(tx, p, row.col[0].i);
}

static void reason_of(const struct attempt *at, char reason[256])
{
    if (at->status)
        snprintf(reason, 256, "%s answered %d",
                 at->fatal ? "the destination refused for good: it" : "the destination",
                 at->status);
    else
        snprintf(reason, 256, "the destination was not reached: " STR_FMT, STR_ARG(at->error));
}

static enum err deliver_end_fail(struct qstash *q, struct tx *tx, struct arena *a,
                                 const struct parcel *p, const struct live *l,
                                 const struct attempt *at)
{
    int64_t now_ms = env_now_ms(q->env);
    char dlq_id[48] = "", reason[256];
    enum err e;

    reason_of(at, reason);
    e = deliver_end_note(tx, p, at, QSTASH_FAILED, now_ms, 0);
    if (!e)
        e = add_letter(tx, p, str_of(reason), l->retried + 1, now_ms);
    if (!e)
        e = add_dead(tx, p, l, at, now_ms, dlq_id);
    if (!e)
        e = call_back(q, tx, a, p, l, at, true, str_of(dlq_id));
    return e ? e : parcel_leave(q, tx, p, l);
}

/* --- the ends --- */

static enum err deliver_end_delivered(struct qstash *q, struct tx *tx, struct arena *a,
                                      const struct parcel *p, const struct live *l,
                                      const struct attempt *at)
{
    enum err e = deliver_end_note(tx, p, at, QSTASH_DELIVERED, env_now_ms(q->env), 0);

    if (!e)
        e = call_back(q, tx, a, p, l, at, false, (struct str){ 0 });
    return e ? e : parcel_leave(q, tx, p, l);
}

static enum err deliver_end_cancel(struct qstash *q, struct tx *tx, const struct parcel *p,
                                   const struct live *l)
{
    enum err e = deliver_end_note(tx, p, NULL, QSTASH_CANCELED, env_now_ms(q->env), 0);

    return e ? e : parcel_leave(q, tx, p, l);
}

enum err parcel_end_canceled(struct qstash *q, struct tx *tx, const struct message *m,
                             const struct parcel *p)
{
    struct arena a;
    struct live l;
    enum err e;

    arena_init(&a, 4 * 1024);
    e = live_read(tx, &a, m->id, &l);
    if (!e)
        e = deliver_end_cancel(q, tx, p, &l);
    arena_release(&a);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- not now --- */

/* Both gates are locked before anything else is: callbacks take the queue's alone. */
static enum err read_locked(struct tx *tx, struct arena *a, struct uuid id, struct live *ret_live)
{
    enum err e = live_read(tx, a, id, ret_live);

    if (e || (!ret_live->queue_id && !ret_live->flow_key.n))
        return e;
    e = gates_take(tx, ret_live->queue_id, ret_live->flow_key);
    return e ? e : live_read(tx, a, id, ret_live);
}

static enum err deliver_end_park(struct qstash *q, struct tx *tx, struct gates *g,
                                 const struct live *l, struct uuid id, int64_t now_ms)
{
    bool held = is_held(g, l);
    enum err e = TX_DO(tx, STMT_qstash_live_move, 1, V_INT(held ? PLACE_HELD : PLACE_FLOW),
                       V_INT(now_ms), v_uuid(&id));

    gates_leave(g, l, false);
    g->flow.waiting += !held;
    if (e)
        return e;
    /* Its message is still there, so it must not be given another one by this very commit. */
    return held ? gates_settle(q, tx, g, now_ms) : gates_save(q, tx, g, now_ms);
}

static enum err park_or_go(struct qstash *q, struct tx *tx, const struct live *l, struct uuid id,
                           int64_t *ret_again_ms)
{
    int64_t now_ms = env_now_ms(q->env);
    struct gates g;
    enum err e = gates_lock(tx, l->queue_id, l->flow_key, &g);

    if (!e) /* first those that wait: a period may be over, and they came before it */
        e = gates_settle(q, tx, &g, now_ms);
    if (!e && !may_go(&g, l, now_ms))
        return deliver_end_park(q, tx, &g, l, id, now_ms);
    *ret_again_ms = e ? 0 : now_ms;
    return e;
}

enum err parcel_park(struct qstash *q, struct tx *tx, const struct message *m,
                     const struct parcel *p, int64_t *ret_again_ms)
{
    struct arena a;
    struct live l;
    enum err e;

    *ret_again_ms = 0;
    arena_init(&a, 4 * 1024);
    e = read_locked(tx, &a, m->id, &l);
    if (!e)
        e = l.cancel ? deliver_end_cancel(q, tx, p, &l)
                     : park_or_go(q, tx, &l, m->id, ret_again_ms);
    arena_release(&a);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* A start that did not happen is given back too, if it was of this period. */
static enum err give_token_back(struct qstash *q, struct tx *tx, const struct live *l,
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
    struct arena a;
    struct live l;
    enum err e;

    arena_init(&a, 4 * 1024);
    e = read_locked(tx, &a, m->id, &l);
    if (!e && l.token)
        e = give_token_back(q, tx, &l, m);
    arena_release(&a);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- the end of an attempt --- */

static enum err deliver_end_retry(struct qstash *q, struct tx *tx, const struct parcel *p,
                                  const struct live *l, int64_t next_ms)
{
    struct gates g;
    enum err e = deliver_end_note(tx, p, NULL, QSTASH_RETRY, env_now_ms(q->env), next_ms);

    if (!e && l->token)
        e = gates_lock(tx, l->queue_id, p->flow_key, &g);
    if (!e)
        e = TX_DO(tx, STMT_qstash_live_retried, 1, v_uuid(&p->id));
    if (e || !l->token)
        return e;
    gates_leave(&g, l, false);
    return gates_settle(q, tx, &g, env_now_ms(q->env));
}

static enum settled end_of(const struct parcel *p, const struct live *l, const struct attempt *at)
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
    enum err e = read_locked(tx, a, m->id, &l);

    *ret_again_ms = 0;
    *ret_settled = SETTLED_GONE;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_settled = end_of(p, &l, at);
    if (*ret_settled == SETTLED_DELIVERED)
        return deliver_end_delivered(q, tx, a, p, &l, at);
    e = deliver_end_note(tx, p, at, QSTASH_ERROR, now_ms, 0);
    if (!e)
        e = call_back(q, tx, a, p, &l, at, false, (struct str){ 0 });
    if (e)
        return e;
    if (*ret_settled == SETTLED_FAILED) {
        queue_count_dead(tx);
        return deliver_end_fail(q, tx, a, p, &l, at);
    }
    if (*ret_settled == SETTLED_CANCELED)
        return deliver_end_cancel(q, tx, p, &l);
    *ret_again_ms = now_ms + at->next_delay_ms + !at->next_delay_ms;
    return deliver_end_retry(q, tx, p, &l, *ret_again_ms);
}

enum err parcel_give_up(struct qstash *q, struct tx *tx, struct uuid id, struct str why)
{
    struct attempt at = { .error = why,
                          .callback_id = env_uuid(q->env),
                          .failure_id = env_uuid(q->env) };
    struct parcel p;
    struct arena a;
    struct live l;
    enum err e;

    arena_init(&a, 4 * LIMIT_QSTASH_BODY);
    e = read_locked(tx, &a, id, &l);
    if (!e)
        e = parcel_read(tx, &a, id, true, &p);
    if (!e)
        e = deliver_end_note(tx, &p, &at, QSTASH_ERROR, env_now_ms(q->env), 0);
    if (!e)
        e = deliver_end_fail(q, tx, &a, &p, &l, &at);
    arena_release(&a);
    return e == ERR_NOT_FOUND ? OK : e;
}
