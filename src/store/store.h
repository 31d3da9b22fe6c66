/* store.h - rows and transactions, on SQLite or PostgreSQL.
 *
 * Work reaches the database as a unit: a plain function with blocking SQL that begins and commits
 * nothing itself. The store takes the units that wait, runs them in as few commits as it can, and
 * sends each one back with its verdict once that is durable.
 *
 *   (1) OK means fsynced. Nothing is told before that.
 *   (2) A unit that fails is rolled back alone; its neighbours in the commit do not notice.
 *   (3) A unit may be run again (a neighbour spoiled the batch, PostgreSQL asked for it), so it
 * sets all of its outputs each time, and ids are made before it. What reaches beyond the
 *       transaction goes through tx_after_commit().
 *   (4) UNCERTAIN: the commit was sent and its answer lost, and asking did not help either. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/executor.h"
#include "base/why.h"
#include "store/tx.h"

struct env;
struct store;
struct unit;

enum unit_class {
    UNIT_FRONT, /* somebody waits for it: ACK, claim, settle */
    UNIT_BACK,  /* the queue's own work; gets what the front leaves, and always a share */
    UNIT_READ,  /* writes nothing; runs beside the writer */
};

struct unit_kind {
    const char *name;
    enum unit_class where;
    enum err (*run)(struct tx *tx, struct unit *u);

    /* Optional, for a kind without shared counters: n units (2 to LIMIT_BULK) at once. It sets each
     * u[i]->err and returns OK, or fails as a whole; then each is run alone. */
    enum err (*run_many)(struct tx *tx, struct unit **u, size_t n);
};

struct unit {
    const struct unit_kind *kind;
    struct executor *executor;
    void (*done)(
        struct unit *u); /* on the executor, once, with err set; the unit is the caller's again */
    struct arena *arena; /* optional: rewound before each run */
    size_t bytes;        /* optional: what it sends; a bulk ends at LIMIT_BULK_BYTES */
    enum err err;

    /* the store's */
    struct arena_mark mark;
    int64_t posted_ms; /* monotonic */
    struct unit *next;
    struct task back;
};

struct store_options {
    struct str url; /* sqlite:PATH or postgres://... */
    struct str
        owner;       /* SQLite: written into the lock file, so that the second server can name us */
    int connections; /* PostgreSQL: size of the pool; SQLite: readers. 0: the default */
    /* Called from any thread when a commit may have broken the disk's promise (fsync failed): stop
     * answering and leave. It must not return. */
    void (*fatal)(void *ctx, const char *why);
    void *fatal_ctx;
    /* PostgreSQL: another node says that work may be due. From any thread; a hint, never the truth.
     */
    void (*hint)(void *ctx);
    void *hint_ctx;
    /* SQLite: the file of the pretend Stripe. It has the tables of sql/sandbox too, and a commit
     * survives the death of the process, but not that of the machine. */
    bool sandbox;
};

/* Opens, migrates, starts its threads. On failure `why` says what to do, in one line. */
enum err store_open(const struct store_options *o, struct env *env, struct store **ret_store,
                    struct why *why);

/* From any thread. Never fails: a unit that cannot be run comes back with its err. */
void store_post(struct store *s, struct unit *u);

/* Tells other nodes, soon and once for many calls, that work is due. SQLite: nothing to do. */
void store_hint(struct store *s);

/* Finishes what was posted, then stops the threads and closes. */
void store_free(struct store *s);

struct store_health {
    bool writable;     /* the last commit went well, or none was tried since */
    int waiting;       /* units posted and not yet begun */
    int64_t commits;   /* since start */
    int64_t units;     /* since start */
    int64_t wal_bytes; /* SQLite */
    bool many_nodes;   /* PostgreSQL: other nodes may add and lease */
};

struct store_health store_health(struct store *s);
