/* render.c - the simulated PayPay's objects as JSON. Absent fields are left out, as with PayPay;
 * times are in seconds. */
#include "base/limits.h"
#include "sandbox/impl.h"
#include "sandbox/paypay/paypay.h"

/* Each field begins with its comma; the first of an object is always there. */
static void put_text(struct buf *b, struct str key, struct str value)
{
    if (value.n)
        sb_put_text(b, key, value);
}

static void put_json(struct buf *b, struct str key, struct str json)
{
    if (json.n)
        sb_put_raw(b, key, json);
}

static void put_time(struct buf *b, struct str key, int64_t ms)
{
    if (ms)
        sb_put_number(b, key, ms / 1000);
}

static void put_money(struct buf *b, struct str key, int64_t amount)
{
    buf_add(b, key);
    sb_put_number(b, S("{\"amount\":"), amount);
    buf_add(b, S(",\"currency\":\"JPY\"}"));
}

/* --- codes --- */

static struct str pp_code_url(struct work *w, const struct pp_code *c)
{
    return work_text(w, "http://%s/_sandbox/paypay_code/" STR_FMT, impl_of(w->s)->address,
                     STR_ARG(c->id));
}

static void put_links(struct work *w, struct buf *b, const struct pp_code *c)
{
    struct str url = pp_code_url(w, c);

    sb_put_text(b, S("{\"codeId\":"), c->id);
    sb_put_text(b, S(",\"url\":"), url);
    sb_put_text(b, S(",\"deeplink\":"),
                work_text(w, "paypay://payment?link_key=" STR_FMT, STR_ARG(url)));
    put_time(b, S(",\"expiryDate\":"), c->expires_ms);
}

struct str pp_code_json(struct work *w, const struct pp_code *c, const struct pp_input *in)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    put_links(w, &b, c);
    sb_put_text(&b, S(",\"merchantPaymentId\":"), c->payment);
    put_money(&b, S(",\"amount\":"), c->amount);
    put_text(&b, S(",\"orderDescription\":"), c->description);
    put_json(&b, S(",\"orderItems\":"), in->items_echo);
    put_json(&b, S(",\"metadata\":"), c->metadata);
    buf_add(&b, S(",\"codeType\":\"ORDER_QR\""));
    put_text(&b, S(",\"storeInfo\":"), in->store_info);
    put_text(&b, S(",\"storeId\":"), c->store_id);
    put_text(&b, S(",\"terminalId\":"), c->terminal_id);
    sb_put_number(&b, S(",\"requestedAt\":"), c->requested_s);
    put_text(&b, S(",\"redirectUrl\":"), c->redirect_url);
    put_text(&b, S(",\"redirectType\":"), c->redirect_type);
    put_text(&b, S(",\"userAgent\":"), in->user_agent);
    sb_put_bool(&b, S(",\"isAuthorization\":"), c->authorization);
    put_time(&b, S(",\"authorizationExpiry\":"), c->until_ms);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

/* --- payments --- */

static void put_refund(struct work *w, struct buf *b, const struct pp_refund *r)
{
    sb_put_text(b, S("{\"status\":"), r->status);
    put_time(b, S(",\"acceptedAt\":"), r->accepted_ms);
    sb_put_text(b, S(",\"merchantRefundId\":"), r->id);
    sb_put_text(b, S(",\"paymentId\":"), r->payment);
    put_money(b, S(",\"amount\":"), r->amount);
    sb_put_number(b, S(",\"requestedAt\":"), r->requested_s);
    put_text(b, S(",\"reason\":"), r->reason);
    sb_put_text(b, S(",\"assumeMerchant\":"), w->s->o.paypay_merchant);
    buf_char(b, '}');
}

