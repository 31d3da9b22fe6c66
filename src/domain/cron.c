/* cron.c - two halves. The first turns the text into bit sets. The second finds the next local time
 * that is in all of them, going by months and days and never by minutes, and the instant at which
 * the zone reaches it. */
#include "domain/cron.h"

#include "base/limits.h"
#include "base/time/civil.h"
#include "base/time/clock.h"
#include "base/time/zone.h"

#include <stdio.h>

/* --- the text --- */

struct cron_field {
    const char *name;
    int least, most, count; /* values that may be written; how many of them differ (0 and 7) */
    const char *names;      /* three letters each; the first stands for `first_name` */
    int first_name;
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct cron_field fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, 60, "", 0 },
    [HOUR] = { "hour", 0, 23, 24, "", 0 },
    [DAY] = { "day of month", 1, 31, 31, "", 0 },
    [MONTH] = { "month", 1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1 },
    [WEEKDAY] = { "day of week", 0, 7, 7, "sunmontuewedthufrisat", 0 },
};

/* A quotation of the input: a few characters, with '?' for those that are not printable. */
struct cron_quoted {
    char text[24];
};

static struct cron_quoted cron_quote(struct str s)
{
    struct cron_quoted q;
    size_t n = s.n < sizeof(q.text) - 4 ? s.n : sizeof(q.text) - 4;

    for (size_t i = 0; i < n; i++)
        q.text[i] = (char)(s.p[i] > ' ' && s.p[i] <= '~' ? s.p[i] : '?');
    snprintf(q.text + n, sizeof(q.text) - n, "%s", n < s.n ? "..." : "");
    return q;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Takes the text up to the next blank, and drops the blanks after it. */
static struct str take_word(struct str *s)
{
    size_t n = 0;
    struct str word;

    while (n < s->n && !is_blank(s->p[n]))
        n++;
    word = (struct str){ s->p, n };
    while (n < s->n && is_blank(s->p[n]))
        n++;
    if (n)
        *s = (struct str){ s->p + n, s->n - n };
    return word;
}

static bool is_number(struct str s, int *ret)
{
    int n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        n = n < 1000 ? n * 10 + (s.p[i] - '0') : n; /* capped: already too large */
    }
    *ret = n;
    return s.n > 0;
}

static bool is_named(const struct cron_field *f, struct str s, int *ret)
{
    struct str names = str_of(f->names);

    for (size_t i = 0; s.n == 3 && i + 3 <= names.n; i += 3)
        if (str_eq_nocase(s, (struct str){ names.p + i, 3 })) {
            *ret = f->first_name + (int)(i / 3);
            return true;
        }
    return false;
}

static bool read_value(const struct cron_field *f, struct str s, int *ret, struct why *why)
{
    if (is_named(f, s, ret))
        return true;
    if (!is_number(s, ret))
        return why_false(why, "%s: \"%s\" is not a number%s", f->name, cron_quote(s).text,
                         *f->names ? " or a name of three letters" : "");
    if (*ret < f->least || *ret > f->most)
        why_set(why, "%s: \"%s\" is not from %d to %d", f->name, cron_quote(s).text, f->least,
                f->most);
    return *ret >= f->least && *ret <= f->most;
}

static bool read_step(const struct cron_field *f, struct str s, int *ret, struct why *why)
{
    if (is_number(s, ret) && *ret >= 1 && *ret <= f->count)
        return true;
    return why_false(why, "%s: the step \"%s\" is not from 1 to %d", f->name, cron_quote(s).text,
                     f->count);
}

static bool read_range(const struct cron_field *f, struct str s, bool stepped, int *ret_from,
                       int *ret_to, struct why *why)
{
    struct str all = s, from = str_cut(&s, '-');
    bool single = from.n == all.n;

    *ret_to = f->least + f->count - 1;
    if (str_eq(all, S("*"))) {
        *ret_from = f->least;
        return true;
    }
    if (!read_value(f, from, ret_from, why))
        return false;
    if (single) {
        *ret_to = stepped && *ret_from < *ret_to ? *ret_to : *ret_from;
        return true;
    }
    if (!read_value(f, s, ret_to, why))
        return false;
    if (f == &fields[WEEKDAY] && *ret_to == 0 && *ret_from > 0)
        *ret_to = 7; /* fri-sun */
    if (*ret_from > *ret_to)
        why_set(why, "%s: the range \"%s\" runs backwards", f->name, cron_quote(all).text);
    return *ret_from <= *ret_to;
}

