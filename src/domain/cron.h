/* cron.h - when a schedule fires. Pure: zone and time are arguments.
 *
 *   [CRON_TZ=Europe/Berlin ]minute hour day-of-month month day-of-week       (TZ= is the same)
 *   [CRON_TZ=Europe/Berlin ]@hourly @daily @midnight @weekly @monthly @yearly @annually
 *
 * A field is a list (,) of *, a value, or a range (1-5), with or without a step (10-30/5; 5/15 is
 * 5-59/15). Months and days of the week have names of three letters, in any case. Sunday is 0 and
 * 7, and may end a range (sat-sun). A step is at most the number of values of its field.
 *
 * Days, as in Vixie's cron: a day must match both fields; but if neither of the two begins with *,
 * one of them is enough ("0 0 13 * fri": every 13th, and every Friday).
 *
 * Daylight saving. If the hour field begins with *, or names all hours, the schedule runs in real
 * time: at every instant whose local time matches. A skipped hour has no firings, a repeated one
 * has them twice, and "0 * * * *" is every hour of real time. Otherwise the schedule names a local
 * time and fires once, when the local clock first reaches or passes it. So a local time that is
 * skipped in spring fires at the instant of the transition (several of them fire there once), and
 * one that occurs twice in autumn fires the first time. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

struct zone;

struct cron { /* bit n: the value n */
    uint64_t minutes;
    uint32_t hours, days, months, weekdays; /* days and months from 1; Sunday is bit 0 */
    bool either_day, real_time;
    struct str zone; /* a part of the text, or "UTC"; not checked to exist */
};

/* VALIDATION: `why` has the reason in printable ASCII. Blanks around the text are ignored. */
enum err cron_parse(struct str text, struct cron *ret_cron, struct why *why);

/* The first firing later than after_ms, a whole second. CLOCK_NEVER: there is none ("0 0 30 2 *"),
 * or none before the year 10000. z is the zone that c->zone names. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_ms);
