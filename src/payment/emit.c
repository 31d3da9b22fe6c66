/* emit.c - domain events of payments: their fields, and a dedupe key for each, so that the outbox
 * holds every event once however often its transaction is run. */
#include "payment/emit.h"

#include "base/json/write.h"
#include "base/text.h"
#include "outbox/outbox.h"

enum { PAYLOAD_MAX = 16 * 1024, DEDUPE_MAX = 80 };

static void emit_begin(struct buf *b, const struct payment *p)
{
    buf_init(b, PAYLOAD_MAX);
    buf_char(b, '{');
    out_uuid(b, "paymentId", p->id);
    payment_out_subject(b, p);
    out_uuid(b, "userId", p->user_id);
}

/* Ends the payload and puts the event into the outbox. */
static enum err emit_send(struct tx *tx, const struct taking *t, const struct payment *p,
                          struct str type, struct str dedupe, struct buf *b)
{
    struct domain_event e = { .id = env_uuid(tx_env(tx)),
                              .type = type,
                              .aggregate = p->id,
                              .version = p->version,
                              .dedupe = dedupe,
                              .occurred_ms = t->now_ms,
                              .trace = t->trace };
    enum err err = ERR_NO_MEMORY;

    buf_char(b, '}');
    e.payload = buf_str(b);
    lap_begin(t->publishing);
    if (!b->failed)
        err = outbox_add(t->payments->runtime.queue, tx, t->arena, &e);
    lap_end(t->publishing, type);
    buf_release(b);
    return err;
}

enum err tell_created(struct tx *tx, struct payments *pp, struct arena *a, const struct payment *p,
                      int64_t now_ms, struct str trace)
{
    struct taking t = { .payments = pp, .arena = a, .now_ms = now_ms, .trace = trace };
    struct buf b;

    emit_begin(&b, p);
    money_out(&b, p->money);
    out_text(&b, "status", S("PENDING"));
    out_uuid(&b, "idempotencyKey", p->idempotency_key);
    return emit_send(tx, &t, p, S("PaymentCreated"), S("CREATED"), &b);
}

static enum err emit_authorized(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct buf b;

    emit_begin(&b, p);
    money_out(&b, p->money);
    out_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    return emit_send(tx, t, p, S("PaymentAuthorized"), S("AUTHORIZED"), &b);
}

static enum err emit_captured(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct buf b;

    emit_begin(&b, p);
    money_out(&b, p->money);
    minor_out(&b, "capturedAmount", p->captured);
    out_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    return emit_send(tx, t, p, S("PaymentCaptured"), S("CAPTURED"), &b);
}

static enum err emit_failed(struct tx *tx, const struct taking *t, const struct payment *p)
{
    char at[TIME_TEXT + 1];
    struct buf b;

    time_text(t->now_ms, at);
    emit_begin(&b, p);
    out_text(&b, "failureReason", p->failure_reason);
    out_text(&b, "failedAt", str_of(at));
    return emit_send(tx, t, p, S("PaymentFailed"), S("FAILED"), &b);
}

/* A void: nothing was captured, so nothing is refunded (D8). */
static enum err emit_voided(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct buf b;

    emit_begin(&b, p);
    money_out(&b, p->money);
    out_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    out_text(&b, "refundId", (struct str){ 0 });
    out_int(&b, "refundAmount", 0);
    out_int(&b, "refundedAmount", 0);
    out_bool(&b, "voided", true);
    return emit_send(tx, t, p, S("PaymentRefunded"), S("VOIDED"), &b);
}

enum err tell_move(struct tx *tx, const struct taking *t, const struct payment *p,
                   const struct move *m)
{
    switch (m->to) {
    case PAYMENT_AUTHORIZED: return emit_authorized(tx, t, p);
    case PAYMENT_CAPTURED: return emit_captured(tx, t, p);
    case PAYMENT_FAILED: return emit_failed(tx, t, p);
    case PAYMENT_REFUNDED: return emit_voided(tx, t, p);
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
    emit_begin(&b, p);
    money_out(&b, p->money);
    out_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    out_uuid(&b, "refundId", r->id);
    out_int(&b, "refundAmount", r->amount);
    out_int(&b, "refundedAmount", minor_or_0(p->refunded));
    out_bool(&b, "voided", false);
    return emit_send(tx, t, p, S("PaymentRefunded"), str_of(dedupe), &b);
}
