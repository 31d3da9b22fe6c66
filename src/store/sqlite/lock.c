/* lock.c - see lock.h. A crash leaves the lock file without a lock, and the next server takes it. */
#include "store/sqlite/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err lock_failed(const char *what, const char *path, struct why *why)
{
    int code = errno;

    why_set(why, "cannot %s %s: %s", what, path, strerror(code));
    return code == ENOSPC || code == EROFS || code == EDQUOT ? ERR_STORE_FULL : ERR_UNAVAILABLE;
}

/* Without this sync a power cut could lose a new directory, and with it every answered commit. */
static void sync_parent(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    char *parent = slash ? strndup(dir, slash == dir ? 1 : (size_t)(slash - dir)) : strdup(".");
    int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(parent);
}

/* Makes only the last directory: a longer missing path is taken for a typing mistake. */
static enum err make_directory(const char *database, struct why *why)
{
    const char *slash = strrchr(database, '/');
    char *dir = slash ? strndup(database, (size_t)(slash - database)) : NULL;
    enum err e = OK;

    if (dir && *dir) {
        if (!mkdir(dir, 0700))
            sync_parent(dir);
        else if (errno != EEXIST)
            e = lock_failed("make the directory", dir, why);
    }
    free(dir);
    return e;
}

static enum err lock_report_owner(const struct sqlite_lock *l, const char *database,
                                  struct why *why)
{
    char owner[80] = "";
    ssize_t n = pread(l->fd, owner, sizeof(owner) - 1, 0);

    owner[n > 0 ? n : 0] = '\0';
    owner[strcspn(owner, "\r\n")] = '\0';
    return why_err(
        why, ERR_CONFLICT,
        "%s is in use by the server at %s (its lock is %s); stop it first or use PostgreSQL"
        " for several nodes",
        database, *owner ? owner : "an unknown address", l->path);
}

static enum err lock_write_owner(const struct sqlite_lock *l, struct str owner, struct why *why)
{
    if (ftruncate(l->fd, 0) || pwrite(l->fd, owner.p, owner.n, 0) != (ssize_t)owner.n)
        return lock_failed("write", l->path, why);
    return OK;
}

enum err sqlite_lock_take(struct sqlite_lock *l, const char *database, struct str owner,
                          struct why *why)
{
    enum err e = make_directory(database, why);

    *l = (struct sqlite_lock){ .fd = -1 };
    if (e)
        return e;
    if (asprintf(&l->path, "%s.lock", database) < 0) {
        l->path = NULL;
        return why_err(why, ERR_NO_MEMORY, "out of memory");
    }
    l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (l->fd < 0)
        e = lock_failed("open", l->path, why);
    else if (flock(l->fd, LOCK_EX | LOCK_NB))
        e = errno == EWOULDBLOCK ? lock_report_owner(l, database, why)
                                 : lock_failed("lock", l->path, why);
    else
        e = lock_write_owner(l, owner, why);
    if (e)
        sqlite_lock_release(l);
    return e;
}

void sqlite_lock_release(struct sqlite_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    free(l->path);
    *l = (struct sqlite_lock){ .fd = -1 };
}
