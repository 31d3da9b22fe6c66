/* header_json.c - headers between the wire (Latin-1 or UTF-8 bytes) and stored JSON (UTF-8). */
#include "qstash/header_json.h"

#include "base/json/escape.h"

#include <string.h>

/* --- bytes and text --- */

static size_t count_high(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (unsigned char)s.p[i] >> 7;
    return n;
}

struct str header_text(struct arena *a, struct str wire)
{
    size_t high = count_high(wire), n = 0;
    char *p;

    if (!high)
        return wire.p ? wire : S("");
    p = arena_alloc(a, wire.n + high, 1);
    if (!p)
        return (struct str){ 0 };
    for (size_t i = 0; i < wire.n; i++) {
        unsigned char c = (unsigned char)wire.p[i];

        if (c >= 0x80)
            p[n++] = (char)(0xc0 | c >> 6);
        p[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
    }
    return (struct str){ p, n };
}

/* In UTF-8 exactly U+0080 to U+00FF begin with C2 or C3. */
static bool is_latin1(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] > 0xc3)
            return false;
    return true;
}

/* A text as bytes of the wire: Latin-1 if it has every character, else UTF-8. */
static struct str header_wire(struct arena *a, struct str text)
{
    size_t n = 0;
    char *p;

    if (!count_high(text) || !is_latin1(text) || !str_is_utf8(text))
        return text.p ? text : S("");
    p = arena_alloc(a, text.n, 1);
    if (!p)
        return (struct str){ 0 };
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        p[n++] = (char)(c < 0x80 ? c : (c & 3) << 6 | (text.p[++i] & 0x3f));
    }
    return (struct str){ p, n };
}

/* --- names --- */

static char header_json_cased(char c, bool first)
{
    if (first && c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    if (!first && c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

struct str header_name(struct arena *a, struct str name)
{
    char *p = NULL;

    for (size_t i = 0; i < name.n; i++) {
        char c = header_json_cased(name.p[i], !i || name.p[i - 1] == '-');

        if (c == name.p[i])
            continue;
        if (!p)
            p = arena_cstr(a, name);
        if (!p)
            return (struct str){ 0 };
        p[i] = c;
    }
    return p ? (struct str){ p, name.n } : name.p ? name : S("");
}

bool header_name_is_valid(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return name.n > 0;
}

/* --- as JSON --- */

static bool came_before(const struct header *h, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (str_eq_nocase(h[i].name, h[at].name))
            return true;
    return false;
}

static void write_values(struct buf *b, const struct header *h, size_t at, size_t n)
{
    buf_char(b, '[');
    buf_json(b, h[at].value);
    for (size_t i = at + 1; i < n; i++)
        if (str_eq_nocase(h[i].name, h[at].name)) {
            buf_char(b, ',');
            buf_json(b, h[i].value);
        }
    buf_char(b, ']');
}

void header_json_write(struct buf *b, const struct header *h, size_t n)
{
    buf_char(b, '{');
    for (size_t i = 0; i < n; i++) {
        if (came_before(h, i))
            continue;
        if (i)
            buf_char(b, ',');
        buf_json(b, h[i].name);
        buf_char(b, ':');
        write_values(b, h, i, n);
    }
    buf_char(b, '}');
}

/* --- and back --- */

struct header_json_reader {
    struct arena *arena;
    struct str rest;
    enum err err;
};

static bool header_json_take(struct header_json_reader *r, char c)
{
    if (!r->rest.n || r->rest.p[0] != c)
        return false;
    r->rest = (struct str){ r->rest.p + 1, r->rest.n - 1 };
    return true;
}

static bool header_json_refuse(struct header_json_reader *r, enum err e)
{
    r->err = r->err ? r->err : e;
    return false;
}

/* The size of a string without its quotes; json begins after the first. json.n: it is invalid. */
static size_t string_size(struct str json, bool *ret_escape)
{
    const char *why;
    size_t n = 0, step = 1;

    *ret_escape = false;
    for (; n < json.n && json.p[n] != '"' && step; n += step) {
        bool escape = json.p[n] == '\\';

        step = escape ? json_escape_size((struct str){ json.p + n, json.n - n }, &why) : 1;
        *ret_escape |= escape;
    }
    return step ? n : json.n;
}

static bool read_string(struct header_json_reader *r, struct str *ret_text)
{
    struct str raw;
    bool escape;

    if (!header_json_take(r, '"'))
        return header_json_refuse(r, ERR_INTERNAL);
    raw = (struct str){ r->rest.p, string_size(r->rest, &escape) };
    if (raw.n == r->rest.n)
        return header_json_refuse(r, ERR_INTERNAL);
    r->rest = (struct str){ raw.p + raw.n + 1, r->rest.n - raw.n - 1 };
    if (escape) {
        char *p = arena_cstr(r->arena, raw);

        if (!p)
            return header_json_refuse(r, ERR_NO_MEMORY);
        raw = (struct str){ p, json_escape_resolve(raw, p) };
    }
    *ret_text = raw;
    return true;
}

static bool read_value(struct header_json_reader *r, struct str name, struct header *ret_header)
{
    struct str text = { 0 };

    if (!read_string(r, &text))
        return false;
    *ret_header = (struct header){ name, header_wire(r->arena, text) };
    return ret_header->value.p || header_json_refuse(r, ERR_NO_MEMORY);
}

/* "Name":["value","another"]; headers has room for all of them. */
static bool read_member(struct header_json_reader *r, struct header *headers, size_t *n)
{
    struct str name = { 0 };

    if (!read_string(r, &name) || !header_json_take(r, ':') || !header_json_take(r, '['))
        return header_json_refuse(r, ERR_INTERNAL);
    do {
        if (!read_value(r, name, &headers[*n]))
            return false;
        ++*n;
    } while (header_json_take(r, ','));
    return header_json_take(r, ']') || header_json_refuse(r, ERR_INTERNAL);
}

/* An upper bound of the number of values: each has two quotes of its own. */
static size_t most_values(struct str json)
{
    size_t quotes = 0;

    for (size_t i = 0; i < json.n; i++)
        quotes += json.p[i] == '"';
    return quotes / 2;
}

static bool read_all(struct header_json_reader *r, struct header *headers, size_t *n)
{
    if (!header_json_take(r, '{'))
        return header_json_refuse(r, ERR_INTERNAL);
    if (!header_json_take(r, '}')) {
        do
            if (!read_member(r, headers, n))
                return false;
        while (header_json_take(r, ','));
        if (!header_json_take(r, '}'))
            return header_json_refuse(r, ERR_INTERNAL);
    }
    return !r->rest.n || header_json_refuse(r, ERR_INTERNAL);
}

enum err header_json_read(struct arena *a, struct str json, struct header **ret_headers,
                          size_t *ret_count)
{
    struct header_json_reader r = { .arena = a, .rest = json };
    struct header *headers = NULL;
    size_t n = 0;

    if (json.n) {
        headers = arena_alloc(a, most_values(json), sizeof(*headers));
        if (!headers)
            return ERR_NO_MEMORY;
        if (!read_all(&r, headers, &n))
            return r.err;
    }
    *ret_headers = headers;
    *ret_count = n;
    return OK;
}
