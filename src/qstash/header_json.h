/* header_json.h - headers as they are stored and shown: {"Name":["value","another"]}, in UTF-8. On
 * the wire a value is bytes that most readers take for Latin-1, so values are converted from and to
 * Latin-1: the same bytes leave that came in. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"

/* A value of the wire as UTF-8; ASCII is not copied. .p NULL: the arena is full. */
struct str header_text(struct arena *a, struct str wire);
/* "content-type" becomes "Content-Type"; copies only what changes. .p NULL: the arena is full. */
struct str header_name(struct arena *a, struct str name);
/* A token of RFC 9110. */
bool header_name_is_valid(struct str name);

/* Writes the object, each name once (compared without case; the first spelling stays). Names and
 * values are UTF-8. */
void header_json_write(struct buf *b, const struct header *h, size_t n);

/* Reads what header_json_write() wrote: one entry for each value, ready for the wire, as slices of
 * json where possible. An empty json has none. INTERNAL: json has another form. */
enum err header_json_read(struct arena *a, struct str json, struct header **ret_headers,
                          size_t *ret_count);
