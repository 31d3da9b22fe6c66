/* dlq.c - an act on many dead letters is a chain of units of work. Each is durable before the next
 * is posted, so other work runs in between, and the answer counts what is durable. A crash leaves
 * the dead letters that were not reached as they were; the same request again acts on those. */
#include "admin/dlq/dlq.h"

#include "admin/dlq/input.h"
#include "endpoint/answer.h"

#include <string.h>

struct dlq_read_call { /* one request, in its own arena */
    struct api_answer answer;
    const struct dead_letters *letters;
    struct dlq_page page;
    struct dead_groups groups;
    struct uuid id;
};

struct dlq_act_call {
    struct api_answer answer;
    const struct api_dlq *api;
    struct dead_act act;
    struct uuid id; /* with `one` */
    bool one;
    struct dead_edit edit;
};

/* --- reading --- */

static enum err dlq_run_page(struct tx *tx, struct unit *u)
{
    struct dlq_read_call *l = CONTAINER_OF(u, struct dlq_read_call, answer.unit);
    const struct dlq_page *g = &l->page;

    return dead_page(tx, u->arena, &g->filter, g->has_cursor ? &g->cursor : NULL, g->limit,
                     &l->answer.text);
}

static enum err dlq_run_get(struct tx *tx, struct unit *u)
{
    struct dlq_read_call *l = CONTAINER_OF(u, struct dlq_read_call, answer.unit);

    return dead_show(tx, u->arena, l->letters, l->id, &l->answer.text);
}

void api_dlq_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "dlq.list", UNIT_READ, dlq_run_page, NULL };
    const struct api_dlq *api = ctx;
    struct dlq_read_call *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && dlq_read_page(r, &l->page))
        api_answer_post(&l->answer, r, api->store, &kind, api_answer_show);
}

static enum err dlq_run_groups(struct tx *tx, struct unit *u)
{
    struct dlq_read_call *l = CONTAINER_OF(u, struct dlq_read_call, answer.unit);

    return dead_groups_page(tx, u->arena, &l->groups, &l->answer.text);
}

void api_dlq_groups(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "dlq.groups", UNIT_READ, dlq_run_groups, NULL };
    const struct api_dlq *api = ctx;
    struct dlq_read_call *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && dlq_read_groups(r, &l->groups))
        api_answer_post(&l->answer, r, api->store, &kind, api_answer_show);
}

void api_dlq_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "dlq.get", UNIT_READ, dlq_run_get, NULL };
    const struct api_dlq *api = ctx;
    struct dlq_read_call *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l || !dlq_read_id(r, &api->letters, &l->id))
        return;
    l->letters = &api->letters;
    api_answer_post(&l->answer, r, api->store, &kind, api_answer_show);
}

/* --- acts --- */

static enum err dlq_run_step(struct tx *tx, struct unit *u)
{
    return dead_act_step(tx, &CONTAINER_OF(u, struct dlq_act_call, answer.unit)->act);
}

static void dlq_answer_one(struct dlq_act_call *d)
{
    struct request *r = d->answer.request;

    if (d->act.refused)
        reply_problem(r, ERR_UNPROCESSABLE, d->act.refusals[0].why);
    else if (!d->act.matched)
        reply_problem(r, ERR_NOT_FOUND, NULL);
    else if (d->act.verb == DEAD_DELETE)
        reply_send(r, 204, S(""), S(""));
    else
        reply_send(r, 200, S("application/json"), d->answer.text);
}

static void dlq_answer(struct dlq_act_call *d)
{
    struct request *r = d->answer.request;

    d->answer.text = dead_act_json(&d->act, &r->arena);
    if (d->act.err || !d->answer.text.p)
        reply_problem(r, d->act.err ? d->act.err : ERR_NO_MEMORY, NULL);
    else if (d->one)
        dlq_answer_one(d);
    else
        reply_send(r, 200, S("application/json"), d->answer.text);
}

static void dlq_step_done(struct unit *u);

