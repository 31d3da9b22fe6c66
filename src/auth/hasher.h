/* hasher.h - hashes passwords on threads of its own, since one hash takes as long as a thousand
 * requests. LIMIT_PASSWORD_THREADS run at a time, and at most LIMIT_PASSWORD_WAITING wait. */
#pragma once

#include "auth/password.h"
#include "base/env.h"
#include "base/executor.h"

struct hasher;

struct hash_job { /* owned by the caller, who keeps it until it is back */
    struct task back;
    struct executor *executor;
    struct str password;          /* borrowed */
    char text[PASSWORD_TEXT + 1]; /* compared with; of hasher_make: out */
    bool ok;                      /* out: it matches; it was made */

    bool makes; /* the hasher's */
    struct hash_job *next;
};

struct hasher *hasher_new(struct env *env); /* NULL: no threads, no memory */
/* Waits for the hashes under way. Jobs that still wait are dropped. NULL is fine. */
void hasher_free(struct hasher *h);

/* From any thread; back.run is called on the executor. False: too many jobs wait, and back.run is not
 * called. */
bool hasher_make(struct hasher *h, struct hash_job *job);
bool hasher_check(struct hasher *h, struct hash_job *job);
