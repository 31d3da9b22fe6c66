/* campaigns.h - campaigns, their positions and their draw (C1, C6). ctx is a struct api_payments.
 *
 * Service and admin tokens create and cancel campaigns; every token may read them. */
#pragma once

#include "api/payments.h"

/* 201: created; 200: it exists with this content; 422: it exists with other content. */
void api_campaign_put(struct request *r, void *ctx, const struct principal *p);
void api_campaign_get(struct request *r, void *ctx, const struct principal *p);
void api_campaign_list(struct request *r, void *ctx, const struct principal *p);
/* ?layerId=&status=&cursor=&limit= */
void api_campaign_positions(struct request *r, void *ctx, const struct principal *p);
void api_campaign_draw(struct request *r, void *ctx, const struct principal *p);
void api_campaign_cancel(struct request *r, void *ctx, const struct principal *p);
