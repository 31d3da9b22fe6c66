/* history.h - the outcomes of the provider's events, and the notifications sent to people. The
 * bodies of events are never shown, since they hold personal data of customers (A6). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/events?type=&outcome=&paymentId=&limit=&cursor= */
void api_history_events(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/notifications?paymentId=&limit=&cursor= */
void api_history_notifications(struct request *r, void *ctx, const struct principal *p);