static void put_refunds(struct work *w, struct buf *b, const struct pp_payment *p)
{
    struct pp_refund *refunds = NULL;
    size_t count = 0;

    pp_refunds_of(w, p->id, &refunds, &count);
    buf_add(b, S(",\"refunds\":{\"data\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_char(b, ',');
        put_refund(w, b, &refunds[i]);
    }
    buf_add(b, S("]}"));
}

static void put_capture(struct buf *b, const struct pp_capture *c)
{
    put_time(b, S("{\"acceptedAt\":"), c->accepted_ms);
    sb_put_text(b, S(",\"merchantCaptureId\":"), c->id);
    put_money(b, S(",\"amount\":"), c->amount);
    sb_put_text(b, S(",\"orderDescription\":"), c->description);
    sb_put_number(b, S(",\"requestedAt\":"), c->requested_s);
    put_time(b, S(",\"expiresAt\":"), c->expires_ms);
    sb_put_text(b, S(",\"status\":"), c->status);
    buf_char(b, '}');
}

static void put_captures(struct work *w, struct buf *b, const struct pp_payment *p)
{
    struct pp_capture c;
    enum err e = pp_capture_read(w->tx, p->id, &c);

    buf_add(b, S(",\"captures\":{\"data\":["));
    if (e != ERR_NOT_FOUND && work_ok(w, e))
        put_capture(b, &c);
    buf_add(b, S("]}"));
}

static void put_revert(struct buf *b, const struct pp_payment *p)
{
    if (!p->revert_id.n)
        return;
    put_time(b, S(",\"revert\":{\"acceptedAt\":"), p->canceled_ms);
    sb_put_text(b, S(",\"merchantRevertId\":"), p->revert_id);
    sb_put_number(b, S(",\"requestedAt\":"), p->revert_requested_s);
    put_text(b, S(",\"reason\":"), p->revert_reason);
    buf_char(b, '}');
}

static void put_order(struct buf *b, const struct pp_payment *p)
{
    put_text(b, S(",\"storeId\":"), p->store_id);
    put_text(b, S(",\"terminalId\":"), p->terminal_id);
    put_text(b, S(",\"orderReceiptNumber\":"), p->receipt);
    put_text(b, S(",\"orderDescription\":"), p->description);
    put_json(b, S(",\"orderItems\":"), p->items);
    put_json(b, S(",\"metadata\":"), p->metadata);
}

struct str pp_payment_json(struct work *w, const struct pp_payment *p)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"paymentId\":"), p->id);
    sb_put_text(&b, S(",\"status\":"), pp_status_text(p->status));
    put_time(&b, S(",\"acceptedAt\":"), p->accepted_ms);
    put_refunds(w, &b, p);
    put_captures(w, &b, p);
    put_revert(&b, p);
    sb_put_text(&b, S(",\"merchantPaymentId\":"), p->merchant_id);
    put_text(&b, S(",\"userAuthorizationId\":"), p->user);
    put_money(&b, S(",\"amount\":"), p->amount);
    sb_put_number(&b, S(",\"requestedAt\":"), p->requested_s);
    put_time(&b, S(",\"expiresAt\":"), p->expires_ms);
    put_time(&b, S(",\"canceledAt\":"), p->canceled_ms);
    put_time(&b, S(",\"authorizedAt\":"), p->authorized_ms);
    put_order(&b, p);
    sb_put_text(&b, S(",\"assumeMerchant\":"), w->s->o.paypay_merchant);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

struct str pp_refund_json(struct work *w, const struct pp_refund *r)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    put_refund(w, &b, r);
    return work_text_of(w, &b);
}

struct str pp_revert_json(struct work *w, const struct pp_payment *p)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"status\":"), pp_status_text(p->status));
    put_time(&b, S(",\"acceptedAt\":"), p->canceled_ms);
    sb_put_text(&b, S(",\"merchantRevertId\":"), p->revert_id);
    sb_put_text(&b, S(",\"paymentId\":"), p->id);
    sb_put_number(&b, S(",\"requestedAt\":"), p->revert_requested_s);
    put_text(&b, S(",\"reason\":"), p->revert_reason);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}
