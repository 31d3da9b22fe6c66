/* worker.h - our own worker as an HTTP endpoint: POST /api/workers/stripe-webhook (Q4). A QStash
 * delivers an event as Stripe sent it, or a reference to an event that is stored here (event.h). The
 * request applies it at once, by the code that the queue's job uses, and the status says the result:
 *
 *   204  applied, ignored, applied before, or in our own queue
 *   489  with Upstash-NonRetryable-Error, where sending it again cannot help: a bad signature, a
 *        body that is no event, or an event that can never be applied (a dead letter here, once)
 *   503  with Retry-After, where a later try may succeed; also for a reference to an event that is
 *        not stored here. Nothing was changed */
#pragma once

#include "auth/upstash.h"
#include "http/http.h"
#include "queue/queue.h"
#include "store/store.h"

#include <stdatomic.h>

#define WORKER_PATH "/api/workers/stripe-webhook"

/* The keys that a signature is verified with: those of our own QStash, which are rotated at run
 * time, or those of the settings. Never both, or a rotated key of the settings would stay valid. */
struct worker_keys {
    struct upstash_keys *own;     /* NULL: those of the settings */
    struct str current, next;     /* of the settings; borrowed, may be empty */
    bool (*are_fresh)(void *ctx); /* with own, on any loop: they need not be read again */
    enum err (*follow)(struct tx *tx, void *ctx); /* in a unit: reads them */
    void *ctx;
};

struct worker {
    struct env *env;
    struct store *store;
    struct queue *queue;          /* set once the queue is there */
    const struct job_kind *apply; /* apply_event_kind() */
    struct worker_keys keys;
    struct str url; /* the address that a signature must name; empty: unknown, not compared */
    /* Optional, on the loop of the request: called for a dead letter. */
    void (*alert)(void *ctx, const struct message *m, const char *why);
    void *alert_ctx;

    _Atomic int64_t logged_s; /* the second of the last line about a bad signature */
};

void worker_handle(struct request *r, void *worker); /* for the route; any loop */
