/* disk_file.h - the inside of the disk: disk.c keeps the bytes, disk_vfs.c speaks with SQLite.
 *
 * A file is two images: `now`, which every handle sees, and `safe`, which a crash leaves. The
 * changes between them wait in a list; a sync applies them to `safe`, a crash applies some. */
#pragma once

#include "sim/disk.h"

#include <sqlite3.h>

enum { DISK_FILES = 8, DISK_NAME = 64, SHM_REGIONS = 16 };

struct image {
    unsigned char *p;
    size_t n, size;
};

struct change {
    bool truncate;
    size_t at, n;    /* of the file; truncate: n is the new length */
    size_t bytes_at; /* of the file's `bytes` */
};

struct file {
    char name[DISK_NAME];
    bool exists;
    struct image now, safe, bytes;
    struct change *changes;
    size_t change_count, change_size;

    /* locks of the database file, over all handles */
    int shared;
    void *reserved, *exclusive; /* the handle that holds it; compared only */
    unsigned char *shm[SHM_REGIONS];
    int shm_locks[SQLITE_SHM_NLOCK]; /* n readers, or -1 */
};

struct disk {
    sqlite3_vfs vfs;
    char name[32];
    struct rng *rng;
    struct file files[DISK_FILES];
    unsigned generation;
    bool dead;
    int64_t die_in, fail_sync_in, full_for;
    struct disk_counts counts;
};

/* disk.c */
void file_write(struct file *f, size_t at, const void *bytes, size_t n);
void file_truncate(struct file *f, size_t n);
void file_sync(struct file *f);
void file_forget(struct file *f); /* deleted */

/* disk_vfs.c */
void disk_fill_vfs(struct disk *d);
