/* events.h - the inside of the client, shared with the saboteur. */
#pragma once

#include "sim/client.h"

/* What becomes of an event's job, other than that it is done. */
enum nature {
    PLAIN,
    UNKNOWN_TYPE, /* nobody knows the type: ignored */
    UNREADABLE,   /* no JSON: a dead letter at the door */
    FAILS,        /* terminally */
    FAILS_FIRST,  /* retryably, a few times */
    FAILS_ALWAYS, /* retryably, beyond its budget */
    KILLS,        /* every node that runs it */
    KILLS_ONCE,
    NATURES
};

enum { EVENT_ID = 96, EVENT_BODY = 512 };

struct event {
    char id[EVENT_ID];
    char key[EVENT_ID]; /* what it is stored under: its id, or a hash of a body without one */
    char body[EVENT_BODY];
    enum nature nature;
    bool is_order;   /* given at the other door (order.h), and done by calling the bank */
    bool puts_off;   /* ... after its first settle */
    bool unadopted;  /* ... and nobody adopts its first lease. Also once faults have stopped: only
                        then does nothing else make the runner look */
    bool charged;    /* the bank did it */
    uint64_t called; /* one bit an attempt */
    int fails;       /* of FAILS_FIRST */
    int wanted;      /* ACKs that it needs: duplicates need more than one */
    int acks, sent, in_flight;
    int64_t not_before_ms; /* monotonic: a polite pause before it is sent again */
};

struct send;
struct sim_node;

struct sim_client {
    struct sim *sim;
    struct event *events;
    size_t n, special;
    struct send *sends; /* under way */
};

struct event *sim_client_event_of(struct sim_client *c, struct str key); /* NULL: nobody sent it */
/* As kill -9 would: nothing that this batch did reaches the disk, and nobody is answered. */
enum err saboteur_kill(struct sim_node *n);
