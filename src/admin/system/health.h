/* health.h - GET /healthz: the process lives. GET /readyz: it can do its work (O9): the store took
 * a write just now, the oldest ready message is not too old, the backlog is below its limit, and
 * the server is not stopping. Readiness measures progress, not liveness. */
#pragma once

#include "http/http.h"

struct store;
struct queue;

struct api_health {
    struct store *store;
    struct queue *queue;
    int64_t oldest_ready_limit_ms, backlog_limit;
};

void api_healthz(struct request *r, void *ctx);
void api_readyz(struct request *r, void *ctx); /* ctx: struct api_health */
