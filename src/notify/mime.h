/* mime.h - one mail as bytes: headers and a text in UTF-8 (RFC 5322, 2045, 2047, 3834).
 *
 *   (1) Nothing that a person wrote stands in a header as it came: addresses are checked letter by
 *       letter, a subject is ASCII without surprises or base64. So no word adds a header or an
 *       address.
 *   (2) The Message-ID is the send's: a mail that a server got twice after all is known as one.
 *   (3) Every line is at most 78 columns, in CRLF, and ASCII: no server has a reason to rewrite it.
 */
#pragma once

#include "base/buf.h"
#include "base/uuid.h"

struct letter {
    struct str from, to;     /* bare addresses */
    struct str title, body;  /* UTF-8; lines of body may end in LF */
    struct str receipt, pay; /* links that go under it; empty: none */
    struct uuid send, notification;
    bool is_japanese;
    int64_t now_ms;
};

/* False: it never can be sent; *ret_why says so, without an address. (Where only memory ran out,
 * b->failed.) */
bool mime_write(struct buf *b, const struct letter *l, const char **ret_why);
