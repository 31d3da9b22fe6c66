/* find.h - walks over dead letters. */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "dlq/dead_letter.h"

struct dead_find {
    const struct dead_filter *filter;
    bool up; /* from the oldest death on, until at.until_ms; else from the newest on */
    struct dead_cursor at; /* in and out: the last that was looked at */
    size_t max;            /* wanted */
    int64_t budget;        /* looked at, at most */

    struct dead_letter *found; /* room for max; texts live until the unit's run ends */
    size_t count;
    int64_t looked;
    bool end; /* there is nothing behind */
};

/* Where a walk begins. */
struct dead_cursor dead_from_newest(const struct dead_filter *f);
struct dead_cursor dead_from_oldest(const struct dead_filter *f, int64_t until_ms);

/* Goes on from `at` until it has found enough, has looked enough, or is at the end. Each statement
 * takes LIMIT_STATEMENT_ROWS of an index, in its order; what the index cannot decide is decided
 * here. */
enum err dead_find(struct tx *tx, struct dead_find *f);

/* NULL: an ordinary one. */
const struct dead_kind *dead_kind_of(const struct dead_letters *l, struct str kind);
bool dead_letter_of_row(const struct row *row, struct dead_letter *ret_letter);
/* Of a letter that is about to be retried with another body: edit.c. */
enum err dead_edit(struct tx *tx, const struct dead_act *act, struct dead_letter *d, int64_t now_ms,
                   bool *ret_live, struct why *why);
/* Members of an object that was begun: editable, body, edited, original. */
enum err dead_edit_show(struct tx *tx, struct buf *b, const struct dead_letters *l,
                        const struct dead_letter *d);
void dead_cursor_write(struct buf *out, const struct dead_cursor *c); /* base64url */
