/* zone.c - reads TZif files. Such a file has a block with 32-bit times, which is skipped, the same
 * block with 64-bit times, and a footer: a rule in POSIX's TZ syntax for all times after the last
 * change.
 *
 *     type 0 | change 0 | change 1 | ... | last change, from here the footer
 *
 * Files may be fat (changes up to 2037) or slim (up to the last irregular change); the footer
 * covers the difference. The files belong to the system, but nothing in them is trusted: every
 * count is checked against the size of the file, times must ascend, and offsets must be within RFC
 * 8536. */
#include "base/time/zone.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/time/civil.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE_DIRECTORY "/usr/share/zoneinfo/"

enum { HEAD = 44, TYPE = 6, TYPES_MOST = 256, OFFSET_LEAST = -25 * 3600, RULE_HOURS = 167 };
#define TIME_MOST (INT64_C(1) << 59)   /* RFC 8536: before the Big Bang */
#define CHANGE_MOST (INT64_C(1) << 40) /* no law is made for the year 36,000 */

enum day_kind { DAY_OF_MONTH_WEEK, DAY_WITHOUT_LEAP, DAY_OF_YEAR };

struct rule_day { /* M10.5.0/3, J60, 59 */
    enum day_kind kind;
    int month, week, day, time_s;
};

struct footer {
    bool given, has_dst;
    int std_s, dst_s;
    struct rule_day start, end; /* of daylight-saving time, in the offset before */
};

struct zone_change {
    int64_t at_s;
    int offset_s;
};

struct zone {
    int first_s; /* the offset before the first change */
    struct footer footer;
    size_t count;
    struct zone_change changes[];
};

/* --- the footer: EST5EDT,M3.2.0,M11.1.0/2 --- */

static bool take_char(struct str *s, char c)
{
    if (!s->n || *s->p != c)
        return false;
    *s = (struct str){ s->p + 1, s->n - 1 };
    return true;
}

