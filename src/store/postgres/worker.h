/* worker.h - one connection of the pool: runs the units that the pool gives it. */
#pragma once

#include "store/driver.h"
#include "store/postgres/tx.h"

#include <pthread.h>

struct pg_worker;

/* What the workers of one store share. */
struct pg_shared {
    struct env *env;
    char *url;
    _Atomic bool unnamed;     /* no prepared statements, for a pooler in transaction mode (M7) */
    _Atomic int connected;    /* workers that have a connection, as far as they know */
    _Atomic bool full;        /* the last commit failed with STORE_FULL */
    _Atomic bool unsafe;      /* the server does not fsync */
    _Atomic int64_t clock_us; /* when our clock was last compared with the server's */
    _Atomic int64_t commits, units;
    /* The worker will be busy for a while: others may take units of the kind it runs. */
    void (*stand_aside)(struct pg_worker *w);
};

struct pg_worker {
    struct pg_shared *shared;
    struct pg_conn conn;
    struct pg_tx tx;
    bool counted; /* in shared->connected */

    /* private to store.c */
    struct pg_store *store;
    pthread_t thread;
    const struct unit_kind *kind; /* of the units that it runs now */
    int64_t retry_ms, delay_ms;
};

void pg_worker_init(struct pg_worker *w, struct pg_shared *shared);
void pg_worker_release(struct pg_worker *w);

/* Tries once to connect. On failure w->conn.why has the reason. */
enum err pg_worker_connect(struct pg_worker *w);

/* Runs n units of one kind, in one transaction if n > 1, and returns each with its verdict. May
 * leave the worker without a connection. */
void pg_worker_run(struct pg_worker *w, struct unit **units, size_t n);
