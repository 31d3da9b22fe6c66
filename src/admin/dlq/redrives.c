/* redrives.c - a redrive is counted first, in read-only units of work; then one unit stores its row
 * and its queue message, and the job does the rest. A message that dies between the count and the
 * start is taken without having been counted, since a redrive ends at the moment of its start. A
 * crash before the start leaves nothing; after it the job continues. */
#include "admin/dlq/redrives.h"

#include "admin/dlq/input.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_DEFAULT = 20 };

struct redrives_read_call { /* one request, in its own arena */
    struct api_answer answer;
    int limit;
    struct uuid id, user; /* id: of the redrive, or the page's upper end */
};

struct redrive_start_call {
    struct api_answer answer;
    const struct api_redrives *api;
    struct dead_act act; /* only counts */
    struct redrive_new new;
};

/* --- reading --- */

static bool redrive_query_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct redrives_read_call *)ctx)->limit);
}

static bool redrive_query_cursor(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return uuid_parse(value, &((struct redrives_read_call *)ctx)->id);
}

static enum err redrive_read_page(struct tx *tx, struct unit *u)
{
    struct redrives_read_call *l = CONTAINER_OF(u, struct redrives_read_call, answer.unit);

    return redrive_page(tx, u->arena, l->id, l->limit, &l->answer.text);
}

void api_redrive_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "redrive.list", UNIT_READ, redrive_read_page, NULL };
    static const struct query_parameter parameters[] = { QUERY_LIMIT(redrive_query_limit),
                                                         QUERY_CURSOR(redrive_query_cursor) };
    struct redrives_read_call *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->limit = PAGE_DEFAULT;
    memset(l->id.b, 0xff, sizeof(l->id.b));
    if (query_read(r, parameters, COUNT(parameters), l))
        api_answer_post(&l->answer, r, ((struct api_redrives *)ctx)->store, &kind, api_answer_show);
}

static enum err redrive_read_one(struct tx *tx, struct unit *u)
{
    struct redrives_read_call *l = CONTAINER_OF(u, struct redrives_read_call, answer.unit);

    return redrive_show(tx, u->arena, l->id, &l->answer.text);
}

static enum err redrive_cancel_one(struct tx *tx, struct unit *u)
{
    struct redrives_read_call *l = CONTAINER_OF(u, struct redrives_read_call, answer.unit);

    return redrive_cancel(tx, u->arena, l->id, l->user, &l->answer.text);
}

static void redrive_post_one(struct request *r, void *ctx, const struct principal *p,
                             const struct unit_kind *kind)
{
    struct redrives_read_call *l = api_room(r, sizeof(*l));

    if (!l || !fields_path_id(r, &l->id))
        return;
    l->user = p->user;
    api_answer_post(&l->answer, r, ((struct api_redrives *)ctx)->store, kind, api_answer_show);
}

void api_redrive_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "redrive.get", UNIT_READ, redrive_read_one, NULL };

    redrive_post_one(r, ctx, p, &kind);
}

void api_redrive_cancel(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "redrive.cancel", UNIT_FRONT, redrive_cancel_one, NULL };

    redrive_post_one(r, ctx, p, &kind);
}

/* --- starting --- */

static enum err redrive_run_start(struct tx *tx, struct unit *u)
{
    struct redrive_start_call *s = CONTAINER_OF(u, struct redrive_start_call, answer.unit);

    return redrive_start(tx, u->arena, s->api->redrives, &s->new, &s->answer.text);
}

static void redrive_answer_start(struct unit *u)
{
    struct redrive_start_call *s = CONTAINER_OF(u, struct redrive_start_call, answer.unit);

    if (u->err)
        reply_problem(s->answer.request, u->err, NULL);
    else
        reply_send(s->answer.request, 202, S("application/json"), s->answer.text);
}

static void redrive_answer_count(struct redrive_start_call *s)
{
    char text[96];
    struct request *r = s->answer.request;
    struct str copy;

    snprintf(text, sizeof(text), "{\"matched\":%lld,\"exact\":%s}", (long long)s->new.matched,
             s->new.exact ? "true" : "false");
    copy = arena_str(&r->arena, str_of(text));
    if (copy.p)
        reply_send(r, 200, S("application/json"), copy);
    else
        reply_problem(r, ERR_NO_MEMORY, NULL);
}

