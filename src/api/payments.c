/* payments.c - the four operations that move money. Each takes the same steps:
 *
 *   may owners do this --> check the body --> operate_begin() --> the answer, stored or new
 *
 * The request waits for the operation, and the operation does not depend on the request: if the
 * client disconnects, it still runs to its end. */
#include "api/payments.h"

#include "api/payment_input.h"
#include "base/limits.h"
#include "endpoint/fields.h"
#include "endpoint/media_type.h"

#include <stdio.h>
#include <string.h>

enum { MEMBERS_MAX = 256 };

static const struct str verbs[OP_KINDS] = {
    [OP_CREATE] = { "create", 6 },
    [OP_CAPTURE] = { "capture", 7 },
    [OP_REFUND] = { "refund", 6 },
    [OP_VOID] = { "void", 4 },
};

/* --- the answer --- */

static struct str payment_problem_members(const struct operate *o, char text[MEMBERS_MAX])
{
    char id[UUID_TEXT + 1] = "";
    int n = 0;

    if (o->has_payment) {
        uuid_text(o->payment_id, id);
        n = snprintf(text, MEMBERS_MAX, "\"paymentId\":\"%s\"", id);
    }
    if (o->has_current)
        n += snprintf(text + n, MEMBERS_MAX - (size_t)n, "%s\"currentStatus\":\"%s\"", n ? "," : "",
                      payment_status_name(o->current));
    return (struct str){ text, (size_t)n };
}

/* `why` is English only, so a Japanese reader gets the error's own message instead. */
static const char *payment_detail_of(const struct request *r, const struct operate *o)
{
    bool ja = r->language == LANG_JA;

    if (o->unknown)
        return ja ? "結果はまだわかりません。同じ Idempotency-Key "
                    "でリクエストをもう一度送ってください。"
                  : "Its outcome is not known yet. Send the request again with the same "
                    "Idempotency-Key.";
    if (o->err == ERR_GATEWAY && !o->why)
        return ja ? "何も行われていません。同じ Idempotency-Key "
                    "でリクエストをもう一度送ってください。"
                  : "Nothing was done. Send the request again with the same Idempotency-Key.";
    return ja ? NULL : o->why;
}

static void payment_answer_problem(struct request *r, const struct operate *o)
{
    char members[MEMBERS_MAX];

    reply_problem_more(r, o->err, payment_detail_of(r, o), S(""),
                       payment_problem_members(o, members));
}

/* The Location has the prefix that the client used: /payments or /api/v1/payments. */
static void payment_add_location(struct request *r, const struct payment_call *c)
{
    const char *place = c->place                             ? c->place
                        : str_starts(r->path, S("/api/v1/")) ? "/api/v1/payments/"
                                                             : "/payments/";
    char id[UUID_TEXT + 1], path[64 + UUID_TEXT];
    int n;

    uuid_text(c->place ? c->operate.subject_id : c->operate.payment_id, id);
    n = snprintf(path, sizeof(path), "%s%s", place, id);
    reply_header(r, S("Location"), (struct str){ path, (size_t)n });
}

static void payment_answer_stored(struct request *r, const struct payment_call *c)
{
    const struct operate *o = &c->operate;
    bool created = o->status == 201;

    if (o->replayed)
        reply_header(r, S("Idempotent-Replayed"), S("true"));
    else if (created && (c->place ? o->has_subject : o->has_payment))
        payment_add_location(r, c);
    reply_send(r, created && o->replayed ? 200 : o->status,
               o->status >= 400 ? S("application/problem+json") : S("application/json"), o->body);
}

static bool payment_is_decline(const struct operate *o)
{
    return !o->err && o->kind == OP_CREATE && o->status == 201 && o->settled_as == PAYMENT_FAILED;
}

static void payment_operated(struct operate *o)
{
    struct payment_call *c = CONTAINER_OF(o, struct payment_call, operate);

    c->request->note = o->replayed             ? NOTE_REPLAYED
                       : payment_is_decline(o) ? NOTE_DECLINED
                                               : NOTE_NONE;
    if (o->err)
        payment_answer_problem(c->request, o);
    else
        payment_answer_stored(c->request, c);
}

