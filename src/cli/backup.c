/* backup.c - `ichido backup FILE`: copies the database while a server uses it, and checks the copy
 * before it gets its name. It calls no server, since SQLite and PostgreSQL let other processes
 * read. */
#include "store/backup.h"

#include "base/json/write.h"
#include "cli/cli.h"
#include "observe/log.h"
#include "server/node.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PRINT_MS = 200, MEGABYTE = 1000 * 1000 };

struct backup_run {
    struct node node;
    struct backup backup;
    char from[BACKUP_PATH], to[BACKUP_PATH], spare[BACKUP_NAME];
    bool json, terminal;
    int64_t told_ms;
};

static void backup_usage(void)
{
    puts(
        "usage: ichido backup [FILE] [--no-check] [--json]\n\n"
        "Copies the database while a server uses it, as it is at one moment, and checks the copy:\n"
        "SQLite's is opened and every table counted; PostgreSQL's (by pg_dump) is restored into a\n"
        "database of its own, counted and dropped. FILE must not be there yet; without it the "
        "name\n"
        "is made of the time.\n\n"
        "  --no-check   PostgreSQL: leave the restore out, where the user may not make databases\n"
        "  --json       prints what was done as JSON\n\n"
        "Not in it: secrets that dev mode made (the .dev-secrets file beside the database) and\n"
        "the sandbox's own database.\n\n"
        "To restore SQLite: stop the server, put FILE where ICHIDO_DB points, remove its -wal and\n"
        "-shm files, start. PostgreSQL: createdb NAME; pg_restore --no-owner -d NAME FILE.\n\n"
        "Exit code: 0 there is a checked copy, 1 there is none, or it is not checked,\n"
        "2 wrong arguments or settings.");
}

static bool read_args(struct backup_run *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            r->json = true;
        } else if (strcmp(argv[i], "--no-check") == 0) {
            r->backup.unchecked = true;
        } else if (argv[i][0] == '-' || r->backup.to || strlen(argv[i]) >= BACKUP_PATH) {
            fprintf(stderr, "ichido backup: cannot read %.80s; ichido backup --help\n", argv[i]);
            return false;
        } else {
            r->backup.to = argv[i];
        }
    }
    return true;
}

static void name_it(struct backup_run *r, bool postgres)
{
    time_t now = (time_t)(clock_wall_ms(&r->node.env.clock) / 1000);
    struct tm tm;
    char text[32];

    gmtime_r(&now, &tm);
    strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
    snprintf(r->to, sizeof(r->to), "ichido-%s.%s", text, postgres ? "dump" : "db");
    r->backup.to = r->to;
}

static void backup_tell(void *ctx, int64_t done, int64_t total)
{
    struct backup_run *r = ctx;
    int64_t now_ms = clock_mono_ms(&r->node.env.clock);

    if (!r->terminal || (done < total && now_ms - r->told_ms < PRINT_MS))
        return;
    r->told_ms = now_ms;
    fprintf(stderr, "\r\033[K%lld of %lld MB%s", (long long)(done / MEGABYTE),
            (long long)(total / MEGABYTE), done < total ? "" : ", checking\n");
}

static void print_json(const struct backup *b)
{
    struct buf out;

    buf_init(&out, BACKUP_PATH * 8);
    buf_char(&out, '{');
    out_text(&out, "file", str_of(b->to));
    out_int(&out, "bytes", b->bytes);
    out_int(&out, "tables", b->tables);
    out_int(&out, "rows", b->rows);
    out_bool(&out, "checked", !b->unchecked);
    printf(STR_FMT "}\n", STR_ARG(buf_str(&out)));
    buf_release(&out);
}

static void print_words(const struct backup *b)
{
    printf("%s: %lld bytes, %d tables, %lld rows, %s\n", b->to, (long long)b->bytes, b->tables,
           (long long)b->rows, b->unchecked ? "not checked" : "checked");
}

static int backup_run(struct backup_run *r)
{
    struct str db = r->node.settings.db, prefix = S("sqlite:");
    bool sqlite = str_starts(db, prefix);
    char id[UUID_TEXT + 1];
    struct why why = { 0 };
    enum err e;

    if (sqlite)
        db = (struct str){ db.p + prefix.n, db.n - prefix.n };
    snprintf(r->from, sizeof(r->from), STR_FMT, STR_ARG(db));
    uuid_text(env_uuid(&r->node.env), id);
    snprintf(r->spare, sizeof(r->spare), "ichido_check_%.8s%.4s", id + 24, id + 19);
    if (!r->backup.to)
        name_it(r, !sqlite);
    r->backup.from = r->from;
    r->backup.spare = r->spare;
    r->backup.tell = backup_tell;
    r->backup.ctx = r;
    e = sqlite ? sqlite_backup(&r->backup, &why) : postgres_backup(&r->backup, &why);
    if (!e) {
        (r->json ? print_json : print_words)(&r->backup);
        return EXIT_FINE;
    }
    fprintf(stderr, "ichido backup: %s\n", why.text[0] ? why.text : err_words(e, LANG_EN));
    return EXIT_CANNOT;
}

int cli_backup(int argc, char **argv)
{
    struct backup_run r = { .terminal = isatty(STDERR_FILENO) };
    int code = EXIT_ASKED_WRONGLY;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            backup_usage();
            return EXIT_FINE;
        }
    if (!read_args(&r, argc, argv))
        return code;
    backup_hold_signals();
    if (node_init(&r.node)) {
        code = backup_run(&r);
        node_release(&r.node);
    }
    return code;
}
