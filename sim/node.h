/* node.h - one simulated node: the real runner on an executor and a store whose order the seed
 * decides. What a loop and a store's threads would hold is held in lists here; a crash forgets the
 * lists. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "event/apply_event.h"
#include "queue/queue.h"
#include "sim/sim.h"
#include "store/driver.h"
#include "store/sqlite/db.h"

struct bag { /* pointers in the order they came */
    void **p;
    size_t n, size;
};

void bag_add(struct bag *b, void *p);
void *bag_take(struct bag *b, size_t at);
bool bag_has(const struct bag *b, const void *p);
bool bag_drop(struct bag *b, const void *p); /* false: it is not in it */

struct chosen { /* the units of one commit */
    struct unit *units[SQLITE_BATCH_MAX];
    size_t n, front;
};

struct sim_node {
    struct sim *sim;
    int index;
    bool up, stopping, stopped;
    bool gone;    /* it never starts again */
    int64_t born; /* how many lives it had */
    struct env env;
    struct executor executor;
    struct store store;
    struct sqlite_db *db;
    struct queue *queue;
    struct apply_event apply;
    struct job_kind real;
    struct job_kind kinds[2]; /* the real job with faults; the job that calls the provider */
    struct bag tasks, timers, waiting[UNIT_READ + 1];
    struct chosen *running; /* the units of the commit under way */
    bool hinted;            /* another node told this one that work may be due */
    bool job_crash;         /* a job of the running batch killed the node */
    bool counted;           /* its runner has begun, and knows how many messages there are */
    int64_t posted;         /* units, over all lives */
    int64_t commits;
};

struct sim_node *sim_node_new(struct sim *s, int index);
void sim_node_free(struct sim_node *n);

void sim_node_boot(struct sim_node *n); /* it may crash at once, and stays down then */
/* Forgets everything that was in memory. One node alone takes its disk along. */
void sim_node_crash(struct sim_node *n, const char *why);
/* Returns the units of the running batch that have no verdict yet. */
void sim_node_give_up(struct sim_node *n, enum err e);
void sim_node_stop(struct sim_node *n);  /* graceful: sets `stopped` when nothing is under way */
void sim_node_leave(struct sim_node *n); /* then this ends it */
/* Two nodes: their database goes and comes under a batch of n. True: that batch was committed. */
bool sim_database_restart(struct sim_node *n);

/* What it could do next, and doing it. */
bool sim_node_can_commit(const struct sim_node *n);
bool sim_node_can_fire(const struct sim_node *n);
int64_t sim_node_next_timer(const struct sim_node *n); /* CLOCK_NEVER: none */
void sim_node_run_task(struct sim_node *n);
void sim_node_fire(struct sim_node *n);
void sim_node_commit(struct sim_node *n);
void sim_node_read(struct sim_node *n);
void sim_node_refuse(struct sim_node *n);
void sim_node_checkpoint(struct sim_node *n);
void sim_node_take_hint(struct sim_node *n);
