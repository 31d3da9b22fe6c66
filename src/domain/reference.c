/* reference.c - a text is read as groups of digits; each run of adjacent groups that joins to the
 * right length is tried as a reference, or as one with a typing mistake. */
#include "domain/reference.h"

#include <assert.h>
#include <string.h>

enum { GROUPS = 24, GROUP_DIGITS = 16, WINDOW = REFERENCE_TEXT + 1 };

/* --- the check digit --- */

/* H. M. Damm's quasigroup of order 10: totally anti-symmetric, with zeros in its diagonal. */
static const unsigned char damm[10][10] = {
    { 0, 3, 1, 7, 5, 9, 8, 6, 4, 2 }, { 7, 0, 9, 2, 1, 5, 4, 8, 6, 3 },
    { 4, 2, 0, 6, 8, 7, 1, 3, 5, 9 }, { 1, 7, 5, 0, 9, 8, 3, 4, 2, 6 },
    { 6, 1, 2, 3, 0, 4, 5, 9, 7, 8 }, { 3, 6, 7, 4, 2, 0, 9, 5, 8, 1 },
    { 5, 8, 6, 9, 7, 2, 0, 1, 3, 4 }, { 8, 9, 4, 5, 3, 6, 2, 0, 1, 7 },
    { 9, 4, 3, 8, 6, 1, 7, 2, 0, 5 }, { 2, 5, 8, 1, 4, 3, 6, 7, 9, 0 },
};

static unsigned check_of(const char *digits, size_t n)
{
    unsigned state = 0;

    for (size_t i = 0; i < n; i++)
        state = damm[state][digits[i] - '0'];
    return state;
}

struct reference reference_make(uint64_t number)
{
    struct reference r = { { 0 } };

    assert(number < REFERENCE_COUNT);
    number += REFERENCE_COUNT / 9; /* the first digit is 1 to 9 */
    for (int i = REFERENCE_TEXT - 1; i-- > 0; number /= 10)
        r.text[i] = (char)('0' + number % 10);
    r.text[REFERENCE_TEXT - 1] = (char)('0' + check_of(r.text, REFERENCE_TEXT - 1));
    return r;
}

bool reference_is(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n == REFERENCE_TEXT && s.p[0] != '0' && !check_of(s.p, s.n);
}

/* --- digits in a text --- */

struct digit_group {
    char digits[GROUP_DIGITS];
    size_t n;    /* may exceed GROUP_DIGITS: then too long to be used */
    bool joined; /* only blanks, dashes or dots separate it from the group before */
};

struct digit_groups {
    struct digit_group all[GROUPS];
    size_t count;
};

/* The number of bytes of the first character. *ret_digit: the digit's value, or -1. */
static size_t read_char(struct str s, int *ret_digit)
{
    unsigned char c = (unsigned char)s.p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    *ret_digit = -1;
    if (c >= '0' && c <= '9')
        *ret_digit = c - '0';
    if (s.n >= 3 && memcmp(s.p, "\xef\xbc", 2) == 0 && (unsigned char)s.p[2] >= 0x90 &&
        (unsigned char)s.p[2] <= 0x99) /* full-width */
        *ret_digit = (unsigned char)s.p[2] - 0x90;
    return n < s.n ? n : s.n;
}

static bool is_joint(struct str one)
{
    static const char *const joints[] = { " ",      "-",      ".",      "\u3000", "\uff0d",
                                          "\u2212", "\u2010", "\u2011", "\u2012", "\u2013",
                                          "\u2014", "\u2015", "\u30fc", "\uff70", "\uff0e" };

    for (size_t i = 0; i < COUNT(joints); i++)
        if (str_eq(one, str_of(joints[i])))
            return true;
    return false;
}

static void add_digit(struct digit_groups *g, int digit, bool starts, bool joined)
{
    struct digit_group *last;

    if (starts && g->count < GROUPS)
        g->all[g->count++] = (struct digit_group){ .joined = joined };
    else if (starts)
        return;
    last = &g->all[g->count - 1];
    if (last->n < GROUP_DIGITS)
        last->digits[last->n] = (char)('0' + digit);
    last->n++;
}

