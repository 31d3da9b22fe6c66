/* disk_vfs.c - the disk as SQLite sees it: files, locks, the WAL's shared memory, a directory. All
 * of one process and one thread, but of several connections. */
#include "sim/disk_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct handle {
    sqlite3_file base; /* SQLite's: must be first */
    struct disk *disk;
    struct file *file;
    unsigned generation;
    int lock;
    unsigned shm_shared, shm_exclusive; /* bit masks */
    bool delete_on_close;
};

static struct handle *handle_of(sqlite3_file *f)
{
    return (struct handle *)f;
}

static bool is_stale(const struct handle *h)
{
    return h->generation != h->disk->generation;
}

/* True: this change must not happen. */
static bool change_fails(struct handle *h)
{
    struct disk *d = h->disk;

    if (is_stale(h) || d->dead)
        return true;
    if (d->die_in && --d->die_in == 0) {
        d->dead = true;
        d->counts.died++;
        return true;
    }
    return false;
}

static int on_read(sqlite3_file *sf, void *to, int n, sqlite3_int64 at)
{
    struct handle *h = handle_of(sf);
    size_t from = (size_t)at, want = (size_t)n, have = 0;

    if (is_stale(h))
        return SQLITE_IOERR_READ;
    if (from < h->file->now.n)
        have = h->file->now.n - from;
    if (have > want)
        have = want;
    if (have)
        memcpy(to, h->file->now.p + from, have);
    memset((char *)to + have, 0, want - have);
    return have == want ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *sf, const void *bytes, int n, sqlite3_int64 at)
{
    struct handle *h = handle_of(sf);
    struct disk *d = h->disk;

    if (change_fails(h))
        return SQLITE_IOERR_WRITE;
    if (d->full_for) {
        size_t fits = rng_below(d->rng, (uint64_t)n / DISK_SECTOR + 1) * DISK_SECTOR;

        d->full_for--;
        d->counts.full++;
        file_write(h->file, (size_t)at, bytes, fits < (size_t)n ? fits : 0);
        return SQLITE_FULL;
    }
    d->counts.writes++;
    file_write(h->file, (size_t)at, bytes, (size_t)n);
    return SQLITE_OK;
}

static int on_truncate(sqlite3_file *sf, sqlite3_int64 n)
{
    struct handle *h = handle_of(sf);

    if (change_fails(h))
        return SQLITE_IOERR_TRUNCATE;
    file_truncate(h->file, (size_t)n);
    return SQLITE_OK;
}

/* A sync that fails tells nothing about what reached the disk: the changes stay in doubt, and the
 * process has to end. */
static int on_sync(sqlite3_file *sf, int flags)
{
    struct handle *h = handle_of(sf);
    struct disk *d = h->disk;

    (void)flags;
    if (change_fails(h))
        return SQLITE_IOERR_FSYNC;
    d->counts.syncs++;
    if (d->fail_sync_in && --d->fail_sync_in == 0) {
        d->dead = true;
        d->counts.sync_failed++;
        return SQLITE_IOERR_FSYNC;
    }
    file_sync(h->file);
    return SQLITE_OK;
}

static int on_size(sqlite3_file *sf, sqlite3_int64 *ret_size)
{
    *ret_size = (sqlite3_int64)handle_of(sf)->file->now.n;
    return SQLITE_OK;
}

/* --- the database file's locks: several connections, one thread --- */

static int on_lock(sqlite3_file *sf, int level)
{
    struct handle *h = handle_of(sf);
    struct file *f = h->file;
    int others = f->shared - (h->lock >= SQLITE_LOCK_SHARED ? 1 : 0);

    if (is_stale(h))
        return SQLITE_IOERR_LOCK;
    if (level <= h->lock)
        return SQLITE_OK;
    if (f->exclusive && f->exclusive != h)
        return SQLITE_BUSY;
    if (level == SQLITE_LOCK_SHARED)
        f->shared++;
    if (level >= SQLITE_LOCK_RESERVED) {
        if ((f->reserved && f->reserved != h) || (level > SQLITE_LOCK_RESERVED && others))
            return SQLITE_BUSY;
        f->reserved = h;
    }
    if (level == SQLITE_LOCK_EXCLUSIVE)
        f->exclusive = h;
    h->lock = level;
    return SQLITE_OK;
}

