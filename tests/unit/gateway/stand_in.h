/* stand_in.h - a gateway that only takes calls: the test answers each of them. */
#pragma once

#include "gateway/port.h"

enum { STAND_IN_CALLS = 64 };

struct stand_in {
    struct gateway gateway;
    struct gateway_call *taken[STAND_IN_CALLS];
    int count;
};

static inline void stand_in_take(struct gateway *g, struct gateway_call *c)
{
    struct stand_in *s = CONTAINER_OF(g, struct stand_in, gateway);

    s->taken[s->count++] = c;
}

static inline void stand_in_free(struct gateway *g)
{
    (void)g;
}

static inline struct stand_in stand_in_new(void)
{
    static const struct gateway_ops ops = { .call = stand_in_take, .free = stand_in_free };

    return (struct stand_in){ .gateway = {
                                  .ops = &ops, .name = "x", .provider = "p", .methods = "card" } };
}
