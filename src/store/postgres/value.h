/* value.h - parameters and rows in PostgreSQL's binary format. Every parameter is sent with its
 * type (int8, text, bytea, or an array of them), so that the server never infers a smaller one; a
 * NULL is sent without a type. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "store/tx.h"

#include <libpq-fe.h>

enum {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_NAME = 19,
    PG_INT8 = 20,
    PG_INT2 = 21,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_BYTEA_ARRAY = 1001,
    PG_TEXT_ARRAY = 1009,
    PG_INT8_ARRAY = 1016,
    PG_VARCHAR = 1043,
    PG_VOID = 2278,
};

struct pg_params {
    int count;
    Oid types[STATEMENT_PARAMS];
    const char *values[STATEMENT_PARAMS]; /* into the caller's values, ints below, or a buf */
    int lengths[STATEMENT_PARAMS], formats[STATEMENT_PARAMS];
    char ints[STATEMENT_PARAMS][8];
};

/* One value a parameter. TOO_LARGE: over LIMIT_DB_STATEMENT_BYTES. */
enum err pg_params_of(struct pg_params *p, const struct val *v, size_t n);

/* One array a column; v is rows x columns, row by row. The arrays live in `bytes`. INTERNAL: a
 * column mixes types. TOO_LARGE: `bytes` is full. */
enum err pg_params_bulk(struct pg_params *p, struct buf *bytes, const struct val *v, size_t rows,
                        size_t columns);

/* A row of a binary result, copied to the arena. INTERNAL: a type that no statement of ours may
 * return (numeric, float: cast it). NO_MEMORY: the arena is full. */
enum err pg_row(const PGresult *r, int row, struct arena *a, struct row *ret_row);

/* A number that the server sent as text; 0 if it is not one. */
int64_t pg_number(const char *text);

size_t pg_params_bytes(const struct pg_params *p);
