/* overview.h - GET /api/v1/admin/overview: the state of the server in one answer (O8). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "ops/live_watch.h"
#include "payment/payments.h"

struct zone;

struct api_overview {
    const struct payments *payments;
    const struct live_watch *watch;
    const struct zone *zone; /* its calendar says when today begins */
    struct str time_zone;    /* its name */
    const char *version, *database;
};

/* ctx: struct api_overview */
void api_overview_get(struct request *r, void *ctx, const struct principal *p);
