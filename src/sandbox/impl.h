/* impl.h - what of the sandbox is none of the other files' business, and the few ways into it. */
#pragma once

#include "sandbox/parts.h"

#include <pthread.h>
#include <stdatomic.h>

struct endpoint;
struct visit;

enum { BUSY_KEYS = 1024 };

struct sandbox_impl {
    _Atomic uint64_t count; /* of ids; any thread */
    /* at home: */
    struct visit *busy[BUSY_KEYS]; /* calls under an Idempotency-Key that are not done yet */
    struct visit *waiting;         /* calls that a fault holds back */
    bool stopping;
    pthread_t thread;
    bool runs;
    struct job_kind *kinds;
    char address[300]; /* where it listens, with the real port */
    struct endpoint *endpoints;
    char *texts[4]; /* of the options */
};

static inline struct sandbox_impl *impl_of(const struct sandbox *s)
{
    return s->impl;
}

static inline uint64_t sandbox_count(struct sandbox *s)
{
    return atomic_fetch_add(&impl_of(s)->count, 1);
}
