/* csv.c - reads one row of CSV at a time. A broken row reports its problem once and ends at its
 * line end, so the next row is read as if the broken one were not there. */
#include "base/csv.h"

#include <string.h>

#define BOM S("\xef\xbb\xbf")

/* --- the separator --- */

static char separator_of(struct str text)
{
    bool quoted = false, tabs = false;

    for (size_t i = 0; i < text.n && (quoted || text.p[i] != '\n'); i++) {
        if (text.p[i] == '"')
            quoted = !quoted;
        else if (!quoted && text.p[i] == ',')
            return ',';
        else if (!quoted && text.p[i] == '\t')
            tabs = true;
    }
    return tabs ? '\t' : ',';
}

void csv_init(struct csv *c, struct str text)
{
    if (str_starts(text, BOM))
        text = (struct str){ text.p + BOM.n, text.n - BOM.n };
    *c = (struct csv){ .rest = text, .separator = separator_of(text), .next_line = 1 };
}

/* --- one row --- */

static void base_csv_skip(struct csv *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c->next_line += c->rest.p[i] == '\n';
    c->rest = (struct str){ c->rest.p + n, c->rest.n - n };
}

static void skip_line(struct csv *c)
{
    const char *end = c->rest.n ? memchr(c->rest.p, '\n', c->rest.n) : NULL;

    base_csv_skip(c, end ? (size_t)(end - c->rest.p) + 1 : c->rest.n);
}

/* A control character is refused. A tab is allowed in a field, a line end only between quotes. */
static bool is_control(char c, bool quoted)
{
    unsigned char u = (unsigned char)c;

    if (u == '\t' || (quoted && (u == '\n' || u == '\r')))
        return false;
    return u < 0x20 || u == 0x7f;
}

static enum csv_got base_csv_broken(struct csv *c, const char *en, const char *ja)
{
    c->why_en = en;
    c->why_ja = ja;
    c->count = 0;
    skip_line(c);
    return CSV_BROKEN;
}

static enum csv_got broken_by_control(struct csv *c)
{
    return base_csv_broken(c, "has a control character", "制御文字が含まれています");
}

/* The number of bytes of the line end at this place; 0 where there is none. */
static size_t line_end(struct str s)
{
    if (s.n && s.p[0] == '\n')
        return 1;
    return s.n > 1 && s.p[0] == '\r' && s.p[1] == '\n' ? 2 : 0;
}

/* Returns the end of a field without quotes. */
static enum csv_got read_bare(struct csv *c)
{
    size_t n = 0;

    while (n < c->rest.n && c->rest.p[n] != c->separator) {
        struct str here = { c->rest.p + n, c->rest.n - n };

        if (line_end(here))
            break;
        if (here.p[0] == '"')
            return base_csv_broken(c, "has a quote in the middle of a field",
                                   "項目の途中に引用符があります");
        if (is_control(here.p[0], false))
            return broken_by_control(c);
        n++;
    }
    c->fields[c->count] = (struct str){ c->rest.p, n };
    base_csv_skip(c, n);
    return CSV_ROW;
}

/* The text between the quotes, doubled ones made single. */
static bool base_csv_undouble(struct arena *a, struct str *field)
{
    char *copy, *to;

    if (!field->n || !memchr(field->p, '"', field->n))
        return true;
    copy = to = arena_alloc(a, field->n, 1);
    if (!copy)
        return false;
    for (size_t i = 0; i < field->n; i++) {
        *to++ = field->p[i];
        i += field->p[i] == '"';
    }
    *field = (struct str){ copy, (size_t)(to - copy) };
    return true;
}

static enum csv_got read_quoted(struct csv *c, struct arena *a)
{
    struct str s = c->rest, field;
    size_t n = 1;

    while (n < s.n && (s.p[n] != '"' || (n + 1 < s.n && s.p[n + 1] == '"'))) {
        if (is_control(s.p[n], true))
            return broken_by_control(c);
        n += s.p[n] == '"' ? 2 : 1;
    }
    if (n >= s.n)
        return base_csv_broken(c, "has a quote that is never closed",
                               "閉じていない引用符があります");
    field = (struct str){ s.p + 1, n - 1 };
    if (!base_csv_undouble(a, &field))
        return CSV_NO_MEMORY;
    base_csv_skip(c, n + 1);
    c->fields[c->count] = field;
    return CSV_ROW;
}

static enum csv_got read_field(struct csv *c, struct arena *a)
{
    enum csv_got got;

    if (c->count == CSV_FIELDS)
        return base_csv_broken(c, "has more than 64 fields", "項目が 64 個を超えています");
    got = c->rest.n && c->rest.p[0] == '"' ? read_quoted(c, a) : read_bare(c);
    c->count += got == CSV_ROW;
    return got;
}

static enum csv_got read_row(struct csv *c, struct arena *a)
{
    for (;;) {
        enum csv_got got = read_field(c, a);
        size_t end;

        if (got != CSV_ROW)
            return got;
        end = line_end(c->rest);
        if (end || !c->rest.n) {
            base_csv_skip(c, end);
            return CSV_ROW;
        }
        if (c->rest.p[0] != c->separator)
            return base_csv_broken(c, "has text behind a closing quote",
                                   "閉じた引用符の後に文字があります");
        base_csv_skip(c, 1);
    }
}

enum csv_got csv_next(struct csv *c, struct arena *a)
{
    size_t end;

    while ((end = line_end(c->rest)))
        base_csv_skip(c, end);
    c->count = 0;
    c->line = c->next_line;
    return c->rest.n ? read_row(c, a) : CSV_END;
}

void csv_field(struct buf *b, struct str s, bool is_formula)
{
    buf_char(b, '"');
    if (is_formula)
        buf_char(b, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            buf_char(b, '"');
        buf_char(b, s.p[i]);
    }
    buf_char(b, '"');
}
