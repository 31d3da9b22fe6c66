/* publish.c - POST /v2/publish/{destination} and /v2/enqueue/{queue}/{destination}: one unit of
 * work (to a group that gets large bodies: several), answered when it is durable. Those that wait
 * go together; what has neither queue nor flow key nor labels in few statements: that is the path
 * that has to be fast. */
#include "base/limits.h"
#include "qstash/endpoint.h"
#include "qstash/publish/fan_out.h"
#include "store/store.h"

#include <assert.h>

struct publish { /* one call, in the request's arena */
    struct unit unit;
    struct visit *v;
    struct input in;
    struct posting one;     /* to a URL */
    struct mailing mailing; /* to a group */
};

static struct publish *publish_of(struct unit *u)
{
    return CONTAINER_OF(u, struct publish, unit);
}

/* --- the units --- */

static enum err run_many(struct tx *tx, struct unit **u, size_t n)
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

static enum err run_one(struct tx *tx, struct unit *u)
{
    return run_many(tx, &u, 1);
}

static enum err run_group(struct tx *tx, struct unit *u)
{
    struct publish *p = publish_of(u);

    return mailing_run(p->v->q, tx, u->arena, &p->mailing);
}

static const struct unit_kind plain_kind = { "qstash.publish", UNIT_FRONT, run_one, run_many };
/* Of its own, so that what is plain does not wait at somebody's gate. */
static const struct unit_kind gated_kind = { "qstash.publish.gated", UNIT_FRONT, run_one,
                                             run_many };
static const struct unit_kind group_kind = { "qstash.publish.group", UNIT_FRONT, run_group, NULL };

/* --- the answer --- */

static void refuse_queue(struct visit *v)
{
    visit_error(v, 412, "%s", QUEUES_FULL);
}

static void publish_published(struct unit *u)
{
    struct publish *p = publish_of(u);
    struct buf b;

    if (u->err && u->err != ERR_CONFLICT) { /* CONFLICT: see postings_store() */
        visit_err(p->v, u->err);
        return;
    }
    if (p->one.refused) {
        refuse_queue(p->v);
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    posting_write(&b, &p->one, false);
    visit_buf(p->v, p->one.duplicate ? 202 : 200, &b);
}

static bool is_known(const struct mailing *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (!m->all[i].duplicate)
            return false;
    return true;
}

static void post_group(struct publish *p);

/* Once something is stored, the others' failure is told member by member, as in a batch. */
static void group_published(struct unit *u)
{
    struct publish *p = publish_of(u);
    struct mailing *m = &p->mailing;
    enum err e = u->err == ERR_CONFLICT ? OK : u->err;
    struct buf b;

    if (e == ERR_NOT_FOUND) {
        visit_error(p->v, 404,
                    "url group " STR_FMT " not found; a url begins with http:// or https://",
                    STR_ARG(p->in.group));
        return;
    }
    if (e && !m->done) {
        visit_err(p->v, e);
        return;
    }
    if (!m->done && m->all[0].refused) { /* they have one queue */
        refuse_queue(p->v);
        return;
    }
    if (!e && mailing_goes_on(m)) {
        post_group(p);
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    mailing_write(&b, m, e);
    visit_buf(p->v, is_known(m) ? 202 : 200, &b);
}

/* --- the call --- */

static void post_group(struct publish *p)
{
    p->unit = (struct unit){ .kind = &group_kind,
                             .executor = p->v->r->executor,
                             .done = group_published,
                             .arena = &p->v->r->arena };
    store_post(p->v->q->store, &p->unit);
}

static void post_one(struct publish *p, int64_t now_ms)
{
    struct parcel *to = &p->one.parcel;
    struct visit *v = p->v;

    *to = p->in.parcel;
    posting_init(&p->one, &p->in, env_uuid(v->q->env), now_ms);
    p->unit = (struct unit){ .kind = parcel_is_plain(to) ? &plain_kind : &gated_kind,
                             .executor = v->r->executor,
                             .done = publish_published,
                             .bytes = to->body.n + 2 * to->url.n + to->header.n + to->callbacks.n };
    store_post(v->q->store, &p->unit);
}

static void publish_post(struct publish *p)
{
    struct visit *v = p->v;
    int64_t now_ms = env_now_ms(v->q->env);

    if (!p->in.group.n)
        post_one(p, now_ms);
    else if (mailing_init(&p->mailing, v->q->env, &v->r->arena, &p->in, now_ms))
        post_group(p);
    else
        visit_err(v, ERR_NO_MEMORY);
}

static void publish_refuse(struct visit *v, enum err e, const struct input *in)
{
    if (e == ERR_VALIDATION)
        visit_error(v, 400, "%s", in->why.text);
    else
        visit_err(v, e);
}

static void publish_run(struct visit *v, struct str queue)
{
    struct publish *p = arena_alloc(&v->r->arena, 1, sizeof(*p));
    struct input_source s = input_source_of(v);
    enum err e;

    if (!p) {
        visit_err(v, ERR_NO_MEMORY);
        return;
    }
    p->v = v;
    s.queue = queue;
    e = input_read(&v->r->arena, &s, &p->in);
    if (e)
        publish_refuse(v, e, &p->in);
    else if (p->in.cron.n && queue.n)
        visit_error(v, 400, "a schedule's queue is named by Upstash-Queue-Name");
    else if (p->in.cron.n)
        qstash_schedule_create(v); /* how schedules were made before they had a path */
    else
        publish_post(p);
}

void qstash_publish(struct visit *v)
{
    publish_run(v, (struct str){ 0 });
}

void qstash_enqueue(struct visit *v)
{
    publish_run(v, v->param[0]);
}
