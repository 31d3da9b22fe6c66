/* dev_secrets.c - the file data/ichido.dev-secrets beside data/ichido.db: NAME=value lines, mode
 * 0600.
 *
 * The file is written under another name and then linked, so after a crash it exists completely or
 * not at all (a file with the other name may stay). Of two processes the first one wins. The file
 * is never changed. */
#include "server/dev_secrets.h"

#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 4096, NONCE_BYTES = 8 };

static const struct {
    struct str name, prefix;
} kinds[DEV_SECRETS] = {
    [DEV_ADMIN_TOKEN] = { { "ICHIDO_ADMIN_TOKEN", 18 }, { "admin_", 6 } },
    [DEV_JWT_SECRET] = { { "ICHIDO_JWT_SECRET", 17 }, { "", 0 } },
    [DEV_WEBHOOK_SECRET] = { { "STRIPE_WEBHOOK_SECRET", 21 }, { "whsec_", 6 } },
};

void dev_secret_make(struct rng *rng, size_t kind, char text[DEV_SECRET_TEXT + 1])
{
    unsigned char bytes[DEV_SECRET_BYTES];

    rng_bytes(rng, bytes, sizeof(bytes));
    memcpy(text, kinds[kind].prefix.p, kinds[kind].prefix.n);
    *hex_put(text + kinds[kind].prefix.n, bytes, sizeof(bytes)) = '\0';
    OPENSSL_cleanse(bytes, sizeof(bytes));
}

/* With PostgreSQL the file is where the sandbox's database is by default. */
static bool choose_path(struct str db, char path[PATH_MAX])
{
    if (!str_starts(db, S("sqlite:")))
        db = S("sqlite:data/ichido.db");
    str_cut(&db, ':');
    if (str_ends(db, S(".db")))
        db.n -= 3;
    return snprintf(path, PATH_MAX, STR_FMT ".dev-secrets", STR_ARG(db)) < PATH_MAX;
}

/* --- reading --- */

static enum dev_kept dev_secrets_refuse(const char *path, const char *what, struct why *why)
{
    why_set(why, "%.160s %s, or delete it: then new secrets are made", path, what);
    return DEV_REFUSED;
}

static bool is_secret(size_t kind, struct str value)
{
    struct str prefix = kinds[kind].prefix;

    if (!str_starts(value, prefix) || value.n != prefix.n + 2 * DEV_SECRET_BYTES)
        return false;
    for (size_t i = prefix.n; i < value.n; i++)
        if (hex_value_lower(value.p[i]) < 0)
            return false;
    return true;
}

static bool take_line(struct dev_secrets *s, struct str line)
{
    struct str value = line, name = str_cut(&value, '=');

    for (size_t i = 0; i < DEV_SECRETS; i++)
        if (str_eq(kinds[i].name, name) && !s->text[i][0] && is_secret(i, value)) {
            memcpy(s->text[i], value.p, value.n);
            s->text[i][value.n] = '\0';
            return true;
        }
    return false;
}

static bool dev_secrets_parse(struct dev_secrets *s, struct str text)
{
    size_t taken = 0;

    *s = (struct dev_secrets){ 0 };
    while (text.n) {
        struct str line = str_cut(&text, '\n');

        if (!line.n || line.p[0] == '#')
            continue;
        if (!take_line(s, line))
            return false;
        taken++;
    }
    return taken == DEV_SECRETS;
}

/* Returns NULL where the file can be trusted: a person who can read or write it could log in. */
static const char *dev_secrets_distrust(int fd)
{
    struct stat st;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return "is no plain file: put it elsewhere";
    if (st.st_uid != geteuid())
        return "belongs to another user: start as that one";
    if (st.st_mode & 077)
        return "may be read or changed by others: chmod 600 it";
    return NULL;
}

static enum dev_kept read_open(int fd, const char *path, struct dev_secrets *s, struct why *why)
{
    const char *what = dev_secrets_distrust(fd);
    char text[FILE_MOST];
    ssize_t n = what ? 0 : read(fd, text, sizeof(text));

    if (!what && n < 0)
        what = "cannot be read: mend it";
    else if (!what && !dev_secrets_parse(s, (struct str){ text, (size_t)n }))
        what = "is broken: mend it";
    OPENSSL_cleanse(text, sizeof(text));
    return what ? dev_secrets_refuse(path, what, why) : DEV_KEPT;
}

/* DEV_NOT_KEPT: there is no file. */
static enum dev_kept read_file(const char *path, struct dev_secrets *s, struct why *why)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    enum dev_kept kept;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return DEV_NOT_KEPT;
    if (fd < 0)
        return dev_secrets_refuse(path,
                                  errno == ELOOP ? "is a symbolic link: put the file itself there"
                                                 : "cannot be opened: chmod 600 it",
                                  why);
    kept = read_open(fd, path, s, why);
    close(fd);
    return kept;
}

/* --- making --- */

static bool write_all(int fd, const struct dev_secrets *s)
{
    char text[FILE_MOST];
    int n =
        snprintf(text, sizeof(text),
                 "# Made by Ichido for dev mode. Delete it, and the next start makes new ones.\n");
    bool written;

    for (size_t i = 0; i < DEV_SECRETS; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, STR_FMT "=%s\n", STR_ARG(kinds[i].name),
                      s->text[i]);
    written = write(fd, text, (size_t)n) == n && !fchmod(fd, 0600) && !fsync(fd);
    OPENSSL_cleanse(text, sizeof(text));
    return written;
}

/* Makes the folder, which exists already with SQLite. */
static void make_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    if (!slash || slash == path)
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    mkdir(folder, 0700); /* if it fails, opening the file fails and says why */
}

static enum dev_kept write_file(struct rng *rng, const char *path, struct dev_secrets *s,
                                struct why *why)
{
    unsigned char nonce[NONCE_BYTES];
    char name[PATH_MAX + 1 + 2 * NONCE_BYTES + 1], *end;
    int fd, linked = -1, problem;

    rng_bytes(rng, nonce, sizeof(nonce));
    end = name + snprintf(name, sizeof(name), "%s.", path);
    *hex_put(end, nonce, sizeof(nonce)) = '\0';
    make_folder(path);
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write_all(fd, s))
        linked = link(name, path);
    problem = errno;
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    if (!linked)
        return DEV_KEPT;
    if (fd >= 0 && problem == EEXIST) /* another process was first: use its secrets */
        return read_file(path, s, why);
    why_set(why, "%.160s cannot be written: %s", path, strerror(problem));
    return DEV_NOT_KEPT;
}

enum dev_kept dev_secrets_get(struct rng *rng, struct str db, struct dev_secrets *s,
                              struct why *why)
{
    char path[PATH_MAX];
    enum dev_kept kept = DEV_NOT_KEPT;
    bool named = choose_path(db, path);

    why_set(why, "the database's name is too long");
    if (named)
        kept = read_file(path, s, why);
    if (kept != DEV_NOT_KEPT)
        return kept;
    for (size_t i = 0; i < DEV_SECRETS; i++)
        dev_secret_make(rng, i, s->text[i]);
    return named ? write_file(rng, path, s, why) : DEV_NOT_KEPT;
}
