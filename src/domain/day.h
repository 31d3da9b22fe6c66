/* day.h - the days of a time zone: how they are written, and when they begin and end. Pure: zone
 * and time are arguments. A day is counted from 1970-01-01, as in base/time/civil.h. */
#pragma once

#include "base/str.h"

struct zone;

enum { DAY_TEXT = 10 };

/* "2026-11-16", years 1970 to 9999 only. False: there is no such day. */
bool day_parse(struct str text, int64_t *ret_day);
void day_text(int64_t day, char text[DAY_TEXT + 1]);

/* The local date at this instant. */
int64_t day_at(const struct zone *z, int64_t at_ms);

/* The first instant of that day. If the clocks skip midnight, it is the instant of the change; if
 * midnight occurs twice, the first. So a day ends where the next begins, and has 23, 24 or 25
 * hours. */
int64_t day_begins_ms(const struct zone *z, int64_t day);

/* The first instant at which the local clock shows that minute of that day (0: midnight) or has
 * jumped over it. */
int64_t day_reaches_ms(const struct zone *z, int64_t day, int minute);
