/* disk.c - the bytes of the simulated disk: writes, syncs and what a crash leaves of them. */
#include "sim/disk.h"

#include "sim/disk_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- images --- */

static void *grown(void *p, size_t *size, size_t wanted, size_t each)
{
    size_t n = *size ? *size : 64;

    if (wanted <= *size)
        return p;
    while (n < wanted)
        n *= 2;
    p = realloc(p, n * each);
    if (!p)
        abort();
    *size = n;
    return p;
}

static void image_resize(struct image *m, size_t n)
{
    m->p = grown(m->p, &m->size, n, 1);
    if (n > m->n)
        memset(m->p + m->n, 0, n - m->n);
    m->n = n;
}

static void image_write(struct image *m, size_t at, const void *bytes, size_t n)
{
    if (at + n > m->n)
        image_resize(m, at + n);
    memcpy(m->p + at, bytes, n);
}

static void image_copy(struct image *to, const struct image *from)
{
    image_resize(to, from->n);
    if (from->n)
        memcpy(to->p, from->p, from->n);
}

/* --- changes between two syncs --- */

static struct change *change_add(struct file *f)
{
    f->changes = grown(f->changes, &f->change_size, f->change_count + 1, sizeof(*f->changes));
    return &f->changes[f->change_count++];
}

void file_write(struct file *f, size_t at, const void *bytes, size_t n)
{
    *change_add(f) = (struct change){ .at = at, .n = n, .bytes_at = f->bytes.n };
    image_write(&f->bytes, f->bytes.n, bytes, n);
    image_write(&f->now, at, bytes, n);
}

void file_truncate(struct file *f, size_t n)
{
    *change_add(f) = (struct change){ .truncate = true, .n = n };
    image_resize(&f->now, n);
}

static void forget_changes(struct file *f)
{
    f->change_count = 0;
    f->bytes.n = 0;
}

static void apply(struct file *f, const struct change *c)
{
    if (c->truncate)
        image_resize(&f->safe, c->n);
    else
        image_write(&f->safe, c->at, f->bytes.p + c->bytes_at, c->n);
}

void file_sync(struct file *f)
{
    for (size_t i = 0; i < f->change_count; i++)
        apply(f, &f->changes[i]);
    forget_changes(f);
}

/* Each sector of the write lands or does not, whatever its neighbours do. */
static void apply_torn(struct disk *d, struct file *f, const struct change *c)
{
    for (size_t done = 0; done < c->n;) {
        size_t n = DISK_SECTOR - (c->at + done) % DISK_SECTOR;

        if (n > c->n - done)
            n = c->n - done;
        if (rng_below(d->rng, 2))
            image_write(&f->safe, c->at + done, f->bytes.p + c->bytes_at + done, n);
        done += n;
    }
}

static void apply_by_chance(struct disk *d, struct file *f, const struct change *c, uint64_t mood)
{
    /* Moods: 0 keeps all, 1 drops all, else each write for itself. */
    uint64_t fate = mood < 2 ? mood : rng_below(d->rng, 3);

    if (fate == 0) {
        apply(f, c);
        d->counts.kept++;
    } else if (fate == 2 && !c->truncate) {
        apply_torn(d, f, c);
        d->counts.torn++;
    } else {
        d->counts.dropped++;
    }
}

static void drop_handles(struct file *f)
{
    f->shared = 0;
    f->reserved = f->exclusive = NULL;
    memset(f->shm_locks, 0, sizeof(f->shm_locks));
    for (size_t i = 0; i < SHM_REGIONS; i++) {
        free(f->shm[i]);
        f->shm[i] = NULL;
    }
}

static void revive(struct disk *d)
{
    d->dead = false;
    d->die_in = d->fail_sync_in = d->full_for = 0;
}

static void come_up_again(struct disk *d)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        drop_handles(&d->files[i]);
    d->generation++;
    revive(d);
}

void disk_crash(struct disk *d)
{
    uint64_t mood = rng_below(d->rng, 6);

    for (size_t i = 0; i < DISK_FILES; i++) {
        struct file *f = &d->files[i];

        for (size_t k = 0; k < f->change_count; k++)
            apply_by_chance(d, f, &f->changes[k], mood);
        forget_changes(f);
        image_copy(&f->now, &f->safe);
    }
    come_up_again(d);
}

void disk_forget_unsynced(struct disk *d)
{
    for (size_t i = 0; i < DISK_FILES; i++)
        if (d->files[i].change_count) {
            forget_changes(&d->files[i]);
            image_copy(&d->files[i].now, &d->files[i].safe);
        }
    revive(d);
}

void disk_process_crash(struct disk *d)
{
    come_up_again(d);
}

void disk_die(struct disk *d)
{
    d->dead = true;
}

bool disk_is_dead(const struct disk *d)
{
    return d->dead;
}

void disk_die_in(struct disk *d, int64_t changes)
{
    d->die_in = changes;
}

void disk_fail_sync_in(struct disk *d, int64_t syncs)
{
    d->fail_sync_in = syncs;
}

void disk_full_for(struct disk *d, int64_t writes)
{
    d->full_for = writes;
}

struct disk_counts disk_counts(const struct disk *d)
{
    return d->counts;
}

void file_forget(struct file *f)
{
    drop_handles(f);
    forget_changes(f);
    f->now.n = f->safe.n = 0;
    f->exists = false;
}

struct disk *disk_new(struct rng *rng)
{
    struct disk *d = calloc(1, sizeof(*d));

    if (!d)
        abort();
    d->rng = rng;
    snprintf(d->name, sizeof(d->name), "sim-disk");
    disk_fill_vfs(d);
    if (sqlite3_vfs_register(&d->vfs, 1))
        abort();
    sqlite3_randomness(0, NULL); /* ask us for a new seed */
    return d;
}

void disk_free(struct disk *d)
{
    if (!d)
        return;
    sqlite3_vfs_unregister(&d->vfs);
    for (size_t i = 0; i < DISK_FILES; i++) {
        struct file *f = &d->files[i];

        drop_handles(f);
        free(f->now.p);
        free(f->safe.p);
        free(f->bytes.p);
        free(f->changes);
    }
    free(d);
}

const char *disk_vfs(const struct disk *d)
{
    return d->name;
}
