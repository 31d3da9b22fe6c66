/* hosts.h - calls that wait for their turn. The number of calls under way is limited for each host
 * and in total, and hosts with waiting calls take turns, so a host that hangs does not delay the
 * others. Several such hosts cannot either: a host never has more calls under way than there are free
 * places, and the last quarter of the places is for hosts without a call under way. (libcurl's own
 * limits retry one pending transfer at a time and can stall.) One thread only. */
#pragma once

#include "http/client/client.h"

struct host;

enum { HOST_BUCKETS = 256 };

struct hosts {
    struct host *buckets[HOST_BUCKETS];
    struct host *runnable, *runnable_last; /* have a waiting call and fewer than max_per_host */
    int max_per_host, max_total;
    int running, waiting;
};

/* A call that waits or runs, and its host. */
struct turn {
    struct call *call;
    struct host *host;
    int64_t deadline_us;
    struct turn *next;
};

/* Puts the turn behind the others of its host. False: no memory. */
bool hosts_add(struct hosts *h, struct turn *t);
/* The next turn that may run now, or NULL. */
struct turn *hosts_next(struct hosts *h);
/* A turn that ran is over; the host may be forgotten. */
void hosts_done(struct hosts *h, struct turn *t);
/* Takes out all waiting turns whose deadline has passed, as a list. */
struct turn *hosts_expired(struct hosts *h, int64_t now_us);