/* --- what is asked for --- */

static void payment_fill_operate(struct operate *o, const struct payment_input *in)
{
    o->key = in->key;
    o->subject = in->booking;
    o->money = in->money;
    o->method = in->method;
    o->method_type = in->method_type;
    o->description = in->description;
    o->has_amount = in->has_amount;
    o->amount = in->has_amount ? in->amount : 0;
    o->reason = in->reason;
    if (o->kind == OP_CREATE)
        key_hash_create(o->subject, o->money, o->method_type, o->method, o->hash);
    else
        key_hash_other(o->payment, o->has_amount, o->amount, o->reason, o->hash);
}

/* Every problem is in `p`. NO_MEMORY: the request's arena is full. */
static enum err payment_read_input(struct request *r, struct operate *o, struct json_problems *p)
{
    struct payment_input in = { 0 };
    size_t keys;
    struct str key = request_header(r, S("Idempotency-Key"), &keys);
    enum err e;

    payment_input_key(key, keys, &in, p);
    if (o->kind != OP_CREATE && !uuid_parse(r->params[0], &o->payment))
        json_problem_in(p, "id", "must be a UUID", "UUID を指定してください");
    e = payment_input_body(&r->arena, o->kind, r->body, &in, p);
    if (!e && !p->count)
        payment_fill_operate(o, &in);
    return e;
}

void payment_begin(struct request *r, const struct api_payments *api, struct payment_call *c)
{
    struct operate *o = &c->operate;

    c->request = r;
    o->payments = api->payments;
    trace_text(&r->trace, o->trace);
    o->request_id = r->id;
    o->deadline_mono_ms = r->began_us / 1000 + LIMIT_REQUEST_MS;
    o->arena = &r->arena;
    o->executor = r->executor;
    o->done = payment_operated;
    operate_begin(o);
}

struct payment_call *payment_call_new(struct request *r, const struct principal *p,
                                      enum op_kind kind)
{
    struct payment_call *c = api_room(r, sizeof(*c));

    if (!c)
        return NULL;
    if (r->body.n && !media_type_is_json(request_header(r, S("Content-Type"), NULL))) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return NULL;
    }
    c->operate.kind = kind;
    c->operate.user = p->user;
    c->operate.may_any = p->service || p->admin;
    return c;
}

void payment_check_and_begin(struct request *r, const struct api_payments *api,
                             struct payment_call *c,
                             enum err (*read)(struct request *r, struct operate *o,
                                              struct json_problems *p))
{
    struct json_problems problems;

    fields_problems(r, &problems);
    if (!fields_failed(r, &problems, read(r, &c->operate, &problems)))
        payment_begin(r, api, c);
}

void payment_operate(struct request *r, const struct api_payments *api, const struct principal *p,
                     enum op_kind kind)
{
    struct payment_call *c = payment_call_new(r, p, kind);

    if (c)
        payment_check_and_begin(r, api, c, payment_read_input);
}

/* --- what owners may --- */

bool payment_caller_may(struct request *r, const struct api_payments *c, const struct principal *p,
                        struct str verb)
{
    if (auth_sees_all(p) || auth_owner_may(c->owner_may, verb))
        return true;
    reply_problem(r, ERR_FORBIDDEN, NULL);
    return false;
}

static void payment_operate_as_owner(struct request *r, const struct api_payments *api,
                                     const struct principal *p, enum op_kind kind)
{
    if (payment_caller_may(r, api, p, verbs[kind]))
        payment_operate(r, api, p, kind);
}

void api_payment_create(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate_as_owner(r, ctx, p, OP_CREATE);
}

void api_payment_capture(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate_as_owner(r, ctx, p, OP_CAPTURE);
}

void api_payment_refund(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate_as_owner(r, ctx, p, OP_REFUND);
}

void api_payment_void(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate_as_owner(r, ctx, p, OP_VOID);
}
