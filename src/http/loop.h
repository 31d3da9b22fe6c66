/* loop.h - one thread's event loop: an executor for tasks and timers, the owner of its connections.
 * Everything here belongs to the loop's thread, except for loop_wake and posting to its executor. */
#pragma once

#include "base/buf.h"
#include "base/executor.h"
#include "base/limits.h"
#include "http/deadline.h"
#include "http/timers.h"

#include <pthread.h>
#include <uv.h>

struct exchange;
struct server;

struct listener {
    uv_poll_t poll;
    struct loop *loop;
    int fd;
    bool open;
    bool passed; /* by systemd, which keeps it open for the next process */
};

struct loop {
    struct executor executor;
    struct server *server;
    int index;
    uv_loop_t uv;
    pthread_t thread;

    /* tasks from other threads: a list under a lock, one wake-up for all of them */
    uv_async_t wake;
    pthread_mutex_t lock;
    struct task *first, *last;
    bool closed;

    struct timers timers;
    uv_timer_t alarm; /* of the first timer */

    struct deadlines deadlines; /* every connection is in one of these, by its state */
    uv_timer_t sweep;
    uint64_t sweep_due;

    struct listener listeners[LIMIT_LISTENERS];
    int listener_count;
    uv_timer_t accept_again;
    uv_prepare_t recycle; /* frees answered requests before the loop waits */

    int live;                     /* number of connections, and of requests with a handler */
    int connections;              /* not closed yet */
    size_t body_bytes, body_room; /* that its requests hold; its share of max_bodies */
    int stage;                    /* the last stage of the server that this loop applied */
    bool reported;                /* it has reported to be empty */

    char *read_bytes; /* LIMIT_READ, shared by all connections */
    struct buf plain, out, cipher;
    struct exchange *spare, *admitted, *answered;
    int spare_count;
    char date[32];
    int64_t date_s;
};

/* False: a system call failed; nothing has to be released. */
bool loop_init(struct loop *l, struct server *s, int index);
void loop_run(struct loop *l);     /* until loop_close has taken effect */
void loop_close(struct loop *l);   /* closes its handles; connections are closed before */
void loop_release(struct loop *l); /* after loop_run, or instead of it */
void loop_wake(struct loop *l);    /* any thread: server_loop_woken will be called */

static inline uint64_t loop_now(const struct loop *l)
{
    return uv_now(&l->uv);
}

/* The connection enters a state whose time begins now; the sweep is set accordingly. */
void loop_watch(struct loop *l, struct deadline *x, int kind);
void loop_unwatch(struct loop *l, struct deadline *x);

const char *loop_date(struct loop *l); /* for the Date header, made once a second */

/* Called by the loop, implemented by its owner. */
void loop_expired(struct loop *l, struct deadline *x); /* conn.c */
void server_loop_woken(struct loop *l);                /* server.c */
