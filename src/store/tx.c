/* tx.c - what both drivers share of a transaction.
 *
 *   (1) tx_trouble() keeps the first failure that the database caused. Failures that the unit's own
 *       values or rows caused, and errors that its callbacks return, do not count.
 *   (2) Hooks are kept in the order in which they were registered, and run in it after the commit.
 *
 * All of it is in memory: a crash loses the hooks of a commit that is durable. Whatever a hook does
 * must therefore also follow from the stored rows at the next start. */
#include "store/driver.h"

#include <assert.h>
#include <stdlib.h>

enum { TX_SCRATCH = 16 * 1024 * 1024 };

/* --- statements --- */

/* Errors that the unit's own values and rows cause, also on a healthy database. */
static bool is_unit_error(enum err e)
{
    return e == OK || e == ERR_NOT_FOUND || e == ERR_STALE || e == ERR_CONFLICT ||
           e == ERR_CONSTRAINT || e == ERR_SUM_TOO_LARGE || e == ERR_TOO_LARGE;
}

static enum err tx_note_error(struct tx *tx, enum err e)
{
    if (!tx->trouble && !is_unit_error(e))
        tx->trouble = e;
    return e;
}

enum err tx_do(struct tx *tx, enum stmt stmt, int64_t expected, const struct val *v, size_t n)
{
    return tx_note_error(tx, tx->ops->exec(tx, stmt, expected, v, n));
}

enum err tx_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, struct row *ret_row)
{
    return tx_note_error(tx, tx->ops->row(tx, stmt, v, n, ret_row));
}

/* Wraps the unit's callback and keeps its error apart: an error of the callback is not one of the
 * database. */
struct row_callback {
    tx_each_fn each;
    void *ctx;
    enum err err;
};

static enum err row_callback_run(void *ctx, const struct row *row)
{
    struct row_callback *c = ctx;

    c->err = c->each(c->ctx, row);
    return c->err;
}

enum err tx_each(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, tx_each_fn each,
                 void *ctx)
{
    struct row_callback c = { .each = each, .ctx = ctx };
    enum err e = tx->ops->each(tx, stmt, v, n, each ? row_callback_run : NULL, &c);

    return c.err ? e : tx_note_error(tx, e);
}

enum err tx_bulk(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows, size_t columns,
                 tx_each_fn each, void *ctx)
{
    struct row_callback c = { .each = each, .ctx = ctx };
    enum err e = OK;

    if (rows)
        e = tx->ops->bulk(tx, stmt, v, rows, columns, each ? row_callback_run : NULL, &c);
    return c.err ? e : tx_note_error(tx, e);
}

enum err tx_trouble(const struct tx *tx)
{
    return tx->trouble;
}

void tx_unit_begins(struct tx *tx)
{
    tx->trouble = OK;
}

/* --- the transaction and its hooks --- */

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

static void tx_add_hook(struct tx *tx, struct tx_hook hook)
{
    if (tx->hook_count == tx->hook_size) {
        size_t size = tx->hook_size ? tx->hook_size * 2 : 64;
        struct tx_hook *grown = realloc(tx->hooks, size * sizeof(*grown));

        if (!grown)
            abort(); /* a lost wake-up would go unnoticed; a crash is resumed from the store */
        tx->hooks = grown;
        tx->hook_size = size;
    }
    tx->hooks[tx->hook_count++] = hook;
}

void tx_after_commit(struct tx *tx, void (*fn)(void *ctx, int64_t arg), void *ctx, int64_t arg)
{
    tx_add_hook(tx, (struct tx_hook){ .fn = fn, .ctx = ctx, .arg = arg });
}

void tx_after_commit_own(struct tx *tx, void (*fn)(void *own, int64_t arg), void *own)
{
    tx_add_hook(tx, (struct tx_hook){ .fn = fn, .ctx = own, .owns_ctx = true });
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
