/* page.h - pages of the two long lists: dead messages and the log. One or more units of work, which
 * only read, fill a page until it has its count, its bytes, or the rows that one call may read.
 * Then the answer has a cursor; the last page has none. */
#pragma once

#include "qstash/endpoint.h"
#include "qstash/find.h"
#include "store/store.h"

struct page_step {      /* what one unit does */
    struct arena arena; /* only while it runs */
    void *cache;        /* owned by entry, NULL at first */
    size_t bytes;       /* read so far, counted by entry */
    int64_t shown;
    bool over;      /* the page ends here */
    bool more;      /* and is not the last */
    struct spot at; /* the next page begins after this row */
};

struct page {
    /* set by the caller */
    enum find_in in;
    enum selection_of of;
    int64_t most;          /* entries */
    int64_t usual;         /* entries, if the call does not say */
    const char *key, *too; /* name of the array; too: a second name for the same, or NULL */
    /* Writes one entry, braces included. NOT_FOUND: it is gone. */
    enum err (*entry)(struct tx *tx, struct page_step *s, const struct found *x, struct buf *out);
    /* Optional: answers instead if the call selects by ids. */
    void (*these)(struct qstash_request *v, const struct selection *s);

    /* owned by page.c */
    struct qstash_request *v;
    struct unit unit;
    struct selection selection;
    struct find find, next; /* after the last unit; in the present one */
    struct buf out;
    size_t mark; /* of out, when the unit began */
    int64_t left, looked;
    struct page_step step;
};

/* Reads the query and answers. Copies rules. */
void page_answer(struct qstash_request *v, const struct page *rules);
