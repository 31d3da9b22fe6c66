/* bank_value.c - every value is first brought into one spelling (ASCII, "/" for 年 and 月, "-" for
 * the signs of a withdrawal), then parsed strictly. */
#include "domain/bank_value.h"

#include "base/time/civil.h"

#include <string.h>

enum { VALUE_ROOM = 64, AMOUNT_DIGITS = 15, REIWA = 2018, HEISEI = 1988 };

/* --- one spelling --- */

static const struct {
    const char *from, *to;
} spellings[] = {
    { "\u3000", " " },       { "\u00a0", " " },       { "\u00a5", "\\" },
    { "\uffe5", "\\" },      { "\u2212", "-" },       { "\u25b2", "-" },
    { "\u25b3", "-" },       { "\u5186", "Y" },       /* 円 */
    { "\u5e74", "/" },       { "\u6708", "/" },       /* 年, 月 */
    { "\u65e5", " " },                                /* 日 */
    { "\u4ee4\u548c", "R" }, { "\u5e73\u6210", "H" }, /* 令和, 平成 */
    { "\u5143", "1" },                                /* 元 */
};

/* U+FF01 to U+FF5E are the full-width forms of ASCII. */
static bool is_wide(struct str s, char *ret_char)
{
    unsigned code;

    if (s.n < 3 || (unsigned char)s.p[0] != 0xef)
        return false;
    code = ((unsigned char)s.p[1] & 0x3fU) << 6 | ((unsigned char)s.p[2] & 0x3fU);
    if (code < 0xf01 || code > 0xf5e)
        return false;
    *ret_char = (char)(code - 0xf00 + 0x20);
    return true;
}

/* Takes the next character in the one spelling; a character without an ASCII form stays as it
 * is. */
static struct str next_plain(struct str *s, char wide[1], bool words)
{
    unsigned char c = (unsigned char)s->p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    struct str one = { s->p, n < s->n ? n : s->n };

    for (size_t i = 0; words && i < COUNT(spellings); i++)
        if (str_starts(*s, str_of(spellings[i].from))) {
            size_t cut = strlen(spellings[i].from);

            *s = (struct str){ s->p + cut, s->n - cut };
            return str_of(spellings[i].to);
        }
    if (is_wide(*s, wide))
        one = (struct str){ wide, 1 };
    n = one.p == wide ? 3 : one.n;
    *s = (struct str){ s->p + n, s->n - n };
    return one;
}

/* False: the text is longer than any value. */
static bool bank_value_plain(struct str s, char room[VALUE_ROOM], struct str *ret)
{
    size_t n = 0;
    char wide[1];

    while (s.n) {
        struct str one = next_plain(&s, wide, true);

        if (n + one.n > VALUE_ROOM)
            return false;
        memcpy(room + n, one.p, one.n);
        n += one.n;
    }
    *ret = str_trim((struct str){ room, n });
    return true;
}

/* --- amounts --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Commas are optional, but must separate groups of three digits. */
static bool read_whole(struct str s, int64_t *ret_value)
{
    size_t comma = 0, digits = 0;
    int64_t value = 0;
    bool commas = false;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ',' && (commas ? comma == 3 : digits && digits <= 3)) {
            commas = true;
            comma = 0;
        } else if (is_digit(s.p[i]) && digits < AMOUNT_DIGITS) {
            value = value * 10 + (s.p[i] - '0');
            digits++;
            comma++;
        } else {
            return false;
        }
    }
    *ret_value = value;
    return digits && (!commas || comma == 3);
}

/* As many decimals as the currency has; further ones must be 0. */
static bool read_fraction(struct str s, bool there, int digits, int64_t *value)
{
    for (int i = 0; i < digits; i++)
        if (__builtin_mul_overflow(*value, (int64_t)10, value))
            return false;
    if (!there)
        return true;
    for (size_t i = 0; i < s.n; i++) {
        int64_t unit = 1;

        if (!is_digit(s.p[i]) || (i >= (size_t)digits && s.p[i] != '0'))
            return false;
        for (size_t j = i + 1; j < (size_t)digits; j++)
            unit *= 10;
        if (i < (size_t)digits)
            *value += (s.p[i] - '0') * unit;
    }
    return s.n > 0;
}

static struct str bank_value_without(struct str s, size_t front, size_t back)
{
    return str_trim((struct str){ s.p + front, s.n - front - back });
}

bool bank_amount(struct str text, int currency_digits, int64_t *ret_minor)
{
    char room[VALUE_ROOM];
    struct str s, whole;
    bool sign = false, minus = false, point;
    int64_t value;

    if (!bank_value_plain(text, room, &s))
        return false;
    *ret_minor = 0;
    if (!s.n)
        return true;
    for (int i = 0; i < 2; i++) { /* "-¥5" and "¥-5" */
        if (s.n && s.p[0] == '\\')
            s = bank_value_without(s, 1, 0);
        if (s.n && !sign && (s.p[0] == '-' || s.p[0] == '+')) {
            sign = true;
            minus = s.p[0] == '-';
            s = bank_value_without(s, 1, 0);
        }
    }
    if (s.n && s.p[s.n - 1] == 'Y')
        s = bank_value_without(s, 0, 1);
    point = s.n && memchr(s.p, '.', s.n);
    whole = str_cut(&s, '.');
    if (!read_whole(whole, &value) || !read_fraction(s, point, currency_digits, &value) ||
        value > BANK_AMOUNT_MAX)
        return false;
    *ret_minor = minus ? -value : value;
    return true;
}

/* --- dates --- */

/* A time of day, "10:32:05", which is ignored. */
static bool is_time(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]) && s.p[i] != ':')
            return false;
    return s.n <= 8;
}

