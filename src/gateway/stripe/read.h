/* read.h - Stripe's JSON into facts. The adapter reads answers with it, the webhook
 * endpoint events. Ids, expanded objects and null are accepted where Stripe may send them.
 *
 * An unknown status is VALIDATION: a guess could lose money. An object without currency or received
 * amount gives a fact with an empty currency: it fits no payment (D10), but its payment is known. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"
#include "domain/payment.h"

/* A payment_intent, charge, refund, dispute or checkout.session; anything else gives FACT_NONE.
 * Texts are copied to the arena. VALIDATION: it is one of these, but a field we need is missing or
 * wrong. */
enum err stripe_read_object(struct arena *a, const cJSON *object, struct fact *ret_fact);

/* What a webhook's body says about itself, and about a payment. Ids are printable, or empty where
 * the body has no valid one. */
struct stripe_webhook {
    struct str id, type;
    int livemode; /* 0, 1, or -1: not said */
    bool has_created;
    int64_t created_ms;
    bool has_object; /* data.object is one; thin: an event of the v2 API, which carries none */
    bool thin;
    struct str object_id, intent_id, charge_id;
    struct str participant_id; /* our own, from the metadata, for the log; maybe no UUID */
    struct str payment_id; /* our own, from client_reference_id or the metadata; maybe no UUID */
    enum err fact_err;     /* as of stripe_read_object() */
    struct fact fact;
    struct json_fault fault; /* where the body is not JSON: why */
};

/* All of it in one pass over the body, without a tree. Texts point into the body or the arena.
 * VALIDATION: not JSON by our rules; only the fault is set. */
enum err stripe_read_webhook(struct arena *a, struct str body, struct stripe_webhook *ret);
