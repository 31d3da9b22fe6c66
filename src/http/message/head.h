/* head.h - scans the raw bytes of a request head (or of trailers) before the parser gets them.
 *
 * Bytes that two servers could read in two ways are rejected: a line feed without its carriage return
 * or the other way round, folded lines, NUL and other control bytes. The limits of the request line
 * and of the headers are checked byte by byte, so a flood is rejected when it crosses the limit. */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum head_state { HEAD_START, HEAD_LINE, HEAD_CR, HEAD_LAST_CR, HEAD_DONE };

struct head_scan {
    enum head_state state;
    bool in_headers;   /* the request line has ended */
    size_t lines;      /* begun so far, the request line included */
    size_t bytes;      /* seen so far */
    size_t line_start; /* of the request line: empty lines before it are skipped */
    size_t line_end;   /* of the request line, before its CRLF */
};

void head_scan_init(struct head_scan *s);
void head_scan_init_trailers(struct head_scan *s); /* the same lines without a request line */

/* Scans up to and including the empty line; *ret_used is the number of bytes. state is HEAD_DONE at
 * the end. VALIDATION, URI_TOO_LONG or HEADERS_TOO_LARGE: *ret_why (static) says more. */
enum err head_scan(struct head_scan *s, struct str bytes, size_t *ret_used, const char **ret_why);
