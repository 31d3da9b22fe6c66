/* worker.h - one connection of the pool, and what it does with the units it is given. */
#pragma once

#include "store/driver.h"
#include "store/postgres/tx.h"

#include <pthread.h>

struct pg_worker;

/* What the workers of one store share. */
struct pg_shared {
    struct env *env;
    char *url;
    _Atomic bool unnamed;     /* M7: a pooler is in between, so no prepared statements */
    _Atomic int connected;    /* workers with a connection, as far as they know */
    _Atomic bool full;        /* the last commit failed for want of room */
    _Atomic bool unsafe;      /* the server does not fsync */
    _Atomic int64_t clock_us; /* when its time was last looked at */
    _Atomic int64_t commits, units;
    /* The worker will be busy for a while: others may take units of the kind it runs. */
    void (*stand_aside)(struct pg_worker *w);
};

struct pg_worker {
    struct pg_shared *shared;
    struct pg_conn conn;
    struct pg_tx tx;
    bool counted; /* in shared->connected */

    /* the store's */
    struct pg_store *store;
    pthread_t thread;
    const struct unit_kind *kind; /* what it runs just now */
    int64_t retry_ms, delay_ms;
};

void pg_worker_init(struct pg_worker *w, struct pg_shared *shared);
void pg_worker_release(struct pg_worker *w);

/* One try. c->why says why not. */
enum err pg_worker_connect(struct pg_worker *w);

/* Runs n units of one kind, in one transaction where the kind can do that, and sends each back. May
 * leave the worker without a connection. */
void pg_worker_run(struct pg_worker *w, struct unit **units, size_t n);
