/* inbound_events.h - POST /api/v1/events (B1): BookingCreated, BookingUpdated and BookingCancelled
 * as CloudEvents 1.0, structured, binary or a batch.
 *
 *   (1) The caller has a service or admin token, or signs by Standard Webhooks with
 *       ICHIDO_EVENTS_SECRET. The binary form cannot be signed: its ce- headers are not covered.
 *   (2) An event is applied once for each source and id, however often it arrives.
 *   (3) The events of one request are one commit, all of them or none.
 *
 * 204: every event is stored, was known before, or is of a type that we store as `ignored`. */
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
