/* header_json.h - headers as they are stored and shown: {"Name":["value","another"]}, in UTF-8. On
 * the wire a value is bytes that most readers take for Latin-1, so that is how they come in and go
 * out: what came as bytes leaves as the same bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"

/* A value of the wire as text; itself where it is ASCII. .p is NULL: the arena is full. */
struct str header_text(struct arena *a, struct str wire);
/* "content-type" becomes "Content-Type"; itself where it is that. .p is NULL: the arena is full. */
struct str header_name(struct arena *a, struct str name);
/* RFC 9110's token: what a name may consist of. */
bool header_name_is_valid(struct str name);

/* The object, with each name once (names are compared in any case, the first spelling stays). Names
 * and values are text. */
void header_json_write(struct buf *b, const struct header *h, size_t n);

/* What header_json_write() wrote, one entry for each value, ready for the wire; names and values
 * are slices of json where that is possible. Empty: none. INTERNAL: it is not of that form. */
enum err header_json_read(struct arena *a, struct str json, struct header **ret_headers,
                          size_t *ret_count);
