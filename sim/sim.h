/* sim.h - one simulated world: a disk, a clock, one or two nodes, a client, a provider, a checker,
 * and the seed that decides everything. Which faults occur, and how often, is drawn from the seed too
 * (its plan), so that some seeds have few faults and some have many. */
#pragma once

#include "base/rng.h"
#include "sim/disk.h"
#include "sim/marks.h"
#include "sim/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_NODES = 2, SIM_RETRIES = 3, SIM_RETRY_FIRST_MS = 1000, SIM_RETRY_MAX_MS = 60 * 1000 };

struct provider;
struct check;
struct sim_client;
struct sim_node;

/* Each uint64_t n is a probability of one in n; 0 is never. */
struct plan {
    int nodes;
    int events, lanes;
    int fault_steps; /* then faults stop, and everything has to come to rest */
    int batch_max;
    int cache_kb;         /* of SQLite; 0: the real one. A small one writes before the commit */
    uint64_t crash;       /* at any step */
    uint64_t crash_batch; /* at the n-th disk operation of a commit */
    uint64_t crash_boot;  /* the same while a node starts */
    uint64_t crash_again; /* right behind a start */
    uint64_t crash_checkpoint;
    uint64_t sync_fails;
    uint64_t full;
    uint64_t refuse; /* two nodes: the pool has no connection for a unit */
    uint64_t clock_jump;
    uint64_t stop;
    uint64_t checkpoint;
    uint64_t ack_lost;
    uint64_t power; /* of the crashes, one in n is a power cut; the others are kill -9 */
    uint64_t duplicate, special; /* of the events */
    uint64_t order;     /* of the events: it is an order, with a call to the provider ... */
    uint64_t puts_off;  /* ... whose first settle puts it off */
    uint64_t unadopted; /* ... whose first lease is not adopted */
    uint64_t request_lost, answer_lost; /* of the calls */
};

struct sim {
    uint64_t seed;
    struct plan plan;
    struct rng rng;
    struct sim_trace trace;
    struct marks *marks;
    struct disk *disk;
    int64_t wall_ms, mono_us;
    int64_t calendar_ms; /* 0, or how far the machines' calendar was set back, without any effect */
    int64_t steps, disturbed; /* how often something went wrong */
    struct sim_node *nodes[SIM_NODES];
    int node_count;
    struct sim_client *client;
    struct provider *provider;
    struct check *check;
    bool quiet; /* no faults any more */
    bool failed;
    char violation[256]; /* the first one */
};

uint64_t sim_below(struct sim *s, uint64_t bound);
bool sim_chance(struct sim *s, uint64_t one_in); /* false once faults have stopped */
void sim_mark(struct sim *s, enum mark m);
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define SIM_TRACE(s, ...) sim_trace_line(&(s)->trace, __VA_ARGS__)

/* Runs one seed to its end. False: a violation; it was printed with the last lines of the trace. */
struct sim_result {
    bool fine;
    uint64_t hash;
    int64_t steps, commits;
};
struct sim_result sim_run(uint64_t seed, bool print, struct marks *marks);
