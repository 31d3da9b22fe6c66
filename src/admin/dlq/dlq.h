/* dlq.h - dead letters for admin (Q6): look at them, try them again, forget them. */
#pragma once

#include "auth/auth.h"
#include "dlq/dead_letter.h"
#include "http/http.h"

struct store;

struct api_dlq {
    struct store *store;
    struct dead_letters letters;
};

/* GET /api/v1/admin/dlq?kind=&ref=&paymentId=&reason=&from=&to=&limit=&cursor= */
void api_dlq_list(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/dlq/groups?kind=&from=&to=&limit=&cursor= */
void api_dlq_groups(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/dlq/{id} */
void api_dlq_get(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/dlq/retry, /api/v1/admin/dlq/delete: many, or what they would be (dryRun) */
void api_dlq_retry(struct request *r, void *ctx, const struct principal *p);
void api_dlq_delete(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/dlq/{id}/retry (with a body: edited), DELETE /api/v1/admin/dlq/{id} */
void api_dlq_retry_one(struct request *r, void *ctx, const struct principal *p);
void api_dlq_delete_one(struct request *r, void *ctx, const struct principal *p);
