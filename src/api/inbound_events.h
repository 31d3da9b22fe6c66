/* inbound_events.h - POST /api/v1/events (B1): BookingCreated, BookingUpdated and BookingCancelled
 * as CloudEvents 1.0, structured, binary or a batch.
 *
 *   who:   a service or admin token; or Standard Webhooks headers by ICHIDO_EVENTS_SECRET, but not
 *          for the binary form: what its ce- headers say is not signed
 *   once:  an event counts once for each source and id, however often and whenever it comes
 *   all:   what one request brings is one commit, all of it or nothing
 *
 * 204: durable, or known before, or not for us (kept as `ignored`). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "payment/payments.h"

struct api_events {
    struct store *store;
    struct payments *payments;
    struct auth *auth;
    struct str secret; /* whsec_...; empty: only tokens */
};

void api_events_post(struct request *r, void *ctx); /* ctx: struct api_events */
