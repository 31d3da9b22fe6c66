/* history.h - what became of the provider's events, and what people were told. For admin. Bodies of
 * events are not shown: they hold what a customer's card and address look like (A6). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/events?type=&outcome=&paymentId=&limit=&cursor= */
void api_history_events(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/notifications?paymentId=&limit=&cursor= */
void api_history_notifications(struct request *r, void *ctx, const struct principal *p);
