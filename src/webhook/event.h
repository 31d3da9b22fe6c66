/* event.h - what the door needs to know of a Stripe event, taken out in one pass over its body: its
 * names, its lane, and what it says about a payment. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "domain/payment.h"
#include "queue/lane.h"

struct stripe_event {
    bool readable;   /* false: broken JSON, or no sane id or type (W6) */
    const char *why; /* where it is not readable: static words */
    struct str id;   /* evt_..., or sha256:<hex of the body> where it names none that is sane */
    struct str type; /* empty: not readable */
    int livemode;    /* 0, 1, or -1: the body does not say */
    bool has_created;
    int64_t created_ms;
    struct str object_id, intent_id, payment_id; /* empty: the body does not say */
    struct str participant_id;                   /* the same */
    bool has_lane;                               /* D24 */
    int64_t lane;
    enum err fact_err; /* VALIDATION: of a kind we know, but not to be understood */
    struct fact fact;  /* FACT_NONE: nothing that concerns a payment */
};

/* Texts point into the body or the arena. NO_MEMORY is the only failure: a body that cannot be read
 * is an event too. */
enum err stripe_event_read(struct arena *a, struct str body, struct stripe_event *ret_event);

/* {"object":"ichido.event","id":...,"type":...}: leaves for a remote QStash instead of the event,
 * since a remote keeps and shows what it is given (A6). .p NULL: no memory. */
struct str event_reference(struct arena *a, struct str id, struct str type);
/* The id that a reference names; a slice of body, or of the arena. NOT_FOUND: it is no reference,
 * or names no sane id, and then it is no readable event either. */
enum err event_reference_read(struct arena *a, struct str body, struct str *ret_id);
