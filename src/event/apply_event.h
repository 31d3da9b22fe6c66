/* apply_event.h - the job that applies a provider's event. What it says about a payment of ours
 * moves that payment (payment/transition.h): `applied`, or `superseded` where more was known. Events of other
 * people's intents and of unknown types are `ignored` (D20, W6), those of the wrong mode kept and
 * never applied (W9), known ones that no payment needs `processed`. */
#pragma once

#include "event/event_job.h"
#include "queue/queue.h"

#define APPLY_EVENT_KIND S("stripe.event")

struct charge_later;
struct payments;

struct apply_event {
    bool expect_livemode; /* what the prefix of our key says */
    struct payments *payments;
    struct charge_later *charge_later; /* NULL: fees are never asked for */
};

/* `a` is borrowed. Retries double from first_ms on (Q2: 3 of them after 1, 2 and 4 s). */
struct job_kind apply_event_kind(struct apply_event *a, int retries, int64_t first_ms);
