#include "admin/payments.h"

#include "base/limits.h"
#include "base/time/parse.h"
#include "domain/key.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"
#include "payment/search/search.h"
#include "payment/search/text.h"

#include <string.h>

enum { PAGE_DEFAULT = 20, GATEWAY_CHARS = 64 };

struct admin_payment_look { /* one request, in its own arena */
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
    ((struct admin_payment_look *)ctx)->query.text = value;
    return find_text_fits(value);
}

static bool admin_payment_query_status(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_look *)ctx)->query;

    (void)r;
    return q->has_status = payment_status_parse(value, &q->status);
}

static bool admin_payment_query_context(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_look *)ctx)->query;

    (void)r;
    return q->has_context = payment_context_parse(value, &q->context);
}

static bool admin_payment_query_gateway(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct admin_payment_look *)ctx)->query.gateway = value;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] <= ' ' || value.p[i] > '~')
            return false;
    return value.n && value.n <= GATEWAY_CHARS;
}

/* 0 would mean: open. */
static bool admin_payment_set_time(struct str value, int64_t *ret_ms)
{
    return time_parse(value, ret_ms) && *ret_ms > 0;
}

static bool admin_payment_query_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return admin_payment_set_time(value, &((struct admin_payment_look *)ctx)->query.from_ms);
}

static bool admin_payment_query_to(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return admin_payment_set_time(value, &((struct admin_payment_look *)ctx)->query.to_ms);
}

static bool admin_payment_query_user(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_look *)ctx)->query;

    (void)r;
    return q->has_user = uuid_parse(value, &q->user);
}

static bool admin_payment_query_booking(struct request *r, void *ctx, struct str value)
{
    struct payment_query *q = &((struct admin_payment_look *)ctx)->query;

    (void)r;
    return q->has_booking = uuid_parse(value, &q->booking);
}

static bool admin_payment_query_count(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct admin_payment_look *)ctx)->limit);
}

static bool admin_payment_query_place(struct request *r, void *ctx, struct str value)
{
    struct admin_payment_look *l = ctx;

    (void)r;
    return l->has_cursor = payment_place_read(value, &l->cursor);
}

#define WORDS_UUID "must be a UUID", "UUID を指定してください"
#define WORDS_TIME                                                                                 \
    "must be a time after 1970 like 2026-11-16T09:30:00Z",                                         \
        "2026-11-16T09:30:00Z のような 1970 年より後の日時にしてください"

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
    { "from", admin_payment_query_from, WORDS_TIME },
    { "to", admin_payment_query_to, WORDS_TIME },
    { "userId", admin_payment_query_user, WORDS_UUID },
    { "bookingId", admin_payment_query_booking, WORDS_UUID },
    QUERY_LIMIT(admin_payment_query_count),
    QUERY_CURSOR(admin_payment_query_place),
};

ANSWERS static bool admin_payment_read_query(struct request *r, struct admin_payment_look *l)
{
    const struct payment_query *q = &l->query;
    struct json_problems problems;

    l->limit = PAGE_DEFAULT;
    if (!query_read(r, parameters, COUNT(parameters), l))
        return false;
    fields_problems(r, &problems);
    if (q->from_ms && q->to_ms && q->from_ms >= q->to_ms)
        json_problem_in(&problems, "to", "must be later than from", "from より後にしてください");
    return !fields_refused(r, &problems);
}

/* --- looking --- */

static enum err admin_payment_read_page(struct tx *tx, struct unit *u)
{
    struct admin_payment_look *l = CONTAINER_OF(u, struct admin_payment_look, answer.unit);

    return payment_find(tx, u->arena, &l->query, l->has_cursor ? &l->cursor : NULL, l->limit,
                        &l->answer.text);
}

static enum err admin_payment_read_one(struct tx *tx, struct unit *u)
{
    struct admin_payment_look *l = CONTAINER_OF(u, struct admin_payment_look, answer.unit);

    return payment_show(tx, u->arena, l->payables, l->id, &l->answer.text);
}

static enum err admin_payment_read_key(struct tx *tx, struct unit *u)
{
    struct admin_payment_look *l = CONTAINER_OF(u, struct admin_payment_look, answer.unit);

    return payment_key_uses(tx, u->arena, l->id, env_now_ms(tx_env(tx)), &l->answer.text);
}

void api_admin_payment_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "payment.find", UNIT_READ, admin_payment_read_page,
                                           NULL };
    const struct api_payments *api = ctx;
    struct admin_payment_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && admin_payment_read_query(r, l))
        api_answer_post(&l->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}

void api_admin_payment_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "payment.show", UNIT_READ, admin_payment_read_one,
                                           NULL };
    const struct api_payments *api = ctx;
    struct admin_payment_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l || !fields_path_id(r, &l->id))
        return;
    l->payables = api->payments->payables;
    api_answer_post(&l->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}

/* Written as a client may write it into its header (I1). */
ANSWERS static bool admin_payment_read_path_key(struct request *r, struct uuid *ret_key)
{
    struct json_problems problems;

    if (key_parse(r->params[0], ret_key))
        return true;
    fields_problems(r, &problems);
    json_problem_in(&problems, "key", WORDS_UUID);
    return !fields_refused(r, &problems);
}

void api_admin_key_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "key.uses", UNIT_READ, admin_payment_read_key, NULL };
    const struct api_payments *api = ctx;
    struct admin_payment_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && admin_payment_read_path_key(r, &l->id))
        api_answer_post(&l->answer, r, api->payments->runtime.store, &kind, api_answer_show);
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