static void read_groups(struct str text, struct digit_groups *ret_groups)
{
    bool within = false, joined = false;

    ret_groups->count = 0;
    while (text.n) {
        int digit;
        struct str one = { text.p, read_char(text, &digit) };

        if (digit >= 0) {
            add_digit(ret_groups, digit, !within, joined);
            within = true;
            joined = true;
        } else {
            within = false;
            joined = joined && is_joint(one);
        }
        text = (struct str){ text.p + one.n, text.n - one.n };
    }
}

/* Calls `each` for every run of joined groups with at most WINDOW digits. */
static void each_window(struct str text, void (*each)(void *ctx, struct str digits), void *ctx)
{
    struct digit_groups g;

    read_groups(text, &g);
    for (size_t i = 0; i < g.count; i++) {
        char digits[WINDOW];
        size_t n = 0;

        for (size_t j = i; j < g.count && (j == i || g.all[j].joined); j++) {
            if (n + g.all[j].n > WINDOW)
                break;
            memcpy(digits + n, g.all[j].digits, g.all[j].n);
            n += g.all[j].n;
            each(ctx, (struct str){ digits, n });
        }
    }
}

/* --- valid references --- */

struct reference_list {
    struct reference *all;
    size_t count, max;
};

static void reference_add(struct reference_list *l, struct str digits)
{
    if (!reference_is(digits) || l->count == l->max)
        return;
    for (size_t i = 0; i < l->count; i++)
        if (memcmp(l->all[i].text, digits.p, REFERENCE_TEXT) == 0)
            return;
    l->all[l->count] = (struct reference){ { 0 } };
    memcpy(l->all[l->count++].text, digits.p, REFERENCE_TEXT);
}

static void add_window(void *ctx, struct str digits)
{
    reference_add(ctx, digits);
}

size_t reference_find(struct str text, struct reference ret_found[REFERENCES_FOUND])
{
    struct reference_list l = { .all = ret_found, .max = REFERENCES_FOUND };

    each_window(text, add_window, &l);
    return l.count;
}

/* --- typing mistakes --- */

static void add_wrong_digit(struct reference_list *l, struct str s)
{
    char text[REFERENCE_TEXT];

    for (size_t i = 0; i < s.n; i++)
        for (int c = '0'; c <= '9'; c++) {
            memcpy(text, s.p, s.n);
            text[i] = (char)c;
            if (c != s.p[i])
                reference_add(l, (struct str){ text, s.n });
        }
}

static void add_swapped(struct reference_list *l, struct str s)
{
    char text[REFERENCE_TEXT];

    for (size_t i = 0; i + 1 < s.n; i++) {
        memcpy(text, s.p, s.n);
        text[i] = s.p[i + 1];
        text[i + 1] = s.p[i];
        reference_add(l, (struct str){ text, s.n });
    }
}

static void add_missing_digit(struct reference_list *l, struct str s)
{
    char text[REFERENCE_TEXT];

    for (size_t i = 0; i <= s.n; i++)
        for (int c = '0'; c <= '9'; c++) {
            memcpy(text, s.p, i);
            text[i] = (char)c;
            memcpy(text + i + 1, s.p + i, s.n - i);
            reference_add(l, (struct str){ text, REFERENCE_TEXT });
        }
}

static void add_extra_digit(struct reference_list *l, struct str s)
{
    char text[REFERENCE_TEXT];

    for (size_t i = 0; i < s.n; i++) {
        memcpy(text, s.p, i);
        memcpy(text + i, s.p + i + 1, s.n - i - 1);
        reference_add(l, (struct str){ text, REFERENCE_TEXT });
    }
}

static void add_near(void *ctx, struct str digits)
{
    if (digits.n == REFERENCE_TEXT) {
        add_wrong_digit(ctx, digits);
        add_swapped(ctx, digits);
    } else if (digits.n == REFERENCE_TEXT - 1) {
        add_missing_digit(ctx, digits);
    } else if (digits.n == REFERENCE_TEXT + 1) {
        add_extra_digit(ctx, digits);
    }
}

size_t reference_near(struct str text, struct reference ret_near[REFERENCES_NEAR])
{
    struct reference_list l = { .all = ret_near, .max = REFERENCES_NEAR };

    each_window(text, add_near, &l);
    return l.count;
}
