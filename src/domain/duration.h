/* duration.h - lengths of time as others write them: one or more <number><unit> in a row, in any
 * order ("1d10h30m", "12.5s"). A number is digits, perhaps a dot and more digits; no sign, no
 * blank. Exact to the nanosecond, then rounded up to a whole millisecond: what is not nothing does
 * not become 0, which often means something else. Pure. */
#pragma once

#include "base/str.h"

enum duration_result {
    DURATION_OK,
    DURATION_BAD,      /* not a duration at all */
    DURATION_TOO_LONG, /* above most_ms, or above 292 years */
};

enum duration_bare { DURATION_NEEDS_UNIT, DURATION_BARE_IS_SECONDS };

/* bare: whether "60" alone may stand for 60 seconds. QStash's own: units s m h d. */
enum duration_result duration_parse(struct str text, enum duration_bare bare, int64_t most_ms,
                                    int64_t *ret_ms);

/* Go's, as servers write it into headers: units ns us ms s m h, and two spellings of the micro
 * sign. */
enum duration_result duration_parse_go(struct str text, enum duration_bare bare, int64_t most_ms,
                                       int64_t *ret_ms);
