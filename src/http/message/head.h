/* head.h - the raw bytes of a request head (or of trailers), looked at before any parser sees them.
 *
 * What two servers could read in two ways is refused here: a line feed without its carriage return
 * or the other way round, folded lines, NUL and other control bytes. Limits on the request line and
 * on the headers are kept byte by byte, so a flood is refused when it crosses the limit. */
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

/* Looks at bytes up to and including the empty line; *ret_used says how many. state is HEAD_DONE
 * at the end. VALIDATION, URI_TOO_LONG or HEADERS_TOO_LARGE: *ret_why (static) tells more. */
enum err head_scan(struct head_scan *s, struct str bytes, size_t *ret_used, const char **ret_why);
