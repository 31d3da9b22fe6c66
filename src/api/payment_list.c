/* payment_list.c - GET /payments: pages of payments, newest first. Ids are in the order of time, so
 * a page ends at an id and the next one begins below it. A payment that is added between two pages
 * neither skips nor repeats another. */
#include "api/payments.h"
#include "base/limits.h"
#include "endpoint/query.h"

enum { PAGE_DEFAULT = 20 };

struct payment_list_call {
    struct api_answer answer;
    bool may_any;
    struct payment_look who;      /* only its caller is used */
    struct payment_filter filter; /* its limit is one more than was requested */
};

/* --- the query --- */

static bool payment_list_read_uuid(struct str value, bool *ret_has, struct uuid *ret_id)
{
    *ret_has = uuid_parse(value, ret_id);
    return *ret_has;
}

static bool payment_list_read_booking(struct request *r, void *ctx, struct str value)
{
    struct payment_list_call *g = ctx;

    (void)r;
    return payment_list_read_uuid(value, &g->filter.has_booking, &g->filter.booking);
}

static bool payment_list_read_user(struct request *r, void *ctx, struct str value)
{
    struct payment_list_call *g = ctx;

    (void)r;
    return g->may_any && payment_list_read_uuid(value, &g->filter.has_user, &g->filter.user);
}

static bool payment_list_read_status(struct request *r, void *ctx, struct str value)
{
    struct payment_list_call *g = ctx;

    (void)r;
    g->filter.has_status = payment_status_parse(value, &g->filter.status);
    return g->filter.has_status;
}

static bool payment_list_read_limit(struct request *r, void *ctx, struct str value)
{
    struct payment_list_call *g = ctx;

    (void)r;
    return query_limit(value, LIMIT_PAGE, &g->filter.limit);
}

static bool payment_list_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct payment_list_call *g = ctx;

    return query_cursor(&r->arena, value, &g->filter.has_before, &g->filter.before);
}

static const struct query_parameter parameters[] = {
    { "bookingId", payment_list_read_booking, "must be a UUID", "UUID を指定してください" },
    QUERY_USER("userId", payment_list_read_user),
    { "status", payment_list_read_status,
      "must be PENDING, AUTHORIZED, CAPTURED, REFUNDED or FAILED",
      "PENDING、AUTHORIZED、CAPTURED、REFUNDED、FAILED のいずれかにしてください" },
    QUERY_LIMIT(payment_list_read_limit),
    QUERY_CURSOR(payment_list_read_cursor),
};

/* --- the page --- */

static enum err payment_list_add(struct tx *tx, const struct payment_list_call *g,
                                 const struct payment *payment, struct buf *out)
{
    struct arena *a = g->answer.unit.arena;
    struct refund *refunds = NULL;
    struct str text;
    size_t count = 0;
    enum err e = OK;

    if (minor_known(payment->captured)) /* only captured money has refunds */
        e = refunds_read(tx, a, payment->id, &refunds, &count);
    if (e)
        return e;
    text = payment_look_json(&g->who, a, payment, refunds, count);
    buf_add(out, text);
    return text.p ? OK : ERR_NO_MEMORY;
}

static enum err payment_list_write_page(struct tx *tx, struct payment_list_call *g,
                                        const struct payment *payments, size_t count,
                                        struct buf *out)
{
    size_t shown = count < (size_t)g->filter.limit ? count : (size_t)g->filter.limit - 1;
    enum err e = OK;

    buf_add(out, S("{\"data\":["));
    for (size_t i = 0; !e && i < shown; i++) {
        if (i)
            buf_char(out, ',');
        e = payment_list_add(tx, g, &payments[i], out);
    }
    query_next_cursor(out, count > shown ? &payments[shown - 1].id : NULL);
    buf_char(out, '}');
    return e;
}

static enum err payment_list_read_page(struct tx *tx, struct unit *u)
{
    struct payment_list_call *g = CONTAINER_OF(u, struct payment_list_call, answer.unit);
    struct payment *payments = arena_alloc(u->arena, (size_t)g->filter.limit, sizeof(*payments));
    struct buf out;
    size_t count;
    enum err e;

    if (!payments)
        return ERR_NO_MEMORY;
    e = payments_list(tx, u->arena, &g->filter, payments, &count);
    if (e)
        return e;
    buf_init(&out, LIMIT_REQUEST_ARENA);
    e = payment_list_write_page(tx, g, payments, count, &out);
    g->answer.text = arena_str(u->arena, buf_str(&out));
    if (!e && (out.failed || !g->answer.text.p))
        e = ERR_NO_MEMORY;
    buf_release(&out);
    return e;
}

void api_payment_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "payment.list", UNIT_READ, payment_list_read_page,
                                           NULL };
    const struct api_payments *api = ctx;
    struct payment_list_call *g;

    if (!payment_caller_may(r, api, p, S("read")))
        return;
    g = api_room(r, sizeof(*g));
    if (!g)
        return;
    g->may_any = auth_sees_all(p);
    g->who = (struct payment_look){ .user = p->user, .only_looks = auth_only_looks(p) };
    g->filter =
        (struct payment_filter){ .has_user = !g->may_any, .user = p->user, .limit = PAGE_DEFAULT };
    if (!query_read(r, parameters, COUNT(parameters), g))
        return;
    g->filter.limit++; /* one more row than is shown tells whether there is another page */
    api_answer_post(&g->answer, r, api->payments->runtime.store, &kind, api_answer_show);
}
