/* write.h - writes the fields of a JSON object, each with a comma before it unless it is the
 * first. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/uuid.h"

void out_uuid(struct buf *b, const char *name, struct uuid id);
void out_text(struct buf *b, const char *name, struct str s); /* empty: null */
void out_int(struct buf *b, const char *name, int64_t v);
void out_amount(struct buf *b, const char *name, int64_t v); /* below 0: null */
void out_bool(struct buf *b, const char *name, bool v);
void out_time(struct buf *b, const char *name, int64_t ms);      /* 0: null */
void out_json(struct buf *b, const char *name, struct str json); /* as it is; empty: null */
void out_name(struct buf *b, const char *name);                  /* the value follows */

/* Copies the buffer's text to the arena and releases the buffer. .p is NULL without memory. */
struct str out_done(struct buf *b, struct arena *a);
