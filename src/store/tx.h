/* tx.h - what a unit of work may do. The same code runs on both databases; the statements are those
 * of store/statements/all.h. All of it blocks, and none of it may be kept beyond the unit's run. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "store/statement.h"

struct tx;
struct env;

enum val_type { VAL_NULL, VAL_INT, VAL_TEXT, VAL_BLOB };

struct val {
    enum val_type type;
    int64_t i;
    struct str s;
};

#define V_NULL ((struct val){ .type = VAL_NULL })
#define V_INT(x) ((struct val){ .type = VAL_INT, .i = (x) })
#define V_TEXT(x) ((struct val){ .type = VAL_TEXT, .s = (x) })
#define V_BLOB(x) ((struct val){ .type = VAL_BLOB, .s = (x) })

enum { ROW_COLUMNS = 32, STATEMENT_PARAMS = 32 };

struct row {
    struct val col[ROW_COLUMNS]; /* texts and blobs live until the unit's run ends */
    int count;
};

/* Runs a statement that returns nothing. expected: how many rows it must change (STALE if not), or
 * -1. On PostgreSQL it may be sent only later, with others, so its failure may come from a later
 * call or from the commit: never act on its success outside of the transaction. */
enum err tx_do(struct tx *tx, enum stmt stmt, int64_t expected, const struct val *v, size_t n);

/* The first row, or NOT_FOUND. On SQLite a statement that writes and returns no columns may be run
 * the same way: OK if it changed a row, NOT_FOUND if not. (PostgreSQL's text has RETURNING; on
 * SQLite that would cost a table for the returned rows.) */
enum err tx_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, struct row *ret_row);

/* Calls `each` for every row; an err from it ends the loop and is returned. `each` runs no
 * statement. On SQLite a statement that writes and returns no columns gives one row without columns
 * for each row that it changed. */
typedef enum err (*tx_each_fn)(void *ctx, const struct row *row);
enum err tx_each(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, tx_each_fn each,
                 void *ctx);

/* One statement over many rows: v holds rows x columns values, row by row, and every column has one
 * type (or NULL). SQLite's text handles a single row and is run for each in turn; PostgreSQL's text
 * takes one array for each column (unnest). `each` (may be NULL) is called for every returned row. */
enum err tx_bulk(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows, size_t columns,
                 tx_each_fn each, void *ctx);

#define TX_DO(tx, stmt, expected, ...)                                                             \
    tx_do(tx, stmt, expected, (const struct val[]){ __VA_ARGS__ },                                 \
          sizeof((const struct val[]){ __VA_ARGS__ }) / sizeof(struct val))
#define TX_ROW(tx, stmt, ret_row, ...)                                                             \
    tx_row(tx, stmt, (const struct val[]){ __VA_ARGS__ },                                          \
           sizeof((const struct val[]){ __VA_ARGS__ }) / sizeof(struct val), ret_row)

/* Registers a hook: fn(ctx, arg) is called on a store thread once this transaction is durable, and
 * never if it rolls back. */
void tx_after_commit(struct tx *tx, void (*fn)(void *ctx, int64_t arg), void *ctx, int64_t arg);

/* The same, with a context from malloc() that the transaction frees, whether fn was called or not.
 */
void tx_after_commit_own(struct tx *tx, void (*fn)(void *own, int64_t arg), void *own);

/* The first failure in this run of the unit that the database caused and not the unit: any result
 * of a statement other than NOT_FOUND, STALE, CONFLICT, CONSTRAINT, SUM_TOO_LARGE and TOO_LARGE.
 * OK: none so far; on PostgreSQL one may still come with the commit. */
enum err tx_trouble(const struct tx *tx);

struct env *tx_env(struct tx *tx);