static int on_unlock(sqlite3_file *sf, int level)
{
    struct handle *h = handle_of(sf);
    struct file *f = h->file;

    if (is_stale(h) || level >= h->lock)
        return SQLITE_OK;
    if (f->reserved == h)
        f->reserved = NULL;
    if (f->exclusive == h)
        f->exclusive = NULL;
    if (level == SQLITE_LOCK_NONE)
        f->shared--;
    h->lock = level;
    return SQLITE_OK;
}

static int on_check_lock(sqlite3_file *sf, int *ret_reserved)
{
    *ret_reserved = handle_of(sf)->file->reserved != NULL;
    return SQLITE_OK;
}

static int on_control(sqlite3_file *sf, int op, void *arg)
{
    (void)sf;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int on_sector_size(sqlite3_file *sf)
{
    (void)sf;
    return DISK_SECTOR;
}

static int on_characteristics(sqlite3_file *sf)
{
    (void)sf;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* as the unix VFS says of its disks */
}

/* --- the WAL's index, which a crash forgets --- */

static int on_shm_map(sqlite3_file *sf, int region, int size, int extend, void volatile **ret_p)
{
    struct handle *h = handle_of(sf);
    struct file *f = h->file;

    *ret_p = NULL;
    if (is_stale(h) || region >= SHM_REGIONS)
        return SQLITE_IOERR_SHMMAP;
    if (!f->shm[region] && extend) {
        f->shm[region] = calloc(1, (size_t)size);
        if (!f->shm[region])
            abort();
    }
    *ret_p = f->shm[region];
    return SQLITE_OK;
}

static bool shm_is_free(const struct handle *h, int at, bool exclusive)
{
    unsigned bit = 1U << at;
    int others = h->file->shm_locks[at] - ((h->shm_shared & bit) ? 1 : 0);

    if (h->file->shm_locks[at] < 0)
        return (h->shm_exclusive & bit) != 0;
    return !exclusive || others == 0;
}

static void shm_take(struct handle *h, int at, bool exclusive)
{
    unsigned bit = 1U << at;

    if ((exclusive ? h->shm_exclusive : h->shm_shared) & bit)
        return;
    if (exclusive) {
        h->file->shm_locks[at] = -1;
        h->shm_exclusive |= bit;
    } else {
        h->file->shm_locks[at]++;
        h->shm_shared |= bit;
    }
}

static void shm_give(struct handle *h, int at)
{
    unsigned bit = 1U << at;

    if (h->shm_exclusive & bit)
        h->file->shm_locks[at] = 0;
    else if (h->shm_shared & bit)
        h->file->shm_locks[at]--;
    h->shm_exclusive &= ~bit;
    h->shm_shared &= ~bit;
}

static int on_shm_lock(sqlite3_file *sf, int from, int n, int flags)
{
    struct handle *h = handle_of(sf);
    bool exclusive = flags & SQLITE_SHM_EXCLUSIVE;

    if (is_stale(h))
        return SQLITE_IOERR_SHMLOCK;
    if (flags & SQLITE_SHM_UNLOCK) {
        for (int i = from; i < from + n; i++)
            shm_give(h, i);
        return SQLITE_OK;
    }
    for (int i = from; i < from + n; i++)
        if (!shm_is_free(h, i, exclusive))
            return SQLITE_BUSY;
    for (int i = from; i < from + n; i++)
        shm_take(h, i, exclusive);
    return SQLITE_OK;
}

static void on_shm_barrier(sqlite3_file *sf)
{
    (void)sf;
}

static int on_shm_unmap(sqlite3_file *sf, int delete_it)
{
    struct handle *h = handle_of(sf);

    (void)delete_it;
    if (!is_stale(h))
        for (int i = 0; i < SQLITE_SHM_NLOCK; i++)
            shm_give(h, i);
    return SQLITE_OK;
}

static int on_close(sqlite3_file *sf)
{
    struct handle *h = handle_of(sf);

    if (is_stale(h))
        return SQLITE_OK;
    on_unlock(sf, SQLITE_LOCK_NONE);
    on_shm_unmap(sf, 0);
    if (h->delete_on_close)
        file_forget(h->file);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* no mmap */
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_lock,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_characteristics,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

/* --- the directory --- */

static struct disk *disk_of(sqlite3_vfs *v)
{
    return v->pAppData;
}

static struct file *file_find(struct disk *d, const char *name)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        if (d->files[i].exists && strcmp(d->files[i].name, name) == 0)
            return &d->files[i];
    return NULL;
}

static struct file *file_make(struct disk *d, const char *name)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        if (!d->files[i].exists) {
            d->files[i].exists = true;
            snprintf(d->files[i].name, DISK_NAME, "%s", name);
            return &d->files[i];
        }
    return NULL;
}

