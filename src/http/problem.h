/* problem.h - the text of an RFC 9457 problem, and which language to write it in. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* English or Japanese by the weights of the client's Accept-Language; English if it is absent or
 * malformed. */
enum language language_pick(struct str accept_language);

/* {"type":"/problems/not-found","title":…,"status":404,"detail":…,"code":"NOT_FOUND","instance":…}
 * detail NULL: the err's own words. errors: a JSON array for an "errors" member, or empty.
 * members: further ones as JSON text, "\"a\":1,\"b\":2"; or empty. */
void problem_write(struct buf *out, enum err e, enum language language, const char *detail,
                   struct str instance, struct str errors, struct str members);

const char *status_phrase(int status); /* "Not Found"; "": unknown */
int retry_after_s(enum err e);         /* for Retry-After; 0: none */
