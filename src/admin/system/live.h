/* live.h - GET /api/v1/admin/live: the last ten minutes as points, from memory alone (O8). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "ops/live_watch.h"

/* ctx: struct live_watch */
void api_live_get(struct request *r, void *ctx, const struct principal *p);
