/* reminder.h - when people are reminded of what they owe (S2). Pure: the zone comes in, and so does
 * the time.
 *
 * A rule is some days, counted from the due date on the calendar of the collection's zone, and one
 * time of the day there: "-3,0,7@10:00" is ten in the morning three days before it, on it, and a
 * week later, whatever the hour at which it is due. A time that the clocks skip is the instant at
 * which they do; of one that comes twice it is the first. */
#pragma once

#include "base/limits.h"
#include "base/str.h"

struct zone;

struct reminder_rule {
    int days[LIMIT_REMINDERS]; /* ascending, each once */
    size_t count;              /* 0: nobody is reminded */
    int minute;                /* of the day */
};

enum {
    REMINDER_TIME_TEXT = 5,                  /* "10:00" */
    REMINDER_DAYS_MAX = LIMIT_REMINDERS * 4, /* "-90," each */
    REMINDER_RULE_MAX = REMINDER_DAYS_MAX + 1 + REMINDER_TIME_TEXT,
    REMINDER_DATE_MAX = 10 + 1 + 4 /* "2026-11-20:-90" */
};

/* "-3, 0,7": in any order, each once, LIMIT_REMINDER_DAYS at most either way; "" is none. False:
 * ret_rule is as it was. Only the days are set. */
bool reminder_days_read(struct str text, struct reminder_rule *ret_rule);
/* One more day, in its place. False: too far away, there already, or one too many. */
bool reminder_days_add(struct reminder_rule *r, int64_t day);
/* "-3,0,7" */
struct str reminder_days_text(const struct reminder_rule *r, char text[REMINDER_DAYS_MAX + 1]);

/* "00:00" to "23:59", two digits each. */
bool reminder_time_read(struct str text, int *ret_minute);
void reminder_time_text(int minute, char text[REMINDER_TIME_TEXT + 1]);

bool reminder_rule_has(const struct reminder_rule *r, int64_t day);

/* "-3,0,7@10:00"; "": nobody is reminded. */
bool reminder_rule_read(struct str text, struct reminder_rule *ret_rule);
struct str reminder_rule_text(const struct reminder_rule *r, char text[REMINDER_RULE_MAX + 1]);

struct reminder {
    int day;
    int64_t at_ms;
};

/* The first behind after_ms. False: there is none. */
bool reminder_next(const struct reminder_rule *r, const struct zone *z, int64_t due_ms,
                   int64_t after_ms, struct reminder *ret);
/* The last one until now_ms, which is included. False: none has come yet. */
bool reminder_newest(const struct reminder_rule *r, const struct zone *z, int64_t due_ms,
                     int64_t now_ms, struct reminder *ret);

/* Whether words of made_ms are true at now_ms: the due date is still to come, is that day, or is
 * past, as it was then. */
bool reminder_is_true(const struct zone *z, int64_t due_ms, int64_t made_ms, int64_t now_ms);

/* "2026-11-20:-3": which one it is. The due date counts, not its hour: who was told of that day is
 * not told again because the hour has changed. */
struct str reminder_name(const struct zone *z, int64_t due_ms, int day,
                         char text[REMINDER_DATE_MAX + 1]);
