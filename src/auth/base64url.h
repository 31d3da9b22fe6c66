/* base64url.h - RFC 4648 section 5 as JOSE wants it, and nothing looser: no padding, no blanks, no
 * '+' or '/', unused bits zero. So there is one spelling for every sequence of bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* VALIDATION: not base64url. NO_MEMORY: over the arena's limit. */
enum err base64url_decode(struct arena *a, struct str text, struct str *ret_bytes);

#define BASE64URL_SIZE(n) (((n)*4 + 2) / 3) /* characters for n bytes */

void base64url_add(struct buf *b, struct str bytes);
/* The same into p, which is large enough. Returns the end, and writes no NUL. */
char *base64url_put(char *p, struct str bytes);
