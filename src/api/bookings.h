/* bookings.h - PUT and GET /api/v1/bookings/{id} (B1): the system that takes bookings tells the
 * server what can be paid. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "payment/payments.h"

/* ctx is the struct payments; the path's first parameter is the booking's id. Service and admin
 * tokens may put a booking; its owner may read it too. */
void api_booking_put(struct request *r, void *ctx, const struct principal *p);
void api_booking_get(struct request *r, void *ctx, const struct principal *p);
