/* apply_event.h - the job that applies a provider's event to its payment (payment/transition.h).
 *
 * Outcomes: `applied`; `superseded` if the payment is past it; `ignored` for an unknown type and for
 * another system's intent (D20, W6); `wrong_mode`, stored and never applied (W9); `processed` for a
 * known type that no payment needs. */
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
