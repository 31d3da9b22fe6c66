/* seal.h - seals the rows of the audit log into a hash chain, after the commits that wrote them (O6,
 * M15).
 *
 *   units of work --> audit (plain rows)   a check every 10 s, only if this node committed something
 *                         |                    | a row is unsealed: lease the message
 *                         '--> "audit.seal": 500 rows a unit --> audit_seals, audit_chain
 *
 *   (1) Of several nodes one holds the message, and the chain's row decides: a node that read an
 *       older end of the chain changes no row, and its whole unit rolls back.
 *   (2) No row is skipped. On PostgreSQL sequence numbers are not assigned in commit order, so a
 *       scan starts at `low` each time: below it every transaction has ended (M14) and every row is
 *       sealed.
 *   (3) No row is sealed twice: audit_seals.audit_seq is unique.
 *   (4) An idle server does not query the database.
 *   (5) The message is leased by its id and is never due while a node works on it: a node of an older
 *       version, which does not know the kind, would lease it and bury it. If that happens all the
 *       same (a node crashed meanwhile), the node that next finds an unsealed row adds the message
 *       again.
 *
 * A crash leaves rows without a seal; the next check seals them. */
#pragma once

#include "audit/row.h"
#include "queue/runtime.h"

struct audit_run {     /* result of a batch: its unit writes it, the executor reads it afterwards */
    int64_t sealed, n; /* rows sealed, and the number of the chain's last seal */
    unsigned char hash[AUDIT_HASH];
    bool behind;           /* more is unsealed than one check can see */
    bool parted;           /* the chain's row and the last seal did not agree */
    int64_t all_seq, xmin; /* the marks at which no row was left; all_seq -1: there is more */
};

struct audit_sealer {
    const struct runtime *runtime;
    struct audit_run run; /* of the message; only one is under way */

    /* on the executor */
    struct executor *executor;
    struct timer timer;
    int64_t commits;             /* of the store, at the last check; -1: none was made */
    bool goes_on;                /* the last batch left rows: the next needs no check */
    int64_t told_ms;             /* when the head was last logged */
    int64_t seen_seq, seen_xmin; /* as in audit_run, of the last run or check */

    /* the check under way */
    struct unit unit;
    struct arena arena;
    bool busy, found;
    int64_t commits_now, known_seq, known_xmin, found_seq, found_xmin;
    struct message message;
};

/* "audit.seal": a standing message, one for all nodes. */
struct job_kind audit_seal_kind(struct audit_sealer *s);
/* Ensures that the message exists, also if it was buried (queue_stand()). */
enum err audit_seal_start(struct tx *tx, struct audit_sealer *s, int64_t now_ms);
/* On the executor, once the queue exists: starts the timer of the checks. */
void audit_seal_watch(struct audit_sealer *s, struct executor *executor);
void audit_seal_close(struct audit_sealer *s); /* after the store is gone */

/* Seals one batch in the caller's unit. *ret_more: more rows may be ready at once. Also for tests. */
enum err audit_seal_step(struct tx *tx, int64_t now_ms, struct audit_run *ret_run, bool *ret_more);
/* PostgreSQL: *ret_waits is true if a row up to `seq` cannot be sealed yet, because an older
 * transaction of the cluster (possibly of another database) is under way. */
enum err audit_seal_waits(struct tx *tx, int64_t seq, bool *ret_waits);
