/* stripe.h - the Stripe adapter (G2): PaymentIntents with manual capture, over HTTP, with a pinned
 * API version. The sandbox speaks the same, so this is also the adapter of the default gateway. */
#pragma once

#include "gateway/port.h"

#define STRIPE_VERSION "2026-10-28.endive" /* of the API: what every request asks for */

struct client;

struct stripe_options {
    struct env *env;
    struct client *client; /* borrowed; an egress thread of the gateway's own */
    const char *name;      /* "stripe" or "sandbox" */
    struct str base; /* https://api.stripe.com or the sandbox's address, no slash at the end */
    struct str secret_key;
    struct str default_method; /* static; empty: none */
};

struct gateway *stripe_gateway_new(const struct stripe_options *o); /* NULL: no memory */
