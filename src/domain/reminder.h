/* reminder.h - when people are reminded of what they owe (S2). Pure: zone and time are arguments.
 *
 * A rule is a set of days, counted from the due date in the collection's zone, and one time of the
 * day there: "-3,0,7@10:00" is ten in the morning three days before the due date, on it, and a week
 * later, whatever its hour. A time that the clocks skip is the instant of the change; of a time
 * that occurs twice it is the first. */
#pragma once

#include "base/limits.h"
#include "base/str.h"

struct zone;

struct reminder_rule {
    int days[LIMIT_REMINDERS]; /* ascending, each once */
    size_t count;              /* 0: no reminders */
    int minute;                /* of the day */
};

enum {
    REMINDER_TIME_TEXT = 5,                  /* "10:00" */
    REMINDER_DAYS_MAX = LIMIT_REMINDERS * 4, /* "-90," each */
    REMINDER_RULE_MAX = REMINDER_DAYS_MAX + 1 + REMINDER_TIME_TEXT,
    REMINDER_DATE_MAX = 10 + 1 + 4 /* "2026-11-20:-90" */
};

/* Reads "-3, 0,7": in any order, each day once, at most LIMIT_REMINDER_DAYS before or after; "" is
 * none. Sets only the days. False: ret_rule is unchanged. */
bool reminder_days_read(struct str text, struct reminder_rule *ret_rule);
/* Inserts a day in order. False: too far away, present already, or one too many. */
bool reminder_days_add(struct reminder_rule *r, int64_t day);
/* "-3,0,7" */
struct str reminder_days_text(const struct reminder_rule *r, char text[REMINDER_DAYS_MAX + 1]);

/* "00:00" to "23:59", two digits each. */
bool reminder_time_read(struct str text, int *ret_minute);
void reminder_time_text(int minute, char text[REMINDER_TIME_TEXT + 1]);

bool reminder_rule_has(const struct reminder_rule *r, int64_t day);

/* "-3,0,7@10:00"; "": no reminders. */
bool reminder_rule_read(struct str text, struct reminder_rule *ret_rule);
struct str reminder_rule_text(const struct reminder_rule *r, char text[REMINDER_RULE_MAX + 1]);

struct reminder {
    int day;
    int64_t at_ms;
};

/* The first reminder later than after_ms. False: there is none. */
bool reminder_next(const struct reminder_rule *r, const struct zone *z, int64_t due_ms,
                   int64_t after_ms, struct reminder *ret);
/* The last reminder at or before now_ms. False: there is none yet. */
bool reminder_newest(const struct reminder_rule *r, const struct zone *z, int64_t due_ms,
                     int64_t now_ms, struct reminder *ret);

/* Whether a text written at made_ms is still true at now_ms: the due date is in the future, today
 * or past at both times. */
bool reminder_is_true(const struct zone *z, int64_t due_ms, int64_t made_ms, int64_t now_ms);

/* The identity of a reminder, "2026-11-20:-3". It has the due date without the hour, so that a
 * changed hour does not send the reminder again. */
struct str reminder_name(const struct zone *z, int64_t due_ms, int day,
                         char text[REMINDER_DATE_MAX + 1]);
