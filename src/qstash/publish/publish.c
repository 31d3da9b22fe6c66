/* publish.c - POST /v2/publish/{destination} and /v2/enqueue/{queue}/{destination}: one unit of
 * work
 * (several for a group and large bodies), answered when it is durable. Calls that wait at the same
 * time share a commit; messages without queue, flow key and labels also share statements, because
 * that path has to be fast. A crash before the commit leaves nothing, and the caller has no
 * answer. */
#include "base/limits.h"
#include "qstash/endpoint.h"
#include "qstash/publish/fan_out.h"
#include "store/store.h"

#include <assert.h>

struct publish { /* one API call, in the request's arena */
    struct unit unit;
    struct qstash_request *v;
    struct input in;
    struct posting one;     /* to a URL */
    struct mailing mailing; /* to a group */
};

static struct publish *publish_of(struct unit *u)
{
    return CONTAINER_OF(u, struct publish, unit);
}

/* --- the units --- */

static enum err publish_store_many(struct tx *tx, struct unit **u, size_t n)
{
    struct posting *all[LIMIT_BULK] = { NULL };
    enum err e;

    assert(n && n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++)
        all[i] = &publish_of(u[i])->one;
    e = postings_store(publish_of(u[0])->v->q, tx, all, n);
    for (size_t i = 0; i < n && !e; i++)
        u[i]->err = OK;
    return e;
}

static enum err publish_store(struct tx *tx, struct unit *u)
{
    return publish_store_many(tx, &u, 1);
}

static enum err publish_store_group(struct tx *tx, struct unit *u)
{
    struct publish *p = publish_of(u);

    return mailing_run(p->v->q, tx, u->arena, &p->mailing);
}

static const struct unit_kind plain_kind = { "qstash.publish", UNIT_FRONT, publish_store,
                                             publish_store_many };
/* A kind of its own, so that plain messages never wait for the lock of a limiter. */
static const struct unit_kind gated_kind = { "qstash.publish.gated", UNIT_FRONT, publish_store,
                                             publish_store_many };
static const struct unit_kind group_kind = { "qstash.publish.group", UNIT_FRONT,
                                             publish_store_group, NULL };

/* --- the answer --- */

static void publish_queues_full(struct qstash_request *v)
{
    qstash_reply_error(v, 412, "%s", QUEUES_FULL);
}

static void publish_stored(struct unit *u)
{
    struct publish *p = publish_of(u);
    struct buf b;

    if (u->err && u->err != ERR_CONFLICT) { /* CONFLICT: see postings_store() */
        qstash_reply_err(p->v, u->err);
        return;
    }
    if (p->one.refused) {
        publish_queues_full(p->v);
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    posting_write(&b, &p->one, false);
    qstash_reply(p->v, p->one.duplicate ? 202 : 200, &b);
}

static bool all_are_duplicates(const struct mailing *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (!m->all[i].duplicate)
            return false;
    return true;
}

static void publish_post_group(struct publish *p);

/* Once a message is stored, the failure of the others is reported for each member, as in a
 * batch. */
static void publish_group_stored(struct unit *u)
{
    struct publish *p = publish_of(u);
    struct mailing *m = &p->mailing;
    enum err e = u->err == ERR_CONFLICT ? OK : u->err;
    struct buf b;

    if (e == ERR_NOT_FOUND) {
        qstash_reply_error(p->v, 404,
                           "url group " STR_FMT " not found; a url begins with http:// or https://",
                           STR_ARG(p->in.group));
        return;
    }
    if (e && !m->done) {
        qstash_reply_err(p->v, e);
        return;
    }
    if (!m->done && m->all[0].refused) { /* they all have the same queue */
        publish_queues_full(p->v);
        return;
    }
    if (!e && mailing_goes_on(m)) {
        publish_post_group(p);
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    mailing_write(&b, m, e);
    qstash_reply(p->v, all_are_duplicates(m) ? 202 : 200, &b);
}

/* --- the call --- */

static void publish_post_group(struct publish *p)
{
    p->unit = (struct unit){ .kind = &group_kind,
                             .executor = p->v->r->executor,
                             .done = publish_group_stored,
                             .arena = &p->v->r->arena };
    store_post(p->v->q->store, &p->unit);
}

static void publish_post_one(struct publish *p, int64_t now_ms)
{
    struct parcel *to = &p->one.parcel;
    struct qstash_request *v = p->v;

    *to = p->in.parcel;
    posting_init(&p->one, &p->in, env_uuid(v->q->env), now_ms);
    p->unit = (struct unit){ .kind = parcel_is_plain(to) ? &plain_kind : &gated_kind,
                             .executor = v->r->executor,
                             .done = publish_stored,
                             .bytes = to->body.n + 2 * to->url.n + to->header.n + to->callbacks.n };
    store_post(v->q->store, &p->unit);
}

static void publish_post(struct publish *p)
{
    struct qstash_request *v = p->v;
    int64_t now_ms = env_now_ms(v->q->env);

    if (!p->in.group.n)
        publish_post_one(p, now_ms);
    else if (mailing_init(&p->mailing, v->q->env, &v->r->arena, &p->in, now_ms))
        publish_post_group(p);
    else
        qstash_reply_err(v, ERR_NO_MEMORY);
}

static void publish_input_error(struct qstash_request *v, enum err e, const struct input *in)
{
    if (e == ERR_VALIDATION)
        qstash_reply_error(v, 400, "%s", in->why.text);
    else
        qstash_reply_err(v, e);
}

static void publish_run(struct qstash_request *v, struct str queue)
{
    struct publish *p = arena_alloc(&v->r->arena, 1, sizeof(*p));
    struct input_source s = input_source_of(v);
    enum err e;

    if (!p) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return;
    }
    p->v = v;
    s.queue = queue;
    e = input_read(&v->r->arena, &s, &p->in);
    if (e)
        publish_input_error(v, e, &p->in);
    else if (p->in.cron.n && queue.n)
        qstash_reply_error(v, 400, "a schedule's queue is named by Upstash-Queue-Name");
    else if (p->in.cron.n)
        qstash_schedule_create(v); /* the older way to create a schedule */
    else
        publish_post(p);
}

void qstash_publish(struct qstash_request *v)
{
    publish_run(v, (struct str){ 0 });
}

void qstash_enqueue(struct qstash_request *v)
{
    publish_run(v, v->param[0]);
}
