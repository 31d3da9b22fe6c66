/* buf.c - the byte buffer. Its memory doubles up to the limit; once an add has failed, all later
 * adds fail. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t limit)
{
    *b = (struct buf){ .limit = limit };
}

void buf_release(struct buf *b)
{
    free(b->p);
    *b = (struct buf){ .limit = b->limit };
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
}

bool buf_reserve(struct buf *b, size_t more)
{
    size_t need, size;
    char *p;

    if (b->failed)
        return false;
    if (__builtin_add_overflow(b->n, more, &need) || need > b->limit) {
        b->failed = true;
        return false;
    }
    if (need <= b->size)
        return true;
    size = b->size ? b->size : 256;
    while (size < need)
        size *= 2;
    if (size > b->limit)
        size = b->limit;
    p = realloc(b->p, size);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->size = size;
    return true;
}

void buf_add(struct buf *b, struct str s)
{
    if (!s.n || !buf_reserve(b, s.n))
        return;
    memcpy(b->p + b->n, s.p, s.n);
    b->n += s.n;
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, (struct str){ &c, 1 });
}

void buf_i64(struct buf *b, int64_t v)
{
    char digits[24];
    char *p = digits + sizeof(digits);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        *--p = '-';
    buf_add(b, (struct str){ p, (size_t)(digits + sizeof(digits) - p) });
}

void buf_fmt(struct buf *b, const char *format, ...)
{
    va_list args, again;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && buf_reserve(b, (size_t)n + 1)) { /* vsnprintf wants room for its NUL */
        vsnprintf(b->p + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

static void json_escape(struct buf *b, unsigned char c)
{
    switch (c) {
    case '"': buf_add(b, S("\\\"")); break;
    case '\\': buf_add(b, S("\\\\")); break;
    case '\n': buf_add(b, S("\\n")); break;
    case '\r': buf_add(b, S("\\r")); break;
    case '\t': buf_add(b, S("\\t")); break;
    default: buf_fmt(b, "\\u%04x", c);
    }
}

static bool json_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void buf_json(struct buf *b, struct str s)
{
    buf_char(b, '"');
    for (size_t i = 0; i < s.n;) {
        size_t from = i, n = 1;

        while (i < s.n && json_plain((unsigned char)s.p[i]))
            i++;
        buf_add(b, (struct str){ s.p + from, i - from });
        if (i == s.n)
            break;
        if ((unsigned char)s.p[i] < 0x80) {
            json_escape(b, (unsigned char)s.p[i]);
        } else {
            while (n < 4 && i + n < s.n && ((unsigned char)s.p[i + n] & 0xc0) == 0x80)
                n++;
            while (n > 1 && !str_is_utf8((struct str){ s.p + i, n }))
                n--;
            buf_add(b, str_is_utf8((struct str){ s.p + i, n }) ? (struct str){ s.p + i, n }
                                                               : S("\xef\xbf\xbd"));
        }
        i += n;
    }
    buf_char(b, '"');
}

struct str buf_str(const struct buf *b)
{
    return (struct str){ b->p, b->n };
}
