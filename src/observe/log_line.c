/* log_line.c - writes a line as JSON, or as text for a person:
 *
 *   2025-10-09T08:53:20.123Z ERROR PaymentGatewayTimeout paymentId=0199... timeoutMs=30000
 *
 * Values come from outside. Whatever they hold, a line stays one line and a terminal shows every
 * character of it: control characters and direction marks are written as escapes. */
#include "observe/log_line.h"

#include "base/time/civil.h"
#include "observe/mask.h"

#include <string.h>

static const char masked[] = "***";

static void put_digits(char *p, int64_t v, int n)
{
    for (int i = n - 1; i >= 0; i--, v /= 10)
        p[i] = (char)('0' + v % 10);
}

/* Without libc, whose time functions take a lock for the time zone: every request logs. */
static void add_time(struct buf *out, int64_t ms)
{
    struct civil day = civil_of(floor_div(ms, DAY_S * 1000LL));
    int64_t rest = floor_mod(ms, DAY_S * 1000LL);
    char text[] = "0000-00-00T00:00:00.000Z";

    put_digits(text, day.year, 4);
    put_digits(text + 5, day.month, 2);
    put_digits(text + 8, day.day, 2);
    put_digits(text + 11, rest / 3600000, 2);
    put_digits(text + 14, rest / 60000 % 60, 2);
    put_digits(text + 17, rest / 1000 % 60, 2);
    put_digits(text + 20, rest % 1000, 3);
    buf_add(out, (struct str){ text, sizeof(text) - 1 });
}

static void mask_from(struct buf *out, size_t from)
{
    if (out->failed || out->n <= from)
        return;
    mask_cards(out->p + from, out->n - from);
    mask_named(out->p + from, out->n - from);
}

/* --- JSON --- */

static void add_json(struct buf *out, struct str text)
{
    size_t from = out->n;

    buf_json(out, text);
    mask_from(out, from);
}

/* Numbers come from the program and are not masked: one in ten times in milliseconds would pass for
 * the number of a card. */
static void add_json_field(struct buf *out, const struct log_field *f)
{
    struct str name = str_of(f->name);

    buf_char(out, ',');
    buf_json(out, name);
    buf_char(out, ':');
    if (mask_is_card_name(name))
        buf_json(out, str_of(masked));
    else if (f->is_number)
        buf_i64(out, f->number);
    else
        add_json(out, f->text);
}

static void add_as_json(struct buf *out, const struct log_line *l)
{
    static const struct str levels[] = {
        { "\",\"level\":\"debug\",\"message\":", 28 },
        { "\",\"level\":\"info\",\"message\":", 27 },
        { "\",\"level\":\"warn\",\"message\":", 27 },
        { "\",\"level\":\"error\",\"message\":", 28 },
    };

    buf_add(out, S("{\"time\":\""));
    add_time(out, l->at_ms);
    buf_add(out, levels[l->level]);
    add_json(out, str_of(l->message));
    for (size_t i = 0; i < l->count; i++)
        if (l->fields[i].name)
            add_json_field(out, &l->fields[i]);
    buf_add(out, S("}\n"));
}

/* --- words --- */

/* Reads the character at p of well-formed UTF-8, and how many bytes it has. */
static unsigned letter_at(const char *p, size_t *ret_n)
{
    unsigned char c = (unsigned char)*p;
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    unsigned letter = n == 1 ? c : c & (0xffu >> (n + 1));

    for (size_t i = 1; i < n; i++)
        letter = letter << 6 | ((unsigned char)p[i] & 0x3fu);
    *ret_n = n;
    return letter;
}

/* True for C1 controls and for invisible characters that change direction, width or line ends. */
static bool is_sly(unsigned c)
{
    return (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

/* json was made by buf_json(), so it is UTF-8 without control characters. */
static void add_seen(struct buf *out, struct str json)
{
    for (size_t i = 0, n; i < json.n; i += n) {
        unsigned c = letter_at(json.p + i, &n);

        if (is_sly(c))
            buf_fmt(out, "\\u{%x}", c);
        else
            buf_add(out, (struct str){ json.p + i, n });
    }
}

static bool needs_quotes(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || strchr("\"=\\", s.p[i]))
            return true;
    return s.n == 0;
}

static void add_words(struct buf *out, struct str text, bool quotes)
{
    struct buf json;
    struct str inner;

    buf_init(&json, out->limit);
    buf_json(&json, text);
    mask_from(&json, 0);
    inner = buf_str(&json);
    if (json.failed)
        out->failed = true;
    else
        add_seen(out, quotes ? inner : (struct str){ inner.p + 1, inner.n - 2 });
    buf_release(&json);
}

static void add_word_field(struct buf *out, const struct log_field *f, bool colours)
{
    struct str name = str_of(f->name);

    buf_fmt(out, colours ? " \x1b[2m%s=\x1b[0m" : " %s=", f->name);
    if (mask_is_card_name(name))
        buf_add(out, str_of(masked));
    else if (f->is_number)
        buf_i64(out, f->number);
    else
        add_words(out, f->text, needs_quotes(f->text));
}

static void add_as_words(struct buf *out, const struct log_line *l, bool colours)
{
    static const char *const plain[] = { " DEBUG ", " INFO  ", " WARN  ", " ERROR " };
    static const char *const coloured[] = { " \x1b[2mDEBUG\x1b[0m ", " \x1b[32mINFO\x1b[0m  ",
                                            " \x1b[33mWARN\x1b[0m  ", " \x1b[31mERROR\x1b[0m " };

    add_time(out, l->at_ms);
    buf_add(out, str_of(colours ? coloured[l->level] : plain[l->level]));
    add_words(out, str_of(l->message), strchr(l->message, '=')); /* or it would read as fields */
    for (size_t i = 0; i < l->count; i++)
        if (l->fields[i].name)
            add_word_field(out, &l->fields[i], colours);
    buf_char(out, '\n');
}

void log_line_add(struct buf *out, const struct log_line *line, enum log_style style)
{
    if (style == LOG_JSON)
        add_as_json(out, line);
    else
        add_as_words(out, line, style == LOG_COLOURS);
}

/* --- fields --- */

struct log_field log_some(const char *name, struct str text)
{
    return (struct log_field){ .name = text.n ? name : NULL, .text = text };
}

/* "00-" 32 "-" 16 "-01" */
static bool is_traceparent(struct str s)
{
    return s.n >= 55 && s.p[2] == '-' && s.p[35] == '-' && s.p[52] == '-';
}

struct log_field log_trace_id(struct str s)
{
    return log_some("traceId", is_traceparent(s) ? (struct str){ s.p + 3, 32 } : (struct str){ 0 });
}

struct log_field log_span_id(struct str s)
{
    return log_some("spanId", is_traceparent(s) ? (struct str){ s.p + 36, 16 } : (struct str){ 0 });
}
