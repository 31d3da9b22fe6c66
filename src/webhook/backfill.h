/* backfill.h - webhooks that never came (E11): a job reads the provider's list of events and stores
 * those that we do not have, exactly as Stripe's door would have. A webhook that comes after all is
 * a duplicate then.
 *
 * One message of the queue, so one node at a time. It is put off by every_ms each time, or goes on
 * at once while there is more to look at. */
#pragma once

#include "payment/payments.h"
#include "queue/queue.h"

#define HEAL_KIND S("stripe.heal")
#define HEAL_REQUEST S("heal") /* request_id of the events that it brought */

struct stripe_lister; /* gateway/stripe/list.h */

struct heal {
    struct payments *payments;    /* for its env, store, queue and executor */
    struct stripe_lister *lister; /* NULL: no gateway speaks Stripe's words; nothing is done */
    int64_t every_ms;             /* 0: off */
    int64_t backlog_limit;        /* live messages above which nothing is added (W3); 0: no limit */
    bool publish;                 /* events leave through a QStash first (Q5) */
};

struct job_kind heal_kind(struct heal *h);
/* Adds its one message, where it is on. CONFLICT: it is there since an earlier start. */
enum err heal_start(struct tx *tx, struct heal *h, int64_t now_ms);
