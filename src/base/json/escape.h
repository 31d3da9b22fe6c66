/* escape.h - the backslash in JSON strings: what may stand behind it, and what it means. */
#pragma once

#include "base/str.h"

/* The length of the escape that text begins with (12 for a pair of surrogates), or 0 and why not.
 * \u0000 and lone surrogates are refused. */
size_t json_escape_size(struct str text, const char **ret_why);

/* Resolves the escapes of a string that the scanner has passed. out has room for raw.n bytes: no
 * escape is shorter than its value. Returns the bytes written. */
size_t json_escape_resolve(struct str raw, char *out);
