/* clock.h - time, passed in. Wall time is integer milliseconds since 1970 (UTC) and is what gets
 * stored; monotonic time measures. Tests and the simulator move the first (T5); sockets use only
 * the second. */
#pragma once

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

struct clock {
    int64_t (*wall_ms)(const struct clock *c);
    int64_t (*mono_us)(const struct clock *c);
    _Atomic int64_t test_offset_ms; /* moved by POST /test/clock; 0 in production */
    _Atomic int64_t db_offset_ms;   /* PostgreSQL's clock minus ours, so that nodes agree */
};

void clock_init(struct clock *c); /* the machine's clocks */

int64_t clock_now_ms(const struct clock *c); /* wall, with both offsets */
int64_t clock_mono_us(const struct clock *c);
int64_t clock_mono_ms(const struct clock *c);
void clock_advance(struct clock *c, int64_t ms);
