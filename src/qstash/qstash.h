/* qstash.h - the queue's own door: the QStash v2 wire API, so that the unmodified @upstash/qstash
 * SDK works against us, and its signed deliveries. docs/qstash.md and
 * api/qstash.openapi.yaml describe what is supported.
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
struct
    destinations; /* qstash/deliver/destinations.h: what this node knows of those it delivers to */
struct upstash_keys; /* auth/upstash.h */

struct qstash {
    struct env *env;
    struct store *store;
    struct queue *queue;       /* set once the queue is there */
    struct executor *executor; /* where deliveries live */
    struct client *client;
    struct destinations *destinations;
    struct upstash_keys *keys;
    struct str token;
    struct str current_key, next_key; /* what the settings say; the present ones are in keys */
    int64_t dedup_ms;
    bool allow_private;           /* deliveries may go to loopback and private addresses */
    atomic_int in_flight;         /* attempts under way on this node */
    atomic_bool keys_begun;       /* qstash/admin/keys.c: they are known here, */
    _Atomic int64_t keys_read_ms; /* and were the present ones then; monotonic */
};

/* endpoint.c: every path under /v2/, on raw routes; and how these say what the server itself refuses.
 */
void qstash_handle(struct request *r, void *qstash);
void qstash_problem(struct buf *out, enum err e, const char *words);

struct job_kind qstash_deliver_kind(struct qstash *q); /* qstash/deliver/deliver.c */
struct job_kind qstash_window_kind(
    struct qstash *q); /* qstash/deliver/limiter.c: a flow key's next period */
struct job_kind qstash_sweep_kind(struct qstash *q);    /* cancel.c: what a deleted queue left */
struct job_kind qstash_schedule_kind(struct qstash *q); /* qstash/schedule/job.c */
struct job_kind qstash_forget_kind(struct qstash *q);   /* forget.c: retention */
/* Once at start, in a unit: the keys, and the jobs of which there is always one. */
enum err qstash_start(struct tx *tx, struct qstash *q, int64_t now_ms);