static void dlq_post(struct dlq_act_call *d)
{
    static const struct unit_kind many = { "dlq.act", UNIT_BACK, dlq_run_step, NULL },
                                  one = { "dlq.act_one", UNIT_FRONT, dlq_run_step, NULL },
                                  dry = { "dlq.count", UNIT_READ, dlq_run_step, NULL };

    d->answer.unit = (struct unit){ .kind = d->act.dry_run ? &dry
                                            : d->one       ? &one
                                                           : &many,
                                    .executor = d->answer.request->executor,
                                    .done = dlq_step_done };
    store_post(d->api->store, &d->answer.unit);
}

static void dlq_step_done(struct unit *u)
{
    struct dlq_act_call *d = CONTAINER_OF(u, struct dlq_act_call, answer.unit);

    if (dead_act_took(&d->act, u->err))
        dlq_post(d);
    else
        dlq_answer(d);
}

/* Prepares the edited body before the unit that writes. That unit reports what is wrong with it. */
static enum err dlq_run_prepare(struct tx *tx, struct unit *u)
{
    struct dlq_act_call *d = CONTAINER_OF(u, struct dlq_act_call, answer.unit);

    return dead_edit_prepare(tx, &d->answer.request->arena, &d->api->letters, d->id, &d->edit);
}

static void dlq_prepared(struct unit *u)
{
    dlq_post(CONTAINER_OF(u, struct dlq_act_call, answer.unit));
}

static void dlq_prepare(struct dlq_act_call *d)
{
    static const struct unit_kind kind = { "dlq.edit", UNIT_READ, dlq_run_prepare, NULL };

    d->answer.unit = (struct unit){ .kind = &kind,
                                    .executor = d->answer.request->executor,
                                    .done = dlq_prepared };
    store_post(d->api->store, &d->answer.unit);
}

ANSWERS static struct dlq_act_call *dlq_act_call_new(struct request *r, const struct api_dlq *api,
                                                     const struct principal *p, enum dead_verb verb)
{
    struct dlq_act_call *d = api_room(r, sizeof(*d));

    if (!d)
        return NULL;
    d->answer.request = r;
    d->api = api;
    d->act.letters = &api->letters;
    d->act.verb = verb;
    d->act.user = p->user;
    d->act.name = arena_str(&r->arena, p->name);
    d->act.by = "the admin API";
    if (!dead_act_begin(&d->act, &r->arena))
        return d;
    reply_problem(r, ERR_NO_MEMORY, NULL);
    return NULL;
}

static void dlq_act_on_many(struct request *r, const struct api_dlq *api, const struct principal *p,
                            enum dead_verb verb)
{
    struct dlq_act_call *d = dlq_act_call_new(r, api, p, verb);

    if (d && dlq_read_act(r, &d->act))
        dlq_post(d);
}

static void dlq_act_on_one(struct request *r, const struct api_dlq *api, const struct principal *p,
                           enum dead_verb verb)
{
    struct dlq_act_call *d = dlq_act_call_new(r, api, p, verb);
    bool edited = false;

    if (!d || !dlq_read_id(r, &api->letters, &d->id))
        return;
    if (verb == DEAD_RETRY && !dlq_read_edit(r, &edited, &d->edit.body))
        return;
    if (edited)
        d->act.edit = &d->edit;
    d->one = true;
    d->act.ids = &d->id;
    d->act.id_count = 1;
    if (edited)
        dlq_prepare(d);
    else
        dlq_post(d);
}

void api_dlq_retry(struct request *r, void *ctx, const struct principal *p)
{
    dlq_act_on_many(r, ctx, p, DEAD_RETRY);
}

void api_dlq_delete(struct request *r, void *ctx, const struct principal *p)
{
    dlq_act_on_many(r, ctx, p, DEAD_DELETE);
}

void api_dlq_retry_one(struct request *r, void *ctx, const struct principal *p)
{
    dlq_act_on_one(r, ctx, p, DEAD_RETRY);
}

void api_dlq_delete_one(struct request *r, void *ctx, const struct principal *p)
{
    dlq_act_on_one(r, ctx, p, DEAD_DELETE);
}
