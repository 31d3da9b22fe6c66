#include "base/buf.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/time/civil.h"
#include "base/time/clock.h"
#include "base/time/parse.h"
#include "base/time/zone.h"
#include "domain/cron.h"
#include "unit/cm.h"

#include <string.h>

static int64_t instant(const char *text)
{
    int64_t ms;

    if (!strcmp(text, "never"))
        return CLOCK_NEVER;
    if (!time_parse(str_of(text), &ms))
        fail_msg("%s is not a time", text);
    return ms;
}

static struct cron parsed(const char *text)
{
    struct why why = { 0 };
    struct cron c;

    if (cron_parse(str_of(text), &c, &why))
        fail_msg("%s: %s", text, why.text);
    return c;
}

static struct zone *zone_of(const struct cron *c)
{
    struct zone *z = NULL;

    if (zone_load(c->zone, &z))
        fail_msg("zone " STR_FMT, STR_ARG(c->zone));
    return z;
}

/* --- the text --- */

static void spellings_of_the_same_schedule_are_equal(void **state)
{
    static const char *const rows[][2] = {
        { "*/15 * * * *", "0,15,30,45 * * * *" },
        { "  */15\t*  * * *\t", "*/15 * * * *" },
        { "5/20 * * * *", "5,25,45 * * * *" },
        { "10-30/5 * * * *", "10,15,20,25,30 * * * *" },
        { "*/60 * * * *", "0 * * * *" },
        { "59/60 * * * *", "59 * * * *" },
        { "007 09 * * *", "7 9 * * *" },
        { "0-10,5-15,3 0 * * *", "0-15 0 * * *" },
        { "0 0 * JAN-mar *", "0 0 * 1-3 *" },
        { "0 0 * feb,Apr,jun/3 *", "0 0 * 2,4,6,9,12 *" },
        { "0 0 * * Sat-SUN", "0 0 * * 6,0" },
        { "0 0 * * 6-0", "0 0 * * 0,6" },
        { "0 0 * * 0-7", "0 0 * * 0-6" },
        { "0 0 * * 7", "0 0 * * SUN" },
        { "0 0 * * 5-7", "0 0 * * FRI,SAT,SUN" },
        { "0 0 * * 1-7/2", "0 0 * * 0,1,3,5" },
        { "0 0 * * 7/2", "0 0 * * 0" },
        { "0 0 * * mon-fri", "0 0 * * 1,2,3,4,5" },
        { "@hourly", "0 * * * *" },
        { "@daily", "0 0 * * *" },
        { "@midnight", "0 0 * * *" },
        { "@weekly", "0 0 * * 0" },
        { "@monthly", "0 0 1 * *" },
        { "@yearly", "0 0 1 1 *" },
        { "@Annually", "0 0 1 1 *" },
        { " CRON_TZ=Asia/Tokyo  @daily", "TZ=Asia/Tokyo 0 0 * * *" },
        { "CRON_TZ=UTC 0 0 * * *", "0 0 * * *" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cron a = parsed(rows[i][0]), b = parsed(rows[i][1]);

        if (a.minutes != b.minutes || a.hours != b.hours || a.days != b.days ||
            a.months != b.months || a.weekdays != b.weekdays || a.either_day != b.either_day ||
            a.real_time != b.real_time || !str_eq(a.zone, b.zone))
            fail_msg("%s is not %s", rows[i][0], rows[i][1]);
    }
}

static void a_text_that_is_no_schedule_is_refused_with_words(void **state)
{
    static const char *const rows[][2] = {
        { "", "not 0" },
        { "   ", "not 0" },
        { "*", "five fields (minute hour day-of-month month day-of-week), not 1" },
        { "* * * *", "not 4" },
        { "* * * * * *", "not 6" },
        { "0 0 * * * 2026", "not 6" },
        { "60 * * * *", "minute: \"60\" is not from 0 to 59" },
        { "-1 * * * *", "minute: \"\" is not a number" },
        { "* 24 * * *", "hour: \"24\" is not from 0 to 23" },
        { "* * 0 * *", "day of month: \"0\" is not from 1 to 31" },
        { "* * 32 * *", "day of month: \"32\" is not from 1 to 31" },
        { "* * * 0 *", "month: \"0\" is not from 1 to 12" },
        { "* * * 13 *", "month: \"13\" is not from 1 to 12" },
        { "* * * * 8", "day of week: \"8\" is not from 0 to 7" },
        { "99999999999999999999 * * * *", "is not from 0 to 59" },
        { "x * * * *", "minute: \"x\" is not a number" },
        { "? * * * *", "minute: \"?\" is not a number" },
        { "jan * * * *", "minute: \"jan\" is not a number" },
        { "1.5 * * * *", "minute: \"1.5\" is not a number" },
        { "+5 * * * *", "minute: \"+5\" is not a number" },
        { "* * * janu *", "month: \"janu\" is not a number or a name of three letters" },
        { "* * * mon *", "month: \"mon\" is not a number or a name of three letters" },
        { "* * * * monday", "day of week: \"monday\" is not a number or a name" },
        { "* * L * *", "day of month: \"L\" is not a number" },
        { "* * 15W * *", "day of month: \"15W\" is not a number" },
        { "* * * * 5#2", "day of week: \"5#2\" is not a number" },
        { "30-10 * * * *", "minute: the range \"30-10\" runs backwards" },
        { "* * * dec-jan *", "month: the range \"dec-jan\" runs backwards" },
        { "* * * * fri-mon", "day of week: the range \"fri-mon\" runs backwards" },
        { "1- * * * *", "minute: \"\" is not a number" },
        { "1-2-3 * * * *", "minute: \"2-3\" is not a number" },
        { "*-5 * * * *", "minute: \"*\" is not a number" },
        { "5-* * * * *", "minute: \"*\" is not a number" },
        { "** * * * *", "minute: \"**\" is not a number" },
        { "*5 * * * *", "minute: \"*5\" is not a number" },
        { "0-60 * * * *", "minute: \"60\" is not from 0 to 59" },
        { "*/0 * * * *", "minute: the step \"0\" is not from 1 to 60" },
        { "*/61 * * * *", "minute: the step \"61\" is not from 1 to 60" },
        { "* */25 * * *", "hour: the step \"25\" is not from 1 to 24" },
        { "* * * * */8", "day of week: the step \"8\" is not from 1 to 7" },
        { "*/ * * * *", "minute: the step \"\" is not from 1 to 60" },
        { "*/x * * * *", "minute: the step \"x\" is not" },
        { "*/-5 * * * *", "minute: the step \"-5\" is not" },
        { "*/2/3 * * * *", "minute: the step \"2/3\" is not" },
        { "/5 * * * *", "minute: \"\" is not a number" },
        { "1,,2 * * * *", "minute: nothing stands before or behind a comma" },
        { ",1 * * * *", "minute: nothing stands before or behind a comma" },
        { "1, * * * *", "minute: nothing stands before or behind a comma" },
        { ", * * * *", "minute: nothing stands before or behind a comma" },
        { "0 0 * * *\n", "day of week: \"*?\" is not a number" },
        { "0 0 * * \xc3\xa9", "day of week: \"?\?\" is not a number" },
        { "1234567890123456789012345 * * * *", "\"12345678901234567890...\" is not from" },
        { "@reboot", "\"@reboot\" is not one of @hourly @daily" },
        { "@every 1h", "\"@every?1h\" is not one of @hourly @daily" },
        { "@daily 5", "\"@daily?5\" is not one of" },
        { "CRON_TZ= 0 0 * * *", "the time zone has no name" },
        { "TZ=", "the time zone has no name" },
        { "CRON_TZ=Asia/Tokyo", "not 0" },
        { "CRON_TZ=Asia/Tokyo 0 0 * *", "not 4" },
        { "CRON_TZ=Asia/Tokyo TZ=Asia/Tokyo 0 0 * * *", "not 6" },
        { "cron_tz=Asia/Tokyo 0 0 * * *", "not 6" },
    };
    struct cron c;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };

        memset(&c, 0xa5, sizeof(c));
        if (cron_parse(str_of(rows[i][0]), &c, &why) != ERR_VALIDATION ||
            !strstr(why.text, rows[i][1]))
            fail_msg("\"%s\": %s", rows[i][0], why.text);
        assert_int_equal(c.minutes, 0xa5a5a5a5a5a5a5a5); /* untouched */
    }
}

