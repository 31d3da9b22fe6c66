/* escape.h - the escapes of JSON strings: which are allowed, and what they mean. */
#pragma once

#include "base/str.h"

/* The length of the escape at the start of text (12 for a pair of surrogates), or 0 and the reason.
 * \u0000 and lone surrogates are refused. */
size_t json_escape_size(struct str text, const char **ret_why);

/* Resolves the escapes of a string that the scanner has accepted. out has room for raw.n bytes,
 * which suffice because no escape is shorter than its value. Returns the number of bytes
 * written. */
size_t json_escape_resolve(struct str raw, char *out);
