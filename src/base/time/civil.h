/* civil.h - the Gregorian calendar by arithmetic, without libc, so without TZ and without a lock.
 * Days are counted from 1970-01-01. The results are exact for years within about 10^11 of now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { DAY_S = 86400 };

struct civil {
    int64_t year;
    int month, day; /* from 1 */
};

int64_t civil_days(int64_t year, int month, int day);
struct civil civil_of(int64_t days);

bool civil_is_leap(int64_t year);
int civil_month_days(int64_t year, int month);
int civil_weekday(int64_t days); /* 0 is Sunday */

/* Division that rounds down, also below zero, so that the remainder is never negative. by > 0. */
int64_t floor_div(int64_t a, int64_t by);
int64_t floor_mod(int64_t a, int64_t by);
