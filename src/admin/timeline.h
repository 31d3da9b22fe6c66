/* timeline.h - all that happened to one payment (O7). For admin, and for who may only look. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/payments/{id}/timeline */
void api_timeline_get(struct request *r, void *ctx, const struct principal *p);
