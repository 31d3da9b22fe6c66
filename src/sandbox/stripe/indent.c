/* indent.c - compact JSON becomes JSON with line breaks and two spaces a level, as Stripe sends
 * it. */
#include "sandbox/webhook/hooks.h"

#include <string.h>

static void new_line(struct buf *b, int depth)
{
    static const char blanks[] = "                                                                ";
    size_t n = (size_t)depth * 2;

    buf_char(b, '\n');
    buf_add(b, (struct str){ blanks, n < sizeof(blanks) ? n : sizeof(blanks) - 1 });
}

/* The index after the quote that ends the string. A quote after an odd number of backslashes does
 * not end it. */
static size_t string_end(struct str json, size_t i)
{
    for (size_t at = i + 1; at < json.n; at++) {
        const char *quote = memchr(json.p + at, '"', json.n - at), *p = quote;

        if (!quote)
            break;
        while (p[-1] == '\\')
            p--;
        at = (size_t)(quote - json.p);
        if ((quote - p) % 2 == 0)
            return at + 1;
    }
    return json.n;
}

/* A character of a number, true, false or null. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+' ||
           c == 'E';
}

static size_t word_end(struct str json, size_t i)
{
    while (i < json.n && is_word(json.p[i]))
        i++;
    return i;
}

static bool is_empty_pair(struct str json, size_t i)
{
    return i + 1 < json.n && (json.p[i + 1] == '}' || json.p[i + 1] == ']');
}

/* Writes one character that belongs to neither a string nor a word. */
static void indent_mark(struct buf *b, struct str json, size_t i, int *depth)
{
    char c = json.p[i];
    bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
    bool was_empty = closes && i && (json.p[i - 1] == '{' || json.p[i - 1] == '[');

    *depth -= closes;
    if (closes && !was_empty)
        new_line(b, *depth);
    buf_char(b, c);
    *depth += opens;
    if (c == ':')
        buf_char(b, ' ');
    if (c == ',' || (opens && !is_empty_pair(json, i)))
        new_line(b, *depth);
}

void sb_indent(struct buf *b, struct str json)
{
    int depth = 0;

    for (size_t i = 0; i < json.n;) {
        size_t end = json.p[i] == '"' ? string_end(json, i) : word_end(json, i);

        if (end > i) {
            buf_add(b, (struct str){ json.p + i, end - i });
            i = end;
        } else {
            indent_mark(b, json, i++, &depth);
        }
    }
}
