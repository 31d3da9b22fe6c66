/* backfill.h - events whose webhook never came (E11): a job reads the provider's list of events and
 * stores those that we do not have, as Stripe's endpoint would have done. A webhook that comes later
 * is a duplicate.
 *
 * The job is one message of the queue, so it runs on one node at a time. It runs again after
 * every_ms, or soon while the list has more pages. */
#pragma once

#include "payment/payments.h"
#include "queue/queue.h"

#define BACKFILL_KIND S("stripe.heal")
#define BACKFILL_REQUEST S("heal") /* request_id of the events that it stored */

struct stripe_lister; /* gateway/stripe/list.h */

struct heal {
    struct payments *payments;    /* for its env, store, queue and executor */
    struct stripe_lister *lister; /* NULL: no gateway has Stripe's API; nothing is done */
    int64_t every_ms;             /* 0: off */
    int64_t backlog_limit;        /* live messages above which nothing is added (W3); 0: no limit */
    bool publish;                 /* events leave through a QStash first (Q5) */
};

struct job_kind heal_kind(struct heal *h);
/* Adds the job's one message, unless it is off. CONFLICT: an earlier start added it. */
enum err heal_start(struct tx *tx, struct heal *h, int64_t now_ms);
