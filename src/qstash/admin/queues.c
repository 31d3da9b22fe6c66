/* queues.c - the API calls under /v2/queues.
 *
 *   (1) Each change is made under the limiter's lock and ends with gates_settle(), so the commit
 *       that makes room also starts the messages that wait for it.
 *   (2) A deleted queue loses its name in the same commit, so that the next enqueue creates a new
 *       one. A job qstash.sweep cancels the messages that it left, also after a crash. */
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/operator_view.h"
#include "qstash/rows.h"

#include <stdio.h>

struct queue_order { /* what POST /v2/queues asks for */
    struct str name;
    int64_t parallelism;
    bool paused;
};

/* --- a row --- */

static enum err queues_not_found(struct api_call *c, struct str name)
{
    return api_call_refuse(c, 404, "queue not found: " STR_FMT, STR_ARG(name));
}

static enum err queues_find(struct tx *tx, struct str name, int64_t *ret_id)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_find, &row, V_TEXT(name));

    *ret_id = e ? 0 : row.col[0].i;
    return e;
}

/* Before we have its lock, the queue may be deleted and created again. */
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

static enum err queues_upsert(struct tx *tx, struct api_call *c)
{
    const struct queue_order *w = c->v->more;
    struct gates g;
    int64_t id;
    enum err e = queues_find(tx, w->name, &id);

    if (e == ERR_NOT_FOUND)
        e = queue_make(tx, w->name, env_now_ms(c->v->q->env));
    if (e == ERR_UNPROCESSABLE)
        return api_call_refuse(c, 412, "%s", QUEUES_FULL);
    if (!e)
        e = queues_lock(tx, w->name, &g);
    return e ? e : queues_set(c->v->q, tx, &g, w->parallelism, w->paused);
}

/* False: the answer was sent. */
ANSWERS static bool queue_order_parallelism(struct qstash_request *v, const cJSON *body,
                                            int64_t *ret_parallelism)
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
        qstash_reply_error(v, 400, "parallelism must be a whole number of at least 1");
    else if (*ret_parallelism > LIMIT_QSTASH_PARALLELISM)
        qstash_reply_error(v, 412, "parallelism can be %d at most", LIMIT_QSTASH_PARALLELISM);
    else
        return true;
    return false;
}

ANSWERS static bool queue_order_read(struct qstash_request *v, const cJSON *body,
                                     struct queue_order *w)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(body, "queueName");
    const cJSON *paused = cJSON_GetObjectItemCaseSensitive(body, "paused");
    struct str text = cJSON_IsString(name) ? str_of(name->valuestring) : (struct str){ 0 };

    if (!qstash_request_name(v, text, "queueName") ||
        !queue_order_parallelism(v, body, &w->parallelism))
        return false;
    if (paused && !cJSON_IsBool(paused) && !cJSON_IsNull(paused)) {
        qstash_reply_error(v, 400, "paused must be true or false");
        return false;
    }
    w->paused = cJSON_IsTrue(paused);
    w->name = arena_str(&v->r->arena, text);
    if (w->name.p)
        return true;
    qstash_reply_err(v, ERR_NO_MEMORY);
    return false;
}

void qstash_queue_upsert(struct qstash_request *v)
{
    CLEANUP(json_freep) cJSON *body = qstash_request_object(v);
    struct queue_order *w = body ? arena_alloc(&v->r->arena, 1, sizeof(*w)) : NULL;

    if (!body)
        return;
    if (!w) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return;
    }
    if (!queue_order_read(v, body, w))
        return;
    v->more = w;
    api_call_write(v, queues_upsert);
}

/* --- GET --- */

static enum err queues_write(void *ctx, const struct row *row)
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

static enum err queues_list(struct tx *tx, struct api_call *c)
{
    enum err e;

    buf_char(&c->out, '[');
    e = tx_each(tx, STMT_qstash_queues_all, NULL, 0, queues_write, &c->out);
    buf_char(&c->out, ']');
    return e;
}

void qstash_queue_list(struct qstash_request *v)
{
    api_call_read(v, queues_list);
}

static enum err queues_get(struct tx *tx, struct api_call *c)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_show, &row, V_TEXT(c->v->param[0]));

    if (e == ERR_NOT_FOUND)
        return queues_not_found(c, c->v->param[0]);
    return e ? e : queues_write(&c->out, &row);
}

void qstash_queue_get(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "queue name"))
        api_call_read(v, queues_get);
}

/* --- DELETE --- */

/* The queue is paused too: cancelling its messages one by one must not start those behind them. */
static enum err queues_delete(struct tx *tx, struct api_call *c)
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

void qstash_queue_delete(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "queue name"))
        api_call_write(v, queues_delete);
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

static enum err queues_set_paused(struct tx *tx, struct api_call *c, bool paused)
{
    enum err e = qstash_queue_hold(c->v->q, tx, c->v->param[0], paused);

    return e == ERR_NOT_FOUND ? queues_not_found(c, c->v->param[0]) : e;
}

static enum err queues_pause(struct tx *tx, struct api_call *c)
{
    return queues_set_paused(tx, c, true);
}

static enum err queues_resume(struct tx *tx, struct api_call *c)
{
    return queues_set_paused(tx, c, false);
}

void qstash_queue_pause(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "queue name"))
        api_call_write(v, queues_pause);
}

void qstash_queue_resume(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "queue name"))
        api_call_write(v, queues_resume);
}
