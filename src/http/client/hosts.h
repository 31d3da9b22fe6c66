/* hosts.h - calls that wait for their turn. No host has more than its share under way, all
 * together no more than the total, and hosts with waiting calls take turns: one that hangs holds up
 * nobody else. Nor do many: nobody takes more than what he leaves, and the last quarter is for
 * those who have nothing under way. (libcurl's own limits retry
 * one pending transfer at a time and can stall.) One thread only. */
#pragma once

#include "http/client/client.h"

struct host;

enum { HOST_BUCKETS = 256 };

struct hosts {
    struct host *buckets[HOST_BUCKETS];
    struct host *hungry, *hungry_last; /* have a waiting call and fewer than max_per_host */
    int max_per_host, max_total;
    int running, waiting;
};

/* A call that waits or runs, and who it is for. */
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
