#include "webhook/paypay.h"

#include "event/refetch.h"
#include "observe/log.h"
#include "webhook/endpoint.h"
#include "webhook/paypay_notification.h"
#include "webhook/reparse.h"

#include <stdlib.h>

struct paypay_door {
    struct door door;
};

/* --- the request --- */

static struct str job_of(struct arena *a, struct uuid message, const struct paypay_notice *n,
                         struct str trace)
{
    return paypay_refetch_body(a, message, n->event.type, n->order,
                               n->has_payment ? &n->payment : NULL, trace);
}

static struct knock *read_knock(struct paypay_door *d, struct request *r)
{
    struct knock *k = knock_new(&d->door, r);
    struct paypay_notice notice;

    if (!k || paypay_notice_read(&r->arena, r->body, &notice))
        return NULL;
    k->receive.event = notice.event;
    if (notice.event.readable)
        k->receive.job = job_of(&r->arena, k->receive.new_id, &notice, str_of(k->receive.trace));
    return k;
}

void paypay_door_handle(struct request *r, void *door)
{
    struct paypay_door *d = door;

    if (door_lets_in(&d->door, r) && door_has_room(&d->door, r))
        door_post(&d->door, r, read_knock(d, r));
}

/* --- the door --- */

struct paypay_door *paypay_door_new(const struct paypay_door_options *o, struct why *why)
{
    struct paypay_door *d = calloc(1, sizeof(*d));
    struct why wrong;

    if (!d) {
        why_set(why, "not enough memory");
        return NULL;
    }
    d->door = (struct door){ .provider = S("paypay"),
                             .kind = PAYPAY_REFETCH_KIND,
                             .env = o->env,
                             .store = o->store,
                             .queue = o->queue,
                             .executor = o->executor,
                             .trusted = o->trusted,
                             .backlog_limit = o->backlog_limit,
                             .everybody = o->everybody,
                             .ack = 200 };
    if (!door_init(&d->door, o->allow, &wrong)) {
        why_set(why, "ICHIDO_PAYPAY_ALLOW: %.200s", wrong.text);
        paypay_door_free(d);
        return NULL;
    }
    if (!d->door.allow.count && !o->everybody)
        LOG(o->env->log, LOG_WARN,
            "ICHIDO_PAYPAY_ALLOW is empty: PayPay's notifications are turned away, and payments "
            "are known only when they are looked at");
    return d;
}

void paypay_door_stop(struct paypay_door *d, void (*stopped)(void *ctx), void *ctx)
{
    refusals_stop(&d->door.refusals, stopped, ctx);
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
    *ret_job = job_of(a, message, &n, trace);
    return ret_job->p ? OK : ERR_NO_MEMORY;
}

static enum err paypay_mend(struct tx *tx, struct arena *a, struct dead_letter *d,
                            const struct stored_event *s, struct why *why)
{
    struct paypay_notice n;
    enum err e = paypay_notice_read(a, s->body, &n);

    if (e)
        return e;
    if (!n.event.readable)
        return reread_refuse(s, why, n.event.why);
    d->has_lane = false;
    d->has_payment = n.has_payment;
    d->payment = n.payment;
    return reread_store(tx, d, job_of(a, d->id, &n, s->trace));
}

static enum err paypay_retry(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                             bool *ret_live, struct why *why)
{
    (void)ctx;
    (void)now_ms;
    (void)ret_live;
    return d->has_body ? OK : reread(tx, d, paypay_mend, why);
}

static enum err paypay_need(struct tx *tx, void *ctx, const struct dead_letter *d,
                            struct dead_need *ret_need)
{
    (void)ctx;
    return d->has_body ? OK : reread_need(tx, d->ref, &ret_need->bytes);
}

/* Whatever stands in it, PayPay is asked (W8). */
static enum err paypay_edit(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                            int64_t now_ms, bool *ret_live, struct uuid *ret_id, struct why *why)
{
    (void)ctx, (void)now_ms, (void)ret_live, (void)ret_id;
    return reread_edited(tx, d, body, paypay_mend, why);
}

struct dead_kind paypay_dead_kind(void)
{
    return (struct dead_kind){ .name = "paypay.refetch",
                               .retry = paypay_retry,
                               .need = paypay_need,
                               .body = reread_body,
                               .edit = paypay_edit };
}
