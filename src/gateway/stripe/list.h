/* list.h - Stripe's lists, page by page, with the original bytes of each object. Nothing here moves
 * money, so a page may be read at any time and any number of times.
 *
 *   (1) A page is whole or an error: HTML, incomplete JSON, another shape, a redirect, or an answer
 *       that is too long or too late proves nothing and changes nothing.
 *   (2) The newest objects come first; `last_id` of a page is `after` of the next. */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "base/executor.h"
#include "http/client/client.h"

struct stripe_lister;

struct stripe_lister_options {
    struct env *env;
    struct client *client; /* borrowed */
    struct str base;       /* as in stripe_options */
    struct str secret_key;
};

struct stripe_lister *stripe_lister_new(
    const struct stripe_lister_options *o);       /* NULL: no memory */
void stripe_lister_free(struct stripe_lister *l); /* NULL is fine */

struct stripe_page {
    /* in: all of it lives until done */
    struct str path;     /* "/v1/events?created[gte]=5", with its question mark */
    struct str after;    /* the last id of the previous page; empty: the first page */
    struct arena *arena; /* room for an answer, LIMIT_GATEWAY_ANSWER, at least twice */
    struct executor *executor;
    void (*done)(
        struct stripe_page *p); /* on the executor, once, never from within stripe_page_read() */

    /* out */
    enum err err; /* OK; NOT_FOUND: `after` is not there any more; GATEWAY: `why` has the words, and
                     a later try may go well */
    char why[160];
    struct str *items; /* the objects as they came, in the arena */
    size_t count;
    bool has_more;
    struct str last_id; /* empty: the page has none */

    struct stripe_lister *lister; /* the lister's */
    struct arena_mark mark;
    int64_t limit;
    struct header headers[2];
    struct call call;
};

void stripe_page_read(struct stripe_lister *l, struct stripe_page *p);

/* Parses the text of an answer. VALIDATION with `why`, or sets the page's out fields. */
enum err stripe_page_parse(struct stripe_page *p, struct str text);
