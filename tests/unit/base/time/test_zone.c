#include "base/buf.h"
#include "base/limits.h"
#include "base/time/parse.h"
#include "base/time/zone.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static struct zone *load(const char *name)
{
    struct zone *z = NULL;
    enum err e = zone_load(str_of(name), &z);

    if (e)
        fail_msg("%s: %s", name, err_code(e));
    return z;
}

static int64_t instant(const char *text)
{
    int64_t ms;

    if (!time_parse(str_of(text), &ms))
        fail_msg("%s is not a time", text);
    return ms / 1000;
}

/* --- what the zones of this machine say --- */

static void offsets_are_those_of_the_world(void **state)
{
    static const struct {
        const char *zone, *at;
        int offset_s;
    } rows[] = {
        { "Europe/Berlin", "2026-01-01T00:00:00Z", 3600 },
        { "Europe/Berlin", "2026-03-29T00:59:59Z", 3600 },
        { "Europe/Berlin", "2026-03-29T01:00:00Z", 7200 },
        { "Europe/Berlin", "2026-07-01T00:00:00Z", 7200 },
        { "Europe/Berlin", "2026-10-25T00:59:59Z", 7200 },
        { "Europe/Berlin", "2026-10-25T01:00:00Z", 3600 },
        { "Europe/Berlin", "1900-01-01T00:00:00Z", 3600 },
        { "Europe/Berlin", "1893-03-31T00:00:00Z", 3208 },
        { "Europe/Berlin", "1945-05-24T12:00:00Z", 10800 },
        { "Europe/Berlin", "1947-05-11T12:00:00Z", 10800 },
        { "Europe/Berlin", "1979-07-01T00:00:00Z", 3600 },
        { "Europe/Berlin", "2037-10-25T00:59:59Z", 7200 },
        { "Europe/Berlin", "2037-10-25T01:00:00Z", 3600 },
        { "Europe/Berlin", "2038-03-28T00:59:59Z", 3600 },
        { "Europe/Berlin", "2038-03-28T01:00:00Z", 7200 },
        { "Europe/Berlin", "2050-03-27T00:59:59Z", 3600 },
        { "Europe/Berlin", "2050-03-27T01:00:00Z", 7200 },
        { "Europe/Berlin", "2050-10-30T00:59:59Z", 7200 },
        { "Europe/Berlin", "2050-10-30T01:00:00Z", 3600 },
        { "Europe/Berlin", "2400-07-01T00:00:00Z", 7200 },
        { "America/New_York", "2026-03-08T06:59:59Z", -18000 },
        { "America/New_York", "2026-03-08T07:00:00Z", -14400 },
        { "America/New_York", "2026-11-01T05:59:59Z", -14400 },
        { "America/New_York", "2026-11-01T06:00:00Z", -18000 },
        { "America/New_York", "1974-01-06T07:00:00Z", -14400 },
        { "America/New_York", "1883-11-18T16:00:00Z", -17762 },
        { "America/New_York", "2050-03-13T06:59:59Z", -18000 },
        { "America/New_York", "2050-03-13T07:00:00Z", -14400 },
        { "America/New_York", "2050-11-06T05:59:59Z", -14400 },
        { "America/New_York", "2050-11-06T06:00:00Z", -18000 },
        { "America/New_York", "2007-03-12T00:00:00Z", -14400 },
        { "America/New_York", "2006-03-12T12:00:00Z", -18000 },
        { "Australia/Lord_Howe", "2026-04-04T14:59:59Z", 39600 },
        { "Australia/Lord_Howe", "2026-04-04T15:00:00Z", 37800 },
        { "Australia/Lord_Howe", "2026-10-03T15:29:59Z", 37800 },
        { "Australia/Lord_Howe", "2026-10-03T15:30:00Z", 39600 },
        { "Australia/Lord_Howe", "2050-01-01T00:00:00Z", 39600 },
        { "Australia/Lord_Howe", "2050-07-01T00:00:00Z", 37800 },
        { "Asia/Tokyo", "2026-01-01T00:00:00Z", 32400 },
        { "Asia/Tokyo", "2026-07-01T00:00:00Z", 32400 },
        { "Asia/Tokyo", "2050-07-01T00:00:00Z", 32400 },
        { "Asia/Tokyo", "1949-07-01T00:00:00Z", 36000 },
        { "America/Sao_Paulo", "2018-11-04T02:59:59Z", -10800 },
        { "America/Sao_Paulo", "2018-11-04T03:00:00Z", -7200 },
        { "America/Sao_Paulo", "2019-02-17T01:59:59Z", -7200 },
        { "America/Sao_Paulo", "2019-02-17T02:00:00Z", -10800 },
        { "America/Sao_Paulo", "2019-12-01T00:00:00Z", -10800 },
        { "America/Sao_Paulo", "2050-12-01T00:00:00Z", -10800 },
        { "Europe/Dublin", "2026-01-01T00:00:00Z", 0 },
        { "Europe/Dublin", "2026-07-01T00:00:00Z", 3600 },
        { "Europe/Dublin", "2050-01-01T00:00:00Z", 0 },
        { "Europe/Dublin", "2050-07-01T00:00:00Z", 3600 },
        { "Asia/Kolkata", "2026-07-01T00:00:00Z", 19800 },
        { "Asia/Kathmandu", "1985-12-31T00:00:00Z", 19800 },
        { "Asia/Kathmandu", "2026-07-01T00:00:00Z", 20700 },
        { "Pacific/Apia", "2011-12-30T09:59:59Z", -36000 },
        { "Pacific/Apia", "2011-12-30T10:00:00Z", 50400 },
        { "Pacific/Apia", "2050-01-01T00:00:00Z", 46800 },
        { "Pacific/Chatham", "2026-01-01T00:00:00Z", 49500 },
        { "Pacific/Chatham", "2026-07-01T00:00:00Z", 45900 },
        { "Pacific/Chatham", "2050-01-01T00:00:00Z", 49500 },
        { "America/Nuuk", "2050-01-01T00:00:00Z", -7200 },
        { "America/Nuuk", "2050-07-01T00:00:00Z", -3600 },
        { "America/Santiago", "2050-01-01T00:00:00Z", -10800 },
        { "America/Santiago", "2050-07-01T00:00:00Z", -14400 },
        { "Africa/Monrovia", "1971-12-31T00:00:00Z", -2670 },
        { "Africa/Monrovia", "1972-01-08T00:00:00Z", 0 },
        { "Asia/Tehran", "2022-07-01T00:00:00Z", 16200 },
        { "Asia/Tehran", "2026-07-01T00:00:00Z", 12600 },
        { "Etc/GMT+5", "2026-07-01T00:00:00Z", -18000 },
        { "Etc/GMT-14", "2026-07-01T00:00:00Z", 50400 },
        { "EST5EDT", "2050-07-01T00:00:00Z", -14400 },
        { "UTC", "2026-07-01T00:00:00Z", 0 },
        { "Etc/UTC", "2026-07-01T00:00:00Z", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z = load(rows[i].zone);
        int offset_s = zone_offset_s(z, instant(rows[i].at));

        if (offset_s != rows[i].offset_s)
            fail_msg("%s at %s: %d", rows[i].zone, rows[i].at, offset_s);
        zone_free(z);
    }
}

static void a_span_reaches_from_one_change_to_the_next(void **state)
{
    static const struct {
        const char *zone, *at, *from, *until;
        int offset_s;
    } rows[] = {
        { "Europe/Berlin", "2026-05-01T00:00:00Z", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z",
          7200 },
        { "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z",
          7200 },
        { "Europe/Berlin", "2026-03-29T00:59:59Z", "2025-10-26T01:00:00Z", "2026-03-29T01:00:00Z",
          3600 },
        { "Europe/Berlin", "2037-12-01T00:00:00Z", "2037-10-25T01:00:00Z", "2038-03-28T01:00:00Z",
          3600 },
        { "Europe/Berlin", "2050-05-01T00:00:00Z", "2050-03-27T01:00:00Z", "2050-10-30T01:00:00Z",
          7200 },
        { "America/New_York", "2051-01-01T00:00:00Z", "2050-11-06T06:00:00Z",
          "2051-03-12T07:00:00Z", -18000 },
        { "Australia/Lord_Howe", "2050-01-01T00:00:00Z", "2049-10-02T15:30:00Z",
          "2050-04-02T15:00:00Z", 39600 },
        { "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2012-03-31T14:00:00Z",
          50400 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z = load(rows[i].zone);
        struct zone_span s = zone_span(z, instant(rows[i].at));

        if (s.from_s != instant(rows[i].from) || s.until_s != instant(rows[i].until) ||
            s.offset_s != rows[i].offset_s)
            fail_msg("row %zu: %lld %lld %d", i, (long long)s.from_s, (long long)s.until_s,
                     s.offset_s);
        zone_free(z);
    }
}

/* Spans tile all of time: each holds its instant, and its neighbours touch it. */
static void check_tiles(const char *name, const struct zone *z)
{
    static const int64_t far[] = { INT64_MIN, -ZONE_ALWAYS, -1, 0, ZONE_ALWAYS, INT64_MAX };
    int64_t at = INT64_C(-6000000000);
    int n = 0;

    for (; at < INT64_C(6000000000); n++) {
        struct zone_span s = zone_span(z, at), same = zone_span(z, s.from_s);

        if (s.from_s > at || s.until_s <= at || n > 10000 ||
            zone_span(z, s.until_s - 1).offset_s != s.offset_s || same.until_s != s.until_s)
            fail_msg("%s at %lld", name, (long long)at);
        at = s.until_s;
    }
    for (size_t i = 0; i < COUNT(far); i++)
        if (zone_offset_s(z, far[i]) <= -ZONE_REACH_S || zone_offset_s(z, far[i]) >= ZONE_REACH_S)
            fail_msg("%s far away", name);
}

static void every_zone_that_tzdata_lists_is_read(void **state)
{
    FILE *list = fopen("/usr/share/zoneinfo/zone1970.tab", "re");
    char line[512], name[128];
    int n = 0;

    (void)state;
    if (!list)
        skip();
    while (fgets(line, sizeof(line), list)) {
        struct zone *z;

        if (*line == '#' || sscanf(line, "%*s %*s %127s", name) != 1)
            continue;
        z = load(name);
        check_tiles(name, z);
        zone_free(z);
        n++;
    }
    fclose(list);
    assert_true(n > 250);
}

static void only_names_of_zones_are_looked_for(void **state)
{
    static const struct {
        const char *name;
        enum err e;
    } rows[] = {
        { "", ERR_VALIDATION },
        { "/etc/passwd", ERR_VALIDATION },
        { "../../../etc/passwd", ERR_VALIDATION },
        { "Europe/../Europe/Berlin", ERR_VALIDATION },
        { "Europe/./Berlin", ERR_VALIDATION },
        { "Europe//Berlin", ERR_VALIDATION },
        { "Europe/", ERR_VALIDATION },
        { "Europe/Ber lin", ERR_VALIDATION },
        { "Europe/Berlin\n", ERR_VALIDATION },
        { "Europe\\Berlin", ERR_VALIDATION },
        { "Europe/M\xc3\xbcnchen", ERR_VALIDATION },
        { "tzdata.zi", ERR_VALIDATION },
        { "localtime", ERR_VALIDATION },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ERR_VALIDATION },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ERR_NOT_FOUND },
        { "Europe/Atlantis", ERR_NOT_FOUND },
        { "europe/berlin", ERR_NOT_FOUND },
        { "Europe/Berlin/Mitte", ERR_NOT_FOUND },
        { "Europe", ERR_NOT_FOUND },              /* a directory */
        { "leapseconds", ERR_NOT_FOUND },         /* a text */
        { "right/Europe/Berlin", ERR_NOT_FOUND }, /* counts leap seconds, where it exists */
    };
    struct zone *z = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (zone_load(str_of(rows[i].name), &z) != rows[i].e || z)
            fail_msg("%s", rows[i].name);
    assert_int_equal(zone_load((struct str){ "UTC\0x", 5 }, &z), ERR_VALIDATION);
    assert_null(zone_free(NULL));
}

