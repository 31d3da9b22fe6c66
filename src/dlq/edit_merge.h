/* edit_merge.h - a body that an operator edited, with what he could not see. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/why.h"

/* As it is shown: without card data, addresses and names (A6). .p NULL: no memory. */
struct str dead_shown(struct arena *a, struct str body);

/* Every value that he left as it was shown is as it was, also in JSON within a string. In lists
 * only where none was taken away or added, and where all that can be seen of an element is as it
 * was shown in that place: else it may be somebody else's. Of a text, what stands before and behind
 * the change; so it is also with JSON of more than LIMIT_JSON_NODES values or LIMIT_JSON_DEPTH
 * levels.
 *
 * `was` is UTF-8. In time that grows with the text. UNPROCESSABLE: a mask is left, of which nobody
 * can tell what it stands for; `why`, in both languages. */
enum err dead_merge(struct arena *a, struct str was, struct str edited, struct str *ret_body,
                    struct why *why);
