/* payments.h - payments as an operator works with them (O8): searched by any text the operator has,
 * shown with all their related rows, and captured, refunded and voided by the same code as the
 * merchant endpoints.
 *
 *   GET  /api/v1/admin/payments?q=&status=&context=&gateway=&from=&to=&userId=&bookingId=
 *   GET  /api/v1/admin/payments/{id}
 *   POST /api/v1/admin/payments/{id}/capture, /refund, /void     operators only
 *   GET  /api/v1/admin/keys/{key}
 *
 * A text that matches nothing gives an empty list, never an error. */
#pragma once

#include "api/payments.h"

/* ctx is a struct api_payments. */
void api_admin_payment_list(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_get(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_capture(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_refund(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_void(struct request *r, void *ctx, const struct principal *p);
void api_admin_key_get(struct request *r, void *ctx, const struct principal *p);