/* --- files by hand --- */

enum { HEAD_1 = 0, HEAD_2 = 44 + 7, DATA_2 = HEAD_2 + 44 };

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

/* Two changes, at 1000 to +1 h and at 2000 back to 0, then the footer. */
static void put_file(struct buf *b, const char *footer)
{
    buf_init(b, 1 << 16);
    put_head(b, 0, 1);
    buf_add(b, S("\0\0\0\0\0\0\0"));
    put_head(b, 2, 2);
    put_be(b, 1000, 8);
    put_be(b, 2000, 8);
    buf_add(b, S("\1\0"));
    put_be(b, 0, 4);
    put_be(b, 0, 2);
    put_be(b, 3600, 4);
    put_be(b, 256, 2);
    buf_char(b, '\0');
    buf_fmt(b, "\n%s\n", footer);
}

static void a_file_is_read_by_its_64_bit_half(void **state)
{
    static const struct zone_span spans[] = { { -ZONE_ALWAYS, 1000, 0 },
                                              { 1000, 2000, 3600 },
                                              { 2000, ZONE_ALWAYS, -1800 } };
    struct zone *z;
    struct buf b;

    (void)state;
    put_file(&b, "<-0030>0:30");
    assert_int_equal(zone_read(buf_str(&b), &z), OK);
    for (size_t i = 0; i < COUNT(spans); i++) {
        struct zone_span s = zone_span(z, spans[i].until_s - 1);

        assert_int_equal(s.from_s, spans[i].from_s);
        assert_int_equal(s.until_s, spans[i].until_s);
        assert_int_equal(s.offset_s, spans[i].offset_s);
    }
    zone_free(z);
    buf_release(&b);
}

