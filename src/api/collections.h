/* collections.h - collections, participants and their Checkout (S1). ctx is a struct api_payments.
 */
#pragma once

#include "api/payments.h"

/* 201: created; 200: changed; 422: the change is not possible. */
void api_collection_put(struct request *r, void *ctx, const struct principal *p);
/* ?status=&cursor=&limit= of participants */
void api_collection_get(struct request *r, void *ctx, const struct principal *p);
void api_collection_list(struct request *r, void *ctx, const struct principal *p);
/* The same list for operators: without ownerId it has the collections of all owners. */
void api_admin_collection_list(struct request *r, void *ctx, const struct principal *p);
/* Idempotency-Key; {successUrl?, cancelUrl?} */
void api_participant_checkout(struct request *r, void *ctx, const struct principal *p);
void api_participant_get(struct request *r, void *ctx, const struct principal *p);
