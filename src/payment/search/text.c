/* text.c - normalizes what a person types or pastes to find a payment; pure. */
#include "payment/search/text.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/limits.h"

#include <string.h>

enum { HEX_DIGITS = 32, CHAR_BYTES = 4, FULL_WIDTH = 0xfee0 };

static size_t count_chars(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

bool find_text_fits(struct str typed)
{
    return str_is_utf8(typed) && count_chars(typed) <= LIMIT_FIND_TEXT &&
           !(typed.n && memchr(typed.p, '\0', typed.n));
}

/* --- one character --- */

/* Cuts the first character off well-formed UTF-8. */
static uint32_t utf8_next(struct str *s, struct str *ret_bytes)
{
    unsigned char c = (unsigned char)s->p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t code = n == 1 ? c : c & (0x7fu >> n);

    n = n < s->n ? n : s->n;
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)s->p[i] & 0x3f);
    *ret_bytes = (struct str){ s->p, n };
    *s = (struct str){ s->p + n, s->n - n };
    return code;
}

static bool is_unseen(uint32_t c)
{
    return c == 0xad || c == 0xfeff || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069);
}

static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || c == 0x3000;
}

static bool is_dash(uint32_t c)
{
    return (c >= 0x2010 && c <= 0x2015) || c == 0x2212 || c == 0xff0d;
}

static void add_plain(struct buf *b, uint32_t c, struct str bytes)
{
    if (is_unseen(c))
        return;
    if (is_blank(c))
        buf_char(b, ' ');
    else if (is_dash(c))
        buf_char(b, '-');
    else if (c > 0xff00 && c < 0xff5f)
        buf_char(b, (char)(c - FULL_WIDTH));
    else
        buf_add(b, bytes);
}

/* --- the whole text --- */

static struct str without_quotes(struct str s)
{
    if (s.n >= 2 && s.p[0] == s.p[s.n - 1] && strchr("\"'`", s.p[0]))
        s = (struct str){ s.p + 1, s.n - 2 };
    return str_trim(s);
}

static struct str without_secret(struct str s)
{
    static const char mark[] = "_secret_";
    const char *at = s.n ? memmem(s.p, s.n, mark, sizeof(mark) - 1) : NULL;

    return at ? (struct str){ s.p, (size_t)(at - s.p) } : s;
}

struct str find_text_plain(struct arena *a, struct str typed)
{
    struct buf b;
    struct str plain = { 0 };

    buf_init(&b, (size_t)CHAR_BYTES * LIMIT_FIND_TEXT + 1);
    while (typed.n) {
        struct str bytes;
        uint32_t c = utf8_next(&typed, &bytes);

        add_plain(&b, c, bytes);
    }
    if (!b.failed)
        plain = arena_str(a, without_secret(without_quotes(str_trim(buf_str(&b)))));
    buf_release(&b);
    return plain;
}

bool find_text_uuid(struct str plain, struct uuid *ret_id)
{
    struct uuid id;

    if (plain.n != HEX_DIGITS)
        return uuid_parse(plain, ret_id);
    for (size_t i = 0; i < sizeof(id.b); i++) {
        int high = hex_value(plain.p[2 * i]), low = hex_value(plain.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        id.b[i] = (unsigned char)(high << 4 | low);
    }
    *ret_id = id;
    return true;
}
