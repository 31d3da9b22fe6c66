/* slo.h - GET /api/v1/admin/slo: the service level objectives, and what this node measured
 * (O10). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "ops/alert_watch.h"

struct api_slo {
    const struct alert_watch *watch;
    bool remote; /* events go through a remote QStash */
};

/* ctx: struct api_slo */
void api_slo_get(struct request *r, void *ctx, const struct principal *p);
