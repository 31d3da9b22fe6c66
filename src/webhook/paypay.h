/* paypay.h - the endpoint of PayPay's notifications: POST /api/v1/webhooks/paypay (W8). They are not
 * signed, so only senders on a list of addresses are accepted, and nothing that a notification says
 * is applied: it is stored and answered, and later its payment is queried at PayPay
 * (event/refetch.h).
 *
 * With an empty list production accepts no sender. No payment is lost by that, since open payments
 * are polled anyway (event/payment_poll.h). */
#pragma once

#include "base/why.h"
#include "dlq/dead_letter.h"
#include "http/http.h"
#include "queue/queue.h"
#include "store/store.h"

struct allow_list; /* webhook/allow.h */
struct paypay_door;

struct paypay_door_options {
    struct env *env;
    struct store *store;
    struct queue *queue;
    struct executor *executor;        /* where rejected requests are summed up and written */
    struct str allow;                 /* CIDRs */
    bool everybody;                   /* an empty list allows every address: dev mode */
    const struct allow_list *trusted; /* borrowed: proxies whose X-Forwarded-For is believed */
    int64_t backlog_limit;            /* live messages; 0: no limit */
};

/* NULL: `why` says what to correct. */
struct paypay_door *paypay_door_new(const struct paypay_door_options *o, struct why *why);
void paypay_door_handle(struct request *r, void *endpoint); /* for the route; any loop */
/* On the executor, when no request comes any more: writes the counts it holds, then calls
 * `stopped`. */
void paypay_door_stop(struct paypay_door *d, void (*stopped)(void *ctx), void *ctx);
void paypay_door_free(struct paypay_door *d);

/* Dead letters of notifications: the retry of an unreadable one reads its stored bytes again. */
struct dead_kind paypay_dead_kind(void); /* "paypay.refetch" */
/* The message's body for a notification that is stored. VALIDATION: it cannot be read. */
enum err paypay_job(struct arena *a, struct uuid message, struct str body, struct str trace,
                    struct str *ret_job);
