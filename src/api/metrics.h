/* metrics.h - GET /metrics. */
#pragma once

#include "http/http.h"

struct store;
struct queue;

struct api_metrics {
    struct store *store;
    struct queue *queue;
};

void api_metrics(struct request *r, void *ctx); /* ctx: struct api_metrics */
