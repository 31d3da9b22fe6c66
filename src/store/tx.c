#include "store/driver.h"

#include <assert.h>
#include <stdlib.h>

enum { TX_SCRATCH = 16 * 1024 * 1024 };

enum err tx_do(struct tx *tx, enum stmt stmt, int64_t expected, const struct val *v, size_t n)
{
    return tx->ops->exec(tx, stmt, expected, v, n);
}

enum err tx_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, struct row *ret_row)
{
    return tx->ops->row(tx, stmt, v, n, ret_row);
}

enum err tx_each(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, tx_each_fn each,
                 void *ctx)
{
    return tx->ops->each(tx, stmt, v, n, each, ctx);
}

enum err tx_bulk(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows, size_t columns,
                 tx_each_fn each, void *ctx)
{
    return rows ? tx->ops->bulk(tx, stmt, v, rows, columns, each, ctx) : OK;
}

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
    arena_release(&tx->scratch);
    free(tx->hooks);
    tx->hooks = NULL;
    tx->hook_count = tx->hook_size = 0;
}

void tx_after_commit(struct tx *tx, void (*fn)(void *ctx, int64_t arg), void *ctx, int64_t arg)
{
    if (tx->hook_count == tx->hook_size) {
        size_t size = tx->hook_size ? tx->hook_size * 2 : 64;
        struct tx_hook *grown = realloc(tx->hooks, size * sizeof(*grown));

        if (!grown)
            abort(); /* a lost wake-up would be silent; a crash is resumed from the store */
        tx->hooks = grown;
        tx->hook_size = size;
    }
    tx->hooks[tx->hook_count++] = (struct tx_hook){ fn, ctx, arg };
}

void tx_drop_hooks(struct tx *tx, size_t keep)
{
    assert(keep <= tx->hook_count);
    tx->hook_count = keep;
}

void tx_run_hooks(struct tx *tx)
{
    for (size_t i = 0; i < tx->hook_count; i++)
        tx->hooks[i].fn(tx->hooks[i].ctx, tx->hooks[i].arg);
    tx->hook_count = 0;
}
