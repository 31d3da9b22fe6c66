/* page.h - the two lists that may be long: dead ones, and the log. A page is put together by one
 * unit or more, which only read; it ends with its count, its bytes, or what one call may look at.
 * Then there is a cursor; without one it was the last. */
#pragma once

#include "qstash/endpoint.h"
#include "qstash/find.h"
#include "store/store.h"

struct page_step {      /* what one unit does */
    struct arena arena; /* only while it runs */
    void *cache;        /* the entry's own, NULL at first */
    size_t bytes;       /* that were read: entry counts them */
    int64_t shown;
    bool over;      /* the page ends here, */
    bool more;      /* and is not the last: */
    struct spot at; /* the next begins behind this one */
};

struct page {
    /* the caller's */
    enum find_in in;
    enum selection_of of;
    int64_t most;          /* entries; */
    int64_t usual;         /* and where the call does not say */
    const char *key, *too; /* of the array; too: the same once more, or NULL */
    /* Writes one, braces included. NOT_FOUND: it is gone. */
    enum err (*entry)(struct tx *tx, struct page_step *s, const struct found *x, struct buf *out);
    /* Optional: answers instead, where the call names them by their ids. */
    void (*these)(struct visit *v, const struct selection *s);

    /* its own */
    struct visit *v;
    struct unit unit;
    struct selection selection;
    struct find find, next; /* as of the last unit, and what the present one made of it */
    struct buf out;
    size_t mark; /* of out, when the unit began */
    int64_t left, looked;
    struct page_step step;
};

/* Reads the query, and answers. rules is copied. */
void page_answer(struct visit *v, const struct page *rules);
