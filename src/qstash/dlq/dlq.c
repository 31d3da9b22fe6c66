/* dlq.c - the API calls under /v2/dlq: list, get, delete, retry. act.c does the work of the last
 * two. */
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/dlq/act.h"
#include "qstash/dlq/dead_letter.h"
#include "qstash/page.h"

static enum err dlq_show(struct tx *tx, struct arena *a, struct uuid id, struct buf *out,
                         size_t *ret_bytes)
{
    struct parcel p;
    struct dead d;
    enum err e = dead_read(tx, a, id, true, &p, &d);

    if (e)
        return e;
    *ret_bytes = p.body.n + p.header.n + d.response_body.n + d.response_header.n + 4096;
    buf_char(out, '{');
    render_dead(out, &p, &d);
    buf_char(out, '}');
    return OK;
}

/* --- GET /v2/dlq?dlqIds= --- */

struct these {
    struct dead_name *names;
    size_t n;
};

static enum err dlq_show_all(struct tx *tx, struct api_call *c, const struct these *t)
{
    size_t total = 0, bytes;
    bool first = true;
    enum err e = OK;

    for (size_t i = 0; i < t->n && !e; i++) {
        struct arena a;

        if (!t->names[i].there)
            continue;
        if (!first)
            buf_char(&c->out, ',');
        first = false;
        arena_init(&a, LIMIT_REQUEST_ARENA);
        e = dlq_show(tx, &a, t->names[i].id, &c->out, &bytes);
        arena_release(&a);
        total += e ? 0 : bytes;
        if (total > LIMIT_QSTASH_PAGE_BYTES)
            e = api_call_refuse(c, 400, "the answer would be too large: ask for fewer dlqIds");
    }
    return e;
}

static enum err dlq_list_ids(struct tx *tx, struct api_call *c)
{
    struct these *t = c->v->more;
    enum err e = dead_names_find(tx, t->names, t->n);

    buf_add(&c->out, S("{\"messages\":["));
    if (!e)
        e = dlq_show_all(tx, c, t);
    buf_add(&c->out, S("]}"));
    return e;
}

static void dlq_answer_ids(struct qstash_request *v, const struct selection *s)
{
    struct these *t = arena_alloc(&v->r->arena, 1, sizeof(*t));
    enum err e = t ? dead_names_read(&v->r->arena, &s->ids, &t->names, &t->n) : ERR_NO_MEMORY;

    if (e) {
        qstash_reply_err(v, e);
    } else if (t->n > LIMIT_QSTASH_PAGE) {
        qstash_reply_error(v, 400, "invalid filter: more than %d dlqIds in one list",
                           LIMIT_QSTASH_PAGE);
    } else {
        v->more = t;
        api_call_read(v, dlq_list_ids);
    }
}

/* --- GET /v2/dlq --- */

static enum err dlq_entry(struct tx *tx, struct page_step *s, const struct found *x,
                          struct buf *out)
{
    size_t bytes = 0;
    enum err e = dlq_show(tx, &s->arena, x->id, out, &bytes);

    s->bytes += bytes;
    return e;
}

void qstash_dlq_list(struct qstash_request *v)
{
    const struct page rules = { .in = FIND_DEAD,
                                .of = SELECT_DEAD,
                                .most = LIMIT_QSTASH_PAGE,
                                .usual = LIMIT_QSTASH_PAGE,
                                .key = "messages",
                                .entry = dlq_entry,
                                .these = dlq_answer_ids };

    page_answer(v, &rules);
}

/* --- GET /v2/dlq/{dlqId} --- */

static enum err dlq_get(struct tx *tx, struct api_call *c)
{
    struct dead_name name = { 0 };
    struct arena a;
    size_t bytes;
    enum err e = OK;

    if (dlq_id_parse(c->v->param[0], &name.died_ms, &name.seq))
        e = dead_names_find(tx, &name, 1);
    if (!e && !name.there)
        e = api_call_refuse(c, 404, "dlq message not found");
    if (e)
        return e;
    arena_init(&a, LIMIT_REQUEST_ARENA);
    e = dlq_show(tx, &a, name.id, &c->out, &bytes);
    arena_release(&a);
    return e;
}

void qstash_dlq_get(struct qstash_request *v)
{
    api_call_read(v, dlq_get);
}

/* --- DELETE /v2/dlq, POST /v2/dlq/retry --- */

void qstash_dlq_delete(struct qstash_request *v)
{
    dlq_act_one(v, DLQ_DELETE);
}

void qstash_dlq_delete_many(struct qstash_request *v)
{
    if (qstash_request_is_json(v))
        dlq_act_many(v, DLQ_DELETE);
}

void qstash_dlq_retry(struct qstash_request *v)
{
    if (qstash_request_is_json(v))
        dlq_act_many(v, DLQ_RETRY);
}

void qstash_dlq_retry_one(struct qstash_request *v)
{
    dlq_act_one(v, DLQ_RETRY);
}
