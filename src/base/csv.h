/* csv.h - comma-separated text (RFC 4180), strictly: a quote stands at a field's two ends and
 * doubled within, a line ends with LF or CRLF, and nothing is guessed. Tabs may part the fields
 * instead, where the first line has no comma outside of quotes.
 *
 * A row that is broken is told with its line, and reading goes on behind that line, so that all of
 * a file's problems can be said at once. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum { CSV_FIELDS = 64 }; /* of one row */

enum csv_got {
    CSV_ROW,
    CSV_END,
    CSV_BROKEN,    /* why_* say what is wrong with it; no fields */
    CSV_NO_MEMORY, /* of the arena */
};

struct csv {
    struct str rest;
    char separator;
    int next_line; /* from 1 */

    /* the row that was read */
    int line; /* where it begins */
    struct str fields[CSV_FIELDS];
    size_t count;
    const char *why_en, *why_ja;
};

/* text: UTF-8; a BOM at its start is skipped. It is borrowed. */
void csv_init(struct csv *c, struct str text);
/* Fields point into the text, or into the arena where quotes were doubled. A row without a single
 * byte is skipped. */
enum csv_got csv_next(struct csv *c, struct arena *a);

/* Writes a field in quotes. is_formula: a spreadsheet would take it for one; an apostrophe at its
 * start makes it text. */
void csv_field(struct buf *b, struct str s, bool is_formula);
