/* rows.h - how the files that read and write rows make both of one list of columns.
 *
 *   X(kind, field): TEXT; MAYBE and TIME are NULL where they are empty or 0 */
#pragma once

#include "sandbox/model.h"

#define PUT_TEXT(f) V_TEXT(o->f)
#define PUT_MAYBE(f) (o->f.n ? V_TEXT(o->f) : V_NULL)
#define PUT_NUMBER(f) V_INT(o->f)
#define PUT_TIME(f) (o->f ? V_INT(o->f) : V_NULL)
#define PUT_FLAG(f) V_INT(o->f)
#define PUT_STATUS(f) V_TEXT(sb_intent_status_text(o->f))
#define PUT(kind, f) PUT_##kind(f),

#define GET_TEXT(f) o->f = v->s
#define GET_MAYBE(f) o->f = v->s /* of NULL it is empty */
#define GET_NUMBER(f) o->f = v->i
#define GET_TIME(f) o->f = v->i
#define GET_FLAG(f) o->f = v->i != 0
#define GET_STATUS(f) o->f = status_of(v->s)
#define GET(kind, f) GET_##kind(f), v++;

/* Rows of one page into an array; without the one that only says that there are more. */
struct gather {
    struct page *page;
    char *rows; /* of size each, limit + 1 of them */
    size_t each;
    void (*read)(const struct row *row, void *ret);
};
bool sb_gather(struct work *w, struct gather *g, enum stmt stmt, const struct val *v, size_t n);