/* One element of a list: 5, 1-5 or *, each optionally with a step. */
static bool read_part(const struct cron_field *f, struct str s, uint64_t *bits, struct why *why)
{
    struct str whole = s, range = str_cut(&s, '/');
    bool stepped = range.n < whole.n;
    int from, to, step = 1;

    if (!whole.n)
        return why_false(why, "%s: nothing stands before or behind a comma", f->name);
    if (!read_range(f, range, stepped, &from, &to, why) ||
        (stepped && !read_step(f, s, &step, why)))
        return false;
    for (int i = from; i <= to; i += step)
        *bits |= UINT64_C(1) << i;
    return true;
}

static bool read_field(const struct cron_field *f, struct str s, uint64_t *ret_bits,
                       struct why *why)
{
    bool more;

    *ret_bits = 0;
    do {
        size_t n = s.n;
        struct str part = str_cut(&s, ',');

        more = part.n < n;
        if (!read_part(f, part, ret_bits, why))
            return false;
    } while (more);
    return true;
}

/* "@daily" as five fields; any other text stays as it is. */
static struct str spelled_out(struct str s)
{
    static const struct {
        struct str word, text;
    } words[] = {
        { S("@hourly"), S("0 * * * *") },   { S("@daily"), S("0 0 * * *") },
        { S("@midnight"), S("0 0 * * *") }, { S("@weekly"), S("0 0 * * 0") },
        { S("@monthly"), S("0 0 1 * *") },  { S("@yearly"), S("0 0 1 1 *") },
        { S("@annually"), S("0 0 1 1 *") },
    };

    for (size_t i = 0; i < COUNT(words); i++)
        if (str_eq_nocase(s, words[i].word))
            return words[i].text;
    return s;
}

static bool cron_split(struct str s, struct str ret_words[FIELDS], struct why *why)
{
    int n = 0;

    s = spelled_out(s);
    if (s.n && *s.p == '@')
        return why_false(
            why, "\"%s\" is not one of @hourly @daily @midnight @weekly @monthly @yearly @annually",
            cron_quote(s).text);
    while (s.n) {
        struct str word = take_word(&s);

        if (n < FIELDS)
            ret_words[n] = word;
        n++;
    }
    if (n != FIELDS)
        why_set(why, "a cron has five fields (minute hour day-of-month month day-of-week), not %d",
                n);
    return n == FIELDS;
}

/* Takes "CRON_TZ=Europe/Berlin " off the text. */
static bool take_zone(struct str *s, struct str *ret_zone, struct why *why)
{
    struct str rest = *s, word = take_word(&rest);

    *ret_zone = S("UTC");
    if (!str_starts(word, S("CRON_TZ=")) && !str_starts(word, S("TZ=")))
        return true;
    str_cut(&word, '=');
    if (!word.n)
        return why_false(why, "the time zone has no name");
    *ret_zone = word;
    *s = rest;
    return true;
}

static bool begins_with_star(struct str s)
{
    return s.n && *s.p == '*';
}

static struct cron cron_assemble(const uint64_t bits[FIELDS], const struct str words[FIELDS],
                                 struct str zone)
{
    return (struct cron){
        .minutes = bits[MINUTE],
        .hours = (uint32_t)bits[HOUR],
        .days = (uint32_t)bits[DAY],
        .months = (uint32_t)bits[MONTH],
        .weekdays = (uint32_t)((bits[WEEKDAY] | bits[WEEKDAY] >> 7) & 0x7f),
        .either_day = !begins_with_star(words[DAY]) && !begins_with_star(words[WEEKDAY]),
        .real_time = begins_with_star(words[HOUR]) || bits[HOUR] == (1 << 24) - 1,
        .zone = zone,
    };
}

enum err cron_parse(struct str text, struct cron *ret_cron, struct why *why)
{
    uint64_t bits[FIELDS];
    struct str words[FIELDS], zone;

    if (text.n > LIMIT_CRON)
        return why_err(why, ERR_VALIDATION, "a cron has at most %d characters", LIMIT_CRON);
    text = str_trim(text);
    if (!take_zone(&text, &zone, why) || !cron_split(text, words, why))
        return ERR_VALIDATION;
    for (int i = 0; i < FIELDS; i++)
        if (!read_field(&fields[i], words[i], &bits[i], why))
            return ERR_VALIDATION;
    *ret_cron = cron_assemble(bits, words, zone);
    return OK;
}

/* --- local time: seconds since 1970 on the local clock --- */

enum { MINUTE_S = 60, HOUR_MINUTES = 60, DAY_MINUTES = 24 * 60 };
#define NONE INT64_MAX
#define FIRST_S INT64_C(-62135596800) /* the years 1 to 9999 */
#define LAST_S INT64_C(253402300800)

