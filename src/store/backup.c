/* backup.c - what both drivers' backups share: the temporary file and its final name.
 *
 *   (1) The copy is written under a temporary name and synced before it gets its own.
 *   (2) link() gives it the name, so a file that appeared meanwhile is never replaced.
 *
 * A crash leaves a file named <to>.part-XXXXXX, which can be deleted. */
#include "store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err backup_failed(const char *what, const char *path, struct why *why)
{
    why_set(why, "%s %.150s: %s", what, path, strerror(errno));
    return errno == ENOSPC || errno == EDQUOT || errno == EROFS ? ERR_STORE_FULL : ERR_UNAVAILABLE;
}

enum err backup_begin(const struct backup *b, char part[BACKUP_PATH], struct why *why)
{
    int fd;

    part[0] = '\0'; /* backup_drop() has nothing to remove */
    if (access(b->to, F_OK) == 0)
        return why_err(why, ERR_CONFLICT, "%.150s is there already; name another file", b->to);
    if (strlen(b->to) + sizeof(".part-XXXXXX") > BACKUP_PATH)
        return why_err(why, ERR_VALIDATION, "the name is too long");
    snprintf(part, BACKUP_PATH, "%s.part-XXXXXX", b->to);
    fd = mkostemp(part, O_CLOEXEC); /* mode 0600 */
    if (fd < 0) {
        enum err e = backup_failed("cannot make", part, why);

        part[0] = '\0';
        return e;
    }
    close(fd);
    return OK;
}

/* Removes also the files that SQLite may have made beside it. */
void backup_drop(const char *part)
{
    static const char *const beside[] = { "", "-wal", "-shm", "-journal" };
    char path[BACKUP_PATH + 16];

    for (size_t i = 0; part[0] && i < COUNT(beside); i++) {
        snprintf(path, sizeof(path), "%s%s", part, beside[i]);
        unlink(path);
    }
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

void backup_hold_signals(void)
{
    sigset_t all;

    sigemptyset(&all);
    for (size_t i = 0; i < COUNT(signals); i++)
        sigaddset(&all, signals[i]);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

bool backup_is_cancelled(void)
{
    sigset_t pending;

    if (sigpending(&pending) < 0)
        return false;
    for (size_t i = 0; i < COUNT(signals); i++)
        if (sigismember(&pending, signals[i]) == 1)
            return true;
    return false;
}

static bool sync_path(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    bool fine = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return fine;
}

static bool sync_parent_folder(const char *path)
{
    char copy[BACKUP_PATH];

    snprintf(copy, sizeof(copy), "%s", path);
    return sync_path(dirname(copy), O_RDONLY | O_DIRECTORY);
}

enum err backup_end(struct backup *b, const char *part, struct why *why)
{
    struct stat st;

    if (!sync_path(part, O_RDONLY) || stat(part, &st) < 0)
        return backup_failed("cannot write", part, why);
    b->bytes = st.st_size;
    if (link(part, b->to) < 0) /* unlike rename(), it never replaces a file */
        return backup_failed("cannot make", b->to, why);
    unlink(part);
    return sync_parent_folder(b->to) ? OK : backup_failed("cannot write the folder of", b->to, why);
}
