/* rows.h - macros that make the functions for reading and writing a row from one list of columns.
 *
 *   X(kind, field): MAYBE is NULL where the text is empty, TIME where it is 0. */
#pragma once

#include "sandbox/stripe/model.h"

#define PUT_TEXT(f) V_TEXT(o->f)
#define PUT_MAYBE(f) (o->f.n ? V_TEXT(o->f) : V_NULL)
#define PUT_NUMBER(f) V_INT(o->f)
#define PUT_TIME(f) (o->f ? V_INT(o->f) : V_NULL)
#define PUT_FLAG(f) V_INT(o->f)
#define PUT_STATUS(f) V_TEXT(sb_intent_status_text(o->f))
#define PUT(kind, f) PUT_##kind(f),

#define GET_TEXT(f) o->f = v->s
#define GET_MAYBE(f) o->f = v->s /* NULL reads as an empty text */
#define GET_NUMBER(f) o->f = v->i
#define GET_TIME(f) o->f = v->i
#define GET_FLAG(f) o->f = v->i != 0
#define GET_STATUS(f) o->f = status_of(v->s)
#define GET(kind, f) GET_##kind(f), v++;

/* Collects the rows of one page into an array. */
struct gather {
    struct list_page *page;
    char *rows; /* limit + 1 elements of `each` bytes */
    size_t each;
    void (*read)(const struct row *row, void *ret);
};
bool sb_gather(struct work *w, struct gather *g, enum stmt stmt, const struct val *v, size_t n);

/* Makes the functions that read an object from a row and write it. */
#define OBJECT_ROWS(object, COLUMNS)                                                               \
    static void object##_of_row(const struct row *row, void *ret)                                  \
    {                                                                                              \
        struct object *o = ret;                                                                    \
        const struct val *v = row->col;                                                            \
                                                                                                   \
        COLUMNS(GET)                                                                               \
    }                                                                                              \
    bool sb_##object##_write(struct work *w, const struct object *o)                               \
    {                                                                                              \
        const struct val v[] = { COLUMNS(PUT) };                                                   \
                                                                                                   \
        return !w->err && work_ok(w, tx_do(w->tx, STMT_sandbox_##object##_write, 1, v, COUNT(v))); \
    }
#define OBJECT_READ(object)                                                                        \
    enum err sb_##object##_read(struct tx *tx, struct str id, struct object *ret)                  \
    {                                                                                              \
        struct row row;                                                                            \
        enum err e = TX_ROW(tx, STMT_sandbox_##object##_read, &row, V_TEXT(id));                   \
                                                                                                   \
        if (!e)                                                                                    \
            object##_of_row(&row, ret);                                                            \
        return e;                                                                                  \
    }
/* filters: how many filters of the page the statements take. */
#define OBJECT_PAGE(object, filters)                                                               \
    bool sb_##object##_page(struct work *w, struct list_page *p, struct object **ret)              \
    {                                                                                              \
        struct gather g = { .page = p, .each = sizeof(struct object), .read = object##_of_row };   \
        enum stmt stmt =                                                                           \
            p->backwards ? STMT_sandbox_##object##s_oldest : STMT_sandbox_##object##s_newest;      \
        struct val v[5] = { V_TEXT(p->above), V_TEXT(p->below), V_TEXT(p->filter[0]),              \
                            V_TEXT(p->filter[1]) };                                                \
        bool ok;                                                                                   \
                                                                                                   \
        v[2 + (filters)] = V_INT(p->limit + 1);                                                    \
        ok = sb_gather(w, &g, stmt, v, 3 + (filters));                                             \
        *ret = (struct object *)(void *)g.rows;                                                    \
        return ok;                                                                                 \
    }