static void a_text_over_the_limit_is_refused(void **state)
{
    char text[LIMIT_CRON + 2];
    struct why why;
    struct cron c;

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "* * * * *", 9);
    assert_int_equal(cron_parse((struct str){ text, LIMIT_CRON }, &c, &why), OK);
    assert_int_equal(cron_parse((struct str){ text, LIMIT_CRON + 1 }, &c, &why), ERR_VALIDATION);
    assert_string_equal(why.text, "a cron has at most 512 characters");
    assert_int_equal(cron_parse((struct str){ 0 }, &c, &why), ERR_VALIDATION);
    assert_int_equal(cron_parse((struct str){ "* * * * \0", 9 }, &c, &why), ERR_VALIDATION);
}

/* --- the next firing --- */

static void check_next(size_t row, const char *cron, const char *after, const char *next)
{
    struct cron c = parsed(cron);
    struct zone *z = zone_of(&c);
    int64_t found = cron_next(&c, z, instant(after));

    if (found != instant(next))
        fail_msg("row %zu: %s after %s is not %s but %lld", row, cron, after, next,
                 (long long)(found == CLOCK_NEVER ? -1 : found / 1000));
    zone_free(z);
}

static void the_next_firing_is_the_first_later_one(void **state)
{
    static const char *const rows[][3] = {
        { "* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z" },
        { "* * * * *", "2026-01-01T00:00:59.999Z", "2026-01-01T00:01:00Z" },
        { "* * * * *", "2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z" },
        { "* * * * *", "1969-12-31T23:58:59.999Z", "1969-12-31T23:59:00Z" },
        { "0 9 * * *", "2026-01-01T08:59:59.999Z", "2026-01-01T09:00:00Z" },
        { "0 9 * * *", "2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z" },
        { "*/15 * * * *", "2026-01-01T10:44:00Z", "2026-01-01T10:45:00Z" },
        { "*/15 * * * *", "2026-01-01T10:45:00Z", "2026-01-01T11:00:00Z" },
        { "*/15 * * * *", "2026-01-01T23:45:00Z", "2026-01-02T00:00:00Z" },
        { "59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z" },
        { "*/20 9-17 * * *", "2026-01-01T17:40:00Z", "2026-01-02T09:00:00Z" },
        { "30 8,12 * * mon-fri", "2026-01-02T12:30:00Z", "2026-01-05T08:30:00Z" }, /* Friday */
        { "0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z" },
        { "0 0 30 * *", "2026-01-30T00:00:00Z", "2026-03-30T00:00:00Z" },
        { "@monthly", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z" },
        { "@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z" },
        { "@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z" },
        { "@hourly", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z" },
        /* leap years */
        { "0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z" },
        { "0 0 29 2 *", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z" },
        { "0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z" },
        { "0 0 29 2 *", "1999-01-01T00:00:00Z", "2000-02-29T00:00:00Z" },
        { "0 0 28 2 *", "2028-02-28T00:00:00Z", "2029-02-28T00:00:00Z" },
        /* a day of either field, where both are restricted */
        { "0 0 13 * fri", "2026-02-12T00:00:00Z", "2026-02-13T00:00:00Z" },
        { "0 0 13 * fri", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z" },
        { "0 0 13 * fri", "2026-07-10T00:00:00Z", "2026-07-13T00:00:00Z" }, /* a Monday */
        { "0 0 1,15 * 3", "2026-01-01T00:00:00Z", "2026-01-07T00:00:00Z" },
        { "0 0 30 2 fri", "2026-01-01T00:00:00Z", "2026-02-06T00:00:00Z" },
        /* of both, where one begins with a star */
        { "0 0 * * fri", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z" },
        { "0 0 13 * *", "2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z" },
        { "0 0 */2 * mon", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z" },
        { "0 0 */2 * mon", "2026-01-05T00:00:00Z", "2026-01-19T00:00:00Z" },
        { "0 0 13 * */5", "2026-01-01T00:00:00Z", "2026-02-13T00:00:00Z" }, /* Sunday, Friday */
        /* rare, and never */
        { "0 0 29 2 */7", "2026-01-01T00:00:00Z", "2032-02-29T00:00:00Z" },
        { "0 0 29 2 */7", "2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z" },
        { "0 0 30 2 *", "2026-01-01T00:00:00Z", "never" },
        { "0 0 31 2,4,6,9,11 *", "2026-01-01T00:00:00Z", "never" },
        { "* * 30 2 *", "2026-01-01T00:00:00Z", "never" },
        { "TZ=Europe/Berlin * * 30 2 *", "2026-01-01T00:00:00Z", "never" },
        { "TZ=Europe/Berlin 0 0 30 2 *", "2026-01-01T00:00:00Z", "never" },
        { "* * * * *", "9999-12-31T23:58:00Z", "9999-12-31T23:59:00Z" },
        { "* * * * *", "9999-12-31T23:59:00Z", "never" },
        { "0 0 1 1 *", "9999-12-31T23:59:00Z", "never" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_next(i, rows[i][0], rows[i][1], rows[i][2]);
}

static void any_number_is_a_time_to_start_from(void **state)
{
    struct cron c = parsed("CRON_TZ=Europe/Berlin 0 0 * * *"), r = parsed("* * * * *");
    struct zone *z = zone_of(&c);

    (void)state;
    assert_int_equal(cron_next(&c, z, INT64_MAX), CLOCK_NEVER);
    assert_int_equal(cron_next(&r, z, INT64_MAX), CLOCK_NEVER);
    assert_true(cron_next(&c, z, INT64_MIN) < instant("0002-01-01T00:00:00Z"));
    assert_true(cron_next(&r, z, INT64_MIN) < instant("0002-01-01T00:00:00Z"));
    zone_free(z);
}

/* --- daylight saving --- */

#define BERLIN "CRON_TZ=Europe/Berlin "
#define NEW_YORK "CRON_TZ=America/New_York "
#define LORD_HOWE "CRON_TZ=Australia/Lord_Howe "
#define SAO_PAULO "CRON_TZ=America/Sao_Paulo "

static void a_time_on_the_wall_fires_once(void **state)
{
    static const char *const rows[][3] = {
        /* any day */
        { BERLIN "0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+01:00" },
        { BERLIN "0 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T09:00:00+02:00" },
        { BERLIN "0 0 1 * *", "2026-06-30T21:59:00Z", "2026-07-01T00:00:00+02:00" },
        { "TZ=Asia/Tokyo 0 9 * * *", "2026-07-01T00:00:00Z", "2026-07-02T09:00:00+09:00" },
        { "TZ=Asia/Kathmandu 0 0 * * *", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00+05:45" },
        /* Berlin, 29 March 2026: 02:00 becomes 03:00 */
        { BERLIN "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00" },
        { BERLIN "30 2 * * *", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00" },
        { BERLIN "30 2 * * *", "2026-03-29T01:59:59.999+01:00", "2026-03-29T03:00:00+02:00" },
        { BERLIN "0 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00" },
        { BERLIN "0 3 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00" },
        { BERLIN "59 1 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:59:00+01:00" },
        { BERLIN "*/10 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00" },
        { BERLIN "*/10 2 * * *", "2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00" },
        { BERLIN "15 2,3 * * *", "2026-03-29T03:00:00+02:00", "2026-03-29T03:15:00+02:00" },
        { BERLIN "30 2 29 3 *", "2026-01-01T00:00:00Z", "2026-03-29T03:00:00+02:00" },
        { BERLIN "30 2 * * sun", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00" },
        /* Berlin, 25 October 2026: 03:00 becomes 02:00 */
        { BERLIN "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00" },
        { BERLIN "30 2 * * *", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00" },
        { BERLIN "30 2 * * *", "2026-10-25T02:00:00+01:00", "2026-10-26T02:30:00+01:00" },
        { BERLIN "0 2 * * *", "2026-10-25T02:59:59+02:00", "2026-10-26T02:00:00+01:00" },
        { BERLIN "*/20 2 * * *", "2026-10-25T02:20:00+02:00", "2026-10-25T02:40:00+02:00" },
        { BERLIN "*/20 2 * * *", "2026-10-25T02:40:00+02:00", "2026-10-26T02:00:00+01:00" },
        { BERLIN "0 3 * * *", "2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00" },
        { BERLIN "0,30 1-4 * * *", "2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00" },
        /* New York */
        { NEW_YORK "30 2 * * *", "2026-03-07T12:00:00Z", "2026-03-08T03:00:00-04:00" },
        { NEW_YORK "30 1 * * *", "2026-10-31T12:00:00Z", "2026-11-01T01:30:00-04:00" },
        { NEW_YORK "30 1 * * *", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00" },
        /* half an hour: 02:00 becomes 02:30 in October, 02:00 becomes 01:30 in April */
        { LORD_HOWE "15 2 * * *", "2026-10-03T00:00:00Z", "2026-10-04T02:30:00+11:00" },
        { LORD_HOWE "45 2 * * *", "2026-10-03T00:00:00Z", "2026-10-04T02:45:00+11:00" },
        { LORD_HOWE "45 1 * * *", "2026-04-04T00:00:00Z", "2026-04-05T01:45:00+11:00" },
        { LORD_HOWE "45 1 * * *", "2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30" },
        /* midnight itself is skipped, so is it in the days' fields */
        { SAO_PAULO "0 0 * * *", "2018-11-03T12:00:00Z", "2018-11-04T01:00:00-02:00" },
        { SAO_PAULO "0 0 4 11 *", "2018-11-01T00:00:00Z", "2018-11-04T01:00:00-02:00" },
        { SAO_PAULO "30 23 * * *", "2019-02-16T12:00:00Z", "2019-02-16T23:30:00-02:00" },
        { SAO_PAULO "30 23 * * *", "2019-02-16T23:30:00-02:00", "2019-02-17T23:30:00-03:00" },
        { SAO_PAULO "0 0 * * *", "2026-11-01T12:00:00Z", "2026-11-02T00:00:00-03:00" },
        /* a day that never was */
        { "TZ=Pacific/Apia 0 12 * * *", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00" },
        { "TZ=Pacific/Apia 0 12 * * *", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00" },
        { "TZ=Pacific/Apia 0 12 30 12 *", "2011-12-01T00:00:00Z", "2011-12-31T00:00:00+14:00" },
        /* 2050, by the rule behind the table */
        { BERLIN "30 2 * * *", "2050-03-26T12:00:00Z", "2050-03-27T03:00:00+02:00" },
        { BERLIN "30 2 * * *", "2050-10-29T12:00:00Z", "2050-10-30T02:30:00+02:00" },
        { BERLIN "30 2 * * *", "2050-10-30T02:30:00+02:00", "2050-10-31T02:30:00+01:00" },
        { NEW_YORK "0 9 * * *", "2050-07-01T00:00:00Z", "2050-07-01T09:00:00-04:00" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_next(i, rows[i][0], rows[i][1], rows[i][2]);
}

static void every_hour_is_every_hour_of_real_time(void **state)
{
    static const char *const rows[][3] = {
        { BERLIN "0 * * * *", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00" },
        { BERLIN "30 * * * *", "2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00" },
        { BERLIN "*/15 * * * *", "2026-03-29T01:45:00+01:00", "2026-03-29T03:00:00+02:00" },
        { BERLIN "*/15 * * * *", "2026-10-25T02:45:00+02:00", "2026-10-25T02:00:00+01:00" },
        { BERLIN "0 * * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00" },
        { BERLIN "0 * * * *", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00" },
        { BERLIN "0 */1 * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00" },
        { BERLIN "0 0-23 * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00" },
        { BERLIN "30 */2 * * *", "2026-03-29T00:30:00+01:00", "2026-03-29T04:30:00+02:00" },
        { BERLIN "30 */2 * * *", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00" },
        { BERLIN "@hourly", "2050-10-30T02:00:00+02:00", "2050-10-30T02:00:00+01:00" },
        { LORD_HOWE "0 * * * *", "2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+10:30" },
        { LORD_HOWE "45 * * * *", "2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30" },
        { LORD_HOWE "15 * * * *", "2026-10-04T01:15:00+10:30", "2026-10-04T03:15:00+11:00" },
        { SAO_PAULO "* * 17 2 *", "2019-01-01T00:00:00Z", "2019-02-17T00:00:00-03:00" },
        { SAO_PAULO "59 * 16 2 *", "2019-02-16T23:59:00-02:00", "2019-02-16T23:59:00-03:00" },
        { "TZ=Pacific/Apia 0 * 30 12 *", "2011-01-01T00:00:00Z", "2012-12-30T00:00:00+14:00" },
        { "TZ=Asia/Kolkata 0 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:30:00Z" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_next(i, rows[i][0], rows[i][1], rows[i][2]);
}

/* --- against a slow and simple one: any schedule, minute by minute --- */

struct plan { /* a schedule as text and as what it means */
    char text[256];
    bool minutes[60], hours[24], days[32], months[13], weekdays[7];
    bool either_day, real_time;
};

static int any(struct rng *r, int least, int most)
{
    return least + (int)rng_below(r, (uint64_t)(most - least + 1));
}

/* Marks from, from + step, ... to. What is marked at 7 of the weekdays is Sunday. */
static void mark(bool *set, int from, int to, int step, int modulo)
{
    for (int i = from; i <= to; i += step)
        set[i % modulo] = true;
}

/* One field. True: it begins with a star. */
static bool make_field(struct rng *r, struct buf *b, bool *set, int least, int most, int modulo,
                       int stars)
{
    int parts = any(r, 1, 3);

    if (any(r, 1, 100) <= stars) {
        buf_add(b, S("* "));
        mark(set, least, most, 1, modulo);
        return true;
    }
    if (any(r, 0, 5) == 0) {
        int step = any(r, 1, most - least + 1);

        buf_fmt(b, "*/%d ", step);
        mark(set, least, most, step, modulo);
        return true;
    }
    for (int i = 0; i < parts; i++) {
        int from = any(r, least, most), to = any(r, from, most), step = any(r, 1, 7);

        switch (any(r, 0, 3)) {
        case 0: buf_fmt(b, "%d", from), mark(set, from, from, 1, modulo); break;
        case 1: buf_fmt(b, "%d-%d", from, to), mark(set, from, to, 1, modulo); break;
        case 2: buf_fmt(b, "%d-%d/%d", from, to, step), mark(set, from, to, step, modulo); break;
        default: buf_fmt(b, "%d/%d", from, step), mark(set, from, most, step, modulo); break;
        }
        buf_char(b, i + 1 < parts ? ',' : ' ');
    }
    return false;
}

static void make_plan(struct rng *r, struct plan *ret)
{
    bool day_star, weekday_star;
    struct buf b;

    memset(ret, 0, sizeof(*ret));
    buf_init(&b, sizeof(ret->text) - 1);
    make_field(r, &b, ret->minutes, 0, 59, 60, 20);
    ret->real_time = make_field(r, &b, ret->hours, 0, 23, 24, 40);
    day_star = make_field(r, &b, ret->days, 1, 31, 32, 60);
    make_field(r, &b, ret->months, 1, 12, 13, 90);
    weekday_star = make_field(r, &b, ret->weekdays, 0, 6, 7, 60);
    ret->either_day = !day_star && !weekday_star;
    ret->real_time |= !memchr(ret->hours, false, sizeof(ret->hours));
    assert_false(b.failed);
    memcpy(ret->text, b.p, b.n);
    buf_release(&b);
}

static bool matches(const struct plan *p, int64_t local_s)
{
    int64_t day = floor_div(local_s, DAY_S), s = floor_mod(local_s, DAY_S);
    struct civil c = civil_of(day);
    bool by_day = p->days[c.day], by_weekday = p->weekdays[civil_weekday(day)];

    return p->minutes[s / 60 % 60] && p->hours[s / 3600] && p->months[c.month] &&
           (p->either_day ? by_day || by_weekday : by_day && by_weekday);
}

enum { BEFORE_S = 3 * DAY_S, WALK_S = 12 * DAY_S };

/* The wall as one would watch it: each minute it shows something new, or not. NEVER: nothing within
 * WALK_S. All offsets are whole minutes here. */
static int64_t slow_next(const struct plan *p, const struct zone *z, int64_t after_s)
{
    int64_t start = floor_div(after_s - BEFORE_S, 60) * 60;
    int64_t shown = start + zone_offset_s(z, start);

    for (int64_t at = start + 60; at <= after_s + WALK_S; at += 60) {
        int64_t local = at + zone_offset_s(z, at);
        bool fires = p->real_time && matches(p, local);

        for (; shown < local; shown += 60)
            fires |= !p->real_time && matches(p, shown + 60);
        if (fires && at > after_s)
            return at;
    }
    return CLOCK_NEVER;
}

static void compare(const struct plan *p, const struct zone *z, const char *name, int64_t after_ms)
{
    struct cron c = parsed(p->text);
    int64_t after_s = floor_div(after_ms, 1000), slow = slow_next(p, z, after_s);
    int64_t fast = cron_next(&c, z, after_ms);

    if (slow == CLOCK_NEVER ? fast <= (after_s + WALK_S) * 1000 : fast != slow * 1000)
        fail_msg("%s in %s after %lld: %lld, and slowly %lld", p->text, name, (long long)after_ms,
                 (long long)fast, (long long)slow);
}

/* Half of them within two days of a change of the offset. */
static int64_t any_instant(struct rng *r, const struct zone *z)
{
    int64_t s =
        instant("1990-01-01T00:00:00Z") / 1000 + (int64_t)rng_below(r, UINT64_C(70) * 365 * DAY_S);
    int64_t edge = zone_span(z, s).until_s;

    if (rng_below(r, 2) && edge < ZONE_ALWAYS)
        s = edge - 2 * DAY_S + (int64_t)rng_below(r, 4 * DAY_S);
    return s * 1000 + (int64_t)rng_below(r, 1000);
}

static void the_next_firing_is_that_of_a_walk_minute_by_minute(void **state)
{
    static const char *const zones[] = { "UTC",          "Europe/Berlin",     "America/New_York",
                                         "Asia/Tokyo",   "America/Sao_Paulo", "Australia/Lord_Howe",
                                         "Pacific/Apia", "Europe/Dublin",     "Asia/Tehran" };
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 5);
    for (size_t i = 0; i < COUNT(zones); i++) {
        struct zone *z = NULL;

        assert_int_equal(zone_load(str_of(zones[i]), &z), OK);
        for (int n = 0; n < 200; n++) {
            struct plan p;

            make_plan(&r, &p);
            compare(&p, z, zones[i], any_instant(&r, z));
        }
        zone_free(z);
    }
}

enum { MADE_CHANGES = 9 };

static void put_be(struct buf *b, int64_t value, int bytes)
{
    while (bytes--)
        buf_char(b, (char)(unsigned char)((uint64_t)value >> (8 * bytes) & 0xff));
}

static void put_head(struct buf *b, int times, int types)
{
    buf_add(b, S("TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    for (int i = 0; i < 3; i++)
        put_be(b, 0, 4);
    put_be(b, times, 4);
    put_be(b, types, 4);
    put_be(b, 1, 4);
}

/* A zone such as no government ever made: the clock is set by up to a day every few hours. */
static struct zone *make_zone(struct rng *r)
{
    int64_t at = 0;
    struct zone *z = NULL;
    struct buf b;

    buf_init(&b, 4096);
    put_head(&b, 0, 1);
    buf_add(&b, S("\0\0\0\0\0\0\0"));
    put_head(&b, MADE_CHANGES, MADE_CHANGES + 1);
    for (int i = 0; i < MADE_CHANGES; i++) {
        at += any(r, 1, 30 * 60) * 60;
        put_be(&b, at, 8);
    }
    for (int i = 0; i < MADE_CHANGES; i++)
        buf_char(&b, (char)(i + 1));
    for (int i = 0; i <= MADE_CHANGES; i++) {
        put_be(&b, any(r, 0, 3) ? any(r, -2, 2) * 1800 : any(r, -24 * 60, 25 * 60) * 60, 4);
        put_be(&b, 0, 2);
    }
    buf_add(&b, S("\0\n\n"));
    assert_int_equal(zone_read(buf_str(&b), &z), OK);
    buf_release(&b);
    return z;
}

static void so_it_is_where_clocks_are_set_wildly(void **state)
{
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 6);
    for (int i = 0; i < 300; i++) {
        struct zone *z = make_zone(&r);

        for (int n = 0; n < 5; n++) {
            struct plan p;

            make_plan(&r, &p);
            compare(&p, z, "a zone of ours", any(&r, -2 * DAY_S, 12 * DAY_S) * INT64_C(1000));
        }
        zone_free(z);
    }
}

/* The worst is a schedule that never fires, in a zone that changes twice a year. */
static void a_search_of_48_years_is_short(void **state)
{
    struct cron wall = parsed(BERLIN "0 0 30 2 *"), real = parsed(BERLIN "* * 30 2 *");
    struct zone *z = zone_of(&wall);
    struct clock clock;
    int64_t start;

    (void)state;
    clock_init(&clock);
    start = clock_mono_us(&clock);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(cron_next(&wall, z, i), CLOCK_NEVER);
        assert_int_equal(cron_next(&real, z, i), CLOCK_NEVER);
    }
    assert_true(clock_mono_us(&clock) - start < 2000000); /* 10 ms each, on any machine */
    zone_free(z);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(spellings_of_the_same_schedule_are_equal),
        TEST(a_text_that_is_no_schedule_is_refused_with_words),
        TEST(a_text_over_the_limit_is_refused),
        TEST(the_next_firing_is_the_first_later_one),
        TEST(any_number_is_a_time_to_start_from),
        TEST(a_time_on_the_wall_fires_once),
        TEST(every_hour_is_every_hour_of_real_time),
        TEST(the_next_firing_is_that_of_a_walk_minute_by_minute),
        TEST(so_it_is_where_clocks_are_set_wildly),
        TEST(a_search_of_48_years_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
