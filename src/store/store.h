/* store.h - rows and transactions, on SQLite or PostgreSQL.
 *
 * Work reaches the database as a unit of work (a "unit" below): a plain function with blocking SQL
 * that begins and commits nothing itself. The store runs the waiting units in as few commits as it
 * can, and returns each one with its verdict once that verdict is durable.
 *
 *   (1) OK means fsynced. No hook runs and no verdict is returned before that.
 *   (2) A unit that fails is rolled back alone; its neighbours in the commit are not affected.
 *   (3) A unit may be run again (a neighbour broke the batch, or PostgreSQL reported a conflict).
 *       So it sets all of its outputs on each run, and ids are made before it. What reaches beyond
 *       the transaction goes through tx_after_commit().
 *   (4) UNCERTAIN: COMMIT was sent, its answer was lost, and asking the server did not help. */
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
    UNIT_FRONT, /* foreground: a request waits for it (ACK, claim, settle) */
    UNIT_BACK,  /* background: gets the time that the foreground leaves, and always a share */
    UNIT_READ,  /* writes nothing; on SQLite it runs beside the writer */
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
    /* Called on the executor, once, with err set; from then on the caller owns the unit again. */
    void (*done)(struct unit *u);
    struct arena *arena; /* optional: rewound before each run */
    size_t bytes;        /* optional: what it sends; a bulk ends at LIMIT_BULK_BYTES */
    enum err err;

    /* private to the store */
    struct arena_mark mark;
    int64_t posted_ms; /* monotonic */
    struct unit *next;
    struct task back;
};

struct store_options {
    struct str url;   /* sqlite:PATH or postgres://... */
    struct str owner; /* SQLite: written into the lock file, where a second server reads it */
    int connections;  /* PostgreSQL: size of the pool; SQLite: readers. 0: the default */
    /* Called from any thread when a commit may or may not be on the disk (fsync failed): the
     * process must end without another answer. It must not return. */
    void (*fatal)(void *ctx, const char *why);
    void *fatal_ctx;
    /* PostgreSQL: another node says that work may be due. From any thread. A hint may be lost,
     * late or wrong. */
    void (*hint)(void *ctx);
    void *hint_ctx;
    /* SQLite: the file of the sandbox. It has the tables of sql/sandbox too. A commit survives
     * kill -9, but not a power cut. */
    bool sandbox;
};

/* Opens, migrates, starts its threads. On failure `why` says what to do, in one line. */
enum err store_open(const struct store_options *o, struct env *env, struct store **ret_store,
                    struct why *why);

/* From any thread. Cannot fail: a unit that cannot be run is returned with its err. */
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
