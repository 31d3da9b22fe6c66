/* When people are reminded: days of the due date on the wall of its zone (S2). */
#include "base/time/parse.h"
#include "base/time/zone.h"
#include "domain/reminder.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static int64_t instant(const char *text)
{
    int64_t ms;

    if (!time_parse(str_of(text), &ms))
        fail_msg("%s is not a time", text);
    return ms;
}

static struct zone *zone_of(const char *name)
{
    struct zone *z = NULL;

    assert_int_equal(zone_load(str_of(name), &z), OK);
    return z;
}

/* --- rules --- */

static void rules_are_read_and_written_in_one_form(void **state)
{
    static const struct {
        const char *text, *written; /* NULL: refused */
    } rows[] = {
        { "-3,0,7@10:00", "-3,0,7@10:00" },
        { "7,-3,0@09:05", "-3,0,7@09:05" },
        { " 1 , 2@23:59", "1,2@23:59" },
        { "-90,90@00:00", "-90,90@00:00" },
        { "1,2,3,4,5,6,7,8,9,10,11,12@10:00", "1,2,3,4,5,6,7,8,9,10,11,12@10:00" },
        { "", "" },
        { "@10:00", "" },
        { "1,2,3,4,5,6,7,8,9,10,11,12,13@10:00", NULL },
        { "0,0@10:00", NULL },
        { "91@10:00", NULL },
        { "-91@10:00", NULL },
        { "0,@10:00", NULL },
        { ",@10:00", NULL },
        { "x@10:00", NULL },
        { "1.5@10:00", NULL },
        { "99999999999999999999@10:00", NULL },
        { "0", NULL },
        { "0@", NULL },
        { "0@24:00", NULL },
        { "0@10:60", NULL },
        { "0@9:00", NULL },
        { "0@10:00:00", NULL },
        { "0@-1:00", NULL },
        { "0@off", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reminder_rule r = { .count = 99 };
        char text[REMINDER_RULE_MAX + 1];
        bool fine = reminder_rule_read(str_of(rows[i].text), &r);

        if (fine != (rows[i].written != NULL))
            fail_msg("%s", rows[i].text);
        if (!fine)
            assert_int_equal(r.count, 99);
        else if (!str_eq(reminder_rule_text(&r, text), str_of(rows[i].written)))
            fail_msg("%s: %s", rows[i].text, text);
    }
}

static void the_longest_rule_has_room(void **state)
{
    struct reminder_rule r = { .minute = 23 * 60 + 59 };
    char text[REMINDER_RULE_MAX + 1];

    (void)state;
    for (int i = 0; i < LIMIT_REMINDERS; i++)
        assert_true(reminder_days_add(&r, -LIMIT_REMINDER_DAYS + i));
    assert_false(reminder_days_add(&r, 1));
    reminder_rule_text(&r, text);
    assert_true(reminder_rule_read(str_of(text), &r));
    assert_int_equal(r.count, LIMIT_REMINDERS);
}

/* --- instants --- */

static void s2_a_reminder_is_a_local_time_on_a_calendar_day(void **state)
{
    static const struct {
        const char *why, *zone, *due, *rule, *at, *name;
    } rows[] = {
        { "three days before", "Asia/Tokyo", "2026-11-20T23:59:00+09:00", "-3@10:00",
          "2026-11-17T01:00:00Z", "2026-11-20:-3" },
        { "on the day, though it is due before that hour", "Asia/Tokyo",
          "2026-11-20T00:30:00+09:00", "0@10:00", "2026-11-20T01:00:00Z", "2026-11-20:0" },
        { "half past midnight in Tokyo is the day before in UTC", "Asia/Tokyo",
          "2026-11-19T15:30:00Z", "7@10:00", "2026-11-27T01:00:00Z", "2026-11-20:7" },
        { "the same instant is another day elsewhere", "America/New_York", "2026-11-19T15:30:00Z",
          "0@10:00", "2026-11-19T15:00:00Z", "2026-11-19:0" },
        { "over the end of a year", "Asia/Tokyo", "2027-01-02T12:00:00+09:00", "-3@00:00",
          "2026-12-29T15:00:00Z", "2027-01-02:-3" },
        { "over the end of February in a leap year", "UTC", "2028-03-01T12:00:00Z", "-1@12:00",
          "2028-02-29T12:00:00Z", "2028-03-01:-1" },
        { "winter's offset before the change, summer's behind it", "America/New_York",
          "2026-03-09T12:00:00-04:00", "-3@10:00", "2026-03-06T15:00:00Z", "2026-03-09:-3" },
        { "... behind it", "America/New_York", "2026-03-07T12:00:00-05:00", "2@10:00",
          "2026-03-09T14:00:00Z", "2026-03-07:2" },
        { "half past two does not occur: when the clocks jump", "America/New_York",
          "2026-03-08T12:00:00-04:00", "0@02:30", "2026-03-08T07:00:00Z", "2026-03-08:0" },
        { "the minute before the gap", "America/New_York", "2026-03-08T12:00:00-04:00", "0@01:59",
          "2026-03-08T06:59:00Z", "2026-03-08:0" },
        { "the minute behind it", "America/New_York", "2026-03-08T12:00:00-04:00", "0@03:00",
          "2026-03-08T07:00:00Z", "2026-03-08:0" },
        { "half past one comes twice: the first", "America/New_York", "2026-11-01T12:00:00-05:00",
          "0@01:30", "2026-11-01T05:30:00Z", "2026-11-01:0" },
        { "two o'clock comes once, behind both", "America/New_York", "2026-11-01T12:00:00-05:00",
          "0@02:00", "2026-11-01T07:00:00Z", "2026-11-01:0" },
        { "due within the hour that comes twice, for the second time", "America/New_York",
          "2026-11-01T06:30:00Z", "0@00:30", "2026-11-01T04:30:00Z", "2026-11-01:0" },
        { "midnight is skipped", "America/Sao_Paulo", "2018-11-04T12:00:00-02:00", "0@00:00",
          "2018-11-04T03:00:00Z", "2018-11-04:0" },
        { "half an hour's change", "Australia/Lord_Howe", "2026-10-04T12:00:00+11:00", "0@02:15",
          "2026-10-03T15:30:00Z", "2026-10-04:0" },
        { "a day that never was", "Pacific/Apia", "2011-12-31T12:00:00+14:00", "-1@10:00",
          "2011-12-30T10:00:00Z", "2011-12-31:-1" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z = zone_of(rows[i].zone);
        char name[REMINDER_DATE_MAX + 1];
        struct reminder_rule r;
        struct reminder one;
        int64_t due = instant(rows[i].due);

        assert_true(reminder_rule_read(str_of(rows[i].rule), &r));
        if (!reminder_next(&r, z, due, 0, &one) || one.at_ms != instant(rows[i].at))
            fail_msg("%s: off by %lld min", rows[i].why,
                     (long long)(one.at_ms - instant(rows[i].at)) / 60000);
        if (!str_eq(reminder_name(z, due, one.day, name), str_of(rows[i].name)))
            fail_msg("%s: %s", rows[i].why, name);
        zone_free(z);
    }
}

static void s2_next_and_newest_share_an_instant_between_them(void **state)
{
    static const struct {
        const char *why, *now;
        int newest, next; /* 99: none */
    } rows[] = {
        { "long before", "2026-01-01T00:00:00Z", 99, -3 },
        { "a millisecond before the first", "2026-11-17T00:59:59.999Z", 99, -3 },
        { "the first is now", "2026-11-17T01:00:00Z", -3, 0 },
        { "between", "2026-11-18T12:00:00Z", -3, 0 },
        { "the second is now", "2026-11-20T01:00:00Z", 0, 7 },
        { "the last is now", "2026-11-27T01:00:00Z", 7, 99 },
        { "years later", "2036-01-01T00:00:00Z", 7, 99 },
    };
    struct zone *z = zone_of("Asia/Tokyo");
    struct reminder_rule r;

    (void)state;
    assert_true(reminder_rule_read(S("-3,0,7@10:00"), &r));
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t due = instant("2026-11-20T18:00:00+09:00"), now = instant(rows[i].now);
        struct reminder newest = { .day = 99 }, next = { .day = 99 };

        reminder_newest(&r, z, due, now, &newest);
        reminder_next(&r, z, due, now, &next);
        if (newest.day != rows[i].newest || next.day != rows[i].next)
            fail_msg("%s: newest %d, next %d", rows[i].why, newest.day, next.day);
    }
    zone_free(z);
}

static void s2_days_that_fall_together_are_one_reminder(void **state)
{
    struct zone *z = zone_of("Pacific/Apia"); /* 2011-12-30 was left out */
    int64_t due = instant("2011-12-31T12:00:00+14:00");
    struct reminder_rule r;
    struct reminder one;

    (void)state;
    assert_true(reminder_rule_read(S("-1,0@00:00"), &r));
    assert_true(reminder_next(&r, z, due, 0, &one));
    assert_false(reminder_next(&r, z, due, one.at_ms, &one));
    assert_true(reminder_newest(&r, z, due, one.at_ms, &one));
    assert_int_equal(one.day, 0);
    zone_free(z);
}

static void s2_no_rule_no_reminder(void **state)
{
    struct zone *z = zone_of("UTC");
    struct reminder_rule r = { 0 };
    struct reminder one;

    (void)state;
    assert_false(reminder_next(&r, z, 1, 0, &one));
    assert_false(reminder_newest(&r, z, 1, INT64_MAX, &one));
    zone_free(z);
}

static void s2_words_are_true_until_the_due_date_comes_or_goes(void **state)
{
    static const struct {
        const char *why, *made, *now;
        bool is_true;
    } rows[] = {
        { "three days before, the same day", "2026-11-17T10:00:00+09:00",
          "2026-11-17T23:59:59+09:00", true },
        { "the next day it is still to come", "2026-11-17T23:59:00+09:00",
          "2026-11-18T10:00:00+09:00", true },
        { "the day before, and now it is today", "2026-11-19T10:00:00+09:00",
          "2026-11-20T00:00:00+09:00", false },
        { "today, a moment before midnight", "2026-11-20T10:00:00+09:00",
          "2026-11-20T23:59:59.999+09:00", true },
        { "today, and now it is yesterday", "2026-11-20T10:00:00+09:00",
          "2026-11-21T00:00:00+09:00", false },
        { "before, and now it is past", "2026-11-19T23:00:00+09:00", "2026-11-21T00:00:00+09:00",
          false },
        { "past stays past", "2026-11-21T10:00:00+09:00", "2026-11-22T09:00:00+09:00", true },
    };
    struct zone *z = zone_of("Asia/Tokyo");
    int64_t due = instant("2026-11-20T00:30:00+09:00");

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (reminder_is_true(z, due, instant(rows[i].made), instant(rows[i].now)) !=
            rows[i].is_true)
            fail_msg("%s", rows[i].why);
    zone_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_read_and_written_in_one_form),
        cmocka_unit_test(the_longest_rule_has_room),
        cmocka_unit_test(s2_a_reminder_is_a_local_time_on_a_calendar_day),
        cmocka_unit_test(s2_next_and_newest_share_an_instant_between_them),
        cmocka_unit_test(s2_days_that_fall_together_are_one_reminder),
        cmocka_unit_test(s2_no_rule_no_reminder),
        cmocka_unit_test(s2_words_are_true_until_the_due_date_comes_or_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
