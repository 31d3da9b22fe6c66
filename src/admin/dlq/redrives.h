/* redrives.h - redrives (dead letters retried at a rate) and replays (events applied again), for
 * operators (Q6, O8). */
#pragma once

#include "auth/auth.h"
#include "dlq/redrive.h"
#include "http/http.h"

struct store;

struct api_redrives {
    struct store *store;
    const struct redrives *redrives;
};

/* POST /api/v1/admin/redrives: 202, or with dryRun only a count */
void api_redrive_start(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/replays: the same for events */
void api_replay_start(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/redrives?limit=&cursor= */
void api_redrive_list(struct request *r, void *ctx, const struct principal *p);
/* GET /api/v1/admin/redrives/{id} */
void api_redrive_get(struct request *r, void *ctx, const struct principal *p);
/* POST /api/v1/admin/redrives/{id}/cancel */
void api_redrive_cancel(struct request *r, void *ctx, const struct principal *p);
