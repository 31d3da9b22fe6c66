/* schedules.c - one list of what recurs: the schedules of the QStash API by id, then our own
 * standing jobs by kind. A cursor is the id of the last entry shown. Ids of standing jobs begin
 * with "builtin:", which no schedule's id can. */
#include "admin/system/queues.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"
#include "ops/standing_jobs.h"
#include "store/json_values.h"

enum { SCHEDULES_DEFAULT = 50, ANSWER_MAX = 4 * 1024 * 1024 };

#define BUILTIN S("builtin:")

struct schedules_call { /* GET: one request, in its own arena */
    struct api_answer answer;
    const struct api_queues *api;
    struct str after; /* the cursor, if it is a schedule */
    struct str kind;  /* the cursor, if it is a standing job */
    bool own_only;
    int limit;
    /* of the answer */
    struct buf *out;
    struct arena *arena;
    int shown;
    struct str last, last_kind;
    bool more;
};

/* --- standing jobs --- */

static enum err schedule_add_own(void *ctx, const struct row *row)
{
    struct schedules_call *l = ctx;
    const struct val *c = row->col;
    struct buf *b = l->out;

    if (str_cmp(c[0].s, l->kind) <= 0 || l->more)
        return OK;
    if (l->shown == l->limit) {
        l->more = true;
        return OK;
    }
    buf_add(b, l->shown++ ? S(",{\"id\":\"builtin:") : S("{\"id\":\"builtin:"));
    buf_add(b, c[0].s); /* a kind is an ASCII word: no escapes */
    buf_char(b, '"');
    out_text(b, "source", S("builtin"));
    out_json(b, "cron", S("null"));
    out_json(b, "destination", S("null"));
    out_text(b, "kind", c[0].s);
    out_bool(b, "paused", false);
    out_time(b, "nextAt", c[1].i);
    out_json(b, "lastAt", S("null"));
    out_val_text(b, "error", &c[2]);
    buf_char(b, '}');
    l->last_kind = arena_str(l->arena, c[0].s);
    return l->last_kind.p ? OK : ERR_NO_MEMORY;
}

static enum err schedule_add_standing(struct tx *tx, struct schedules_call *l)
{
    struct uuid first = STANDING_FIRST, last = STANDING_LAST;
    struct val v[] = { V_BLOB(uuid_bytes(&first)), V_BLOB(uuid_bytes(&last)) };

    return tx_each(tx, STMT_messages_standing, v, COUNT(v), schedule_add_own, l);
}

/* --- a page --- */

/* After a full page of schedules the standing jobs are on the next page. */
static enum err schedule_add_page(struct tx *tx, struct schedules_call *l)
{
    enum err e = OK;

    if (!l->own_only)
        e = l->api->door.schedules(tx, l->arena, l->after, l->limit, l->out, &l->shown, &l->last);
    if (e)
        return e;
    if (l->shown < l->limit)
        return schedule_add_standing(tx, l);
    l->more = true;
    return OK;
}

static void schedule_add_cursor(const struct schedules_call *l)
{
    if (!l->more) {
        buf_add(l->out, S("],\"nextCursor\":null}"));
        return;
    }
    buf_add(l->out, S("],\"nextCursor\":\""));
    if (l->last_kind.n)
        buf_add(l->out, BUILTIN);
    buf_add(l->out, l->last_kind.n ? l->last_kind : l->last);
    buf_add(l->out, S("\"}"));
}

static enum err schedules_list(struct tx *tx, struct unit *u)
{
    struct schedules_call *l = CONTAINER_OF(u, struct schedules_call, answer.unit);
    struct buf b;
    enum err e;

    l->out = &b;
    l->arena = u->arena;
    l->shown = 0;
    l->more = false;
    l->last = l->last_kind = (struct str){ 0 };
    buf_init(&b, ANSWER_MAX);
    buf_add(&b, S("{\"data\":["));
    e = schedule_add_page(tx, l);
    schedule_add_cursor(l);
    l->answer.text = out_done(&b, u->arena);
    return e || l->answer.text.p ? e : ERR_NO_MEMORY;
}

static bool schedule_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct schedules_call *)ctx)->limit);
}

static bool schedule_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct schedules_call *l = ctx;

    (void)r;
    l->own_only = str_starts(value, BUILTIN);
    if (!l->own_only) {
        l->after = value;
        return l->api->door.can_be(value);
    }
    l->kind = (struct str){ value.p + BUILTIN.n, value.n - BUILTIN.n };
    return true;
}

void api_schedule_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        QUERY_LIMIT(schedule_read_limit),
        QUERY_CURSOR(schedule_read_cursor),
    };
    static const struct unit_kind kind = { "schedules.list", UNIT_READ, schedules_list, NULL };
    struct schedules_call *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->api = ctx;
    l->limit = SCHEDULES_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), l))
        api_answer_post(&l->answer, r, l->api->store, &kind, api_answer_show);
}

/* --- pause, resume --- */

static enum err schedule_pause_set(struct tx *tx, struct arena *a, const struct api_queues *api,
                                   struct str id, bool paused)
{
    return api->door.hold_schedule(tx, a, id, paused);
}

static enum err schedule_pause_show(struct tx *tx, const struct api_queues *api, struct str id,
                                    struct buf *out)
{
    return api->door.schedule(tx, id, out);
}

static void schedule_set_paused(struct request *r, const struct api_queues *api,
                                const struct principal *p, const struct pause_action *how)
{
    if (str_starts(r->params[0], BUILTIN))
        reply_problem(
            r, ERR_UNPROCESSABLE,
            r->language == LANG_JA
                ? "組み込みのジョブは一時停止も再開もできません。"
                : "Jobs of our own cannot be paused: what they do keeps the books right.");
    else
        queue_set_paused(r, api, p, how);
}

void api_schedule_pause(struct request *r, void *ctx, const struct principal *p)
{
    static const struct pause_action how = { "SCHEDULE_PAUSED", true, schedule_pause_set,
                                             schedule_pause_show };

    schedule_set_paused(r, ctx, p, &how);
}

void api_schedule_resume(struct request *r, void *ctx, const struct principal *p)
{
    static const struct pause_action how = { "SCHEDULE_RESUMED", false, schedule_pause_set,
                                             schedule_pause_show };

    schedule_set_paused(r, ctx, p, &how);
}
