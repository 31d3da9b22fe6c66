/* paypay.h - PayPay's door: POST /api/v1/webhooks/paypay (W8). Nobody signs its notifications, so
 * the sender's address decides who may knock, and what is said is never believed: in the request
 * one durable commit and the answer, behind it a look at PayPay itself (event/refetch.h).
 *
 * With an empty list nobody may knock in production: addresses are PayPay's to name, and nothing
 * is lost without them, since open payments are looked at all the same (event/payment_poll.h). */
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
    struct executor *executor;        /* where refusals are summed up and written */
    struct str allow;                 /* CIDRs */
    bool everybody;                   /* an empty list lets all in: dev mode */
    const struct allow_list *trusted; /* borrowed: proxies whose X-Forwarded-For is believed */
    int64_t backlog_limit;            /* live messages; 0: no limit */
};

/* NULL: `why` says what to correct. */
struct paypay_door *paypay_door_new(const struct paypay_door_options *o, struct why *why);
void paypay_door_handle(struct request *r, void *door); /* for the route; any loop */
/* On the executor, when no request comes any more: writes the counts it holds, then calls
 * `stopped`. */
void paypay_door_stop(struct paypay_door *d, void (*stopped)(void *ctx), void *ctx);
void paypay_door_free(struct paypay_door *d);

/* Dead letters of notifications that could not be read: a retry reads the stored one once more. */
struct dead_kind paypay_dead_kind(void); /* "paypay.refetch" */
/* The message's body for a notification that is stored. VALIDATION: it cannot be read. */
enum err paypay_job(struct arena *a, struct uuid message, struct str body, struct str trace,
                    struct str *ret_job);
