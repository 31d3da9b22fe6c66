/* events.h - the events of the client, shared with job_faults.c, order.c and provider.c. */
#pragma once

#include "sim/client.h"

/* How an event's job ends, where it does not simply succeed. */
enum nature {
    PLAIN,
    UNKNOWN_TYPE, /* no code handles the type: ignored */
    UNREADABLE,   /* no JSON: a dead letter when it is received */
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
    bool is_order; /* sent as an order (order.h), whose job calls the provider */
    bool puts_off; /* an order: its first settle puts the message off */
    bool
        unadopted; /* an order: its first lease is not adopted. Also once faults have stopped, since
                        only then nothing else makes the runner fetch */
    bool charged;  /* the provider executed it */
    uint64_t called; /* one bit an attempt */
    int fails;       /* of FAILS_FIRST */
    int wanted;      /* ACKs that it needs: duplicates need more than one */
    int acks, sent, in_flight;
    int64_t not_before_ms; /* monotonic: a polite pause before it is sent again */
};

struct sim_send;
struct sim_node;

struct sim_client {
    struct sim *sim;
    struct event *events;
    size_t n, special;
    struct sim_send *sends; /* under way */
};

struct event *sim_client_event_of(struct sim_client *c, struct str key); /* NULL: it was not sent */
/* Acts as kill -9: nothing of the running batch reaches the disk, and no verdict is returned. */
enum err sim_kill_node_in_job(struct sim_node *n);
