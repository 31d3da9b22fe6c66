/* events.h - Stripe's list of events, which has the content of its webhooks for 30 days. */
#pragma once

#include "gateway/stripe/list.h"

#define STRIPE_EVENTS_KEPT_MS (30LL * 24 * 3600 * 1000)

/* The path of stripe_page for events that were made in [from_ms, until_ms), cut to seconds. .p is
 * NULL: no memory. */
struct str stripe_events_path(struct arena *a, int64_t from_ms, int64_t until_ms);

/* Id and type of an event of a page. Texts point into the page. False: id or type is not valid. */
struct stripe_listed_event {
    struct str body, id, type;
};
bool stripe_listed_event(struct str item, struct stripe_listed_event *ret);
