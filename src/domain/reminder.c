/* reminder.c - rules as text, and the instants they stand for. Days are kept in ascending order, so
 * the instants are, too. */
#include "domain/reminder.h"

#include "domain/day.h"

#include <stdio.h>
#include <string.h>

enum { HOURS = 24, MINUTES = 60 };

/* --- rules as text --- */

bool reminder_days_add(struct reminder_rule *r, int64_t day)
{
    size_t place = 0;

    if (r->count == LIMIT_REMINDERS || day < -LIMIT_REMINDER_DAYS || day > LIMIT_REMINDER_DAYS)
        return false;
    while (place < r->count && r->days[place] < day)
        place++;
    if (place < r->count && r->days[place] == day)
        return false;
    memmove(&r->days[place + 1], &r->days[place], (r->count - place) * sizeof(r->days[0]));
    r->days[place] = (int)day;
    r->count++;
    return true;
}

bool reminder_days_read(struct str text, struct reminder_rule *ret_rule)
{
    struct reminder_rule r = { .minute = ret_rule->minute };
    bool more = text.n > 0;

    while (more) {
        size_t n = text.n;
        struct str one = str_cut(&text, ',');
        int64_t day;

        more = one.n < n;
        if (!str_to_i64(str_trim(one), &day) || !reminder_days_add(&r, day))
            return false;
    }
    *ret_rule = r;
    return true;
}

struct str reminder_days_text(const struct reminder_rule *r, char text[REMINDER_DAYS_MAX + 1])
{
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < r->count; i++)
        n += (size_t)snprintf(text + n, REMINDER_DAYS_MAX + 1 - n, i ? ",%d" : "%d", r->days[i]);
    return (struct str){ text, n };
}

bool reminder_rule_has(const struct reminder_rule *r, int64_t day)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->days[i] == day)
            return true;
    return false;
}

static bool two_digits(const char *p, int below, int *ret)
{
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
        return false;
    *ret = (p[0] - '0') * 10 + (p[1] - '0');
    return *ret < below;
}

bool reminder_time_read(struct str text, int *ret_minute)
{
    int hour, minute;

    if (text.n != REMINDER_TIME_TEXT || text.p[2] != ':' || !two_digits(text.p, HOURS, &hour) ||
        !two_digits(text.p + 3, MINUTES, &minute))
        return false;
    *ret_minute = hour * MINUTES + minute;
    return true;
}

void reminder_time_text(int minute, char text[REMINDER_TIME_TEXT + 1])
{
    char room[32];

    snprintf(room, sizeof(room), "%02d:%02d", minute / MINUTES, minute % MINUTES);
    snprintf(text, REMINDER_TIME_TEXT + 1, "%.*s", REMINDER_TIME_TEXT, room);
}

bool reminder_rule_read(struct str text, struct reminder_rule *ret_rule)
{
    struct reminder_rule r = { 0 };
    struct str days = str_cut(&text, '@');

    if (!reminder_days_read(days, &r) || (r.count && !reminder_time_read(text, &r.minute)))
        return false;
    *ret_rule = r;
    return true;
}

struct str reminder_rule_text(const struct reminder_rule *r, char text[REMINDER_RULE_MAX + 1])
{
    char days[REMINDER_DAYS_MAX + 1], time[REMINDER_TIME_TEXT + 1];
    int n;

    text[0] = '\0';
    if (!r->count)
        return (struct str){ text, 0 };
    reminder_days_text(r, days);
    reminder_time_text(r->minute, time);
    n = snprintf(text, REMINDER_RULE_MAX + 1, "%s@%s", days, time);
    return (struct str){ text, (size_t)n };
}

/* --- instants --- */

static struct reminder reminder_of(const struct reminder_rule *r, size_t i, const struct zone *z,
                                   int64_t due_ms)
{
    return (struct reminder){ r->days[i],
                              day_reaches_ms(z, day_at(z, due_ms) + r->days[i], r->minute) };
}

bool reminder_next(const struct reminder_rule *r, const struct zone *z, int64_t due_ms,
                   int64_t after_ms, struct reminder *ret)
{
    for (size_t i = 0; i < r->count; i++) {
        struct reminder one = reminder_of(r, i, z, due_ms);

        if (one.at_ms <= after_ms)
            continue;
        *ret = one;
        return true;
    }
    return false;
}

bool reminder_newest(const struct reminder_rule *r, const struct zone *z, int64_t due_ms,
                     int64_t now_ms, struct reminder *ret)
{
    for (size_t i = r->count; i-- > 0;) {
        struct reminder one = reminder_of(r, i, z, due_ms);

        if (one.at_ms > now_ms)
            continue;
        *ret = one;
        return true;
    }
    return false;
}

bool reminder_is_true(const struct zone *z, int64_t due_ms, int64_t made_ms, int64_t now_ms)
{
    int64_t due = day_at(z, due_ms), made = day_at(z, made_ms), today = day_at(z, now_ms);

    return (made < due) == (today < due) && (made > due) == (today > due);
}

struct str reminder_name(const struct zone *z, int64_t due_ms, int day,
                         char text[REMINDER_DATE_MAX + 1])
{
    char date[DAY_TEXT + 1];
    int n;

    day_text(day_at(z, due_ms), date);
    n = snprintf(text, REMINDER_DATE_MAX + 1, "%s:%d", date, day);
    return (struct str){ text, n < REMINDER_DATE_MAX ? (size_t)n : REMINDER_DATE_MAX };
}
