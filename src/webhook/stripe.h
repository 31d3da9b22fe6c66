/* stripe.h - the endpoint of Stripe's webhooks: POST /api/v1/webhooks/stripe (W1-W7, W9). A request
 * is verified, stored in one durable commit, and answered. Only stored events are acknowledged, and
 * an event is stored once. */
#pragma once

#include "base/why.h"
#include "http/http.h"
#include "queue/queue.h"
#include "store/store.h"

struct allow_list; /* webhook/allow.h */
struct stripe_door;

struct stripe_door_options {
    struct env *env;
    struct store *store;
    struct queue *queue;
    struct executor *executor; /* where rejected requests are summed up and written */
    const struct str *secrets;
    size_t secret_count;
    int ack;                          /* 204, or 200 with {"received":true} (W2) */
    struct str allow;                 /* CIDRs; empty: every address */
    const struct allow_list *trusted; /* borrowed: proxies whose X-Forwarded-For is believed */
    int64_t backlog_limit;            /* live messages; 0: no limit */
    bool publish;                     /* events leave through a QStash first (Q5) */
    /* Optional, on the loop of the request: called for a dead letter that never was a message. */
    void (*alert)(void *ctx, const struct message *m, const char *why);
    void *alert_ctx;
};

/* NULL: `why` says what to correct. */
struct stripe_door *stripe_door_new(const struct stripe_door_options *o, struct why *why);
void stripe_door_handle(struct request *r, void *endpoint); /* for the route; any loop */
/* On the executor, when no request comes any more: writes the counts it holds, then calls
 * `stopped`. */
void stripe_door_stop(struct stripe_door *d, void (*stopped)(void *ctx), void *ctx);
void stripe_door_free(struct stripe_door *d);
