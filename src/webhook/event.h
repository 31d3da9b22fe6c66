/* event.h - what the endpoint needs of a Stripe event, read in one pass over its body: its id, type
 * and references, its lane, and what it says about a payment. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "domain/payment.h"
#include "queue/lane.h"

struct stripe_event {
    bool readable;   /* false: broken JSON, or no sane id or type (W6) */
    const char *why; /* why it is not readable: a static text */
    struct str id;   /* evt_..., or sha256:<hex of the body> where the body has no valid id */
    struct str type; /* empty: not readable */
    int livemode;    /* 0, 1, or -1: the body does not say */
    bool has_created;
    int64_t created_ms;
    struct str object_id, intent_id, payment_id; /* empty: the body does not say */
    struct str participant_id;                   /* the same */
    bool has_lane;                               /* D24 */
    int64_t lane;
    enum err fact_err; /* VALIDATION: its type is known, its object cannot be understood */
    struct fact fact;  /* FACT_NONE: it concerns no payment */
};

/* Texts point into the body or the arena. NO_MEMORY is the only failure: an unreadable body is an
 * event too. */
enum err stripe_event_read(struct arena *a, struct str body, struct stripe_event *ret_event);

/* {"object":"ichido.event","id":...,"type":...}. A remote QStash keeps and shows what it is given,
 * so it gets this reference instead of the event (A6). .p NULL: no memory. */
struct str event_reference(struct arena *a, struct str id, struct str type);
/* The id in a reference: a slice of body, or of the arena. NOT_FOUND: the body is no reference, or
 * its id is not valid; with an invalid id it is no readable event either. */
enum err event_reference_read(struct arena *a, struct str body, struct str *ret_id);
