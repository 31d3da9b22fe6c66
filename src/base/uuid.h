/* uuid.h - RFC 9562 UUIDs as 16 bytes. New ones are version 7: they sort by the time at which they
 * were made, so that an index over them grows at its end. */
#pragma once

#include "base/rng.h"
#include "base/str.h"

struct uuid {
    unsigned char b[16];
};

enum { UUID_TEXT = 36 };

struct uuid uuid_new(int64_t now_ms, struct rng *r);
bool uuid_parse(struct str s, struct uuid *ret_id);       /* 8-4-4-4-12 hex, either case */
void uuid_text(struct uuid id, char text[UUID_TEXT + 1]); /* lower case, NUL behind it */
bool uuid_eq(struct uuid a, struct uuid b);
int uuid_order(const void *a, const void *b); /* for qsort, also of structs that begin with an id */
struct str uuid_bytes(const struct uuid *id); /* borrows the 16 bytes */
bool uuid_of_bytes(struct str bytes, struct uuid *ret_id); /* false: not 16 of them */