static void footers_rule_what_the_table_does_not(void **state)
{
    static const struct {
        const char *why, *footer, *at;
        int offset_s;
    } rows[] = {
        { "no footer: the last change holds", "", "2050-07-01T00:00:00Z", 0 },
        { "no daylight saving", "JST-9", "2050-07-01T00:00:00Z", 32400 },
        { "west is plus", "EST5", "2050-07-01T00:00:00Z", -18000 },
        { "a plus may be written", "<-05>+5", "2050-07-01T00:00:00Z", -18000 },
        { "minutes and seconds", "LMT-0:53:28", "2050-07-01T00:00:00Z", 3208 },
        { "the default is 02:00", "EST5EDT,M3.2.0,M11.1.0", "2050-03-13T06:59:59Z", -18000 },
        { "and one hour", "EST5EDT,M3.2.0,M11.1.0", "2050-03-13T07:00:00Z", -14400 },
        { "the end is in summer time", "EST5EDT,M3.2.0,M11.1.0", "2050-11-06T06:00:00Z", -18000 },
        { "week 5 is the last of four", "CET-1CEST,M2.5.0,M10.5.0/3", "2050-02-27T01:00:00Z",
          7200 },
        { "week 5 is the last of five", "CET-1CEST,M1.5.0,M10.5.0/3", "2050-01-30T00:59:59Z",
          3600 },
        { "another shift than an hour", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
          "2050-01-01T00:00:00Z", 39600 },
        { "south: the year begins in summer", "NZST-12NZDT,M9.5.0,M4.1.0/3", "2050-01-01T00:00:00Z",
          46800 },
        { "winter time is the special one", "IST-1GMT0,M10.5.0,M3.5.0/1", "2050-01-01T00:00:00Z",
          0 },
        { "negative times", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-03-27T00:59:59Z", -7200 },
        { "negative times, one second on", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
          "2050-03-27T01:00:00Z", -3600 },
        { "times beyond a day", "EET-2EEST,M3.4.4/50,M10.4.4/50", "2050-03-26T00:00:00Z", 10800 },
        { "J60 is March 1 in a leap year", "AAA0BBB,J60/0,J300/0", "2048-02-29T23:59:59Z", 0 },
        { "J60 has begun", "AAA0BBB,J60/0,J300/0", "2048-03-01T00:00:00Z", 3600 },
        { "59 is February 29", "AAA0BBB,59/0,300/0", "2048-02-29T00:00:00Z", 3600 },
        { "59 is March 1 in other years", "AAA0BBB,59/0,300/0", "2049-03-01T00:00:00Z", 3600 },
        { "summer all the year", "EST5EDT,0/0,J365/25", "2050-01-01T05:00:00Z", -14400 },
        { "summer all the year, before", "EST5EDT,0/0,J365/25", "2050-01-01T04:59:59Z", -14400 },
        { "a rule a week off its day", "AAA0BBB,J1/-167,J365/167", "2050-01-03T00:00:00Z", 3600 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z;
        struct buf b;

        put_file(&b, rows[i].footer);
        if (zone_read(buf_str(&b), &z) || zone_offset_s(z, instant(rows[i].at)) != rows[i].offset_s)
            fail_msg("%s", rows[i].why);
        check_tiles(rows[i].footer, z);
        zone_free(z);
        buf_release(&b);
    }
}

static void footers_that_are_none_are_refused(void **state)
{
    static const char *const rows[] = {
        "5",
        "A5",
        "AB5",
        "EST",
        "EST25",
        "EST5:60",
        "EST5:",
        "EST5:00:60",
        "EST5EDT",
        "EST5EDT4",
        "<EST5",
        "<E.T>5",
        "EST5EDT,",
        "EST5EDT,M3.2.0",
        "EST5EDT,M3.2.0,",
        "EST5 ",
        " EST5",
        "EST--5",
        "EST+-5",
        "EST5EDT,M0.2.0,M11.1.0",
        "EST5EDT,M13.2.0,M11.1.0",
        "EST5EDT,M3.0.0,M11.1.0",
        "EST5EDT,M3.6.0,M11.1.0",
        "EST5EDT,M3.2.7,M11.1.0",
        "EST5EDT,M3.2,M11.1.0",
        "EST5EDT,J0,J10",
        "EST5EDT,J366,J10",
        "EST5EDT,366,10",
        "EST5EDT,J1/168,J10",
        "EST5EDT,J1/,J10",
        "EST5EDT,J1,J10,J20",
        "EST5EDT4x,J1,J10",
        "EST5EDT,J1/0001,J10",
        ":America/New_York",
    };
    struct zone *z = NULL;
    struct buf b;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        put_file(&b, rows[i]);
        if (zone_read(buf_str(&b), &z) != ERR_VALIDATION || z)
            fail_msg("%s", rows[i]);
        buf_release(&b);
    }
}

static void damaged_files_are_refused(void **state)
{
    static const struct {
        const char *why;
        size_t at;
        struct str bytes;
    } rows[] = {
        { "not the magic", HEAD_1, S("TZig") },
        { "not the magic again", HEAD_2, S("TZig") },
        { "version 1 only", HEAD_1 + 4, S("\0") },
        { "more times than bytes", HEAD_1 + 32, S("\xff\xff\xff\xff") },
        { "more types than bytes", HEAD_1 + 36, S("\xff\xff\xff\xff") },
        { "more names than bytes", HEAD_1 + 40, S("\xff\xff\xff\xff") },
        { "more of everything", HEAD_2 + 20,
          S("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") },
        { "a leap second", HEAD_2 + 28, S("\0\0\0\1") },
        { "no type", HEAD_2 + 36, S("\0\0\0\0") },
        { "times in a row", DATA_2 + 8, S("\0\0\0\0\0\0\x03\xe8") },
        { "times that go back", DATA_2 + 8, S("\0\0\0\0\0\0\x03\xe7") },
        { "before the Big Bang", DATA_2, S("\x80") },
        { "after everything", DATA_2 + 8, S("\x7f") },
        { "a type that is not there", DATA_2 + 16, S("\2") },
        { "26 hours east", DATA_2 + 24, S("\0\x01\x6d\xa0") },
        { "25 hours west", DATA_2 + 18, S("\xff\xfe\xa0\x70") },
        { "an offset that has no negative", DATA_2 + 18, S("\x80\0\0\0") },
        { "no line before the footer", DATA_2 + 31, S(" ") },
    };
    struct zone *z = NULL;
    struct buf b;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        put_file(&b, "UTC0");
        memcpy(b.p + rows[i].at, rows[i].bytes.p, rows[i].bytes.n);
        if (zone_read(buf_str(&b), &z) != ERR_VALIDATION || z)
            fail_msg("%s", rows[i].why);
        buf_release(&b);
    }
    put_file(&b, "UTC0");
    while (b.n) {
        b.n--;
        assert_int_equal(zone_read(buf_str(&b), &z), ERR_VALIDATION);
    }
    buf_release(&b);
}

