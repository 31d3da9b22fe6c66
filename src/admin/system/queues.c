/* queues.c - the list is read in one unit of work, with a bounded count of live messages. Pausing
 * and resuming are one commit with their audit line. */
#include "admin/system/queues.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"

struct queues_call { /* GET: one request, in its own arena */
    struct api_answer answer;
    const struct api_queues *api;
};

/* --- live messages by kind --- */

enum { KINDS_MAX = 128 };

struct queue_kinds {
    struct arena *arena;
    int64_t seen; /* messages, of whatever kind */
    size_t count;
    struct queue_kind_count {
        struct str name;
        int64_t waiting, ready, due_ms;
    } all[KINDS_MAX];
};

static enum err queue_keep_kind(void *ctx, const struct row *row)
{
    struct queue_kinds *k = ctx;
    const struct val *c = row->col;
    struct queue_kind_count *one = &k->all[k->count];

    k->seen += c[1].i;
    if (k->count == KINDS_MAX)
        return OK;
    *one = (struct queue_kind_count){ arena_str(k->arena, c[0].s), c[1].i, c[2].i, c[3].i };
    k->count++;
    return one->name.p ? OK : ERR_NO_MEMORY;
}

/* If the count was cut off, no kind's number is known to be exact. */
static void queue_out_kinds(struct buf *b, const struct queue_kinds *k)
{
    bool exact = k->seen < LIMIT_KINDS_SEEN;

    for (size_t i = 0; i < k->count; i++) {
        buf_add(b, i ? S(",{") : S("{"));
        out_text(b, "kind", k->all[i].name);
        out_int(b, "waiting", k->all[i].waiting);
        out_bool(b, "exact", exact);
        out_int(b, "ready", k->all[i].ready);
        out_time(b, "oldestDueAt", k->all[i].due_ms);
        buf_char(b, '}');
    }
}

static enum err queue_add_kinds(struct tx *tx, struct arena *a, int64_t now_ms, struct buf *b)
{
    struct val v[] = { V_INT(now_ms), V_INT(LIMIT_KINDS_SEEN) };
    struct queue_kinds *k = arena_alloc(a, 1, sizeof(*k));
    enum err e;

    if (!k)
        return ERR_NO_MEMORY;
    k->arena = a;
    e = tx_each(tx, STMT_messages_by_kind, v, COUNT(v), queue_keep_kind, k);
    if (e)
        return e;
    queue_out_kinds(b, k);
    return OK;
}

static enum err queues_list(struct tx *tx, struct unit *u)
{
    struct queues_call *l = CONTAINER_OF(u, struct queues_call, answer.unit);
    struct buf b;
    enum err e;

    buf_init(&b, LIMIT_REPLY);
    buf_add(&b, S("{\"kinds\":["));
    e = queue_add_kinds(tx, u->arena, env_now_ms(tx_env(tx)), &b);
    buf_add(&b, S("],\"queues\":["));
    if (!e)
        e = l->api->door.queues(tx, &b);
    buf_add(&b, S("],\"nextCursor\":null}"));
    l->answer.text = out_done(&b, u->arena);
    return e || l->answer.text.p ? e : ERR_NO_MEMORY;
}

void api_queue_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "queues.list", UNIT_READ, queues_list, NULL };
    struct queues_call *l;

    (void)p;
    if (!query_read(r, NULL, 0, NULL))
        return;
    l = api_room(r, sizeof(*l));
    if (!l)
        return;
    l->api = ctx;
    api_answer_post(&l->answer, r, l->api->store, &kind, api_answer_show);
}

/* --- pause, resume --- */

enum { ONE_MAX = 64 * 1024 };

struct queue_pause_call {
    struct api_answer answer;
    const struct api_queues *api;
    const struct pause_action *how;
    struct str name;
    struct uuid user;
};

static enum err queue_run_pause(struct tx *tx, struct unit *u)
{
    struct queue_pause_call *h = CONTAINER_OF(u, struct queue_pause_call, answer.unit);
    struct buf b;
    enum err e = h->how->set(tx, u->arena, h->api, h->name, h->how->paused);

    if (e)
        return e;
    e = act_audit(tx, h->how->verb, h->name, S(""), h->user);
    if (e)
        return e;
    buf_init(&b, ONE_MAX);
    e = h->how->show(tx, h->api, h->name, &b);
    h->answer.text = out_done(&b, u->arena);
    return e || h->answer.text.p ? e : ERR_NO_MEMORY;
}

void queue_set_paused(struct request *r, const struct api_queues *api, const struct principal *p,
                      const struct pause_action *how)
{
    static const struct unit_kind kind = { "queue.hold", UNIT_FRONT, queue_run_pause, NULL };
    struct queue_pause_call *h;

    if (!query_read(r, NULL, 0, NULL) || !act_has_no_input(r))
        return;
    if (!api->door.can_be(r->params[0])) {
        reply_problem(r, ERR_NOT_FOUND, NULL);
        return;
    }
    h = api_room(r, sizeof(*h));
    if (!h)
        return;
    h->api = api;
    h->how = how;
    h->name = r->params[0];
    h->user = p->user;
    api_answer_post(&h->answer, r, api->store, &kind, api_answer_show);
}

static enum err queue_pause_set(struct tx *tx, struct arena *a, const struct api_queues *api,
                                struct str name, bool paused)
{
    (void)a;
    return api->door.hold_queue(api->door.qstash, tx, name, paused);
}

static enum err queue_pause_show(struct tx *tx, const struct api_queues *api, struct str name,
                                 struct buf *out)
{
    return api->door.queue(tx, name, out);
}

void api_queue_pause(struct request *r, void *ctx, const struct principal *p)
{
    static const struct pause_action how = { "QUEUE_PAUSED", true, queue_pause_set,
                                             queue_pause_show };

    queue_set_paused(r, ctx, p, &how);
}

void api_queue_resume(struct request *r, void *ctx, const struct principal *p)
{
    static const struct pause_action how = { "QUEUE_RESUMED", false, queue_pause_set,
                                             queue_pause_show };

    queue_set_paused(r, ctx, p, &how);
}
