/* form.h - application/x-www-form-urlencoded as Stripe reads it: brackets make a tree.
 *
 *   a=1  shipping[address][city]=Kyoto  expand[]=x  items[0][price]=5
 *
 * "+" and "%20" are spaces, brackets may be escaped, "a[]" counts up like "a[0]", "a[1]". Pure: no
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
    struct str name; /* decoded where possible */
    const char *why; /* a static text */
};

/* Adds the pairs of text to the tree below root, which is zeroed before the first call. A repeated
 * name keeps its last value. VALIDATION: the text is malformed or exceeds a limit. */
enum err form_parse(struct arena *a, struct str text, struct form *root,
                    struct form_fault *ret_fault);

const struct form *form_get(const struct form *f, struct str name);

/* The canonical text of a form: equal for two forms exactly if they mean the same, whatever the
 * order of pairs and the escapes. NO_MEMORY: the arena or the buffer is full. */
enum err form_canonical(struct arena *a, const struct form *root, struct buf *out);
