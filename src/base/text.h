/* text.h - short texts that several modules write. */
#pragma once

#include "base/str.h"

#include <stdint.h>

enum { TIME_TEXT = 24 };

/* RFC 3339 in UTC with milliseconds: 2026-11-16T01:02:03.456Z. A later time than the year 9999 is
 * written as the end of that year. */
void time_text(int64_t ms, char text[TIME_TEXT + 1]);

/* The first max_chars characters (code points). */
struct str cut_utf8(struct str s, size_t max_chars);
