/* value.c - parameters and rows in PostgreSQL's binary format (big-endian integers). */
#include "store/postgres/value.h"

#include "base/limits.h"

#include <assert.h>
#include <string.h>

static void put_u32(char out[4], uint32_t v)
{
    for (int i = 0; i < 4; i++)
        out[i] = (char)(v >> (24 - 8 * i));
}

static void put_i64(char out[8], int64_t v)
{
    put_u32(out, (uint32_t)((uint64_t)v >> 32));
    put_u32(out + 4, (uint32_t)v);
}

static int64_t get_int(const char *p, int bytes)
{
    uint64_t v = (p[0] & 0x80) ? UINT64_MAX : 0; /* sign extension */

    for (int i = 0; i < bytes; i++)
        v = v << 8 | (unsigned char)p[i];
    return (int64_t)v;
}

static Oid type_of(enum val_type type)
{
    switch (type) {
    case VAL_NULL: return 0; /* the server infers the type from the statement */
    case VAL_INT: return PG_INT8;
    case VAL_TEXT: return PG_TEXT;
    case VAL_BLOB: return PG_BYTEA;
    }
    return 0;
}

static Oid array_of(enum val_type type)
{
    switch (type) {
    case VAL_NULL: return 0;
    case VAL_INT: return PG_INT8_ARRAY;
    case VAL_TEXT: return PG_TEXT_ARRAY;
    case VAL_BLOB: return PG_BYTEA_ARRAY;
    }
    return 0;
}

static void put_param(struct pg_params *p, int i, const struct val *v)
{
    p->types[i] = type_of(v->type);
    p->formats[i] = 1;
    if (v->type == VAL_NULL) {
        p->values[i] = NULL;
        p->lengths[i] = 0;
    } else if (v->type == VAL_INT) {
        put_i64(p->ints[i], v->i);
        p->values[i] = p->ints[i];
        p->lengths[i] = 8;
    } else {
        p->values[i] = v->s.n ? v->s.p : ""; /* a NULL pointer would be SQL's NULL */
        p->lengths[i] = (int)v->s.n;
    }
}

enum err pg_params_of(struct pg_params *p, const struct val *v, size_t n)
{
    size_t bytes = 0;

    assert(n <= STATEMENT_PARAMS);
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(bytes, v[i].s.n, &bytes) || bytes > LIMIT_DB_STATEMENT_BYTES)
            return ERR_TOO_LARGE;
    p->count = (int)n;
    for (int i = 0; i < p->count; i++)
        put_param(p, i, &v[i]);
    return OK;
}

size_t pg_params_bytes(const struct pg_params *p)
{
    size_t bytes = 0;

    for (int i = 0; i < p->count; i++)
        bytes += (size_t)p->lengths[i] + 4;
    return bytes;
}

/* --- arrays: dimensions, has-null, element type, length, lower bound, then each element --- */

static void add_u32(struct buf *b, uint32_t v)
{
    char bytes[4];

    put_u32(bytes, v);
    buf_add(b, (struct str){ bytes, 4 });
}

static void add_element(struct buf *b, const struct val *v)
{
    char bytes[8];

    if (v->type == VAL_NULL) {
        add_u32(b, UINT32_MAX);
    } else if (v->type == VAL_INT) {
        put_i64(bytes, v->i);
        add_u32(b, 8);
        buf_add(b, (struct str){ bytes, 8 });
    } else {
        add_u32(b, (uint32_t)v->s.n);
        buf_add(b, v->s);
    }
}

static enum err column_type(const struct val *v, size_t rows, size_t columns,
                            enum val_type *ret_type)
{
    enum val_type type = VAL_NULL;

    for (size_t i = 0; i < rows; i++) {
        enum val_type t = v[i * columns].type;

        if (t == VAL_NULL)
            continue;
        if (type != VAL_NULL && t != type)
            return ERR_INTERNAL;
        type = t;
    }
    *ret_type = type;
    return OK;
}

/* A column of NULLs is sent as text, since a binary array must name its elements' type. */
static void add_nulls(struct buf *b, size_t rows)
{
    buf_char(b, '{');
    for (size_t i = 0; i < rows; i++)
        buf_add(b, i ? S(",NULL") : S("NULL"));
    buf_char(b, '}');
    buf_char(b, '\0');
}

static void add_array(struct buf *b, const struct val *v, size_t rows, size_t columns,
                      enum val_type type)
{
    add_u32(b, 1);
    add_u32(b, 1);
    add_u32(b, type_of(type));
    add_u32(b, (uint32_t)rows);
    add_u32(b, 1);
    for (size_t i = 0; i < rows; i++)
        add_element(b, &v[i * columns]);
}

enum err pg_params_bulk(struct pg_params *p, struct buf *bytes, const struct val *v, size_t rows,
                        size_t columns)
{
    size_t from[STATEMENT_PARAMS];

    assert(columns <= STATEMENT_PARAMS && rows && rows <= INT32_MAX);
    p->count = (int)columns;
    buf_clear(bytes);
    for (size_t i = 0; i < columns; i++) {
        enum val_type type;
        enum err e = column_type(v + i, rows, columns, &type);

        if (e)
            return e;
        from[i] = bytes->n;
        p->types[i] = array_of(type);
        p->formats[i] = type != VAL_NULL;
        if (type == VAL_NULL)
            add_nulls(bytes, rows);
        else
            add_array(bytes, v + i, rows, columns, type);
        p->lengths[i] = (int)(bytes->n - from[i]);
    }
    if (bytes->failed)
        return ERR_TOO_LARGE;
    for (size_t i = 0; i < columns; i++) /* only now: the buffer may have moved while it grew */
        p->values[i] = bytes->p + from[i];
    return OK;
}

/* --- rows --- */

int64_t pg_number(const char *text)
{
    int64_t number = 0;

    return str_to_i64(str_of(text), &number) ? number : 0;
}

static enum err read_value(const PGresult *r, int row, int column, struct arena *a, struct val *ret)
{
    const char *p = PQgetvalue(r, row, column);
    int n = PQgetlength(r, row, column);

    switch (PQftype(r, column)) {
    case PG_VOID: *ret = V_NULL; return OK;
    case PG_BOOL:
    case PG_INT2:
    case PG_INT4:
    case PG_INT8: *ret = V_INT(get_int(p, n)); return OK;
    case PG_NAME:
    case PG_VARCHAR:
    case PG_TEXT: *ret = V_TEXT(arena_str(a, ((struct str){ p, (size_t)n }))); break;
    case PG_BYTEA: *ret = V_BLOB(arena_str(a, ((struct str){ p, (size_t)n }))); break;
    default: return ERR_INTERNAL;
    }
    return ret->s.p ? OK : ERR_NO_MEMORY;
}

enum err pg_row(const PGresult *r, int row, struct arena *a, struct row *ret_row)
{
    int columns = PQnfields(r);

    assert(columns <= ROW_COLUMNS);
    ret_row->count = columns;
    for (int i = 0; i < columns; i++) {
        enum err e = OK;

        if (PQgetisnull(r, row, i))
            ret_row->col[i] = V_NULL;
        else
            e = read_value(r, row, i, a, &ret_row->col[i]);
        if (e)
            return e;
    }
    return OK;
}
