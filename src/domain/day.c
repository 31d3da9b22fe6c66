#include "domain/day.h"

#include "base/time/civil.h"
#include "base/time/zone.h"

#include <stdio.h>

enum { FIRST_YEAR = 1970, LAST_YEAR = 9999, MINUTE_S = 60 };

static bool day_read_number(const char *p, size_t n, int *ret)
{
    int value = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        value = value * 10 + (p[i] - '0');
    }
    *ret = value;
    return true;
}

bool day_parse(struct str text, int64_t *ret_day)
{
    int year, month, day;

    if (text.n != DAY_TEXT || text.p[4] != '-' || text.p[7] != '-' ||
        !day_read_number(text.p, 4, &year) || !day_read_number(text.p + 5, 2, &month) ||
        !day_read_number(text.p + 8, 2, &day))
        return false;
    if (year < FIRST_YEAR || month < 1 || month > 12 || day < 1 ||
        day > civil_month_days(year, month))
        return false;
    *ret_day = civil_days(year, month, day);
    return true;
}

void day_text(int64_t day, char text[DAY_TEXT + 1])
{
    struct civil c = civil_of(day);
    int year = c.year < FIRST_YEAR ? FIRST_YEAR : c.year > LAST_YEAR ? LAST_YEAR : (int)c.year;
    char room[64];

    snprintf(room, sizeof(room), "%04d-%02d-%02d", year, c.month, c.day);
    snprintf(text, DAY_TEXT + 1, "%.*s", DAY_TEXT, room);
}

int64_t day_at(const struct zone *z, int64_t at_ms)
{
    int64_t at_s = floor_div(at_ms, 1000);

    return floor_div(at_s + zone_offset_s(z, at_s), DAY_S);
}

/* Walks the spans of constant offset, beginning before any that could contain this local time. */
int64_t day_reaches_ms(const struct zone *z, int64_t day, int minute)
{
    int64_t local_s = day * DAY_S + minute * MINUTE_S, at_s = local_s - ZONE_REACH_S;

    for (;;) {
        struct zone_span span = zone_span(z, at_s);
        int64_t reached_s = local_s - span.offset_s;

        if (reached_s < span.from_s)
            reached_s = span.from_s; /* the clocks jumped over it */
        if (reached_s < span.until_s)
            return reached_s * 1000;
        at_s = span.until_s;
    }
}

int64_t day_begins_ms(const struct zone *z, int64_t day)
{
    return day_reaches_ms(z, day, 0);
}
