/* buf.h - a byte buffer that grows up to a limit. An add that fails sets `failed`, and every later
 * add does nothing, so a writer checks for failure once, at the end. */
#pragma once

#include "base/str.h"

struct buf {
    char *p;
    size_t n, size, limit;
    bool failed;
};

void buf_init(struct buf *b, size_t limit);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* empty again, keeps its memory */

bool buf_reserve(struct buf *b, size_t more); /* room for `more` bytes behind p[n] */
void buf_add(struct buf *b, struct str s);
void buf_char(struct buf *b, char c);
void buf_i64(struct buf *b, int64_t v);
void buf_fmt(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds s as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void buf_json(struct buf *b, struct str s);

struct str buf_str(const struct buf *b); /* borrowed until the next add */
