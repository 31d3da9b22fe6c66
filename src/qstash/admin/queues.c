/* queues.c - POST /v2/queues and what can be done with one queue.
 *
 * Whatever lets more through than before lets them through in the same commit: each change is made
 * under the gate's lock and ends with gates_settle(). A queue that is deleted gives up its name at
 * once, so that the next enqueue makes a new one; a qstash.sweep cancels what it left. */
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/operator_view.h"
#include "qstash/rows.h"

#include <stdio.h>

struct queues_wish { /* for one queue */
    struct str name;
    int64_t parallelism;
    bool paused;
};

/* --- a row --- */

static enum err not_here(struct call *c, struct str name)
{
    return call_refuse(c, 404, "queue not found: " STR_FMT, STR_ARG(name));
}

static enum err queues_find(struct tx *tx, struct str name, int64_t *ret_id)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_find, &row, V_TEXT(name));

    *ret_id = e ? 0 : row.col[0].i;
    return e;
}

/* Until we have its lock somebody may delete it, and somebody make it anew. */
static enum err queues_lock(struct tx *tx, struct str name, struct gates *ret_gates)
{
    for (int tries = 0; tries < QUEUE_TRIES; tries++) {
        int64_t id;
        enum err e = queues_find(tx, name, &id);

        if (!e)
            e = gates_lock(tx, id, (struct str){ 0 }, ret_gates);
        if (e || (ret_gates->queue.id && !ret_gates->queue.deleted))
            return e;
    }
    return ERR_TIMEOUT;
}

static enum err queues_set(struct qstash *q, struct tx *tx, struct gates *g, int64_t parallelism,
                           bool paused)
{
    int64_t now_ms = env_now_ms(q->env);
    enum err e = TX_DO(tx, STMT_qstash_queue_set, 1, V_INT(parallelism), V_INT(paused),
                       V_INT(now_ms), V_INT(g->queue.id));

    g->queue.parallelism = parallelism;
    g->queue.paused = paused;
    return e ? e : gates_settle(q, tx, g, now_ms);
}

/* --- POST /v2/queues --- */

static enum err queues_upsert(struct tx *tx, struct call *c)
{
    const struct queues_wish *w = c->v->more;
    struct gates g;
    int64_t id;
    enum err e = queues_find(tx, w->name, &id);

    if (e == ERR_NOT_FOUND)
        e = queue_make(tx, w->name, env_now_ms(c->v->q->env));
    if (e == ERR_UNPROCESSABLE)
        return call_refuse(c, 412, "%s", QUEUES_FULL);
    if (!e)
        e = queues_lock(tx, w->name, &g);
    return e ? e : queues_set(c->v->q, tx, &g, w->parallelism, w->paused);
}

/* False: the answer was sent. */
ANSWERS static bool read_parallelism(struct visit *v, const cJSON *body, int64_t *ret_parallelism)
{
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(body, "parallelism");
    struct json_problems unused;
    bool is_number;

    *ret_parallelism = 1;
    if (!given || cJSON_IsNull(given))
        return true;
    json_problems_init(&unused);
    is_number =
        json_get_int(body, "parallelism", true, INT64_MIN, INT64_MAX, ret_parallelism, &unused);
    json_problems_release(&unused);
    if (!is_number || *ret_parallelism < 1)
        visit_error(v, 400, "parallelism must be a whole number of at least 1");
    else if (*ret_parallelism > LIMIT_QSTASH_PARALLELISM)
        visit_error(v, 412, "parallelism can be %d at most", LIMIT_QSTASH_PARALLELISM);
    else
        return true;
    return false;
}

ANSWERS static bool read_wish(struct visit *v, const cJSON *body, struct queues_wish *w)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(body, "queueName");
    const cJSON *paused = cJSON_GetObjectItemCaseSensitive(body, "paused");
    struct str text = cJSON_IsString(name) ? str_of(name->valuestring) : (struct str){ 0 };

    if (!visit_name(v, text, "queueName") || !read_parallelism(v, body, &w->parallelism))
        return false;
    if (paused && !cJSON_IsBool(paused) && !cJSON_IsNull(paused)) {
        visit_error(v, 400, "paused must be true or false");
        return false;
    }
    w->paused = cJSON_IsTrue(paused);
    w->name = arena_str(&v->r->arena, text);
    if (w->name.p)
        return true;
    visit_err(v, ERR_NO_MEMORY);
    return false;
}

