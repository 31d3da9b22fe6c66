/* duration.c - one scanner for both notations, each with its table of units. It works in
 * nanoseconds, and every sum is checked for overflow. */
#include "domain/duration.h"

struct duration_unit {
    struct str name;
    int64_t ns;
};

#define MICRO INT64_C(1000)
#define MILLI (1000 * MICRO)
#define SECOND (1000 * MILLI)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct duration_unit qstash_units[] = {
    { S("s"), SECOND }, { S("m"), MINUTE }, { S("h"), HOUR }, { S("d"), DAY }, { { 0 }, 0 },
};
static const struct duration_unit go_units[] = {
    { S("ns"), 1 },
    { S("us"), MICRO },
    { S("\xc2\xb5s"), MICRO }, /* the micro sign */
    { S("\xce\xbcs"), MICRO }, /* the Greek letter */
    { S("ms"), MILLI },        /* before m */
    { S("s"), SECOND },
    { S("m"), MINUTE },
    { S("h"), HOUR },
    { { 0 }, 0 },
};

static struct str rest_of(struct str s, size_t n)
{
    return n ? (struct str){ s.p + n, s.n - n } : s; /* no arithmetic on NULL */
}

static struct str take_digits(struct str *s)
{
    struct str digits = { s->p, 0 };

    while (digits.n < s->n && s->p[digits.n] >= '0' && s->p[digits.n] <= '9')
        digits.n++;
    *s = rest_of(*s, digits.n);
    return digits;
}

struct duration_number {
    struct str whole, fraction; /* digits */
};

static bool take_number(struct str *s, struct duration_number *ret)
{
    *ret = (struct duration_number){ .whole = take_digits(s) };
    if (!ret->whole.n)
        return false;
    if (!s->n || *s->p != '.')
        return true;
    *s = rest_of(*s, 1);
    ret->fraction = take_digits(s);
    return ret->fraction.n > 0;
}

static const struct duration_unit *take_unit(struct str *s, const struct duration_unit *units)
{
    for (const struct duration_unit *u = units; u->ns; u++)
        if (str_starts(*s, u->name)) {
            *s = rest_of(*s, u->name.n);
            return u;
        }
    return NULL;
}

/* Adds the number in its unit; fractions of a nanosecond are cut off. False: the sum overflows. */
static bool duration_add(int64_t *sum_ns, const struct duration_number *n, int64_t unit_ns)
{
    int64_t whole = 0, part = unit_ns;

    for (size_t i = 0; i < n->whole.n; i++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, n->whole.p[i] - '0', &whole))
            return false;
    if (__builtin_mul_overflow(whole, unit_ns, &whole) ||
        __builtin_add_overflow(*sum_ns, whole, sum_ns))
        return false;
    for (size_t i = 0; i < n->fraction.n; i++) {
        part /= 10;
        if (__builtin_add_overflow(*sum_ns, part * (n->fraction.p[i] - '0'), sum_ns))
            return false;
    }
    return true;
}

/* Reads the text to its end even after an overflow: TOO_LONG is only for a well-formed duration. */
static enum duration_result duration_scan(struct str s, const struct duration_unit *units,
                                          enum duration_bare bare, int64_t *ret_ns)
{
    enum duration_result result = DURATION_OK;
    bool first = true;

    *ret_ns = 0;
    do {
        const struct duration_unit *u;
        struct duration_number n;

        if (!take_number(&s, &n))
            return DURATION_BAD;
        u = take_unit(&s, units);
        if (!u && (bare == DURATION_NEEDS_UNIT || !first || s.n))
            return DURATION_BAD;
        if (result == DURATION_OK && !duration_add(ret_ns, &n, u ? u->ns : SECOND))
            result = DURATION_TOO_LONG;
        first = false;
    } while (s.n);
    return result;
}

static enum duration_result duration_parse_units(struct str text, const struct duration_unit *units,
                                                 enum duration_bare bare, int64_t most_ms,
                                                 int64_t *ret_ms)
{
    int64_t ns, ms;
    enum duration_result result = duration_scan(text, units, bare, &ns);

    if (result != DURATION_OK)
        return result;
    ms = ns / MILLI + (ns % MILLI > 0);
    if (ms > most_ms)
        return DURATION_TOO_LONG;
    *ret_ms = ms;
    return DURATION_OK;
}

enum duration_result duration_parse(struct str text, enum duration_bare bare, int64_t most_ms,
                                    int64_t *ret_ms)
{
    return duration_parse_units(text, qstash_units, bare, most_ms, ret_ms);
}

enum duration_result duration_parse_go(struct str text, enum duration_bare bare, int64_t most_ms,
                                       int64_t *ret_ms)
{
    return duration_parse_units(text, go_units, bare, most_ms, ret_ms);
}
