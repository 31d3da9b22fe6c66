/* mime.h - one mail as bytes: headers and a text in UTF-8 (RFC 5322, 2045, 2047, 3834).
 *
 *   (1) No input can add a header or an address: addresses are checked character by character, and
 *       a subject is printable ASCII or base64.
 *   (2) The Message-ID is the send's id, so a mail that a server gets twice is recognized as one.
 *   (3) Every line is ASCII, at most 78 columns, and ends in CRLF: no server needs to rewrite
 *       it. */
#pragma once

#include "base/buf.h"
#include "base/uuid.h"

struct letter {
    struct str from, to;     /* bare addresses */
    struct str title, body;  /* UTF-8; lines of body may end in LF */
    struct str receipt, pay; /* links below the body; empty: none */
    struct uuid send, notification;
    bool is_japanese;
    int64_t now_ms;
};

/* False: it can never be sent, *ret_why says why, without an address. If only memory ran out,
 * b->failed is set. */
bool mime_write(struct buf *b, const struct letter *l, const char **ret_why);
