/* gateways.h - the gateways that are set up, and which of them takes a new payment (G5).
 *
 *   (1) A payment stays with the gateway that it began with: the name in its row decides.
 *   (2) A gateway that is no longer set up is an outage, not a refusal: RETRY_LATER, nothing sent.
 *   (3) Filled once at start, then only read. */
#pragma once

#include "base/limits.h"
#include "base/why.h"
#include "gateway/port.h"

enum { GATEWAYS_MAX = 4, GATEWAY_ROUTES_MAX = LIMIT_ROUTES };

struct gateway_route {
    struct str method; /* "card", "paypay" ...; empty: any */
    char currency[4];  /* "": any */
    struct gateway *to;
};

struct gateways {
    struct gateway *all[GATEWAYS_MAX];          /* the first one takes what no route names */
    const struct gateway *guards[GATEWAYS_MAX]; /* their guards, for guard_look() */
    size_t count;
    struct gateway_route routes[GATEWAY_ROUTES_MAX]; /* the first match counts */
    size_t route_count;
};

/* The gateway for a new payment. An empty method is the default of the first gateway. NULL: no
 * gateway takes this method in this currency. */
struct gateway *gateways_for(const struct gateways *g, struct str method, const char *currency);

struct gateway *gateways_named(const struct gateways *g, struct str name); /* NULL: not set up */
/* The gateway with that provider's API: "stripe" is also the sandbox's. NULL: none. */
struct gateway *gateways_of(const struct gateways *g, struct str provider);

/* gateway_call() with a span and a record of its tries. `to` may be NULL. */
void gateways_call(struct gateway *to, struct gateway_call *c);

/* "paypay=paypay,bank_transfer=manual,card:USD=stripe": method, a currency if it matters, gateway.
 * False: `why` says what is wrong. Called after the gateways were added. */
bool gateways_route(struct gateways *g, struct str rules, struct why *why);

void gateways_free(struct gateways *g);
