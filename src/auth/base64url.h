/* base64url.h - RFC 4648 section 5 as JOSE wants it, and nothing looser: no padding, no blanks, no
 * '+' or '/', unused bits zero. So there is one spelling for every sequence of bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* VALIDATION: not base64url. NO_MEMORY: over the arena's limit. */
enum err base64url_decode(struct arena *a, struct str text, struct str *ret_bytes);

void base64url_add(struct buf *b, struct str bytes);
