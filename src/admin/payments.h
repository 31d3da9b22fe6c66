/* payments.h - payments as an operator works with them (O8): found by whatever somebody has
 * in his hand, shown with all that belongs to them, captured, refunded and voided by the very
 * handlers of the merchant's door.
 *
 *   GET  /api/v1/admin/payments?q=&status=&context=&gateway=&from=&to=&userId=&bookingId=
 *   GET  /api/v1/admin/payments/{id}
 *   POST /api/v1/admin/payments/{id}/capture, /refund, /void     operators only
 *   GET  /api/v1/admin/keys/{key}
 *
 * A text that nobody knows is an empty list, never an error. */
#pragma once

#include "api/payments.h"

/* ctx is a struct api_payments. */
void api_admin_payment_list(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_get(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_capture(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_refund(struct request *r, void *ctx, const struct principal *p);
void api_admin_payment_void(struct request *r, void *ctx, const struct principal *p);
void api_admin_key_get(struct request *r, void *ctx, const struct principal *p);
