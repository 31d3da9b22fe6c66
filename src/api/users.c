/* users.c - a change that service or admin makes for a person leaves an audit line in the same
 * commit; what people change for themselves leaves none. Answers with addresses are never
 * cached. */
#include "api/users.h"

#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "store/store.h"

struct user_call { /* one request, in its own arena */
    struct api_answer answer;
    const struct api_users *api;
    struct contact contact;
    struct uuid by;  /* the caller */
    struct uuid job; /* DELETE: the job that finishes the removal */
    struct contact_put put;
    bool for_others; /* the caller is service or admin: the change is audited */
    bool in_full;    /* device tokens are shown in full */
};

/* Admits the person, service and admin. NULL: the answer was sent. */
ANSWERS static struct user_call *user_call_new(struct request *r, const struct api_users *api,
                                               const struct principal *p)
{
    struct user_call *c;
    struct uuid id;
    bool himself;

    if (!fields_path_id(r, &id))
        return NULL;
    himself = uuid_eq(p->user, id);
    if (!himself && !auth_sees_all(p)) {
        reply_problem(r, ERR_FORBIDDEN, NULL);
        return NULL;
    }
    c = api_room(r, sizeof(*c));
    if (!c)
        return NULL;
    c->api = api;
    c->contact.user = id;
    c->by = p->user;
    c->for_others = p->service || p->admin;
    c->in_full = himself || p->admin || p->viewer;
    return c;
}

static enum err user_set_answer(struct user_call *c)
{
    c->answer.text = contact_json(&c->answer.request->arena, &c->contact, c->in_full);
    return c->answer.text.p ? OK : ERR_NO_MEMORY;
}

/* Personal addresses must not stay in a cache on the way. */
static void user_no_store(struct request *r)
{
    reply_header(r, S("Cache-Control"), S("no-store"));
}

/* --- PUT --- */

static enum err user_audit_put(struct tx *tx, const struct user_call *c)
{
    char id[UUID_TEXT + 1];

    if (!c->for_others || (!c->put.is_new && !c->put.changed[0]))
        return OK;
    uuid_text(c->contact.user, id);
    return act_audit(tx, c->put.is_new ? "CONTACT_MAKE" : "CONTACT_CHANGE", str_of(id),
                     str_of(c->put.changed), c->by);
}

static enum err user_run_put(struct tx *tx, struct unit *u)
{
    struct user_call *c = CONTAINER_OF(u, struct user_call, answer.unit);
    enum err e = contact_put(tx, u->arena, &c->contact, env_now_ms(c->api->env), &c->put);

    if (e)
        return e;
    e = user_audit_put(tx, c);
    return e ? e : user_set_answer(c);
}

static void user_was_put(struct unit *u)
{
    struct user_call *c = CONTAINER_OF(u, struct user_call, answer.unit);
    struct request *r = c->answer.request;

    if (u->err) {
        reply_problem(r, u->err, NULL);
        return;
    }
    user_no_store(r);
    reply_send(r, c->put.is_new ? 201 : 200, S("application/json"), c->answer.text);
}

void api_user_put(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "user.put", UNIT_FRONT, user_run_put, NULL };
    struct user_call *c = user_call_new(r, ctx, p);

    if (c && user_input(r, &c->contact))
        api_answer_post(&c->answer, r, c->api->store, &kind, user_was_put);
}

/* --- GET --- */

static enum err user_run_get(struct tx *tx, struct unit *u)
{
    struct user_call *c = CONTAINER_OF(u, struct user_call, answer.unit);
    enum err e = contact_read(tx, u->arena, c->contact.user, &c->contact);

    return e ? e : user_set_answer(c);
}

static void user_was_got(struct unit *u)
{
    struct user_call *c = CONTAINER_OF(u, struct user_call, answer.unit);

    if (!u->err)
        user_no_store(c->answer.request);
    api_answer_show(u);
}

void api_user_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "user.get", UNIT_READ, user_run_get, NULL };
    struct user_call *c = user_call_new(r, ctx, p);

    if (c)
        api_answer_post(&c->answer, r, c->api->store, &kind, user_was_got);
}

/* --- DELETE --- */

static enum err user_run_forget(struct tx *tx, struct unit *u)
{
    struct user_call *c = CONTAINER_OF(u, struct user_call, answer.unit);
    struct contact_forget f = { .user = c->contact.user, .by = c->by, .job = c->job };

    return contact_forget(tx, c->api->queue, &f, env_now_ms(c->api->env));
}

static void user_was_forgotten(struct unit *u)
{
    struct user_call *c = CONTAINER_OF(u, struct user_call, answer.unit);

    if (u->err)
        reply_problem(c->answer.request, u->err, NULL);
    else
        reply_send(c->answer.request, 204, S(""), S(""));
}

void api_user_forget(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "user.forget", UNIT_FRONT, user_run_forget, NULL };
    struct user_call *c = user_call_new(r, ctx, p);

    if (!c)
        return;
    c->job = env_uuid(c->api->env);
    api_answer_post(&c->answer, r, c->api->store, &kind, user_was_forgotten);
}
