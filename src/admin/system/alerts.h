/* alerts.h - GET /api/v1/admin/alerts: every alert rule, its state and what to do (O4). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "ops/alert_watch.h"

struct api_alerts {
    struct store *store;
    const struct alert_watch *watch;
};

/* ctx: struct api_alerts */
void api_alerts_list(struct request *r, void *ctx, const struct principal *p);
