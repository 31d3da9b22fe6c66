/* campaigns.h - campaigns, their positions and their draw (C1, C6). ctx is a struct api_payments.
 *
 * Made and cancelled by `service` and `admin`; read by anybody who is known. */
#pragma once

#include "api/payments.h"

/* 201: made; 200: there already; 422: there, made of something else. */
void api_campaign_put(struct request *r, void *ctx, const struct principal *p);
void api_campaign_get(struct request *r, void *ctx, const struct principal *p);
void api_campaign_list(struct request *r, void *ctx, const struct principal *p);
/* ?layerId=&status=&cursor=&limit= */
void api_campaign_positions(struct request *r, void *ctx, const struct principal *p);
void api_campaign_draw(struct request *r, void *ctx, const struct principal *p);
void api_campaign_cancel(struct request *r, void *ctx, const struct principal *p);
