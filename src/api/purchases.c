/* purchases.c - buys a position, cancels a purchase, and lists the buyer's purchases.
 *
 *   may owners do this --> check id, key and body --> operate_begin() --> the answer
 *
 * The operations are those of payments.c; their answers have the purchase around the payment. */
#include "api/purchases.h"

#include "api/payment_input.h"
#include "base/limits.h"
#include "campaign/purchase.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"

enum { PAGE_DEFAULT = 20 };

/* --- buy, cancel --- */

static void purchase_read_key(struct request *r, struct payment_input *in, struct json_problems *p)
{
    size_t keys;
    struct str key = request_header(r, S("Idempotency-Key"), &keys);

    payment_input_key(key, keys, in, p);
}

static void purchase_path_id(const struct request *r, struct uuid *ret_id, struct json_problems *p)
{
    if (!uuid_parse(r->params[0], ret_id))
        json_problem_in(p, "id", "must be a UUID", "UUID を指定してください");
}

/* Every problem is in `p`. NO_MEMORY: the request's arena is full. */
static enum err purchase_read_input(struct request *r, struct operate *o, struct json_problems *p)
{
    struct payment_input in = { 0 };
    enum err e;

    purchase_read_key(r, &in, p);
    purchase_path_id(r, &o->subject, p);
    e = payment_input_purchase(&r->arena, r->body, &in, p);
    if (e || p->count)
        return e;
    o->key = in.key;
    o->method = in.method;
    o->method_type = in.method_type;
    key_hash_purchase(o->subject, o->method_type, o->method, o->hash);
    return OK;
}

static enum err purchase_read_cancel(struct request *r, struct operate *o, struct json_problems *p)
{
    struct payment_input in = { 0 };
    enum err e;

    purchase_read_key(r, &in, p);
    purchase_path_id(r, &o->payment, p);
    e = payment_input_body(&r->arena, OP_VOID, r->body, &in, p);
    if (e || p->count)
        return e;
    o->key = in.key;
    o->by_purchase = true;
    key_hash_other(o->payment, false, 0, (struct str){ 0 }, o->hash);
    return OK;
}

static void purchases_operate(struct request *r, const struct api_payments *api,
                              const struct principal *p, enum op_kind kind,
                              enum err (*read)(struct request *, struct operate *,
                                               struct json_problems *))
{
    struct payment_call *c = payment_call_new(r, p, kind);

    if (!c)
        return;
    c->place = "/api/v1/purchases/";
    c->operate.context = CONTEXT_PURCHASE;
    c->operate.of_subject = true;
    payment_check_and_begin(r, api, c, read);
}

static bool purchase_is_nobody(struct uuid user)
{
    return uuid_eq(user, (struct uuid){ 0 });
}

/* The admin token belongs to no user, so it cannot buy. */
void api_purchase_create(struct request *r, void *ctx, const struct principal *p)
{
    if (!payment_caller_may(r, ctx, p, S("create")))
        return;
    if (purchase_is_nobody(p->user))
        reply_problem(r, ERR_FORBIDDEN, NULL);
    else
        purchases_operate(r, ctx, p, OP_CREATE, purchase_read_input);
}

void api_purchase_cancel(struct request *r, void *ctx, const struct principal *p)
{
    if (payment_caller_may(r, ctx, p, S("void")))
        purchases_operate(r, ctx, p, OP_VOID, purchase_read_cancel);
}

/* --- one purchase --- */

static enum err purchase_read_one(struct tx *tx, struct unit *u)
{
    struct payment_look *l = CONTAINER_OF(u, struct payment_look, answer.unit);
    struct purchase purchase;
    struct payment payment;
    struct refund *refunds;
    struct str text;
    size_t count;
    enum err e = purchase_read(tx, l->id, &purchase);

    if (e)
        return e;
    e = payment_read(tx, u->arena, purchase.payment_id, false, &payment);
    if (e)
        return e;
    e = refunds_read(tx, u->arena, payment.id, &refunds, &count);
    if (e)
        return e;
    l->owner = purchase.user_id;
    text = payment_look_json(l, u->arena, &payment, refunds, count);
    l->answer.text = text.p ? purchase_json(u->arena, &purchase, text) : text;
    return l->answer.text.p ? OK : ERR_NO_MEMORY;
}

void api_purchase_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "purchase.read", UNIT_READ, purchase_read_one, NULL };

    payment_look_up(r, ctx, p, &kind);
}

/* --- pages --- */

struct purchase_list_call {
    struct api_answer answer;
    struct purchase_filter filter;
    bool may_any;
};

static bool purchase_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct purchase_list_call *g = ctx;

    return query_cursor(&r->arena, value, &g->filter.has_before, &g->filter.before);
}

static bool purchase_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct purchase_list_call *)ctx)->filter.limit);
}

static bool purchase_read_user(struct request *r, void *ctx, struct str value)
{
    struct purchase_list_call *g = ctx;

    (void)r;
    g->filter.has_user = g->may_any && uuid_parse(value, &g->filter.user);
    return g->filter.has_user;
}

static const struct query_parameter parameters[] = {
    QUERY_CURSOR(purchase_read_cursor),
    QUERY_LIMIT(purchase_read_limit),
    QUERY_USER("userId", purchase_read_user),
};

static enum err purchase_read_page(struct tx *tx, struct unit *u)
{
    struct purchase_list_call *g = CONTAINER_OF(u, struct purchase_list_call, answer.unit);

    return purchases_json(tx, u->arena, &g->filter, &g->answer.text);
}

void api_purchase_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "purchase.list", UNIT_READ, purchase_read_page, NULL };
    struct api_payments *api = ctx;
    struct purchase_list_call *g;

    if (!payment_caller_may(r, ctx, p, S("read")))
        return;
    g = api_room(r, sizeof(*g));
    if (!g)
        return;
    g->may_any = auth_sees_all(p);
    g->filter =
        (struct purchase_filter){ .has_user = !g->may_any, .user = p->user, .limit = PAGE_DEFAULT };
    if (query_read(r, parameters, COUNT(parameters), g))
        api_answer_post(&g->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}
