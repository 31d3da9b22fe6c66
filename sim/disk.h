/* disk.h - a simulated disk that can lose writes. It is an SQLite VFS in memory that knows, for each
 * file, which bytes were synced and which were only written since. A power cut keeps the synced
 * bytes; it keeps, drops or tears each later write, in sectors of 512 bytes, as the seed decides.
 *
 *   (1) disk_crash() makes every open handle stale: it can be closed, and changes nothing.
 *   (2) A dead disk (disk_die, or a countdown that ran out) fails every change until disk_crash().
 *   (3) Nothing here depends on time or on addresses. */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

enum { DISK_SECTOR = 512 };

struct disk_counts {
    int64_t writes, syncs;
    int64_t kept, dropped, torn; /* unsynced writes, at crashes */
    int64_t full, sync_failed, died;
};

/* Registers itself under a name of its own. The rng is the caller's and outlives it. */
struct disk *disk_new(struct rng *rng);
void disk_free(struct disk *d); /* every database on it is closed; NULL is fine */
const char *disk_vfs(const struct disk *d);

/* The power goes: what was not synced is left to chance. Call it with no statement running. */
void disk_crash(struct disk *d);
/* The process goes, the machine stays: all that was written is there. */
void disk_process_crash(struct disk *d);

/* From now on every change fails, as if the process had stopped at this instruction. */
void disk_die(struct disk *d);
bool disk_is_dead(const struct disk *d);
/* Alive again, without what was not synced. Other handles go on as if nothing had been: for a
 * database whose one client died in the middle of a commit. */
void disk_forget_unsynced(struct disk *d);

/* Faults to come; 0 takes one back. */
void disk_die_in(struct disk *d, int64_t changes);     /* dies at the n-th write, sync, truncate */
void disk_fail_sync_in(struct disk *d, int64_t syncs); /* the n-th sync fails; the disk is dead */
void disk_full_for(struct disk *d, int64_t writes);    /* the next n writes find no room */

struct disk_counts disk_counts(const struct disk *d);
