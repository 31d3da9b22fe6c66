#include "flow/tell.h"

#include "base/buf.h"
#include "flow/outbox.h"
#include "flow/text.h"

enum { PAYLOAD_MAX = 16 * 1024, DEDUPE_MAX = 80 };

static void add_id(struct buf *b, const char *name, struct uuid id)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    buf_fmt(b, "%s\"%s\":\"%s\"", b->n > 1 ? "," : "", name, text);
}

static void add_text(struct buf *b, const char *name, struct str s)
{
    buf_fmt(b, ",\"%s\":", name);
    if (s.n)
        buf_json(b, s);
    else
        buf_add(b, S("null"));
}

static void add_int(struct buf *b, const char *name, int64_t v)
{
    buf_fmt(b, ",\"%s\":%lld", name, (long long)v);
}

static void begin(struct buf *b, const struct payment *p)
{
    buf_init(b, PAYLOAD_MAX);
    buf_char(b, '{');
    add_id(b, "paymentId", p->id);
    if (p->has_booking)
        add_id(b, "bookingId", p->booking_id);
    add_id(b, "userId", p->user_id);
}

static void add_money(struct buf *b, const struct payment *p)
{
    add_int(b, "amount", p->money.minor);
    add_text(b, "currency", str_of(p->money.currency));
}

/* Ends the payload and puts the event into the outbox. */
static enum err send(struct tx *tx, struct payments *pp, struct arena *a, const struct payment *p,
                     struct str type, struct str dedupe, struct buf *b, int64_t now_ms)
{
    struct domain_event e = { .id = env_uuid(tx_env(tx)),
                              .type = type,
                              .aggregate = p->id,
                              .version = p->version,
                              .dedupe = dedupe,
                              .occurred_ms = now_ms };
    enum err err = ERR_NO_MEMORY;

    buf_char(b, '}');
    e.payload = buf_str(b);
    if (!b->failed)
        err = outbox_add(pp->queue, tx, a, &e);
    buf_release(b);
    return err;
}

enum err tell_created(struct tx *tx, struct payments *pp, struct arena *a, const struct payment *p,
                      int64_t now_ms)
{
    struct buf b;

    begin(&b, p);
    add_money(&b, p);
    add_text(&b, "status", S("PENDING"));
    add_id(&b, "idempotencyKey", p->idempotency_key);
    return send(tx, pp, a, p, S("PaymentCreated"), S("CREATED"), &b, now_ms);
}

static enum err tell_authorized(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct buf b;

    begin(&b, p);
    add_money(&b, p);
    add_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    return send(tx, t->payments, t->arena, p, S("PaymentAuthorized"), S("AUTHORIZED"), &b,
                t->now_ms);
}

static enum err tell_captured(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct buf b;

    begin(&b, p);
    add_money(&b, p);
    add_int(&b, "capturedAmount", p->captured);
    add_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    return send(tx, t->payments, t->arena, p, S("PaymentCaptured"), S("CAPTURED"), &b, t->now_ms);
}

static enum err tell_failed(struct tx *tx, const struct taking *t, const struct payment *p)
{
    char at[TIME_TEXT + 1];
    struct buf b;

    time_text(t->now_ms, at);
    begin(&b, p);
    add_text(&b, "failureReason", p->failure_reason);
    add_text(&b, "failedAt", str_of(at));
    return send(tx, t->payments, t->arena, p, S("PaymentFailed"), S("FAILED"), &b, t->now_ms);
}

/* D8: nothing was captured, so nothing is refunded; the hold is gone. */
static enum err tell_voided(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct buf b;

    begin(&b, p);
    add_money(&b, p);
    add_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    add_text(&b, "refundId", (struct str){ 0 });
    add_int(&b, "refundAmount", 0);
    add_int(&b, "refundedAmount", 0);
    buf_add(&b, S(",\"voided\":true"));
    return send(tx, t->payments, t->arena, p, S("PaymentRefunded"), S("VOIDED"), &b, t->now_ms);
}

enum err tell_move(struct tx *tx, const struct taking *t, const struct payment *p,
                   const struct move *m)
{
    switch (m->to) {
    case PAYMENT_AUTHORIZED: return tell_authorized(tx, t, p);
    case PAYMENT_CAPTURED: return tell_captured(tx, t, p);
    case PAYMENT_FAILED: return tell_failed(tx, t, p);
    case PAYMENT_REFUNDED: return tell_voided(tx, t, p);
    case PAYMENT_PENDING:
    case PAYMENT_STATUSES: break;
    }
    return OK;
}

enum err tell_refund(struct tx *tx, const struct taking *t, const struct payment *p,
                     const struct refund *r)
{
    char dedupe[DEDUPE_MAX] = "REFUNDED:";
    struct buf b;

    uuid_text(r->id, dedupe + 9);
    begin(&b, p);
    add_money(&b, p);
    add_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    add_id(&b, "refundId", r->id);
    add_int(&b, "refundAmount", r->amount);
    add_int(&b, "refundedAmount", p->refunded > 0 ? p->refunded : 0);
    buf_add(&b, S(",\"voided\":false"));
    return send(tx, t->payments, t->arena, p, S("PaymentRefunded"), str_of(dedupe), &b, t->now_ms);
}
