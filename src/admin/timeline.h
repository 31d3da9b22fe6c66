/* timeline.h - everything that happened to one payment (O7), for operators and viewers. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/payments/{id}/timeline */
void api_timeline_get(struct request *r, void *ctx, const struct principal *p);
