/* live.h - GET /api/v1/admin/live: the last ten minutes as points, from memory alone (O8). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "ops/live_watch.h"

struct api_live {
    struct auth *auth;
    const struct live_watch *watch;
};

void api_live_get(struct request *r, void *ctx); /* ctx: struct api_live */
