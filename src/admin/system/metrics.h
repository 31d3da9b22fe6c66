/* metrics.h - GET /metrics, and counting the answers to clients (O2). */
#pragma once

#include "http/http.h"

struct store;
struct queue;

struct api_metrics {
    struct store *store;
    struct queue *queue;
};

void api_metrics(struct request *r, void *ctx); /* ctx: struct api_metrics */

/* Counts an answer before it is sent; for server_options.replied. */
void api_count_answer(const struct request *r, int status);
