/* subscribers.h - /api/v1/admin/subscribers (B2): the URLs that receive domain events. A secret is
 * shown once, in the answer that creates it. Whether a URL's address is allowed is decided at each
 * delivery, since its name may resolve to another address by then (Q10). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

struct store;

struct api_subscribers {
    struct env *env;
    struct store *store;
};

/* ctx is a struct api_subscribers. */
void api_subscriber_add(struct request *r, void *ctx, const struct principal *p);
void api_subscriber_list(struct request *r, void *ctx, const struct principal *p);
/* The path's first parameter is its id. */
void api_subscriber_remove(struct request *r, void *ctx, const struct principal *p);
