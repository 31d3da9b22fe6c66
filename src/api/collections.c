/* collections.c - collections, their participants, and how a participant pays (S1). The organizer
 * sees the whole collection; a participant with a user id sees and pays their own part. */
#include "api/collections.h"

#include "api/collection_input.h"
#include "base/limits.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <stdio.h>

enum { PAGE_DEFAULT = 20, MEMBERS_MAX = 80, DETAIL_MAX = 48 };

struct collection_call { /* one request, in its own arena */
    struct api_answer answer;
    struct payments *payments;
    struct principal who;
    struct collection_input input; /* PUT */
    struct collection_result result;
    struct collection_view view; /* id is the path's; of the list: after is its cursor */
    struct uuid owner;           /* the list */
    bool all_owners;             /* the list: of all owners */
};

/* Whether the caller may act on collections of others; a viewer may only read them (A3). */
static bool collection_may_any(const struct request *r, const struct principal *p)
{
    return p->service || p->admin || (p->viewer && str_eq(r->method, S("GET")));
}

/* has_id: the path has the id. NULL: the answer was sent. */
ANSWERS static struct collection_call *collection_call_new(struct request *r, void *ctx,
                                                           const struct principal *p, bool has_id)
{
    const struct api_payments *api = ctx;
    struct collection_call *a = api_room(r, sizeof(*a));

    if (!a)
        return NULL;
    a->answer.request = r;
    a->payments = api->payments;
    a->who = *p;
    a->owner = p->user;
    a->view = (struct collection_view){ .who = p->user,
                                        .may_any = collection_may_any(r, p),
                                        .limit = PAGE_DEFAULT };
    return !has_id || fields_path_id(r, &a->view.id) ? a : NULL;
}

static void collection_post(struct collection_call *a, const struct unit_kind *kind,
                            void (*done)(struct unit *))
{
    api_answer_post(&a->answer, a->answer.request, a->payments->runtime.store, kind, done);
}

/* --- PUT /collections/{id} --- */

/* The audit log records what service, admin and operators do; not what organizers do themselves. */
static enum err collection_audit_put(struct tx *tx, const struct collection_call *a)
{
    char id[UUID_TEXT + 1], detail[DETAIL_MAX];

    if (!a->view.may_any || a->result.put == COLLECTION_UNCHANGED)
        return OK;
    uuid_text(a->view.id, id);
    snprintf(detail, sizeof(detail), "participants named: %zu", a->input.participant_count);
    return act_audit(tx, a->result.put == COLLECTION_MADE ? "COLLECTION_MAKE" : "COLLECTION_CHANGE",
                     str_of(id), str_of(detail), a->who.user);
}

static enum err collection_run_put(struct tx *tx, struct unit *u)
{
    struct collection_call *a = CONTAINER_OF(u, struct collection_call, answer.unit);
    enum err e = collection_put(tx, a->payments, u->arena, &a->input, a->view.may_any,
                                env_now_ms(a->payments->runtime.env), &a->result);

    if (e)
        return e;
    e = collection_audit_put(tx, a);
    return e ? e : collection_json(tx, u->arena, &a->view, &a->answer.text);
}

static void collection_answer_refusal(struct collection_call *a)
{
    static const struct {
        const char *en, *ja;
    } words[] = {
        [REFUSED_NOT] = { NULL, NULL },
        [REFUSED_CURRENCY] = { "The currency cannot change: somebody has paid or is paying.",
                               "支払い済み、または支払い処理中の参加者がいるため、通貨は変更できま"
                               "せん。" },
        [REFUSED_AMOUNT] = { "The amount of somebody who has paid or is paying cannot change.",
                             "支払い済み、または支払い処理中の参加者の金額は変更できません。" },
        [REFUSED_ELSEWHERE] = { "A participant with this id belongs to another collection.",
                                "この id の参加者は別の集金に属しています。" },
        [REFUSED_TOO_MANY] = { "A collection has at most 1000 participants.",
                               "1 つの集金の参加者は 1000 人までです。" },
    };
    struct request *r = a->answer.request;
    enum collection_refusal why = a->result.refusal;
    char id[UUID_TEXT + 1], members[MEMBERS_MAX];
    int n = 0;

    if (a->result.has_participant) {
        uuid_text(a->result.participant, id);
        n = snprintf(members, sizeof(members), "\"participantId\":\"%s\"", id);
    }
    reply_problem_more(r, ERR_UNPROCESSABLE, r->language == LANG_JA ? words[why].ja : words[why].en,
                       S(""), (struct str){ members, (size_t)n });
}

static void collection_answer_unknown_zone(struct request *r)
{
    fields_refuse(r, "timeZone", "is not a time zone that is known here",
                  "このサーバーにないタイムゾーンです");
}

static void collection_was_put(struct unit *u)
{
    struct collection_call *a = CONTAINER_OF(u, struct collection_call, answer.unit);

    if (u->err == ERR_UNPROCESSABLE && a->result.refusal == REFUSED_ZONE)
        collection_answer_unknown_zone(a->answer.request);
    else if (u->err == ERR_UNPROCESSABLE)
        collection_answer_refusal(a);
    else if (u->err)
        reply_problem(a->answer.request, u->err, NULL);
    else
        reply_send(a->answer.request, a->result.put == COLLECTION_MADE ? 201 : 200,
                   S("application/json"), a->answer.text);
}

