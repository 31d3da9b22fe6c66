/* clock.h - the clocks of a node. Stored times are integer milliseconds since 1970 (UTC). There are
 * three clocks, and using the wrong one loses work:
 *
 *   clock_now_ms   for the queue: it never goes back, whatever happens to the machine's clock, and
 *                  on PostgreSQL it follows the database, so that all nodes agree
 *   clock_wall_ms  the calendar time, for what other systems signed or dated
 *   clock_mono_*   for measuring how long something took; sockets use only this
 *
 * Tests and the simulator move the first two (T5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

struct clock {
    int64_t (*wall_ms)(const struct clock *c);
    int64_t (*mono_us)(const struct clock *c);
    _Atomic int64_t base_ms;        /* now = monotonic time + this */
    _Atomic bool follows_database;  /* then the machine's own calendar does not count */
    _Atomic int64_t test_offset_ms; /* moved by POST /test/clock; 0 in production */
};

void clock_init(struct clock *c); /* the machine's clocks */

int64_t clock_now_ms(struct clock *c);
int64_t clock_wall_ms(const struct clock *c);
int64_t clock_mono_us(const struct clock *c);
int64_t clock_mono_ms(const struct clock *c);
void clock_advance(struct clock *c, int64_t ms);

/* From now on clock_now_ms follows the database, whose time was database_ms at monotonic mono_us.
 * Differences below tolerance_ms are noise and change nothing. */
void clock_follow(struct clock *c, int64_t database_ms, int64_t mono_us, int64_t tolerance_ms);
