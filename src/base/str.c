/* str.c - functions on borrowed bytes. None of them allocates. */
#include "base/str.h"

#include <string.h>

static int base_str_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

struct str str_of(const char *c)
{
    return c ? (struct str){ c, strlen(c) } : (struct str){ 0 };
}

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (base_str_lower(a.p[i]) != base_str_lower(b.p[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq((struct str){ s.p, prefix.n }, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq((struct str){ s.p + (s.n - suffix.n), suffix.n }, suffix);
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

struct str str_cut(struct str *s, char sep)
{
    const char *at = s->n ? memchr(s->p, sep, s->n) : NULL;
    struct str head = *s;

    if (!at) {
        *s = (struct str){ s->p ? s->p + s->n : NULL, 0 };
        return head;
    }
    head.n = (size_t)(at - s->p);
    s->p = at + 1;
    s->n -= head.n + 1;
    return head;
}

struct str str_trim(struct str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct str){ s.p + 1, s.n - 1 };
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
    bool negative = s.n && s.p[0] == '-';
    size_t first = negative ? 1 : 0;
    int64_t value = 0;

    if (s.n == first || (s.p[first] == '0' && s.n > first + 1))
        return false;
    for (size_t i = first; i < s.n; i++) {
        int digit = s.p[i] - '0';

        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) /* downwards: INT64_MIN fits too */
            return false;
    }
    if (!negative && __builtin_sub_overflow(0, value, &value))
        return false;
    *ret_value = value;
    return true;
}

/* The length of the sequence that begins at p, or 0 where it is malformed (Unicode 15, table 3-7).
 */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n;

    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (left < n)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    if (p[0] == 0xed)
        high = 0x9f;
    if (p[0] == 0xf0)
        low = 0x90;
    if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

bool str_is_utf8(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;

    for (size_t i = 0; i < s.n;) {
        size_t n = utf8_sequence(p + i, s.n - i);

        if (!n)
            return false;
        i += n;
    }
    return true;
}

/* --- distance --- */

enum { NAME_MAX_SIZE = 48 };

/* Keeps only one row of the table in memory. */
size_t str_distance(struct str a, struct str b)
{
    size_t row[NAME_MAX_SIZE + 1];

    if (a.n > NAME_MAX_SIZE || b.n > NAME_MAX_SIZE)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = diagonal + (a.p[i - 1] != b.p[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.n];
}