/* Bit n: the n-th of that month matches. */
static uint32_t days_in(const struct cron *c, struct civil month)
{
    int first = civil_weekday(civil_days(month.year, month.month, 1));
    int count = civil_month_days(month.year, month.month);
    uint32_t by_weekday = 0, all;

    if (!(c->months >> month.month & 1))
        return 0;
    for (int day = 1; day <= count; day++)
        by_weekday |= (c->weekdays >> (first + day - 1) % 7 & 1) << day;
    all = c->either_day ? c->days | by_weekday : c->days & by_weekday;
    return all & (uint32_t)((UINT64_C(2) << count) - 1);
}

static int cron_lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

/* The bits from n on. */
static uint64_t cron_from(uint64_t bits, int n)
{
    return bits >> n << n;
}

/* The first minute of a day, at `least` or later; -1: none. */
static int minute_in_day(const struct cron *c, int least)
{
    int hour = least / HOUR_MINUTES;
    uint64_t minutes = cron_from(c->minutes, least % HOUR_MINUTES);

    if (c->hours >> hour & 1 && minutes)
        return hour * HOUR_MINUTES + cron_lowest(minutes);
    if (!cron_from(c->hours, hour + 1))
        return -1;
    return cron_lowest(cron_from(c->hours, hour + 1)) * HOUR_MINUTES + cron_lowest(c->minutes);
}

static void next_month(struct civil *c)
{
    c->year += c->month == 12;
    c->month = c->month % 12 + 1;
    c->day = 1;
}

/* The first matching local time from least_s on and before until_s; NONE: there is none. */
static int64_t next_local(const struct cron *c, int64_t least_s, int64_t until_s)
{
    int64_t minute = floor_div(least_s + MINUTE_S - 1, MINUTE_S);
    struct civil at = civil_of(floor_div(minute, DAY_MINUTES));
    int of_day = (int)floor_mod(minute, DAY_MINUTES);

    for (; civil_days(at.year, at.month, at.day) * DAY_S < until_s; next_month(&at), of_day = 0) {
        for (uint64_t days = cron_from(days_in(c, at), at.day); days; days &= days - 1) {
            int day = cron_lowest(days), found = minute_in_day(c, day == at.day ? of_day : 0);
            int64_t s;

            if (found < 0)
                continue; /* too late on that day */
            s = civil_days(at.year, at.month, day) * DAY_S + (int64_t)found * MINUTE_S;
            return s < until_s ? s : NONE;
        }
    }
    return NONE;
}

/* --- instants --- */

static int64_t next_in_real_time(const struct cron *c, const struct zone *z, int64_t least_s,
                                 int64_t until_s)
{
    while (least_s < until_s) {
        struct zone_span s = zone_span(z, least_s);
        int64_t end_s = s.until_s < until_s ? s.until_s : until_s;
        int64_t local_s = next_local(c, least_s + s.offset_s, end_s + s.offset_s);

        if (local_s != NONE)
            return local_s - s.offset_s;
        least_s = end_s;
    }
    return NONE;
}

/* The latest local time shown up to at_s. After the clock was set back, it is later than the local
 * time now. */
static int64_t latest_shown(const struct zone *z, int64_t at_s)
{
    struct zone_span s = zone_span(z, at_s);
    int64_t latest_s = at_s + s.offset_s;

    while (s.from_s > at_s - 2 * ZONE_REACH_S) {
        int64_t last_s = s.from_s - 1; /* of the span before */

        s = zone_span(z, last_s);
        if (last_s + s.offset_s > latest_s)
            latest_s = last_s + s.offset_s;
    }
    return latest_s;
}

/* The local clock first shows local_s, or a later time, in the first span that ends after it. */
static int64_t next_on_the_wall(const struct cron *c, const struct zone *z, int64_t after_s,
                                int64_t until_s)
{
    int64_t local_s = next_local(c, latest_shown(z, after_s) + 1, until_s);
    struct zone_span s = zone_span(z, after_s);

    if (local_s == NONE)
        return NONE;
    while (local_s >= s.until_s + s.offset_s)
        s = zone_span(z, s.until_s);
    return local_s - s.offset_s > s.from_s ? local_s - s.offset_s : s.from_s;
}

int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_ms)
{
    int64_t after_s = floor_div(after_ms, 1000), until_s, at_s;

    if (after_s >= LAST_S)
        return CLOCK_NEVER;
    if (after_s < FIRST_S)
        after_s = FIRST_S;
    until_s = after_s + LIMIT_CRON_YEARS * INT64_C(366) * DAY_S;
    if (until_s > LAST_S)
        until_s = LAST_S;
    at_s = c->real_time ? next_in_real_time(c, z, after_s + 1, until_s)
                        : next_on_the_wall(c, z, after_s, until_s);
    return at_s == NONE ? CLOCK_NEVER : at_s * 1000;
}
