/* escape.c - checks and resolves the escapes of JSON strings. It allocates nothing. */
#include "base/json/escape.h"

#include "base/hex.h"

#include <string.h>

enum { SIMPLE = 2, UNIT = 6, PAIR = 12 }; /* \n, \u1234, \ud83d\ude00 */

/* The UTF-16 unit of the \uXXXX at p, or -1. */
static int unit_at(const char *p)
{
    int v = 0;

    if (p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < UNIT; i++) {
        int digit = hex_value(p[i]);

        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

static bool is_high_surrogate(int unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

static size_t unicode_size(struct str text, const char **ret_why)
{
    int unit = text.n >= UNIT ? unit_at(text.p) : -1;

    if (unit < 0)
        *ret_why = "\\u needs four hex digits";
    else if (unit == 0)
        *ret_why = "\\u0000 is not allowed";
    else if (is_low_surrogate(unit))
        *ret_why = "a low surrogate stands alone";
    else if (!is_high_surrogate(unit))
        return UNIT;
    else if (text.n >= PAIR && is_low_surrogate(unit_at(text.p + UNIT)))
        return PAIR;
    else
        *ret_why = "a high surrogate stands alone";
    return 0;
}

size_t json_escape_size(struct str text, const char **ret_why)
{
    if (text.n >= SIMPLE && text.p[1] == 'u')
        return unicode_size(text, ret_why);
    if (text.n >= SIMPLE && text.p[1] && strchr("\"\\/bfnrt", text.p[1]))
        return SIMPLE;
    *ret_why = "no such escape";
    return 0;
}

static size_t put_utf8(char *out, int c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (size_t i = n - 1; i; i--) {
        out[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (char)(lead[n] | c);
    return n;
}

/* Writes the character of the \uXXXX (or the pair of them) at p and returns how many bytes it
 * read. */
static size_t resolve_unicode(const char *p, char *out, size_t *n)
{
    int unit = unit_at(p);

    if (!is_high_surrogate(unit)) {
        *n += put_utf8(out + *n, unit);
        return UNIT;
    }
    *n += put_utf8(out + *n, 0x10000 + ((unit - 0xd800) << 10) + (unit_at(p + UNIT) - 0xdc00));
    return PAIR;
}

size_t json_escape_resolve(struct str raw, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;

    for (size_t i = 0; i < raw.n;) {
        if (raw.p[i] != '\\') {
            out[n++] = raw.p[i++];
        } else if (raw.p[i + 1] == 'u') {
            i += resolve_unicode(raw.p + i, out, &n);
        } else {
            out[n++] = to[strchr(from, raw.p[i + 1]) - from];
            i += SIMPLE;
        }
    }
    return n;
}
