/* destinations.h - the hosts that this node delivers to, and whether a delivery may start now.
 *
 *   enter --> starts at once
 *        |--> waits here for a place: its turn is near              --> starts, or is put off
 *        '--> is put off: too many wait, or the host does not answer --> enters again at its time
 *
 * A destination is a host with its port. Each has a number of places, a pace (how fast places come
 * free) and a circuit breaker:
 *
 *   CLOSED --five calls in a row without an answer--> OPEN --the pause is over--> one probe
 *      ^                                               ^                           |    |
 *      |                                               '--no answer: longer pause--'    |
 *      '---------------------------any answer-------------------------------------------'
 *
 * (1) No delivery fails here and none loses an attempt: it only learns when to enter again.
 * (2) Slow destinations do not hold up others: there is always a place for a new one.
 * (3) Each delivery that is put off gets its own time, at the destination's pace, so that a long
 *     line of jobs is not leased again and again.
 *
 * All of this is memory of one node and is used on the executor alone. A crash loses it, which
 * costs a few calls to hosts that do not answer. */
#pragma once

#include "base/env.h"
#include "base/str.h"

struct destination;
struct destinations;

enum stay_end {
    STAY_UNUSED,   /* there was no call: it says nothing about the destination */
    STAY_ANSWERED, /* with any status */
    STAY_SILENT,   /* not reached, no TLS, no answer in time */
};

/* One delivery at one destination; owned by the caller, from enter to leave. */
struct stay {
    size_t bytes; /* that the call will hold in memory */
    bool fresh;   /* never put off so far: it starts after those that were */
    /* Runs once, on the executor, perhaps inside destinations_enter(), and must not call these
     * functions. put_off_ms 0: it has a place, and leave must follow. Otherwise it has none and may
     * enter again at that time. */
    void (*decided)(struct stay *s);
    int64_t put_off_ms;

    /* owned by destinations.c */
    enum { STAY_OUT, STAY_WAITS, STAY_GOES } state;
    struct destination *at;
    struct stay *next, *prev; /* among those that wait */
    int64_t since_us;
    int epoch;
    bool is_probe;
};

struct destinations *destinations_new(struct env *env); /* NULL: no memory */
void destinations_free(struct destinations *d);         /* every stay has left; NULL is fine */

void destinations_enter(struct destinations *d, struct str host, struct stay *s);
/* It is over, and the next one may start. Does nothing if s neither waits nor has a place. */
void destinations_leave(struct destinations *d, struct stay *s, enum stay_end end);
