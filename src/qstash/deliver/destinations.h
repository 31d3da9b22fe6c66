/* destinations.h - whom this node delivers to, and whether one more parcel may go there now.
 *
 *   enter --> goes at once
 *        |--> waits here for a place: its turn is near          --> goes, or is put off after all
 *        '--> is put off: the line is long, or nobody answers   --> asks again at its own time
 *
 * A destination is a host (with its port). Each has so many places, a pace (how fast places come
 * free), and a breaker:
 *
 *   CLOSED --five calls in a row without an answer--> OPEN --pause is over--> one call is let
 * through ^                                                ^ |                          |
 *     '------------------- any answer -----------------+-'----- no answer: a longer pause
 *
 * (1) Nobody fails here and no try is lost: a parcel is only told when to ask again.
 * (2) One destination holds nobody else up, nor do many: there is always a place for a new one.
 * (3) Who is put off gets a time of its own, at the destination's pace, so that a long line is not
 *     leased over and over.
 *
 * All of it is memory of this node, used on the executor alone. It is forgotten with the node. */
#pragma once

#include "base/env.h"
#include "base/str.h"

struct destination;
struct destinations;

enum stay_end {
    STAY_UNUSED,   /* nobody was called: it says nothing about the destination */
    STAY_ANSWERED, /* whatever the answer was */
    STAY_SILENT,   /* not reached, no TLS, no answer in time */
};

/* One parcel at one destination; the caller's, from enter to leave. */
struct stay {
    size_t bytes; /* that the call will hold in memory */
    bool fresh;   /* it never was put off: then it goes behind those that were */
    /* On the executor, once, perhaps from within enter; it calls nothing of these. put_off_ms 0: it
     * has a place, and leave follows. Otherwise it has none, and may enter again then. */
    void (*decided)(struct stay *s);
    int64_t put_off_ms;

    /* the destinations' */
    enum { STAY_OUT, STAY_WAITS, STAY_GOES } state;
    struct destination *at;
    struct stay *next, *prev; /* who waits */
    int64_t since_us;
    int epoch;
    bool is_probe;
};

struct destinations *destinations_new(struct env *env); /* NULL: no memory */
void destinations_free(struct destinations *d);         /* nobody stays; NULL is fine */

void destinations_enter(struct destinations *d, struct str host, struct stay *s);
/* It is over; the next one may go. Nothing happens where it neither waits nor has a place. */
void destinations_leave(struct destinations *d, struct stay *s, enum stay_end end);
