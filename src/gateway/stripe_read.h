/* stripe_read.h - Stripe's JSON into facts. The adapter reads answers with it, the webhook door
 * events. Strings, expanded objects and null are all taken where Stripe may send them.
 *
 * A status that we do not know is VALIDATION: a guess could lose money. An object that leaves out
 * its currency or what it received gives a fact with an empty currency: it fits no payment (D10),
 * but whose it is can still be told. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "domain/payment.h"

#include <cjson/cJSON.h>

/* A payment_intent, charge or refund object; anything else gives FACT_NONE. Texts are copied to the
 * arena. VALIDATION: it is one of the three, but a field we need is missing or wrong. */
enum err stripe_read_object(struct arena *a, const cJSON *object, struct fact *ret_fact);

/* The same out of a webhook's raw body, its data.object, in one pass and without a tree. Texts
 * point into the body or the arena. */
enum err stripe_read_event(struct arena *a, struct str body, struct fact *ret_fact);
