/* find.h - scans over dead letters, and what the files of dlq/ share. */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "dlq/dead_letter.h"

struct dead_find {
    const struct dead_filter *filter;
    bool up;               /* from the oldest on until at.until_ms; else from the newest on */
    struct dead_cursor at; /* in and out: the last one that was examined */
    size_t max;            /* find at most so many */
    int64_t budget;        /* examine at most so many */

    struct dead_letter *found; /* room for max; texts live until the unit's run ends */
    size_t count;
    int64_t looked;
    bool end; /* the scan reached its end */
};

/* Where a scan starts. */
struct dead_cursor dead_from_newest(const struct dead_filter *f);
struct dead_cursor dead_from_oldest(const struct dead_filter *f, int64_t until_ms);

/* Continues at `at` until `max` are found, `budget` are examined, or the end is reached. Each
 * statement reads at most LIMIT_STATEMENT_ROWS in the order of an index; criteria that the index
 * does not cover are compared row by row. */
enum err dead_find(struct tx *tx, struct dead_find *f);

/* Returns NULL for a kind without its own handling. */
const struct dead_kind *dead_kind_of(const struct dead_letters *l, struct str kind);
bool dead_letter_of_row(const struct row *row, struct dead_letter *ret_letter);
/* Retries it with act->edit's body (edit.c). */
enum err dead_edit(struct tx *tx, const struct dead_act *act, struct dead_letter *d, int64_t now_ms,
                   bool *ret_live, struct why *why);
/* Writes editable, body, edited and original into an open object (edit.c). */
enum err dead_edit_show(struct tx *tx, struct buf *b, const struct dead_letters *l,
                        const struct dead_letter *d);
void dead_cursor_write(struct buf *out, const struct dead_cursor *c); /* base64url */
