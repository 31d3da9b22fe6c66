/* apply_event.h - the job that applies a provider's event. What it says about a payment of ours
 * moves that payment (move.h): `applied`, or `superseded` where more was known. Events of other
 * people's intents and of unknown types are `ignored` (D20, W6), those of the wrong mode kept and
 * never applied (W9), known ones that no payment needs `processed`. */
#pragma once

#include "base/arena.h"
#include "queue/queue.h"

#define APPLY_EVENT_KIND S("stripe.event")

/* What the message carries, taken out of the event at the door, so that applying neither reads nor
 * parses the event's body again. */
struct event_job {
    struct str type;
    int livemode;                                       /* 0, 1, or -1: the event does not say */
    struct str object_id, intent_id, payment_id, trace; /* may be empty */
    struct str fact; /* as fact_write() wrote it; empty: nothing that concerns a payment */
};

/* The message's body; .p is NULL: no memory. */
struct str event_job_write(struct arena *a, const struct event_job *j);
/* VALIDATION: not what event_job_write() wrote. Texts point into the body or the arena. */
enum err event_job_read(struct arena *a, struct str body, struct event_job *ret_job);

struct charge_later;
struct payments;

struct apply_event {
    bool expect_livemode; /* what the prefix of our key says */
    struct payments *payments;
    struct charge_later *charge_later; /* NULL: fees are never asked for */
};

/* `a` is borrowed. Retries double from first_ms on (Q2: 3 of them after 1, 2 and 4 s). */
struct job_kind apply_event_kind(struct apply_event *a, int retries, int64_t first_ms);

bool event_type_is_known(struct str type);
