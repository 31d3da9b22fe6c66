/* write.h - one field of an object, with the comma before it where it is not the first. */
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

/* The buffer's text in the arena, and the buffer is released. .p NULL: no memory. */
struct str out_done(struct buf *b, struct arena *a);
