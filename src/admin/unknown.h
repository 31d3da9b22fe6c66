/* unknown.h - operations whose outcome at the gateway is unknown, for operators (P7). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/unknown?limit=&cursor=: the oldest first */
void api_unknown_list(struct request *r, void *ctx, const struct principal *p);