void qstash_queue_upsert(struct visit *v)
{
    CLEANUP(json_freep) cJSON *body = visit_object(v);
    struct queues_wish *w = body ? arena_alloc(&v->r->arena, 1, sizeof(*w)) : NULL;

    if (!body)
        return;
    if (!w) {
        visit_err(v, ERR_NO_MEMORY);
        return;
    }
    if (!read_wish(v, body, w))
        return;
    v->more = w;
    call_write(v, queues_upsert);
}

/* --- GET --- */

static enum err queues_add(void *ctx, const struct row *row)
{
    const struct val *c = row->col;
    struct buf *out = ctx;

    if (out->n > 1)
        buf_char(out, ',');
    buf_add(out, S("{\"name\":"));
    buf_json(out, c[0].s);
    buf_fmt(out, ",\"parallelism\":%lld,\"paused\":%s,\"lag\":%lld", (long long)c[1].i,
            c[2].i ? "true" : "false", (long long)c[3].i);
    buf_fmt(out, ",\"createdAt\":%lld,\"updatedAt\":%lld}", (long long)c[4].i, (long long)c[5].i);
    return OK;
}

static enum err queues_list(struct tx *tx, struct call *c)
{
    enum err e;

    buf_char(&c->out, '[');
    e = tx_each(tx, STMT_qstash_queues_all, NULL, 0, queues_add, &c->out);
    buf_char(&c->out, ']');
    return e;
}

void qstash_queue_list(struct visit *v)
{
    call_read(v, queues_list);
}

static enum err queues_get(struct tx *tx, struct call *c)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_show, &row, V_TEXT(c->v->param[0]));

    if (e == ERR_NOT_FOUND)
        return not_here(c, c->v->param[0]);
    return e ? e : queues_add(&c->out, &row);
}

void qstash_queue_get(struct visit *v)
{
    if (visit_name(v, v->param[0], "queue name"))
        call_read(v, queues_get);
}

/* --- DELETE --- */

/* Paused as well: what is cancelled one by one must not let in those behind it. */
static enum err remove_queue(struct tx *tx, struct call *c)
{
    struct qstash *q = c->v->q;
    struct queue_new sweep = { .id = env_uuid(q->env), .kind = QSTASH_SWEEP_KIND };
    int64_t now_ms = env_now_ms(q->env);
    char digits[24];
    struct gates g;
    enum err e = queues_lock(tx, c->v->param[0], &g);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    snprintf(digits, sizeof(digits), "%lld", (long long)g.queue.id);
    sweep.ref = str_of(digits);
    sweep.due_ms = now_ms;
    e = TX_DO(tx, STMT_qstash_queue_unname, 1, V_INT(now_ms), V_INT(g.queue.id));
    return e ? e : queue_add(q->queue, tx, now_ms, &sweep, 1);
}

void qstash_queue_delete(struct visit *v)
{
    if (visit_name(v, v->param[0], "queue name"))
        call_write(v, remove_queue);
}

/* --- pause, resume --- */

enum err qstash_queue_hold(struct qstash *q, struct tx *tx, struct str name, bool paused)
{
    struct gates g;
    enum err e = queues_lock(tx, name, &g);

    if (e || g.queue.paused == paused)
        return e;
    return queues_set(q, tx, &g, g.queue.parallelism, paused);
}

static enum err set_paused(struct tx *tx, struct call *c, bool paused)
{
    enum err e = qstash_queue_hold(c->v->q, tx, c->v->param[0], paused);

    return e == ERR_NOT_FOUND ? not_here(c, c->v->param[0]) : e;
}

static enum err pause_queue(struct tx *tx, struct call *c)
{
    return set_paused(tx, c, true);
}

static enum err resume_queue(struct tx *tx, struct call *c)
{
    return set_paused(tx, c, false);
}

void qstash_queue_pause(struct visit *v)
{
    if (visit_name(v, v->param[0], "queue name"))
        call_write(v, pause_queue);
}

void qstash_queue_resume(struct visit *v)
{
    if (visit_name(v, v->param[0], "queue name"))
        call_write(v, resume_queue);
}