static void a_file_over_the_limit_is_refused(void **state)
{
    struct zone *z = NULL;
    struct buf b;

    (void)state;
    buf_init(&b, 2 * LIMIT_ZONE_FILE);
    put_head(&b, 0, 1);
    buf_add(&b, S("\0\0\0\0\0\0\0"));
    put_head(&b, 0, 1);
    buf_add(&b, S("\0\0\0\0\0\0\0\n\n"));
    assert_int_equal(zone_read(buf_str(&b), &z), OK);
    z = zone_free(z);
    while (b.n <= LIMIT_ZONE_FILE)
        buf_char(&b, '\n');
    assert_int_equal(zone_read(buf_str(&b), &z), ERR_VALIDATION);
    buf_release(&b);
}

/* Whatever a byte becomes, the file is refused or its spans are sane. */
static void no_byte_of_a_file_can_do_harm(void **state)
{
    static const unsigned char values[] = { 0, 1, 0x0a, 0x2d, 0x39, 0x4d, 0x7f, 0x80, 0xff };
    size_t taken = 0;
    struct buf b;

    (void)state;
    put_file(&b, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t i = 0; i < b.n; i++)
        for (size_t v = 0; v < COUNT(values); v++) {
            char was = b.p[i];
            struct zone *z;

            b.p[i] = (char)values[v];
            if (!zone_read(buf_str(&b), &z)) {
                check_tiles("a changed file", z);
                zone_free(z);
                taken++;
            }
            b.p[i] = was;
        }
    assert_true(taken > 0);
    buf_release(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(offsets_are_those_of_the_world),
        TEST(a_span_reaches_from_one_change_to_the_next),
        TEST(every_zone_that_tzdata_lists_is_read),
        TEST(only_names_of_zones_are_looked_for),
        TEST(a_file_is_read_by_its_64_bit_half),
        TEST(footers_rule_what_the_table_does_not),
        TEST(footers_that_are_none_are_refused),
        TEST(damaged_files_are_refused),
        TEST(a_file_over_the_limit_is_refused),
        TEST(no_byte_of_a_file_can_do_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
