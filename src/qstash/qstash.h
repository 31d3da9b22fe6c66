/* qstash.h - the QStash v2 wire API, so that the unmodified @upstash/qstash SDK works against us,
 * and its signed deliveries. docs/qstash.md and api/qstash.openapi.yaml describe what is
 * supported. "The reference" in comments is the vendor's API reference.
 *
 * A publish is answered when it is durable. It is delivered at least once, always under the same
 * id, and ends once: DELIVERED, FAILED (a dead letter) or CANCELED. Always: published = delivered +
 * failed + cancelled + live. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "http/http.h"
#include "queue/queue.h"

#include <stdatomic.h>

struct client;
struct destinations; /* qstash/deliver/destinations.h */
struct upstash_keys; /* auth/upstash.h */

struct qstash {
    struct env *env;
    struct store *store;
    struct queue *queue;       /* set once the queue exists */
    struct executor *executor; /* on which deliveries run */
    struct client *client;
    struct destinations *destinations;
    struct upstash_keys *keys;
    struct str token;
    struct str current_key, next_key; /* from the settings; the present keys are in keys */
    int64_t dedup_ms;
    bool allow_private;           /* deliveries may go to loopback and private addresses */
    atomic_int in_flight;         /* attempts under way on this node */
    atomic_bool keys_begun;       /* qstash/admin/keys.c: the keys were read, */
    _Atomic int64_t keys_read_ms; /* the last time then; monotonic */
};

/* endpoint.c: every path under /v2/, on raw routes; and the body of errors of the server itself. */
void qstash_handle(struct request *r, void *qstash);
void qstash_problem(struct buf *out, enum err e, const char *words);

struct job_kind qstash_deliver_kind(struct qstash *q);  /* qstash/deliver/deliver.c */
struct job_kind qstash_window_kind(struct qstash *q);   /* qstash/deliver/limiter.c: next period */
struct job_kind qstash_sweep_kind(struct qstash *q);    /* cancel.c: messages of a deleted queue */
struct job_kind qstash_schedule_kind(struct qstash *q); /* qstash/schedule/job.c */
struct job_kind qstash_forget_kind(struct qstash *q);   /* forget.c: retention */
/* Once at start, in a unit: the keys, and the jobs of which there is always one. */
enum err qstash_start(struct tx *tx, struct qstash *q, int64_t now_ms);
