/* edit_merge.h - merges an edited body with the values that were redacted when it was shown. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/why.h"

/* The body as it is shown: without card data, addresses and names (A6). .p NULL: no memory. */
struct str dead_shown(struct arena *a, struct str body);

/* Restores every value that was left as it was shown, also in JSON within a string. In a list this
 * happens only if no element was added or removed, and only for an element whose visible part is
 * unchanged at its place; otherwise it may be another person's. In a text that is not JSON, the
 * parts before and after the change are restored. JSON of more than LIMIT_JSON_NODES values or
 * LIMIT_JSON_DEPTH levels is treated as such a text.
 *
 * `was` is UTF-8. Runs in time linear in the text. UNPROCESSABLE: a mask is left whose value is not
 * known; `why` says so in both languages. */
enum err dead_merge(struct arena *a, struct str was, struct str edited, struct str *ret_body,
                    struct why *why);
