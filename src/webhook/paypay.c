/* paypay.c - PayPay's endpoint, and the dead letters of its notifications. A notification only says
 * which payment to query: its message asks PayPay, and only that reply is applied (W8). */
#include "webhook/paypay.h"

#include "event/refetch.h"
#include "observe/log.h"
#include "webhook/endpoint.h"
#include "webhook/paypay_notification.h"
#include "webhook/reparse.h"

#include <stdlib.h>

struct paypay_door {
    struct webhook_endpoint endpoint;
};

/* --- the request --- */

static struct str paypay_notice_job(struct arena *a, struct uuid message,
                                    const struct paypay_notice *n, struct str trace)
{
    return paypay_refetch_body(a, message, n->event.type, n->order,
                               n->has_payment ? &n->payment : NULL, trace);
}

static struct webhook_request *paypay_request_read(struct paypay_door *d, struct request *r)
{
    struct webhook_request *k = webhook_request_new(&d->endpoint, r);
    struct paypay_notice notice;

    if (!k || paypay_notice_read(&r->arena, r->body, &notice))
        return NULL;
    k->receive.event = notice.event;
    if (notice.event.readable)
        k->receive.job =
            paypay_notice_job(&r->arena, k->receive.new_id, &notice, str_of(k->receive.trace));
    return k;
}

void paypay_door_handle(struct request *r, void *endpoint)
{
    struct paypay_door *d = endpoint;

    if (webhook_endpoint_admit(&d->endpoint, r) && webhook_endpoint_has_room(&d->endpoint, r))
        webhook_endpoint_store(&d->endpoint, r, paypay_request_read(d, r));
}

/* --- start and end --- */

struct paypay_door *paypay_door_new(const struct paypay_door_options *o, struct why *why)
{
    struct paypay_door *d = calloc(1, sizeof(*d));
    struct why wrong;

    if (!d) {
        why_set(why, "not enough memory");
        return NULL;
    }
    d->endpoint = (struct webhook_endpoint){ .provider = S("paypay"),
                                             .kind = PAYPAY_REFETCH_KIND,
                                             .env = o->env,
                                             .store = o->store,
                                             .queue = o->queue,
                                             .executor = o->executor,
                                             .trusted = o->trusted,
                                             .backlog_limit = o->backlog_limit,
                                             .everybody = o->everybody,
                                             .ack = 200 };
    if (!webhook_endpoint_init(&d->endpoint, o->allow, &wrong)) {
        why_set(why, "ICHIDO_PAYPAY_ALLOW: %.200s", wrong.text);
        paypay_door_free(d);
        return NULL;
    }
    if (!d->endpoint.allow.count && !o->everybody)
        LOG(o->env->log, LOG_WARN,
            "ICHIDO_PAYPAY_ALLOW is empty: PayPay's notifications are turned away, and payments "
            "are known only when they are looked at");
    return d;
}

void paypay_door_stop(struct paypay_door *d, void (*stopped)(void *ctx), void *ctx)
{
    rejections_stop(&d->endpoint.rejections, stopped, ctx);
}

void paypay_door_free(struct paypay_door *d)
{
    free(d);
}

/* --- dead letters --- */

enum err paypay_job(struct arena *a, struct uuid message, struct str body, struct str trace,
                    struct str *ret_job)
{
    struct paypay_notice n;
    enum err e = paypay_notice_read(a, body, &n);

    if (e)
        return e;
    if (!n.event.readable)
        return ERR_VALIDATION;
    *ret_job = paypay_notice_job(a, message, &n, trace);
    return ret_job->p ? OK : ERR_NO_MEMORY;
}

static enum err paypay_letter_mend(struct tx *tx, struct arena *a, struct dead_letter *d,
                                   const struct stored_event *s, struct why *why)
{
    struct paypay_notice n;
    enum err e = paypay_notice_read(a, s->body, &n);

    if (e)
        return e;
    if (!n.event.readable)
        return reparse_reject(s, why, n.event.why);
    d->has_lane = false;
    d->has_payment = n.has_payment;
    d->payment = n.payment;
    return reparse_store(tx, d, paypay_notice_job(a, d->id, &n, s->trace));
}

static enum err paypay_letter_retry(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                                    bool *ret_live, struct why *why)
{
    (void)ctx;
    (void)now_ms;
    (void)ret_live;
    return d->has_body ? OK : reparse(tx, d, paypay_letter_mend, why);
}

static enum err paypay_letter_need(struct tx *tx, void *ctx, const struct dead_letter *d,
                                   struct dead_need *ret_need)
{
    (void)ctx;
    return d->has_body ? OK : reparse_need(tx, d->ref, &ret_need->bytes);
}

/* An edited notification causes a query at PayPay too, so the edit itself applies nothing (W8). */
static enum err paypay_letter_edit(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                                   int64_t now_ms, bool *ret_live, struct uuid *ret_id,
                                   struct why *why)
{
    (void)ctx, (void)now_ms, (void)ret_live, (void)ret_id;
    return reparse_edited(tx, d, body, paypay_letter_mend, why);
}

struct dead_kind paypay_dead_kind(void)
{
    return (struct dead_kind){ .name = "paypay.refetch",
                               .retry = paypay_letter_retry,
                               .need = paypay_letter_need,
                               .body = reparse_body,
                               .edit = paypay_letter_edit };
}
