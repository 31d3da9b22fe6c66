/* form.h - application/x-www-form-urlencoded as Stripe reads it: brackets make a tree.
 *
 *   a=1  shipping[address][city]=Kyoto  expand[]=x  items[0][price]=5
 *
 * "+" and "%20" are blanks, brackets may be escaped, "a[]" counts up like "a[0]", "a[1]". Pure: no
 * clock, no I/O. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct form { /* a node of the tree; the root has no name */
    struct str name, value;
    bool has_value;            /* a leaf: it has no children */
    struct form *first, *last; /* its children, in the order they came */
    struct form *next;
    size_t count; /* of its children */
};

struct form_fault {
    struct str name; /* as it came, decoded where that could be done */
    const char *why; /* static words */
};

/* Adds the pairs of text to the tree below root (zeroed before the first call). A name that comes
 * twice keeps its last value. VALIDATION: not a form by our rules, or too much of one. */
enum err form_parse(struct arena *a, struct str text, struct form *root,
                    struct form_fault *ret_fault);

const struct form *form_get(const struct form *f, struct str name);

/* A text that two forms share exactly when they mean the same, whatever the order of their pairs
 * and the spelling of their escapes. NO_MEMORY: the arena or the buffer is full. */
enum err form_canonical(struct arena *a, const struct form *root, struct buf *out);
