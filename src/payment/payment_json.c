/* payment_json.c - a payment as its owner sees it (004 section 4), field by field. */
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/url_mask.h"
#include "payment/payments.h"

#include <string.h>

/* LIMIT_REFUNDS with reasons of 200 characters, each of them escaped, and more. */
enum { PAYMENT_JSON_MAX = 1024 * 1024 };

static void add_refund(struct buf *b, const struct refund *r)
{
    buf_char(b, '{');
    out_uuid(b, "id", r->id);
    out_amount(b, "amount", r->amount);
    out_text(b, "status", str_of(refund_status_name(r->status)));
    out_text(b, "reason", r->reason);
    out_text(b, "failureReason", r->failure_reason);
    out_time(b, "createdAt", r->created_ms);
    out_time(b, "updatedAt", r->updated_ms);
    buf_char(b, '}');
}

static void add_refunds(struct buf *b, const struct refund *refunds, size_t n)
{
    out_json(b, "refunds", S("["));
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_char(b, ',');
        add_refund(b, &refunds[i]);
    }
    buf_char(b, ']');
}

void payment_out_subject(struct buf *b, const struct payment *p)
{
    static const char *const names[PAYMENT_CONTEXTS] = {
        [CONTEXT_BOOKING] = "bookingId",
        [CONTEXT_PURCHASE] = "purchaseId",
        [CONTEXT_PARTICIPANT] = "participantId",
    };

    out_uuid(b, names[p->context], p->subject_id);
}

struct str payment_json(struct arena *a, const struct payment *p, const struct refund *refunds,
                        size_t refund_count)
{
    struct buf b;

    buf_init(&b, PAYMENT_JSON_MAX);
    buf_char(&b, '{');
    out_uuid(&b, "id", p->id);
    payment_out_subject(&b, p);
    out_uuid(&b, "userId", p->user_id);
    out_amount(&b, "amount", p->money.minor);
    minor_out(&b, "capturedAmount", p->captured);
    minor_out(&b, "refundedAmount", p->refunded);
    out_text(&b, "currency", str_of(p->money.currency));
    out_text(&b, "status", str_of(payment_status_name(p->status)));
    out_text(&b, "description", p->description);
    out_text(&b, "gatewayTransactionId", p->gateway_transaction_id);
    out_text(&b, "failureReason", p->failure_reason);
    out_uuid(&b, "idempotencyKey", p->idempotency_key);
    out_time(&b, "createdAt", p->created_ms);
    out_time(&b, "updatedAt", p->updated_ms);
    out_json(&b, "requiresAction", p->status == PAYMENT_PENDING ? p->action : (struct str){ 0 });
    out_bool(&b, "disputed", p->disputed);
    add_refunds(&b, refunds, refund_count);
    buf_char(&b, '}');
    return out_done(&b, a);
}

/* --- for readers other than the owner --- */

static struct str payment_json_print(struct arena *a, const cJSON *tree)
{
    char *text = cJSON_PrintUnformatted(tree);
    struct str copy = text ? arena_str(a, str_of(text)) : (struct str){ 0 };

    cJSON_free(text);
    return copy;
}

/* The address of Stripe's 3-D Secure page contains the secret in its query. False: no memory. */
static bool mask_url(cJSON *action)
{
    cJSON *url = cJSON_GetObjectItemCaseSensitive(action, "url");
    const char *text = cJSON_GetStringValue(url);
    struct buf b;
    bool fine;

    if (!text || !strstr(text, "client_secret"))
        return true;
    buf_init(&b, PAYMENT_JSON_MAX);
    url_mask(&b, str_of(text), false);
    buf_char(&b, '\0');
    fine = !b.failed && cJSON_SetValuestring(url, b.p);
    buf_release(&b);
    return fine;
}

/* .p NULL: no memory. An action that is not JSON, which is a bug, is shown as null. */
static struct str without_secret(struct arena *a, struct str action)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    enum err e = json_parse(action, &tree, NULL);

    if (e)
        return e == ERR_NO_MEMORY ? (struct str){ 0 } : S("null");
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "clientSecret");
    return mask_url(tree) ? payment_json_print(a, tree) : (struct str){ 0 };
}

struct str payment_json_seen(struct arena *a, const struct payment *p, const struct refund *refunds,
                             size_t refund_count)
{
    struct payment seen = *p;

    if (p->action.n) {
        seen.action = without_secret(a, p->action);
        if (!seen.action.p)
            return (struct str){ 0 };
    }
    return payment_json(a, &seen, refunds, refund_count);
}
