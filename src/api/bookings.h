/* bookings.h - PUT and GET /api/v1/bookings/{id} (B1): what can be paid, said by the system that
 * takes the bookings. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "payment/payments.h"

struct api_bookings {
    struct store *store;
    struct payments *payments;
    struct auth *auth;
};

/* ctx is a struct api_bookings; the path's first parameter is the booking's id. */
void api_booking_put(struct request *r, void *ctx); /* service and admin */
void api_booking_get(struct request *r, void *ctx); /* its owner too */