static bool take_number(struct str *s, int least, int most, int *ret)
{
    int n = 0;
    size_t i;

    for (i = 0; i < s->n && i < 3 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        n = n * 10 + (s->p[i] - '0');
    *s = (struct str){ s->p + i, s->n - i };
    *ret = n;
    return i > 0 && n >= least && n <= most;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips the name of the zone, "CEST" or "<+0330>", which is not used. */
static bool take_name(struct str *s)
{
    bool quoted = take_char(s, '<');
    size_t n = 0;

    while (n < s->n && (is_letter(s->p[n]) ||
                        (quoted && (is_digit(s->p[n]) || s->p[n] == '+' || s->p[n] == '-'))))
        n++;
    *s = (struct str){ s->p + n, s->n - n };
    return n >= 3 && (!quoted || take_char(s, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct str *s, int most_hours, int *ret_s)
{
    int sign = take_char(s, '-') ? -1 : 1, hours, minutes = 0, seconds = 0;

    if (sign > 0)
        take_char(s, '+');
    if (!take_number(s, 0, most_hours, &hours) ||
        (take_char(s, ':') && (!take_number(s, 0, 59, &minutes) ||
                               (take_char(s, ':') && !take_number(s, 0, 59, &seconds)))))
        return false;
    *ret_s = sign * (hours * 3600 + minutes * 60 + seconds);
    return true;
}

static bool take_day(struct str *s, struct rule_day *ret)
{
    if (take_char(s, 'M')) {
        ret->kind = DAY_OF_MONTH_WEEK;
        return take_number(s, 1, 12, &ret->month) && take_char(s, '.') &&
               take_number(s, 1, 5, &ret->week) && take_char(s, '.') &&
               take_number(s, 0, 6, &ret->day);
    }
    ret->kind = take_char(s, 'J') ? DAY_WITHOUT_LEAP : DAY_OF_YEAR;
    return take_number(s, ret->kind == DAY_WITHOUT_LEAP, 365, &ret->day);
}

static bool take_rule(struct str *s, struct rule_day *ret)
{
    ret->time_s = 2 * 3600;
    return take_char(s, ',') && take_day(s, ret) &&
           (!take_char(s, '/') || take_time(s, RULE_HOURS, &ret->time_s));
}

/* The footer counts offsets westward, this module eastward. After an empty footer the last change
 * holds for ever. */
static bool read_footer(struct str s, struct footer *ret)
{
    int west;

    if (!s.n)
        return true;
    ret->given = true;
    if (!take_name(&s) || !take_time(&s, 24, &west))
        return false;
    ret->std_s = -west;
    if (!s.n)
        return true;
    ret->has_dst = true;
    ret->dst_s = ret->std_s + 3600;
    if (!take_name(&s))
        return false;
    if (s.n && *s.p != ',') {
        if (!take_time(&s, 24, &west))
            return false;
        ret->dst_s = -west;
    }
    return take_rule(&s, &ret->start) && take_rule(&s, &ret->end) && !s.n;
}

/* The day in that year, counted from 1970. */
static int64_t day_in(const struct rule_day *r, int64_t year)
{
    int64_t first = civil_days(year, r->kind == DAY_OF_MONTH_WEEK ? r->month : 1, 1);
    int day;

    if (r->kind == DAY_OF_YEAR)
        return first + r->day;
    if (r->kind == DAY_WITHOUT_LEAP)
        return first + r->day - 1 + (r->day >= 60 && civil_is_leap(year));
    day = (r->day - civil_weekday(first) + 7) % 7 + 7 * (r->week - 1);
    while (day >= civil_month_days(year, r->month)) /* week 5 is the last one */
        day -= 7;
    return first + day;
}

static void put_change(struct zone_change *list, size_t n, struct zone_change c)
{
    while (n && list[n - 1].at_s > c.at_s) {
        list[n] = list[n - 1];
        n--;
    }
    list[n] = c; /* after its equals: of two changes at one instant the later rule wins */
}

/* The time of a rule may be up to a week away from its day, so all changes of a year are surely
 * past or future only when that year is two years away. */
static struct zone_span footer_span(const struct footer *f, int64_t at_s)
{
    int64_t year = civil_of(floor_div(at_s, DAY_S)).year;
    struct zone_change list[10];
    size_t n = 0, i = 0;

    if (!f->has_dst)
        return (struct zone_span){ -ZONE_ALWAYS, ZONE_ALWAYS, f->std_s };
    for (int64_t y = year - 2; y <= year + 2; y++) {
        put_change(list, n++,
                   (struct zone_change){ day_in(&f->start, y) * DAY_S + f->start.time_s - f->std_s,
                                         f->dst_s });
        put_change(list, n++,
                   (struct zone_change){ day_in(&f->end, y) * DAY_S + f->end.time_s - f->dst_s,
                                         f->std_s });
    }
    while (i + 2 < n && list[i + 1].at_s <= at_s)
        i++;
    return (struct zone_span){ list[i].at_s, list[i + 1].at_s, list[i].offset_s };
}

/* --- asking --- */

/* How many changes are at or before at_s. */
static size_t changes_until(const struct zone *z, int64_t at_s)
{
    size_t low = 0, high = z->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (z->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct zone_span zone_span(const struct zone *z, int64_t at_s)
{
    size_t n = changes_until(z, at_s);
    struct zone_span s = { -ZONE_ALWAYS, ZONE_ALWAYS, z->first_s };

    if (n) {
        s.from_s = z->changes[n - 1].at_s;
        s.offset_s = z->changes[n - 1].offset_s;
    }
    if (n < z->count) {
        s.until_s = z->changes[n].at_s;
    } else if (z->footer.given) {
        /* Times like 2^59 make no sense, but the sums for them must not overflow. */
        int64_t sane = at_s > TIME_MOST ? TIME_MOST : at_s < -TIME_MOST ? -TIME_MOST : at_s;
        struct zone_span rule = footer_span(&z->footer, sane);

        if (rule.from_s > s.from_s)
            s.from_s = rule.from_s;
        s.until_s = rule.until_s;
        s.offset_s = rule.offset_s;
    }
    return s;
}

int zone_offset_s(const struct zone *z, int64_t at_s)
{
    return zone_span(z, at_s).offset_s;
}

/* --- the file --- */

struct head {
    char version;
    uint32_t isut, isstd, leaps, times, types, chars;
};

static uint32_t zone_be32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static int64_t zone_be64(const char *p)
{
    return (int64_t)((uint64_t)zone_be32(p) << 32 | zone_be32(p + 4));
}

static bool take_bytes(struct str *s, uint64_t n, struct str *ret)
{
    if (s->n < n)
        return false;
    *ret = (struct str){ s->p, (size_t)n };
    *s = (struct str){ s->p + n, s->n - (size_t)n };
    return true;
}

static bool take_head(struct str *s, struct head *ret)
{
    struct str h;

    if (!take_bytes(s, HEAD, &h) || !str_starts(h, S("TZif")))
        return false;
    *ret = (struct head){ h.p[4],
                          zone_be32(h.p + 20),
                          zone_be32(h.p + 24),
                          zone_be32(h.p + 28),
                          zone_be32(h.p + 32),
                          zone_be32(h.p + 36),
                          zone_be32(h.p + 40) };
    return ret->version >= '2';
}

static uint64_t body_size(const struct head *h, uint64_t time_size)
{
    return h->times * (time_size + 1) + (uint64_t)h->types * TYPE + h->chars +
           h->leaps * (time_size + 4) + h->isstd + h->isut;
}

/* Skips the version 1 block and finds the head, the data and the footer of the second block. */
static bool zone_split(struct str file, struct head *ret_head, struct str *ret_data,
                       struct str *ret_footer)
{
    struct str skipped;
    struct head old;

    if (!take_head(&file, &old) || !take_bytes(&file, body_size(&old, 4), &skipped) ||
        !take_head(&file, ret_head) || !take_bytes(&file, body_size(ret_head, 8), ret_data) ||
        !take_char(&file, '\n'))
        return false;
    if (!file.n || !memchr(file.p, '\n', file.n))
        return false;
    *ret_footer = str_cut(&file, '\n');
    return ret_head->types > 0 && ret_head->types <= TYPES_MOST && !ret_head->leaps;
}

static bool offset_of(const struct head *h, struct str data, unsigned type, int *ret_s)
{
    int32_t s;

    if (type >= h->types)
        return false;
    s = (int32_t)zone_be32(data.p + (size_t)h->times * 9 + (size_t)type * TYPE);
    *ret_s = s;
    return s > OFFSET_LEAST && s < ZONE_REACH_S;
}

static bool read_changes(const struct head *h, struct str data, struct zone *z)
{
    int64_t before = -TIME_MOST - 1;

    if (!offset_of(h, data, 0, &z->first_s))
        return false;
    for (size_t i = 0; i < h->times; i++) {
        struct zone_change *c = &z->changes[i];

        c->at_s = zone_be64(data.p + i * 8);
        if (c->at_s <= before || c->at_s > CHANGE_MOST ||
            !offset_of(h, data, (unsigned char)data.p[(size_t)h->times * 8 + i], &c->offset_s))
            return false;
        before = c->at_s;
    }
    z->count = h->times;
    return true;
}

enum err zone_read(struct str tzif, struct zone **ret_zone)
{
    struct head h;
    struct str data, footer;
    struct zone *z;

    if (tzif.n > LIMIT_ZONE_FILE || !zone_split(tzif, &h, &data, &footer))
        return ERR_VALIDATION;
    z = calloc(1, sizeof(*z) + h.times * sizeof(z->changes[0]));
    if (!z)
        return ERR_NO_MEMORY;
    if (!read_changes(&h, data, z) || !read_footer(footer, &z->footer)) {
        zone_free(z);
        return ERR_VALIDATION;
    }
    *ret_zone = z;
    return OK;
}

struct zone *zone_free(struct zone *z)
{
    free(z);
    return NULL;
}

/* --- finding it --- */

/* A name has no dot, so that it cannot leave the directory. "localtime" is refused because it may
 * be another zone on another node. */
static bool is_name(struct str name)
{
    char before = '/';

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!is_letter(c) && !is_digit(c) && c != '_' && c != '+' && c != '-' &&
            (c != '/' || before == '/'))
            return false;
        before = c;
    }
    return before != '/' && name.n <= LIMIT_ZONE_NAME && !str_eq(name, S("localtime"));
}

/* Tells a machine that is short of memory or descriptors from a file that does not exist. */
static enum err why_not(void)
{
    static const int passing[] = { EMFILE, ENFILE, ENOMEM, EAGAIN, EIO };

    for (size_t i = 0; i < COUNT(passing); i++)
        if (errno == passing[i])
            return ERR_OVERLOADED;
    return ERR_NOT_FOUND;
}

static enum err read_all(int fd, struct buf *b)
{
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > LIMIT_ZONE_FILE)
        return ERR_NOT_FOUND;
    if (!buf_reserve(b, (size_t)st.st_size + 1))
        return ERR_NO_MEMORY;
    do {
        n = read(fd, b->p + b->n, (size_t)st.st_size + 1 - b->n);
        if (n > 0)
            b->n += (size_t)n;
    } while ((n > 0 && b->n <= (size_t)st.st_size) || (n < 0 && errno == EINTR));
    return n < 0 ? why_not() : OK;
}

static enum err load_file(const char *path, struct zone **ret_zone)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct buf b;
    enum err e;

    if (fd < 0)
        return why_not();
    buf_init(&b, LIMIT_ZONE_FILE + 1);
    e = read_all(fd, &b);
    close(fd);
    if (!e)
        e = zone_read(buf_str(&b), ret_zone);
    buf_release(&b);
    return e == ERR_VALIDATION ? ERR_NOT_FOUND : e; /* the directory holds other files too */
}

enum err zone_load(struct str name, struct zone **ret_zone)
{
    char path[sizeof(ZONE_DIRECTORY) + LIMIT_ZONE_NAME];

    if (!is_name(name))
        return ERR_VALIDATION;
    if (str_eq(name, S("UTC"))) {
        struct zone *z = calloc(1, sizeof(*z));

        if (z)
            *ret_zone = z;
        return z ? OK : ERR_NO_MEMORY;
    }
    snprintf(path, sizeof(path), ZONE_DIRECTORY STR_FMT, STR_ARG(name));
    return load_file(path, ret_zone);
}
