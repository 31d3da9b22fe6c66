#include "gateway/stripe/form.h"

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void form_escape(struct buf *b, struct str text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        char escaped[3] = { '%', digits[c >> 4], digits[c & 15] };

        if (is_unreserved(text.p[i]))
            buf_char(b, text.p[i]);
        else
            buf_add(b, (struct str){ escaped, sizeof(escaped) });
    }
}

static void add_next(struct buf *b)
{
    if (b->n && b->p[b->n - 1] != '?')
        buf_char(b, '&');
}

static void add_name(struct buf *b, const char *name)
{
    add_next(b);
    buf_add(b, str_of(name));
    buf_char(b, '=');
}

void form_add(struct buf *b, const char *name, struct str value)
{
    add_name(b, name);
    form_escape(b, value);
}

void form_int(struct buf *b, const char *name, int64_t value)
{
    add_name(b, name);
    buf_i64(b, value);
}

void form_uuid(struct buf *b, const char *name, struct uuid value)
{
    char text[UUID_TEXT + 1];

    uuid_text(value, text);
    form_add(b, name, str_of(text));
}

void form_add_in(struct buf *b, const char *group, const char *name, struct str value)
{
    add_next(b);
    buf_add(b, str_of(group));
    buf_char(b, '[');
    buf_add(b, str_of(name));
    buf_add(b, S("]="));
    form_escape(b, value);
}

void form_uuid_in(struct buf *b, const char *group, const char *name, struct uuid value)
{
    char text[UUID_TEXT + 1];

    uuid_text(value, text);
    form_add_in(b, group, name, str_of(text));
}

static bool begins_char(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

struct str utf8_cut_chars(struct str text, size_t chars)
{
    for (size_t i = 0; i < text.n; i++)
        if (begins_char(text.p[i]) && chars-- == 0)
            return (struct str){ text.p, i };
    return text;
}

struct str utf8_cut_bytes(struct str text, size_t bytes)
{
    if (text.n <= bytes)
        return text;
    while (bytes && !begins_char(text.p[bytes]))
        bytes--;
    return (struct str){ text.p, bytes };
}