void api_collection_put(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "collection.put", UNIT_FRONT, collection_run_put, NULL };
    struct collection_call *a = collection_call_new(r, ctx, p, true);

    if (!a || !collection_input_read(r, a->payments->reminders.minute, &a->input))
        return;
    a->input.id = a->view.id;
    a->input.owner = a->who.user;
    collection_post(a, &kind, collection_was_put);
}

/* --- pages --- */

static bool collection_read_status(struct request *r, void *ctx, struct str value)
{
    struct collection_call *a = ctx;

    (void)r;
    a->view.status = value;
    return str_eq(value, S("paid")) || str_eq(value, S("unpaid"));
}

static bool collection_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct collection_call *a = ctx;

    return query_cursor(&r->arena, value, &a->view.has_after, &a->view.after);
}

static bool collection_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct collection_call *)ctx)->view.limit);
}

static bool collection_read_owner(struct request *r, void *ctx, struct str value)
{
    struct collection_call *a = ctx;

    (void)r;
    a->all_owners = false;
    return a->view.may_any && uuid_parse(value, &a->owner);
}

#define CURSOR                                                                                     \
    {                                                                                              \
        "cursor", collection_read_cursor, "must be the nextCursor of a page",                      \
            "前のページの nextCursor を指定してください"                            \
    }
#define LIMIT                                                                                      \
    {                                                                                              \
        "limit", collection_read_limit, "must be 1 to 100", "1〜100 にしてください"        \
    }

/* --- GET /collections/{id}, /collections --- */

static enum err collection_run_get(struct tx *tx, struct unit *u)
{
    struct collection_call *a = CONTAINER_OF(u, struct collection_call, answer.unit);

    return collection_json(tx, u->arena, &a->view, &a->answer.text);
}

void api_collection_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "collection.get", UNIT_READ, collection_run_get, NULL };
    static const struct query_parameter parameters[] = {
        { "status", collection_read_status, "must be paid or unpaid",
          "paid か unpaid にしてください" },
        CURSOR,
        LIMIT,
    };
    struct collection_call *a = collection_call_new(r, ctx, p, true);

    if (a && query_read(r, parameters, COUNT(parameters), a))
        collection_post(a, &kind, api_answer_show);
}

static enum err collection_run_list(struct tx *tx, struct unit *u)
{
    struct collection_call *a = CONTAINER_OF(u, struct collection_call, answer.unit);

    return collections_json(tx, u->arena, a->all_owners ? NULL : &a->owner,
                            a->view.has_after ? &a->view.after : NULL, a->view.limit,
                            &a->answer.text);
}

static void collection_list_begin(struct request *r, void *ctx, const struct principal *p,
                                  bool all_owners)
{
    static const struct unit_kind kind = { "collection.list", UNIT_READ, collection_run_list,
                                           NULL };
    static const struct query_parameter parameters[] = {
        QUERY_USER("ownerId", collection_read_owner),
        CURSOR,
        LIMIT,
    };
    struct collection_call *a = collection_call_new(r, ctx, p, false);

    if (!a)
        return;
    a->all_owners = all_owners;
    if (query_read(r, parameters, COUNT(parameters), a))
        collection_post(a, &kind, api_answer_show);
}

void api_collection_list(struct request *r, void *ctx, const struct principal *p)
{
    collection_list_begin(r, ctx, p, false);
}

void api_admin_collection_list(struct request *r, void *ctx, const struct principal *p)
{
    collection_list_begin(r, ctx, p, true);
}

/* --- GET /participants/{id} --- */

static enum err participant_run_get(struct tx *tx, struct unit *u)
{
    struct collection_call *a = CONTAINER_OF(u, struct collection_call, answer.unit);

    return participant_json(tx, u->arena, a->view.id, a->view.who, a->view.may_any,
                            &a->answer.text);
}

void api_participant_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "participant.get", UNIT_READ, participant_run_get,
                                           NULL };
    struct collection_call *a = collection_call_new(r, ctx, p, true);

    if (a)
        collection_post(a, &kind, api_answer_show);
}

/* --- POST /participants/{id}/checkout --- */

void api_participant_checkout(struct request *r, void *ctx, const struct principal *p)
{
    const struct api_payments *api = ctx;
    struct checkout_input in = { 0 };
    struct payment_call *c;
    struct uuid id;

    if (!payment_caller_may(r, api, p, S("create")) || !fields_path_id(r, &id) ||
        !checkout_input_read(r, api->payments->return_url.n, &in))
        return;
    c = api_room(r, sizeof(*c));
    if (!c)
        return;
    c->operate = (struct operate){ .kind = OP_CREATE,
                                   .user = p->user,
                                   .may_any = collection_may_any(r, p),
                                   .key = in.key,
                                   .context = CONTEXT_PARTICIPANT,
                                   .subject = id,
                                   .success_url = in.success_url,
                                   .cancel_url = in.cancel_url,
                                   .of_subject = true };
    key_hash_checkout(id, in.success_url, in.cancel_url, c->operate.hash);
    payment_begin(r, api, c);
}
