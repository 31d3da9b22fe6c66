/* driver.h - the interface between store/ and a database driver. Only store/ and the simulator
 * include this. */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/limits.h"
#include "base/why.h"
#include "store/store.h"

struct tx_ops {
    enum err (*exec)(struct tx *tx, enum stmt stmt, int64_t expected, const struct val *v,
                     size_t n);
    enum err (*row)(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, struct row *ret);
    enum err (*each)(struct tx *tx, enum stmt stmt, const struct val *v, size_t n, tx_each_fn each,
                     void *ctx);
    enum err (*bulk)(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows,
                     size_t columns, tx_each_fn each, void *ctx);
};

struct tx_hook {
    void (*fn)(void *ctx, int64_t arg);
    void *ctx;
    int64_t arg;
    bool owns_ctx;
};

/* A driver embeds it as the first member of its own. */
struct tx {
    const struct tx_ops *ops;
    struct env *env;
    struct arena scratch; /* rows' bytes; rewound after each unit */
    struct tx_hook *hooks;
    size_t hook_count, hook_size;
    enum err trouble; /* see tx_trouble() */
};

void tx_init(struct tx *tx, const struct tx_ops *ops, struct env *env);
void tx_release(struct tx *tx);
void tx_unit_begins(struct tx *tx);             /* each time a unit, or a bulk of them, is run */
void tx_drop_hooks(struct tx *tx, size_t keep); /* a unit was rolled back: forget its hooks */
void tx_run_hooks(struct tx *tx);               /* after the commit */

struct store_ops {
    void (*post)(struct store *s, struct unit *u);
    void (*hint)(struct store *s);
    void (*free)(struct store *s);
    struct store_health (*health)(struct store *s);
};

/* A driver embeds it as the first member of its own. */
struct store {
    const struct store_ops *ops;
    struct env *env;
    struct store_options options;
};

enum err sqlite_store_open(const struct store_options *o, struct env *env, struct store **ret_store,
                           struct why *why);
enum err postgres_store_open(const struct store_options *o, struct env *env,
                             struct store **ret_store, struct why *why);

/* Begins a unit's run: rewinds its arena and clears an earlier verdict. */
void unit_begin(struct unit *u);
/* Returns the unit to its executor with its verdict. */
void unit_complete(struct unit *u, enum err verdict);
/* True: it waited longer than LIMIT_STORE_WAIT_MS and was returned with TIMEOUT. */
bool unit_expire(struct unit *u, struct env *env);

struct migration {
    int number;
    const char *name, *sql;
};
/* Each ends with number 0. The sandbox's numbers begin at SANDBOX_MIGRATIONS. */
extern const struct migration sqlite_migrations[], postgres_migrations[], sandbox_migrations[];
enum { SANDBOX_MIGRATIONS = 1001 };
