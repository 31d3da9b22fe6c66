/* payments.c - reads are units of work of payment/search; an act goes to payment_operate(), which
 * needs an Idempotency-Key like any client's request. What an act leaves behind at a crash is in
 * payment/operate.h. */
#include "admin/payments.h"

#include "base/limits.h"
#include "domain/key.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"
#include "payment/search/search.h"
#include "payment/search/text.h"

enum { PAGE_DEFAULT = 20, GATEWAY_CHARS = 64 };

struct admin_payment_call { /* one request, in its own arena */
    struct api_answer answer;
    struct payment_query query;
    bool has_cursor;
    struct payment_place cursor;
    int limit;
    struct uuid id; /* of the payment, or the key */
    const struct payables *payables;
};

/* --- the query --- */

static bool admin_payment_query_text(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct admin_payment_call *)ctx)->query.text = value;
    return find_text_fits(value);
}

static bool admin_payment_query_status(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_call *)ctx)->query;

    (void)r;
    return q->has_status = payment_status_parse(value, &q->status);
}

static bool admin_payment_query_context(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_call *)ctx)->query;

    (void)r;
    return q->has_context = payment_context_parse(value, &q->context);
}

static bool admin_payment_query_gateway(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct admin_payment_call *)ctx)->query.gateway = value;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] <= ' ' || value.p[i] > '~')
            return false;
    return value.n && value.n <= GATEWAY_CHARS;
}

static bool admin_payment_query_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_time(value, &((struct admin_payment_call *)ctx)->query.from_ms);
}

static bool admin_payment_query_to(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_time(value, &((struct admin_payment_call *)ctx)->query.to_ms);
}

static bool admin_payment_query_user(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_call *)ctx)->query;

    (void)r;
    return q->has_user = uuid_parse(value, &q->user);
}

static bool admin_payment_query_booking(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_call *)ctx)->query;

    (void)r;
    return q->has_booking = uuid_parse(value, &q->booking);
}

static bool admin_payment_query_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct admin_payment_call *)ctx)->limit);
}

static bool admin_payment_query_cursor(struct request *r, void *ctx, struct str value)
{
    struct admin_payment_call *c = ctx;

    (void)r;
    return c->has_cursor = payment_place_read(value, &c->cursor);
}

static const struct query_parameter parameters[] = {
    { "q", admin_payment_query_text, "must be a text of at most 255 characters",
      "255 文字以内の文字列にしてください" },
    { "status", admin_payment_query_status,
      "must be PENDING, AUTHORIZED, CAPTURED, REFUNDED or FAILED",
      "PENDING、AUTHORIZED、CAPTURED、REFUNDED、FAILED のいずれかにしてください" },
    { "context", admin_payment_query_context, "must be booking, purchase or participant",
      "booking、purchase、participant のいずれかにしてください" },
    { "gateway", admin_payment_query_gateway, "must be the name of a gateway",
      "ゲートウェイの名前を指定してください" },
    { "from", admin_payment_query_from, QUERY_TIME_WORDS },
    { "to", admin_payment_query_to, QUERY_TIME_WORDS },
    { "userId", admin_payment_query_user, QUERY_UUID_WORDS },
    { "bookingId", admin_payment_query_booking, QUERY_UUID_WORDS },
    QUERY_LIMIT(admin_payment_query_limit),
    QUERY_CURSOR(admin_payment_query_cursor),
};

ANSWERS static bool admin_payment_read_query(struct request *r, struct admin_payment_call *c)
{
    const struct payment_query *q = &c->query;
    struct json_problems problems;

    c->limit = PAGE_DEFAULT;
    if (!query_read(r, parameters, COUNT(parameters), c))
        return false;
    fields_problems(r, &problems);
    query_check_times(q->from_ms, q->to_ms, &problems);
    return !fields_refused(r, &problems);
}

/* --- reading --- */

static enum err admin_payment_read_page(struct tx *tx, struct unit *u)
{
    struct admin_payment_call *c = CONTAINER_OF(u, struct admin_payment_call, answer.unit);

    return payment_find(tx, u->arena, &c->query, c->has_cursor ? &c->cursor : NULL, c->limit,
                        &c->answer.text);
}

static enum err admin_payment_read_one(struct tx *tx, struct unit *u)
{
    struct admin_payment_call *c = CONTAINER_OF(u, struct admin_payment_call, answer.unit);

    return payment_show(tx, u->arena, c->payables, c->id, &c->answer.text);
}

static enum err admin_payment_read_key(struct tx *tx, struct unit *u)
{
    struct admin_payment_call *c = CONTAINER_OF(u, struct admin_payment_call, answer.unit);

    return payment_key_uses(tx, u->arena, c->id, env_now_ms(tx_env(tx)), &c->answer.text);
}

void api_admin_payment_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "payment.find", UNIT_READ, admin_payment_read_page,
                                           NULL };
    const struct api_payments *api = ctx;
    struct admin_payment_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (c && admin_payment_read_query(r, c))
        api_answer_post(&c->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}

void api_admin_payment_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "payment.show", UNIT_READ, admin_payment_read_one,
                                           NULL };
    const struct api_payments *api = ctx;
    struct admin_payment_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (!c || !fields_path_id(r, &c->id))
        return;
    c->payables = api->payments->payables;
    api_answer_post(&c->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}

/* The key in the path may be written as a client writes it into its header (I1). */
ANSWERS static bool admin_payment_read_path_key(struct request *r, struct uuid *ret_key)
{
    if (key_parse(r->params[0], ret_key))
        return true;
    fields_refuse(r, "key", QUERY_UUID_WORDS);
    return false;
}

void api_admin_key_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "key.uses", UNIT_READ, admin_payment_read_key, NULL };
    const struct api_payments *api = ctx;
    struct admin_payment_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (c && admin_payment_read_path_key(r, &c->id))
        api_answer_post(&c->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}

/* --- acting --- */

void api_admin_payment_capture(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate(r, ctx, p, OP_CAPTURE);
}

void api_admin_payment_refund(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate(r, ctx, p, OP_REFUND);
}

void api_admin_payment_void(struct request *r, void *ctx, const struct principal *p)
{
    payment_operate(r, ctx, p, OP_VOID);
}
