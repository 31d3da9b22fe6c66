/* dlq.h - dead letters for operators (Q6): list, show, retry and delete them. */
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
/* POST /api/v1/admin/dlq/retry, /api/v1/admin/dlq/delete: many, or with dryRun only a count */
void api_dlq_retry(struct request *r, void *ctx, const struct principal *p);
void api_dlq_delete(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/dlq/{id}/retry (with a body: edited), DELETE /api/v1/admin/dlq/{id} */
void api_dlq_retry_one(struct request *r, void *ctx, const struct principal *p);
void api_dlq_delete_one(struct request *r, void *ctx, const struct principal *p);
