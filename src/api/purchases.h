/* purchases.h - buys a position and cancels a purchase (C1). ctx is a struct api_payments. The
 * POSTs take an Idempotency-Key and answer {purchase, payment}. */
#pragma once

#include "api/payments.h"

/* The path names the position. */
void api_purchase_create(struct request *r, void *ctx, const struct principal *p);
/* The buyer may cancel a purchase until it is paid. */
void api_purchase_cancel(struct request *r, void *ctx, const struct principal *p);
void api_purchase_get(struct request *r, void *ctx, const struct principal *p);
/* The caller's own purchases; ?cursor=&limit= */
void api_purchase_list(struct request *r, void *ctx, const struct principal *p);
