#include "api/users.h"

#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "store/store.h"

struct users_visit { /* one request, in its own arena */
    struct api_answer answer;
    const struct api_users *api;
    struct contact contact;
    struct uuid by;  /* who asks */
    struct uuid job; /* of a removal that is not done at once */
    struct contact_put put;
    bool for_others; /* who asks may act for anybody: it goes to the audit */
    bool in_full;    /* tokens of devices are shown */
};

/* The person himself, service, admin; NULL: anybody else was answered. */
ANSWERS static struct users_visit *user_visit_new(struct request *r, const struct api_users *api,
                                                  const struct principal *p)
{
    struct users_visit *v;
    struct uuid id;
    bool himself;

    if (!fields_path_id(r, &id))
        return NULL;
    himself = uuid_eq(p->user, id);
    if (!himself && !auth_sees_all(p)) {
        reply_problem(r, ERR_FORBIDDEN, NULL);
        return NULL;
    }
    v = api_room(r, sizeof(*v));
    if (!v)
        return NULL;
    v->api = api;
    v->contact.user = id;
    v->by = p->user;
    v->for_others = p->service || p->admin;
    v->in_full = himself || p->admin || p->viewer;
    return v;
}

static enum err users_show(struct users_visit *v)
{
    v->answer.text = contact_json(&v->answer.request->arena, &v->contact, v->in_full);
    return v->answer.text.p ? OK : ERR_NO_MEMORY;
}

/* An address is nobody's business on the way. */
static void user_no_store(struct request *r)
{
    reply_header(r, S("Cache-Control"), S("no-store"));
}

/* --- PUT --- */

static enum err user_audit_put(struct tx *tx, const struct users_visit *v)
{
    char id[UUID_TEXT + 1];

    if (!v->for_others || (!v->put.is_new && !v->put.changed[0]))
        return OK;
    uuid_text(v->contact.user, id);
    return act_audit(tx, v->put.is_new ? "CONTACT_MAKE" : "CONTACT_CHANGE", str_of(id),
                     str_of(v->put.changed), v->by);
}

static enum err users_put(struct tx *tx, struct unit *u)
{
    struct users_visit *v = CONTAINER_OF(u, struct users_visit, answer.unit);
    enum err e = contact_put(tx, u->arena, &v->contact, env_now_ms(v->api->env), &v->put);

    if (!e)
        e = user_audit_put(tx, v);
    return e ? e : users_show(v);
}

static void user_was_put(struct unit *u)
{
    struct users_visit *v = CONTAINER_OF(u, struct users_visit, answer.unit);
    struct request *r = v->answer.request;

    if (u->err) {
        reply_problem(r, u->err, NULL);
        return;
    }
    user_no_store(r);
    reply_send(r, v->put.is_new ? 201 : 200, S("application/json"), v->answer.text);
}

void api_user_put(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "user.put", UNIT_FRONT, users_put, NULL };
    struct users_visit *v = user_visit_new(r, ctx, p);

    if (v && user_input(r, &v->contact))
        api_answer_post(&v->answer, r, v->api->store, &kind, user_was_put);
}

/* --- GET --- */

static enum err users_get(struct tx *tx, struct unit *u)
{
    struct users_visit *v = CONTAINER_OF(u, struct users_visit, answer.unit);
    enum err e = contact_read(tx, u->arena, v->contact.user, &v->contact);

    return e ? e : users_show(v);
}

static void user_was_got(struct unit *u)
{
    struct users_visit *v = CONTAINER_OF(u, struct users_visit, answer.unit);

    if (!u->err)
        user_no_store(v->answer.request);
    api_answer_show(u);
}

void api_user_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "user.get", UNIT_READ, users_get, NULL };
    struct users_visit *v = user_visit_new(r, ctx, p);

    if (v)
        api_answer_post(&v->answer, r, v->api->store, &kind, user_was_got);
}

/* --- DELETE --- */

static enum err users_forget(struct tx *tx, struct unit *u)
{
    struct users_visit *v = CONTAINER_OF(u, struct users_visit, answer.unit);

    struct contact_forget f = { .user = v->contact.user, .by = v->by, .job = v->job };

    return contact_forget(tx, v->api->queue, &f, env_now_ms(v->api->env));
}

static void user_was_forgotten(struct unit *u)
{
    struct users_visit *v = CONTAINER_OF(u, struct users_visit, answer.unit);

    if (u->err)
        reply_problem(v->answer.request, u->err, NULL);
    else
        reply_send(v->answer.request, 204, S(""), S(""));
}

void api_user_forget(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "user.forget", UNIT_FRONT, users_forget, NULL };
    struct users_visit *v = user_visit_new(r, ctx, p);

    if (!v)
        return;
    v->job = env_uuid(v->api->env);
    api_answer_post(&v->answer, r, v->api->store, &kind, user_was_forgotten);
}
