#include "base/time/clock.h"

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

/* The calendar can only move this time forward. When the calendar is set back, this time continues
 * from where it was, at the pace of the monotonic clock, so that a due message stays due. */
int64_t clock_now_ms(struct clock *c)
{
    int64_t mono = clock_mono_ms(c), now = mono + atomic_load(&c->base_ms);

    if (!atomic_load(&c->follows_database)) {
        int64_t wall = c->wall_ms(c);

        if (wall > now) {
            atomic_store(&c->base_ms, wall - mono);
            now = wall;
        }
    }
    return now + atomic_load(&c->test_offset_ms);
}

int64_t clock_wall_ms(const struct clock *c)
{
    return c->wall_ms(c) + atomic_load(&c->test_offset_ms);
}

void clock_follow(struct clock *c, int64_t database_ms, int64_t mono_us, int64_t tolerance_ms)
{
    int64_t base = database_ms - mono_us / 1000;
    int64_t difference = base - atomic_load(&c->base_ms);

    if (!atomic_load(&c->follows_database) || difference > tolerance_ms ||
        difference < -tolerance_ms)
        atomic_store(&c->base_ms, base);
    atomic_store(&c->follows_database, true);
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
