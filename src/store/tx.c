#include "store/driver.h"

#include <assert.h>
#include <stdlib.h>

enum { TX_SCRATCH = 16 * 1024 * 1024 };

/* --- statements --- */

/* What the unit's own values and rows brought about, however good the database is. */
static bool is_the_units_own(enum err e)
{
    return e == OK || e == ERR_NOT_FOUND || e == ERR_STALE || e == ERR_CONFLICT ||
           e == ERR_CONSTRAINT || e == ERR_SUM_TOO_LARGE || e == ERR_TOO_LARGE;
}

static enum err store_tx_note(struct tx *tx, enum err e)
{
    if (!tx->trouble && !is_the_units_own(e))
        tx->trouble = e;
    return e;
}

enum err tx_do(struct tx *tx, enum stmt stmt, int64_t expected, const struct val *v, size_t n)
{
    return store_tx_note(tx, tx->ops->exec(tx, stmt, expected, v, n));
}

enum err tx_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, struct row *ret_row)
{
    return store_tx_note(tx, tx->ops->row(tx, stmt, v, n, ret_row));
}

/* Stands before the unit's own function: what that one says is no word of the database. */
struct ear {
    tx_each_fn each;
    void *ctx;
    enum err said;
};

static enum err store_tx_hear(void *ctx, const struct row *row)
{
    struct ear *ear = ctx;

    ear->said = ear->each(ear->ctx, row);
    return ear->said;
}

enum err tx_each(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, tx_each_fn each,
                 void *ctx)
{
    struct ear ear = { .each = each, .ctx = ctx };
    enum err e = tx->ops->each(tx, stmt, v, n, each ? store_tx_hear : NULL, &ear);

    return ear.said ? e : store_tx_note(tx, e);
}

enum err tx_bulk(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows, size_t columns,
                 tx_each_fn each, void *ctx)
{
    struct ear ear = { .each = each, .ctx = ctx };
    enum err e = OK;

    if (rows)
        e = tx->ops->bulk(tx, stmt, v, rows, columns, each ? store_tx_hear : NULL, &ear);
    return ear.said ? e : store_tx_note(tx, e);
}

enum err tx_trouble(const struct tx *tx)
{
    return tx->trouble;
}

void tx_unit_begins(struct tx *tx)
{
    tx->trouble = OK;
}

/* --- */

struct env *tx_env(struct tx *tx)
{
    return tx->env;
}

void tx_init(struct tx *tx, const struct tx_ops *ops, struct env *env)
{
    *tx = (struct tx){ .ops = ops, .env = env };
    arena_init(&tx->scratch, TX_SCRATCH);
}

void tx_release(struct tx *tx)
{
    tx_drop_hooks(tx, 0);
    arena_release(&tx->scratch);
    free(tx->hooks);
    tx->hooks = NULL;
    tx->hook_count = tx->hook_size = 0;
}

static void add_hook(struct tx *tx, struct tx_hook hook)
{
    if (tx->hook_count == tx->hook_size) {
        size_t size = tx->hook_size ? tx->hook_size * 2 : 64;
        struct tx_hook *grown = realloc(tx->hooks, size * sizeof(*grown));

        if (!grown)
            abort(); /* a lost wake-up would be silent; a crash is resumed from the store */
        tx->hooks = grown;
        tx->hook_size = size;
    }
    tx->hooks[tx->hook_count++] = hook;
}

void tx_after_commit(struct tx *tx, void (*fn)(void *ctx, int64_t arg), void *ctx, int64_t arg)
{
    add_hook(tx, (struct tx_hook){ .fn = fn, .ctx = ctx, .arg = arg });
}

void tx_after_commit_own(struct tx *tx, void (*fn)(void *own, int64_t arg), void *own)
{
    add_hook(tx, (struct tx_hook){ .fn = fn, .ctx = own, .owns_ctx = true });
}

void tx_drop_hooks(struct tx *tx, size_t keep)
{
    assert(keep <= tx->hook_count);
    for (size_t i = keep; i < tx->hook_count; i++)
        if (tx->hooks[i].owns_ctx)
            free(tx->hooks[i].ctx);
    tx->hook_count = keep;
}

void tx_run_hooks(struct tx *tx)
{
    for (size_t i = 0; i < tx->hook_count; i++)
        tx->hooks[i].fn(tx->hooks[i].ctx, tx->hooks[i].arg);
    tx_drop_hooks(tx, 0);
}
