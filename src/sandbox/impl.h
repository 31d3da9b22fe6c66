/* impl.h - the private state of sandbox.c, for the few files that need it. */
#pragma once

#include "sandbox/shared.h"

#include <pthread.h>
#include <stdatomic.h>

struct endpoint;
struct pp_endpoint;
struct pp_call;
struct relay;
struct stripe_call;

enum { BUSY_KEYS = 1024 };

struct sandbox_chore {
    struct unit unit;
    struct sandbox *s;
};

struct sandbox_impl {
    _Atomic uint64_t count; /* counter for ids; any thread */
    /* on the executor: */
    struct stripe_call *busy[BUSY_KEYS]; /* calls with an Idempotency-Key that are under way */
    struct stripe_call *waiting;         /* calls that a fault delays */
    struct pp_call *paypay_hanging;      /* the same for PayPay */
    bool stopping;
    pthread_t thread;
    bool runs;
    struct job_kind *kinds;
    struct relay *relay;         /* private to relay/ */
    struct sandbox_chore forget; /* adds the message that deletes old events */
    char address[300];           /* the address it listens on, with the real port */
    struct endpoint *endpoints;
    struct pp_endpoint *paypay_endpoints;
    struct control_endpoint *control_endpoints;
    char *texts[8]; /* copies of the settings' texts */
};

static inline struct sandbox_impl *impl_of(const struct sandbox *s)
{
    return s->impl;
}

static inline uint64_t sandbox_count(struct sandbox *s)
{
    return atomic_fetch_add(&impl_of(s)->count, 1);
}