static bool read_number(struct str s, size_t least, size_t most, int *ret_value)
{
    int value = 0;

    if (s.n < least || s.n > most)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]))
            return false;
        value = value * 10 + (s.p[i] - '0');
    }
    *ret_value = value;
    return true;
}

static bool read_parts(struct str s, int era, int *ret_year, int *ret_month, int *ret_day)
{
    char by = '\0';
    struct str year, month;

    for (size_t i = 0; i < s.n && !by; i++)
        if (!is_digit(s.p[i]))
            by = s.p[i];
    if (!by && !era && s.n == 8) /* 20261116 */
        return read_number((struct str){ s.p, 4 }, 4, 4, ret_year) &&
               read_number((struct str){ s.p + 4, 2 }, 2, 2, ret_month) &&
               read_number((struct str){ s.p + 6, 2 }, 2, 2, ret_day);
    if (!by || !strchr("/-.", by))
        return false;
    year = str_cut(&s, by);
    month = str_cut(&s, by);
    if (!read_number(year, era ? 1 : 4, era ? 2 : 4, ret_year) ||
        !read_number(month, 1, 2, ret_month) || !read_number(s, 1, 2, ret_day))
        return false;
    *ret_year += era;
    return !era || *ret_year > era;
}

bool bank_date(struct str text, int64_t *ret_days)
{
    char room[VALUE_ROOM];
    struct str s, date;
    int era = 0, year, month, day;

    if (!bank_value_plain(text, room, &s) || !s.n)
        return false;
    if (strchr("RrHh", s.p[0])) {
        era = s.p[0] == 'R' || s.p[0] == 'r' ? REIWA : HEISEI;
        s = bank_value_without(s, 1, 0);
    }
    date = str_cut(&s, ' ');
    if (!is_time(str_trim(s)) || !read_parts(date, era, &year, &month, &day))
        return false;
    if (year < 2000 || year > 2099 || month < 1 || month > 12 || day < 1 ||
        day > civil_month_days(year, month))
        return false;
    *ret_days = civil_days(year, month, day);
    return true;
}

/* --- names --- */

static bool is_ornament(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str bank_heading(struct str text, char *room, size_t size)
{
    static const char *const units[] = { "(\u5186)", "[\u5186]", "(jpy)" };
    size_t n = 0;
    char wide[1];

    while (text.n) {
        struct str one;

        if (str_starts(text, S("\u3000"))) {
            text = (struct str){ text.p + 3, text.n - 3 };
            continue;
        }
        one = next_plain(&text, wide, false);
        if (one.n == 1 && is_ornament(one.p[0]))
            continue;
        if (n + one.n > size)
            break;
        memcpy(room + n, one.p, one.n);
        if (one.n == 1 && room[n] >= 'A' && room[n] <= 'Z')
            room[n] = (char)(room[n] - 'A' + 'a');
        n += one.n;
    }
    for (size_t i = 0; i < COUNT(units); i++)
        if (str_ends((struct str){ room, n }, str_of(units[i])))
            n -= strlen(units[i]);
    return (struct str){ room, n };
}

/* U+3041 to U+309F. */
static bool is_hiragana(struct str one)
{
    unsigned char second = one.n == 3 ? (unsigned char)one.p[1] : 0;

    return one.n == 3 && (unsigned char)one.p[0] == 0xe3 && (second == 0x81 || second == 0x82) &&
           !(second == 0x82 && (unsigned char)one.p[2] > 0x9f);
}

static bool is_bracket(struct str one)
{
    static const char *const wide[] = { "【", "】", "〔", "〕", "「", "」", "・" };

    if (one.n == 1)
        return strchr("()[]{}<>_-:", one.p[0]);
    for (size_t i = 0; i < COUNT(wide); i++)
        if (str_eq(one, str_of(wide[i])))
            return true;
    return false;
}

struct str bank_heading_core(struct str text, char *room, size_t size)
{
    struct str rest = bank_heading(text, room, size);
    size_t n = 0;
    char wide[1];

    while (rest.n) { /* in place: the text only gets shorter */
        struct str one = next_plain(&rest, wide, false);

        if (is_hiragana(one) || is_bracket(one))
            continue;
        memmove(room + n, one.p, one.n);
        n += one.n;
    }
    if (str_ends((struct str){ room, n }, S("円")))
        n -= sizeof("円") - 1;
    return (struct str){ room, n };
}

/* Skips words that say how the money was sent and not by whom. */
static bool skip_word(struct str *s)
{
    static const char *const words[] = { "\u632f\u8fbc",             /* 振込 */
                                         "\u30d5\u30ea\u30b3\u30df", /* フリコミ */
                                         "\uff8c\uff98\uff7a\uff90", /* ﾌﾘｺﾐ */
                                         "\u3000" };

    for (size_t i = 0; i < COUNT(words); i++)
        if (str_starts(*s, str_of(words[i]))) {
            *s = (struct str){ s->p + strlen(words[i]), s->n - strlen(words[i]) };
            return true;
        }
    return false;
}

struct str bank_payer(struct str text, char *room, size_t size)
{
    size_t n = 0;
    char wide[1];

    while (text.n) {
        struct str one;
        char c;

        if (skip_word(&text))
            continue;
        one = next_plain(&text, wide, false);
        c = one.p[0];
        if (one.n == 1 && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
            continue;
        if (n + one.n > size)
            break;
        memcpy(room + n, one.p, one.n);
        if (one.n == 1 && c >= 'a')
            room[n] = (char)(c - 'a' + 'A');
        n += one.n;
    }
    return (struct str){ room, n };
}
