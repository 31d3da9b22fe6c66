#include "base/time/civil.h"

/* A year that begins in March has its leap day at the end, so the days before a month are a
 * formula, and 400 such years, an era, are always equally long. */
enum { ERA_YEARS = 400, ERA_DAYS = 146097, EPOCH = 719468 /* days from 0000-03-01 to 1970 */ };

int64_t floor_div(int64_t a, int64_t by)
{
    return a / by - (a % by < 0);
}

int64_t floor_mod(int64_t a, int64_t by)
{
    return a % by + (a % by < 0 ? by : 0);
}

int64_t civil_days(int64_t year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1, of_era = floor_mod(y, ERA_YEARS);
    int from_march = month > 2 ? month - 3 : month + 9;
    int64_t of_year = (153 * from_march + 2) / 5 + day - 1;

    return floor_div(y, ERA_YEARS) * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           EPOCH;
}

struct civil civil_of(int64_t days)
{
    int64_t era = floor_div(days + EPOCH, ERA_DAYS), left = floor_mod(days + EPOCH, ERA_DAYS);
    int64_t of_era = (left - left / 1460 + left / 36524 - left / 146096) / 365;
    int64_t of_year = left - (365 * of_era + of_era / 4 - of_era / 100);
    int64_t from_march = (5 * of_year + 2) / 153;
    struct civil c;

    c.day = (int)(of_year - (153 * from_march + 2) / 5 + 1);
    c.month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
    c.year = era * ERA_YEARS + of_era + (c.month <= 2);
    return c;
}

bool civil_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int civil_month_days(int64_t year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1] + (month == 2 && civil_is_leap(year));
}

int civil_weekday(int64_t days)
{
    return (int)floor_mod(days + 4, 7); /* 1970 began on a Thursday */
}
