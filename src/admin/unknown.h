/* unknown.h - money operations whose outcome nobody knows yet, for admin (P7). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

/* ctx is the struct store. */
/* GET /api/v1/admin/unknown?limit=&cursor=: the oldest first */
void api_unknown_list(struct request *r, void *ctx, const struct principal *p);
