/* publish.h - events that leave through a remote QStash (Q5), with ICHIDO_QUEUE=qstash. Stripe's
 * door stores the event and a message of this kind in one commit; the job publishes a reference to
 * the event (webhook/event.h) to the remote, which brings it back to our worker (webhook/worker.h). Three failed
 * tries, and the commit that ends the job gives the event to the builtin queue instead; and so it
 * goes with an event that the remote took and does not bring (remote_watch.h): never a lost event. The
 * remote's dead letters are mirrored into ours. */
#pragma once

#include "http/client/client.h"
#include "payment/payments.h"
#include "queue/queue.h"

#define PUBLISH_KIND S("webhook.publish")
#define MIRROR_KIND S("webhook.mirror")

struct publisher {
    struct payments *payments;    /* for its env, store, queue and executor */
    struct client *client;        /* may reach private addresses: the operator named the remote */
    const struct job_kind *apply; /* apply_event_kind() */
    bool remote;                  /* false: what is not published yet goes to the builtin queue */
    struct str base;              /* QSTASH_URL */
    struct str told;              /* the same for the log: without user and password */
    struct str token;
    struct str worker_url; /* where the remote delivers to */
    /* Optional, on the executor: a dead letter that was mirrored. */
    void (*alert)(void *ctx, const struct message *m, const char *why);
    void *alert_ctx;

    /* on the executor */
    int under_way;
    size_t bytes_under_way;
    int mirror_odd;          /* letters that are of no event here, in the last look */
    char mirror_cursor[256]; /* where the next walk goes on; empty: at the oldest letter */
};

struct job_kind publish_kind(
    struct publisher *p); /* "webhook.publish"; its ref is the event's id */

/* Once a minute: the remote's dead letters (remote_dlq_sync.c). */
struct job_kind mirror_kind(struct publisher *p);
/* Adds its one message. CONFLICT: it is there since an earlier start. */
enum err mirror_start(struct tx *tx, struct publisher *p, int64_t now_ms);
