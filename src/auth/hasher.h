/* hasher.h - passwords on threads of their own: one takes as long as a thousand requests, and a
 * loop waits for nobody. LIMIT_PASSWORD_THREADS at once, LIMIT_PASSWORD_WAITING wait, no more. */
#pragma once

#include "auth/password.h"
#include "base/env.h"
#include "base/executor.h"

struct hasher;

struct hash_job { /* the caller's, until it is back */
    struct task back;
    struct executor *executor;
    struct str password;          /* borrowed */
    char text[PASSWORD_TEXT + 1]; /* compared with; of hasher_make: out */
    bool ok;                      /* out: it matches; it was made */

    bool makes; /* the hasher's */
    struct hash_job *next;
};

struct hasher *hasher_new(struct env *env); /* NULL: no threads, no memory */
/* Waits for those that are being computed. Jobs that still wait are forgotten: nobody is left who
 * would answer. NULL is fine. */
void hasher_free(struct hasher *h);

/* From any thread; back.run is called on the executor. False: too many wait, nothing will come
 * back. */
bool hasher_make(struct hasher *h, struct hash_job *job);
bool hasher_check(struct hasher *h, struct hash_job *job);
