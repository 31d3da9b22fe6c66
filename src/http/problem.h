/* problem.h - the text of an RFC 9457 problem, and which language to write it in. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* English or Japanese by the client's Accept-Language with its weights; English where it says
 * nothing, or nothing that makes sense. */
enum language language_pick(struct str accept_language);

/* {"type":"/problems/not-found","title":…,"status":404,"detail":…,"code":"NOT_FOUND","instance":…}
 * detail NULL: the err's own words. errors: a JSON array for an "errors" member, or empty.
 * members: further ones as JSON text, "\"a\":1,\"b\":2"; or empty. */
void problem_write(struct buf *out, enum err e, enum language language, const char *detail,
                   struct str instance, struct str errors, struct str members);

const char *status_phrase(int status); /* "Not Found"; "" for what nobody knows */
int retry_after_s(enum err e);         /* for Retry-After; 0: none */
