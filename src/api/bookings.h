/* bookings.h - PUT and GET /api/v1/bookings/{id} (B1): what can be paid, said by the system that
 * takes the bookings. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "payment/payments.h"

/* ctx is the struct payments; the path's first parameter is the booking's id. It is put by service
 * and admin, and read by its owner too. */
void api_booking_put(struct request *r, void *ctx, const struct principal *p);
void api_booking_get(struct request *r, void *ctx, const struct principal *p);
