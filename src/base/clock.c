#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static int64_t machine_wall_ms(const struct clock *c)
{
    struct timespec t;

    (void)c;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t machine_mono_us(const struct clock *c)
{
    struct timespec t;

    (void)c;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void clock_init(struct clock *c)
{
    *c = (struct clock){ .wall_ms = machine_wall_ms, .mono_us = machine_mono_us };
}

int64_t clock_now_ms(const struct clock *c)
{
    return c->wall_ms(c) + atomic_load(&c->test_offset_ms) + atomic_load(&c->db_offset_ms);
}

int64_t clock_mono_us(const struct clock *c)
{
    return c->mono_us(c);
}

int64_t clock_mono_ms(const struct clock *c)
{
    return c->mono_us(c) / 1000;
}

void clock_advance(struct clock *c, int64_t ms)
{
    atomic_fetch_add(&c->test_offset_ms, ms);
}
