/* publish.h - events that leave through a remote QStash (Q5), with ICHIDO_QUEUE=qstash. Stripe's
 * endpoint stores the event and a message of this kind in one commit. The job publishes a reference
 * to the event (webhook/event.h) to the remote, which delivers it to our worker (webhook/worker.h).
 *
 * No event is lost: after three failed tries the commit that ends the job adds the event to the
 * builtin queue instead, and so does the watch of an event that the remote accepted and does not
 * deliver (remote_watch.h). The remote's dead letters are copied into ours. */
#pragma once

#include "http/client/client.h"
#include "payment/payments.h"
#include "queue/queue.h"

#define PUBLISH_KIND S("webhook.publish")
#define REMOTE_DLQ_SYNC_KIND S("webhook.mirror")

struct publisher {
    struct payments *payments;    /* for its env, store, queue and executor */
    struct client *client;        /* may reach private addresses: the operator named the remote */
    const struct job_kind *apply; /* apply_event_kind() */
    bool remote;                  /* false: unpublished events go to the builtin queue */
    struct str base;              /* QSTASH_URL */
    struct str told;              /* the same for the log, without user and password */
    struct str token;
    struct str worker_url; /* where the remote delivers to */
    /* Optional, on the executor: called for a dead letter that came from the remote. */
    void (*alert)(void *ctx, const struct message *m, const char *why);
    void *alert_ctx;

    /* on the executor */
    int under_way;
    size_t bytes_under_way;
    int dlq_unmatched;    /* letters that are of no event here, in the last look */
    char dlq_cursor[256]; /* where the next walk goes on; empty: at the oldest letter */
};

struct job_kind publish_kind(
    struct publisher *p); /* "webhook.publish"; its ref is the event's id */

/* Once a minute: the remote's dead letters (remote_dlq_sync.c). */
struct job_kind mirror_kind(struct publisher *p);
/* Adds the job's one message. CONFLICT: an earlier start added it. */
enum err mirror_start(struct tx *tx, struct publisher *p, int64_t now_ms);
