/* impl.h - what of the sandbox is none of the other files' business, and the few ways into it. */
#pragma once

#include "sandbox/shared.h"

#include <pthread.h>
#include <stdatomic.h>

struct endpoint;
struct pp_endpoint;
struct pp_call;
struct relay;
struct visit;

enum { BUSY_KEYS = 1024 };

struct sandbox_chore {
    struct unit unit;
    struct sandbox *s;
};

struct sandbox_impl {
    _Atomic uint64_t count; /* of ids; any thread */
    /* on the executor: */
    struct visit *busy[BUSY_KEYS];  /* calls under an Idempotency-Key that are not done yet */
    struct visit *waiting;          /* calls that a fault holds back */
    struct pp_call *paypay_waiting; /* the same of PayPay's */
    bool stopping;
    pthread_t thread;
    bool runs;
    struct job_kind *kinds;
    struct relay *relay;         /* sandbox/relay/relay.c's own */
    struct sandbox_chore forget; /* adds the message that deletes old events */
    char address[300];           /* where it listens, with the real port */
    struct endpoint *endpoints;
    struct pp_endpoint *paypay_endpoints;
    struct control_endpoint *control_endpoints;
    char *texts[8]; /* of the options */
};

static inline struct sandbox_impl *impl_of(const struct sandbox *s)
{
    return s->impl;
}

static inline uint64_t sandbox_count(struct sandbox *s)
{
    return atomic_fetch_add(&impl_of(s)->count, 1);
}