static int on_open(sqlite3_vfs *v, const char *name, sqlite3_file *sf, int flags, int *ret_flags)
{
    struct disk *d = disk_of(v);
    struct handle *h = handle_of(sf);
    struct file *f = file_find(d, name ? name : "");

    *h = (struct handle){ .disk = d, .generation = d->generation };
    if (!f && (flags & SQLITE_OPEN_CREATE) && !d->dead)
        f = file_make(d, name ? name : "");
    if (!f)
        return SQLITE_CANTOPEN;
    h->file = f;
    h->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    h->base.pMethods = &methods;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *v, const char *name, int sync_dir)
{
    struct disk *d = disk_of(v);
    struct file *f = file_find(d, name);

    (void)sync_dir;
    if (d->dead)
        return SQLITE_IOERR_DELETE;
    if (!f)
        return SQLITE_IOERR_DELETE_NOENT;
    file_forget(f);
    return SQLITE_OK;
}

static int on_access(sqlite3_vfs *v, const char *name, int flags, int *ret_yes)
{
    (void)flags;
    *ret_yes = file_find(disk_of(v), name) != NULL;
    return SQLITE_OK;
}

static int on_full_name(sqlite3_vfs *v, const char *name, int n, char *ret_full)
{
    (void)v;
    snprintf(ret_full, (size_t)n, "%s", name);
    return SQLITE_OK;
}

/* SQLite seeds its own generator (the salts of the WAL) from the default VFS: from the seed. */
static int on_randomness(sqlite3_vfs *v, int n, char *ret_bytes)
{
    rng_bytes(disk_of(v)->rng, ret_bytes, (size_t)n);
    return n;
}

static int on_sleep(sqlite3_vfs *v, int us)
{
    (void)v;
    return us;
}

static int on_time(sqlite3_vfs *v, double *ret_days)
{
    (void)v;
    *ret_days = 2460000.5; /* no statement reads the time */
    return SQLITE_OK;
}

static int on_last_error(sqlite3_vfs *v, int n, char *text)
{
    (void)v;
    (void)n;
    (void)text;
    return 0;
}

void disk_fill_vfs(struct disk *d)
{
    d->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = DISK_NAME - 1,
        .zName = d->name,
        .pAppData = d,
        .xOpen = on_open,
        .xDelete = on_delete,
        .xAccess = on_access,
        .xFullPathname = on_full_name,
        .xRandomness = on_randomness,
        .xSleep = on_sleep,
        .xCurrentTime = on_time,
        .xGetLastError = on_last_error,
    };
}
