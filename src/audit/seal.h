/* seal.h - chains the rows of the audit log, behind the commits that wrote them (O6, M15).
 *
 *   units --> audit (plain rows)    a look each 10 s, and only where this node committed anything
 *                 |                    | something is unsealed: takes the message
 *                 '--> "audit.seal": 500 rows a unit --> audit_seals, audit_chain
 *
 *   (1) Of several nodes one has the message, and the chain's row decides: whoever read an older
 *       end of the chain changes no row, and all of its unit is rolled back.
 *   (2) Nothing is skipped. On PostgreSQL numbers are not given in the order of commits, so the
 *       walk begins at `low` each time: below it everything has ended (M14) and is sealed.
 *   (3) Nothing is sealed twice: audit_seals.audit_seq is unique.
 *   (4) An idle server asks the database nothing.
 *   (5) The message is taken, and is never due while a node is at it: one of an older version,
 * which does not know the kind, would lease it and bury it. If that happens after all (a node died
 *       in the middle), whoever finds something unsealed puts the message there again. */
#pragma once

#include "audit/row.h"
#include "queue/runtime.h"

struct audit_run { /* what a batch did: its unit writes it, executor reads it once that has ended */
    int64_t sealed, n; /* rows, and the end of the chain */
    unsigned char hash[AUDIT_HASH];
    bool behind;           /* so far that a look would not see the end */
    bool parted;           /* the chain's row and its last seal did not agree */
    int64_t all_seq, xmin; /* with these nothing was left to do; all_seq -1: there is more */
};

struct audit_sealer {
    const struct runtime *runtime;
    struct audit_run run; /* of the message; only one is under way */

    /* on the executor */
    struct executor *executor;
    struct timer timer;
    int64_t commits;             /* of the store, at the last look; -1: there was none */
    bool goes_on;                /* the last batch was not all: no look is needed */
    int64_t told_ms;             /* when the head was logged */
    int64_t seen_seq, seen_xmin; /* as in audit_run, of the last run or look */

    /* the look under way */
    struct unit unit;
    struct arena arena;
    bool busy, found;
    int64_t commits_now, known_seq, known_xmin, found_seq, found_xmin;
    struct message message;
};

/* "audit.seal". One message for ever, whichever node has it. */
struct job_kind audit_seal_kind(struct audit_sealer *s);
/* Puts it there where it is not, also where somebody buried it (queue_stand()). */
enum err audit_seal_start(struct tx *tx, struct audit_sealer *s, int64_t now_ms);
/* On the executor, with the queue there. */
void audit_seal_watch(struct audit_sealer *s, struct executor *executor);
void audit_seal_close(struct audit_sealer *s); /* after the store is gone */

/* One batch, in the caller's unit. *ret_more: there may be more at once. For tests too. */
enum err audit_seal_step(struct tx *tx, int64_t now_ms, struct audit_run *ret_run, bool *ret_more);
/* PostgreSQL: a row up to `seq` cannot be sealed yet, as an older transaction of the cluster, which
 * may be another database's, is under way. */
enum err audit_seal_waits(struct tx *tx, int64_t seq, bool *ret_waits);
