/* worker.h - our own worker as an HTTP endpoint: POST /api/workers/stripe-webhook (Q4). A QStash
 * brings an event as Stripe sent it, or a reference to one that is stored here (event.h); what the
 * queue would do with it is done at once, by the same code, and the answer says what became of it:
 *
 *   204  applied, ignored, known before, or safely in our own queue
 *   489  with Upstash-NonRetryable-Error: sending it again cannot help. A bad signature, a body
 * that is no event, an effect that is terminally wrong (then it is a dead letter here, once)
 *   503  with Retry-After: anything that may heal, also a reference to what is not stored here.
 * Nothing was changed */
#pragma once

#include "auth/upstash.h"
#include "http/http.h"
#include "queue/queue.h"
#include "store/store.h"

#include <stdatomic.h>

#define WORKER_PATH "/api/workers/stripe-webhook"

/* Who is believed: our own QStash, whose keys are rotated while we run and are given up then, or
 * whoever has those of the settings. Never both: a key that was given up would work for ever. */
struct worker_keys {
    struct upstash_keys *own;     /* NULL: those of the settings */
    struct str current, next;     /* of the settings; borrowed, may be empty */
    bool (*are_fresh)(void *ctx); /* with own, on any loop: no need to read them again */
    enum err (*follow)(struct tx *tx, void *ctx); /* in a unit: reads them */
    void *ctx;
};

struct worker {
    struct env *env;
    struct store *store;
    struct queue *queue;          /* set once the queue is there */
    const struct job_kind *apply; /* apply_event_kind() */
    struct worker_keys keys;
    struct str url; /* what signatures must be for; empty: not known, so not compared */
    /* Optional, on the loop of the request: a dead letter. */
    void (*alert)(void *ctx, const struct message *m, const char *why);
    void *alert_ctx;

    _Atomic int64_t logged_s; /* the second of the last line about a bad signature */
};

void worker_handle(struct request *r, void *worker); /* for the route; any loop */
