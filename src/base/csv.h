/* csv.h - a strict reader of comma-separated text (RFC 4180). A quoted field begins and ends with a
 * quote and doubles the quotes inside; a line ends with LF or CRLF. Where the first line has no
 * comma outside of quotes, tabs separate the fields.
 *
 * A broken row is reported with its line, and reading continues after that line, so that all
 * problems of a file can be reported at once. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum { CSV_FIELDS = 64 }; /* of one row */

enum csv_got {
    CSV_ROW,
    CSV_END,
    CSV_BROKEN,    /* why_* say what is wrong with the row; there are no fields */
    CSV_NO_MEMORY, /* of the arena */
};

struct csv {
    struct str rest;
    char separator;
    int next_line; /* from 1 */

    /* the row that was read */
    int line; /* the line on which the row begins */
    struct str fields[CSV_FIELDS];
    size_t count;
    const char *why_en, *why_ja;
};

/* The text is UTF-8 and borrowed. A byte order mark at its start is skipped. */
void csv_init(struct csv *c, struct str text);
/* Fields point into the text, or into the arena where quotes were doubled. An empty line is
 * skipped. */
enum csv_got csv_next(struct csv *c, struct arena *a);

/* Writes a field in quotes. is_formula: a spreadsheet would take it for one; an apostrophe at its
 * start makes it text. */
void csv_field(struct buf *b, struct str s, bool is_formula);
