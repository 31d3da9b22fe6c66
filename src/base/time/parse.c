/* parse.c - strict readers of RFC 3339 and of the dates of HTTP. A date that does not exist is
 * refused. */
#include "base/time/parse.h"

#include <string.h>
#include <time.h>

enum { HTTP_DATE_MAX = 40 };

/* --- RFC 3339 --- */

/* c, or its lower case where it is a letter: RFC 3339 takes both. */
static bool take_char(struct str *s, char c)
{
    bool letter = c >= 'A' && c <= 'Z';

    if (!s->n || (s->p[0] != c && !(letter && s->p[0] == c + ('a' - 'A'))))
        return false;
    *s = (struct str){ s->p + 1, s->n - 1 };
    return true;
}

static bool take_digits(struct str *s, size_t n, int least, int most, int *ret)
{
    int value = 0;

    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        value = value * 10 + (s->p[i] - '0');
    }
    *s = (struct str){ s->p + n, s->n - n };
    *ret = value;
    return value >= least && value <= most;
}

/* ".123456" -> 123; nothing there is 0. */
static bool take_fraction(struct str *s, int *ret_ms)
{
    int unit = 100;
    size_t n = 0;

    *ret_ms = 0;
    if (!s->n || s->p[0] != '.')
        return true;
    for (n = 1; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++, unit /= 10)
        *ret_ms += (s->p[n] - '0') * unit;
    *s = (struct str){ s->p + n, s->n - n };
    return n > 1;
}

static bool take_offset(struct str *s, int *ret_minutes)
{
    int hours, minutes, sign;

    *ret_minutes = 0;
    if (take_char(s, 'Z'))
        return true;
    sign = take_char(s, '-') ? -1 : take_char(s, '+') ? 1 : 0;
    if (!sign || !take_digits(s, 2, 0, 23, &hours) || !take_char(s, ':') ||
        !take_digits(s, 2, 0, 59, &minutes))
        return false;
    *ret_minutes = sign * (hours * 60 + minutes);
    return true;
}

static int days_in(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

bool time_parse(struct str text, int64_t *ret_ms)
{
    struct tm t = { 0 };
    int year, month, ms, minutes;

    if (!take_digits(&text, 4, 0, 9999, &year) || !take_char(&text, '-') ||
        !take_digits(&text, 2, 1, 12, &month) || !take_char(&text, '-') ||
        !take_digits(&text, 2, 1, days_in(year, month), &t.tm_mday) || !take_char(&text, 'T') ||
        !take_digits(&text, 2, 0, 23, &t.tm_hour) || !take_char(&text, ':') ||
        !take_digits(&text, 2, 0, 59, &t.tm_min) || !take_char(&text, ':') ||
        !take_digits(&text, 2, 0, 60, &t.tm_sec) || !take_fraction(&text, &ms) ||
        !take_offset(&text, &minutes) || text.n)
        return false;
    t.tm_year = year - 1900;
    t.tm_mon = month - 1;
    *ret_ms = ((int64_t)timegm(&t) - (int64_t)minutes * 60) * 1000 + ms;
    return true;
}

/* --- HTTP --- */

bool time_parse_http(struct str text, int64_t *ret_ms)
{
    static const char *const forms[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                         "%a %b %e %H:%M:%S %Y" };
    char copy[HTTP_DATE_MAX];

    if (text.n >= sizeof(copy) || (text.n && memchr(text.p, '\0', text.n)))
        return false;
    memcpy(copy, text.p ? text.p : "", text.n);
    copy[text.n] = '\0';
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct tm t = { 0 };
        const char *end = strptime(copy, forms[i], &t);

        if (!end || *end)
            continue;
        *ret_ms = (int64_t)timegm(&t) * 1000;
        return true;
    }
    return false;
}
