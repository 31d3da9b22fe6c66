/* duration.h - parses durations: one or more <number><unit> in any order ("1d10h30m", "12.5s"). A
 * number is digits, optionally with a dot and more digits; no sign, no blanks. The sum is exact to
 * the nanosecond, then rounded up to a whole millisecond, so that a short duration never becomes 0.
 * Pure. */
#pragma once

#include "base/str.h"

enum duration_result {
    DURATION_OK,
    DURATION_BAD,      /* not a duration at all */
    DURATION_TOO_LONG, /* above most_ms, or above 292 years */
};

enum duration_bare { DURATION_NEEDS_UNIT, DURATION_BARE_IS_SECONDS };

/* QStash's durations, with the units s m h d. bare: whether "60" alone means 60 seconds. */
enum duration_result duration_parse(struct str text, enum duration_bare bare, int64_t most_ms,
                                    int64_t *ret_ms);

/* Go's durations, as servers write them into headers: units ns us ms s m h, with both spellings of
 * the micro sign. */
enum duration_result duration_parse_go(struct str text, enum duration_bare bare, int64_t most_ms,
                                       int64_t *ret_ms);
