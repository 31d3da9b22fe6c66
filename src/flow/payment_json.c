/* payment_json.c - a payment as its owner sees it (004 section 4), field by field. */
#include "base/buf.h"
#include "flow/payments.h"
#include "flow/text.h"

/* LIMIT_REFUNDS with reasons of 200 characters, each of them escaped, and more. */
enum { PAYMENT_JSON_MAX = 1024 * 1024 };

static void add_uuid(struct buf *b, const char *name, struct uuid id)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    buf_fmt(b, "\"%s\":\"%s\",", name, text);
}

static void add_text(struct buf *b, const char *name, struct str s)
{
    buf_fmt(b, "\"%s\":", name);
    if (s.n)
        buf_json(b, s);
    else
        buf_add(b, S("null"));
    buf_char(b, ',');
}

static void add_amount(struct buf *b, const char *name, int64_t v)
{
    if (v >= 0)
        buf_fmt(b, "\"%s\":%lld,", name, (long long)v);
    else
        buf_fmt(b, "\"%s\":null,", name);
}

static void add_time(struct buf *b, const char *name, int64_t ms)
{
    char text[TIME_TEXT + 1];

    time_text(ms, text);
    buf_fmt(b, "\"%s\":\"%s\",", name, text);
}

static void add_refund(struct buf *b, const struct refund *r)
{
    buf_char(b, '{');
    add_uuid(b, "id", r->id);
    add_amount(b, "amount", r->amount);
    add_text(b, "status", str_of(refund_status_name(r->status)));
    add_text(b, "reason", r->reason);
    add_text(b, "failureReason", r->failure_reason);
    add_time(b, "createdAt", r->created_ms);
    add_time(b, "updatedAt", r->updated_ms);
    b->n--; /* the last comma */
    buf_add(b, S("},"));
}

static void add_refunds(struct buf *b, const struct refund *refunds, size_t n)
{
    buf_add(b, S("\"refunds\":["));
    for (size_t i = 0; i < n; i++)
        add_refund(b, &refunds[i]);
    if (n)
        b->n--;
    buf_add(b, S("]}"));
}

struct str payment_json(struct arena *a, const struct payment *p, const struct refund *refunds,
                        size_t refund_count)
{
    struct str copy = { 0 };
    struct buf b;

    buf_init(&b, PAYMENT_JSON_MAX);
    buf_char(&b, '{');
    add_uuid(&b, "id", p->id);
    if (p->has_booking)
        add_uuid(&b, "bookingId", p->booking_id);
    add_uuid(&b, "userId", p->user_id);
    add_amount(&b, "amount", p->money.minor);
    add_amount(&b, "capturedAmount", p->captured);
    add_amount(&b, "refundedAmount", p->refunded);
    add_text(&b, "currency", str_of(p->money.currency));
    add_text(&b, "status", str_of(payment_status_name(p->status)));
    add_text(&b, "description", p->description);
    add_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    add_text(&b, "failureReason", p->failure_reason);
    add_uuid(&b, "idempotencyKey", p->idempotency_key);
    add_time(&b, "createdAt", p->created_ms);
    add_time(&b, "updatedAt", p->updated_ms);
    buf_add(&b, S("\"requiresAction\":"));
    buf_add(&b, p->action.n && p->status == PAYMENT_PENDING ? p->action : S("null"));
    buf_char(&b, ',');
    add_refunds(&b, refunds, refund_count);
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}
