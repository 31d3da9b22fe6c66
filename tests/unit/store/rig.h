/* rig.h - what the store's tests share: an executor that the test thread drains, a folder of its
 * own, a clock whose monotonic side can be pushed, and units that add, count and wait. */
#pragma once

#include "base/env.h"
#include "base/why.h"
#include "store/store.h"
#include "unit/cm.h"
#include "unit/desk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a bell: one thread waits until another rings --- */

struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rung_cond;
    bool rung;
};

#define BELL_INIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false                                 \
    }

static inline void bell_ring(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    b->rung = true;
    pthread_cond_broadcast(&b->rung_cond);
    pthread_mutex_unlock(&b->lock);
}

static inline void bell_wait(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    while (!b->rung)
        pthread_cond_wait(&b->rung_cond, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

/* --- an environment --- */

static _Atomic int64_t rig_later_us; /* how far the monotonic clock was pushed */

static inline int64_t rig_mono_us(const struct clock *c)
{
    struct clock machine;

    (void)c;
    clock_init(&machine);
    return machine.mono_us(&machine) + atomic_load(&rig_later_us);
}

struct rig {
    struct env env;
    struct desk desk;
    char dir[64], file[96], url[160];
    struct store *store;
};

/* How far the limits of waiting for the database are stretched: a busy machine is no failure. */
static int rig_patience = 1;

static inline void rig_init(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    clock_init(&r->env.clock);
    r->env.clock.mono_us = rig_mono_us;
    rng_init_kernel(&r->env.rng);
    r->env.node = env_uuid(&r->env);
    r->env.patience = rig_patience;
    desk_init(&r->desk);
    snprintf(r->dir, sizeof(r->dir), "%s/ichido-store.XXXXXX", getenv("TMPDIR") ?: "/tmp");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->file, sizeof(r->file), "%s/ichido.db", r->dir);
    snprintf(r->url, sizeof(r->url), "sqlite:%s", r->file);
}

static inline void rig_open(struct rig *r, int connections)
{
    struct store_options o = { .url = str_of(r->url),
                               .owner = S("127.0.0.1:8787"),
                               .connections = connections };
    struct why why = { 0 };

    if (store_open(&o, &r->env, &r->store, &why))
        fail_msg("%s: %s", r->url, why.text);
}

static inline void rig_close(struct rig *r)
{
    store_free(r->store);
    r->store = NULL;
}

static inline void rig_release(struct rig *r)
{
    char command[128];

    rig_close(r);
    snprintf(command, sizeof(command), "rm -rf %s", r->dir);
    assert_int_equal(system(command), 0);
}

/* --- units --- */

struct job {
    struct unit unit;
    struct uuid id;
    struct str ref;
    enum err fail;           /* what it returns after it wrote */
    struct bell *begun, *go; /* rings the one, waits for the other */
    bool hook;               /* asks for a word after the commit */
    _Atomic int hooked;
    int runs, done;
    enum err verdict;
    pthread_t thread;
    int64_t number; /* what it read */
};

static inline struct job *job_of(struct unit *u)
{
    return CONTAINER_OF(u, struct job, unit);
}

static inline void job_done(struct unit *u)
{
    struct job *j = job_of(u);

    j->done++;
    j->verdict = u->err;
    j->thread = pthread_self();
}

static inline void job_hook(void *ctx, int64_t arg)
{
    struct job *j = ctx;

    atomic_fetch_add(&j->hooked, (int)arg);
}

/* One dead letter: its id is unique, and must be 16 bytes long. */
static inline enum err job_insert(struct tx *tx, struct job *j)
{
    return TX_DO(tx, STMT_dead_letter_add, 1, V_BLOB(uuid_bytes(&j->id)), V_TEXT(S("test")),
                 V_TEXT(j->ref), V_NULL, V_TEXT(S("why")), V_TEXT(S("why")), V_INT(1), V_INT(2));
}

static inline enum err job_add(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    enum err e;

    j->runs++;
    e = job_insert(tx, j);
    if (j->hook)
        tx_after_commit(tx, job_hook, j, 1);
    if (j->begun)
        bell_ring(j->begun);
    if (j->go)
        bell_wait(j->go);
    return e ? e : j->fail;
}

static inline enum err job_count(struct tx *tx, struct unit *u)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_dead_count, &row, V_INT(INT64_MAX));

    job_of(u)->runs++;
    if (!e)
        job_of(u)->number = row.col[0].i;
    return e;
}

static const struct unit_kind kind_add = { "add", UNIT_FRONT, job_add, NULL };
static const struct unit_kind kind_add_back = { "add_back", UNIT_BACK, job_add, NULL };
static const struct unit_kind kind_count = { "count", UNIT_READ, job_count, NULL };

static inline void job_init(struct job *j, struct rig *r, const struct unit_kind *kind)
{
    memset(j, 0, sizeof(*j));
    j->unit = (struct unit){ .kind = kind, .executor = &r->desk.executor, .done = job_done };
    j->id = env_uuid(&r->env);
    j->ref = S("ref");
}

static inline enum err job_run(struct rig *r, struct job *j)
{
    store_post(r->store, &j->unit);
    desk_wait(&r->desk, 1);
    return j->verdict;
}

static inline int64_t rig_count(struct rig *r)
{
    struct job j;

    job_init(&j, r, &kind_count);
    assert_int_equal(job_run(r, &j), OK);
    return j.number;
}
