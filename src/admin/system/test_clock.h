/* test_clock.h - POST /test/clock {"advanceMs":n}: moves this node's wall time forward, so that 24
 * hours take a second (T5). Leases of this node move along, as if they had been renewed
 * meanwhile. */
#pragma once

#include "http/http.h"

struct queue;

struct api_test_clock {
    struct queue *queue;
    struct executor *executor; /* the queue's */
    /* Optional: moves another clock along, then calls moved(ctx) on any thread. */
    void (*also)(void *also_ctx, int64_t ms, void (*moved)(void *ctx), void *ctx);
    void *also_ctx;
};

void api_test_clock(struct request *r, void *ctx); /* ctx: struct api_test_clock */