/* After the count: answers it, or starts the redrive. */
static void redrive_after_count(struct redrive_start_call *s, bool dry_run)
{
    static const struct unit_kind kind = { "redrive.start", UNIT_FRONT, redrive_run_start, NULL };
    struct request *r = s->answer.request;

    if (dry_run) {
        redrive_answer_count(s);
        return;
    }
    s->new.id = env_uuid(r->env);
    api_answer_post(&s->answer, r, s->api->store, &kind, redrive_answer_start);
}

ANSWERS static struct redrive_start_call *redrive_start_call_new(struct request *r, void *ctx,
                                                                 const struct principal *p)
{
    struct redrive_start_call *s = api_room(r, sizeof(*s));

    if (!s)
        return NULL;
    s->answer.request = r;
    s->api = ctx;
    s->act.letters = s->api->redrives->letters;
    s->new.user = p->user;
    s->new.name = arena_str(&r->arena, p->name);
    if (!dead_act_begin(&s->act, &r->arena))
        return s;
    reply_problem(r, ERR_NO_MEMORY, NULL);
    return NULL;
}

/* --- redrives --- */

static enum err redrive_count_letters(struct tx *tx, struct unit *u)
{
    return dead_act_step(tx, &CONTAINER_OF(u, struct redrive_start_call, answer.unit)->act);
}

static void redrive_letters_counted(struct unit *u);

static void redrive_post_count(struct redrive_start_call *s)
{
    static const struct unit_kind kind = { "redrive.count", UNIT_READ, redrive_count_letters,
                                           NULL };

    s->answer.unit = (struct unit){ .kind = &kind,
                                    .executor = s->answer.request->executor,
                                    .done = redrive_letters_counted };
    store_post(s->api->store, &s->answer.unit);
}

static void redrive_letters_counted(struct unit *u)
{
    struct redrive_start_call *s = CONTAINER_OF(u, struct redrive_start_call, answer.unit);
    struct dead_act *act = &s->act;
    bool dry_run = s->new.rate == 0;

    if (dead_act_took(act, u->err)) {
        redrive_post_count(s);
        return;
    }
    if (act->err) {
        reply_problem(s->answer.request, act->err, NULL);
        return;
    }
    s->new.exact = !act->more && act->matched <= LIMIT_DEAD_ACT;
    s->new.matched = act->matched < LIMIT_DEAD_ACT ? act->matched : LIMIT_DEAD_ACT;
    s->new.ids = act->ids;
    s->new.id_count = act->id_count;
    s->new.filter = act->filter;
    redrive_after_count(s, dry_run);
}

void api_redrive_start(struct request *r, void *ctx, const struct principal *p)
{
    struct redrive_start_call *s = redrive_start_call_new(r, ctx, p);

    if (!s || !dlq_read_redrive(r, &s->act, &s->new.rate))
        return;
    if (s->act.dry_run)
        s->new.rate = 0;
    s->act.dry_run = true; /* the act only counts */
    s->act.limit = LIMIT_DEAD_ACT + 1;
    redrive_post_count(s);
}

/* --- replays --- */

static enum err redrive_count_events(struct tx *tx, struct unit *u)
{
    struct redrive_start_call *s = CONTAINER_OF(u, struct redrive_start_call, answer.unit);

    return replay_count(tx, &s->new.filter, &s->new.matched, &s->new.exact);
}

static void redrive_events_counted(struct unit *u)
{
    struct redrive_start_call *s = CONTAINER_OF(u, struct redrive_start_call, answer.unit);

    if (u->err)
        reply_problem(s->answer.request, u->err, NULL);
    else
        redrive_after_count(s, s->act.dry_run);
}

void api_replay_start(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "replay.count", UNIT_READ, redrive_count_events, NULL };
    struct redrive_start_call *s = redrive_start_call_new(r, ctx, p);

    if (!s || !dlq_read_replay(r, &s->act, &s->new.rate))
        return;
    s->new.is_replay = true;
    s->new.filter = s->act.filter;
    api_answer_post(&s->answer, r, s->api->store, &kind, redrive_events_counted);
}
