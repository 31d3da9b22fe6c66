/* server.h - what the files of http/ share about the server. Not for other folders. */
#pragma once

#include "http/http.h"
#include "http/loop.h"

#include <stdatomic.h>

struct rate;
struct tls_server;

/* Only upwards. FORCED drops connections; FINISHED ends the loops. */
enum stage { STAGE_RUNNING, STAGE_STOPPING, STAGE_FORCED, STAGE_FINISHED };

struct server {
    struct server_options options; /* with every default filled in */
    struct loop *loops;
    int loop_count;
    int port;
    struct tls_server *tls;
    struct rate *rate;

    atomic_int stage;
    atomic_int busy_loops; /* that have not reported to be empty */
    atomic_bool drain_due;
    atomic_bool hurried; /* by a second signal: requests may be left without an answer */
    bool drained_called; /* on the first loop */
    void (*drained)(void *ctx);
    void *drained_ctx;

    uv_signal_t signals[2];
    uv_timer_t shutdown;
    bool signals_open, started;

    atomic_int connections, in_flight;
    atomic_long accepted, refused;
};

void server_loop_settled(struct loop *l); /* live has fallen */
