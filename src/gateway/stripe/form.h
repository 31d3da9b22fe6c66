/* form.h - application/x-www-form-urlencoded as Stripe reads it: names with bare brackets,
 * values with everything but RFC 3986's unreserved characters as %XX. */
#pragma once

#include "base/buf.h"
#include "base/uuid.h"

void form_escape(struct buf *b, struct str text);
/* Adds name=value, after an & if the buffer is not empty. The name is ours and is not escaped. */
void form_add(struct buf *b, const char *name, struct str value);
void form_int(struct buf *b, const char *name, int64_t value);
void form_uuid(struct buf *b, const char *name, struct uuid value);
/* The same as group[name]=value. */
void form_add_in(struct buf *b, const char *group, const char *name, struct str value);
void form_uuid_in(struct buf *b, const char *group, const char *name, struct uuid value);

/* Cuts the text to at most `chars` characters. */
struct str utf8_cut_chars(struct str text, size_t chars);
struct str utf8_cut_bytes(struct str text, size_t bytes);
