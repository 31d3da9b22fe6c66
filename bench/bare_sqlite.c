/* bare_sqlite.c - the limit that the server is measured against: the same two rows per event, by
 * the same statements, with the same pragmas and the checkpoint off the writer's path
 * (docs/mechanisms.md M3), in commits of 64, on the same disk; but no HTTP, no signature, no JSON,
 * no savepoints, no workers.
 *
 *   bare_sqlite FILE [SECONDS] [BATCH]
 *
 * The file must not exist. Prints one line of JSON. */
#include "base/str.h"
#include "store/driver.h"
#include "store/statement.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODY = 2913, CHECKPOINT_AT = 4000, PARK_AT = 32000 };

struct bare {
    const char *path;
    double seconds;
    int batch;
    sqlite3 *db;
    sqlite3_stmt *event, *message;
    char body[BODY];
    uint64_t number;

    pthread_t checkpointer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool asked, stop; /* asked: a checkpoint is wanted or runs */
    int frames;       /* in the WAL after the last commit */
};

static void die(sqlite3 *db, const char *what)
{
    fprintf(stderr, "bare_sqlite: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    exit(1);
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL))
        die(db, sql);
}

static sqlite3 *open_database(const char *path)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db))
        die(db, "open");
    run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
                "PRAGMA cache_size = -16384; PRAGMA busy_timeout = 5000;");
    return db;
}

/* --- the checkpointer --- */

static void checkpoint(sqlite3 *db)
{
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

    if (rc && rc != SQLITE_BUSY && rc != SQLITE_LOCKED)
        die(db, "checkpoint");
}

static void *checkpointer(void *ctx)
{
    struct bare *b = ctx;
    sqlite3 *db = open_database(b->path);

    run_sql(db, "SELECT count(*) FROM sqlite_schema"); /* one that never read checkpoints nothing */
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        if (!b->asked) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        checkpoint(db);
        pthread_mutex_lock(&b->lock);
        b->asked = false;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    sqlite3_close(db);
    return NULL;
}

/* Between two commits: asks for a checkpoint now and then; at PARK_AT waits for it and copies the
 * tail itself, so that the WAL starts anew. */
static void mind_the_wal(struct bare *b, int *asked_at)
{
    bool park = b->frames >= PARK_AT;

    if (b->frames < *asked_at)
        *asked_at = 0; /* the WAL began anew */
    if (!park && b->frames - *asked_at < CHECKPOINT_AT)
        return;
    *asked_at = b->frames;
    pthread_mutex_lock(&b->lock);
    while (park && b->asked)
        pthread_cond_wait(&b->changed, &b->lock);
    b->asked = !park;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (park)
        checkpoint(b->db);
}

static int count_frames(void *ctx, sqlite3 *db, const char *name, int frames)
{
    struct bare *b = ctx;

    (void)db;
    (void)name;
    b->frames = frames;
    return SQLITE_OK;
}

/* --- the loop --- */

static sqlite3_stmt *prepare(struct bare *b, enum stmt stmt)
{
    sqlite3_stmt *s = NULL;

    if (sqlite3_prepare_v3(b->db, stmt_sqlite(stmt), -1, SQLITE_PREPARE_PERSISTENT, &s, NULL))
        die(b->db, stmt_name(stmt));
    return s;
}

static void text(sqlite3_stmt *s, int at, const char *value)
{
    sqlite3_bind_text(s, at, value, -1, SQLITE_TRANSIENT);
}

static void step(struct bare *b, sqlite3_stmt *s)
{
    int rc;

    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        ;
    if (rc != SQLITE_DONE)
        die(b->db, "step");
    sqlite3_reset(s);
}

/* A UUIDv7's shape: time first, so that keys append. */
static void make_id(unsigned char id[16], uint64_t number)
{
    for (int i = 0; i < 8; i++)
        id[i] = (unsigned char)(number >> (56 - 8 * i));
    memset(id + 8, 0xa5, 8);
}

/* Event ids are random to the index, as Stripe's are. */
static void make_event_id(char *out, size_t size, uint64_t number)
{
    uint64_t mixed = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

    snprintf(out, size, "evt_3%016llx%07llu", (unsigned long long)mixed,
             (unsigned long long)number);
}

static void insert_one(struct bare *b)
{
    uint64_t number = b->number++;
    int64_t at = 1760000000000 + (int64_t)number;
    unsigned char id[16];
    char event_id[48];

    make_id(id, number);
    make_event_id(event_id, sizeof(event_id), number);
    text(b->event, 1, "stripe");
    text(b->event, 2, event_id);
    text(b->event, 3, "payment_intent.succeeded");
    sqlite3_bind_int64(b->event, 4, 0);
    sqlite3_bind_int64(b->event, 5, at);
    sqlite3_bind_int64(b->event, 6, at);
    sqlite3_bind_blob(b->event, 7, id, 16, SQLITE_TRANSIENT);
    text(b->event, 8, "0199e6a2-5c00-7000-8000-000000000000");
    text(b->event, 9, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    sqlite3_bind_blob(b->event, 10, b->body, BODY, SQLITE_STATIC);
    step(b, b->event);

    sqlite3_bind_blob(b->message, 1, id, 16, SQLITE_TRANSIENT);
    text(b->message, 2, "stripe.event");
    sqlite3_bind_int64(b->message, 3, (int64_t)((number + 1) * UINT64_C(0x9e3779b97f4a7c15)));
    sqlite3_bind_int64(b->message, 4, at);
    sqlite3_bind_int64(b->message, 5, at);
    text(b->message, 6, event_id);
    sqlite3_bind_null(b->message, 7);
    sqlite3_bind_int64(b->message, 8, 1);
    step(b, b->message);
}

static void loop(struct bare *b)
{
    sqlite3_stmt *begin = NULL, *commit = NULL;
    double end = now() + b->seconds;
    int asked_at = 0;

    sqlite3_prepare_v2(b->db, "BEGIN IMMEDIATE", -1, &begin, NULL);
    sqlite3_prepare_v2(b->db, "COMMIT", -1, &commit, NULL);
    while (now() < end) {
        step(b, begin);
        for (int i = 0; i < b->batch; i++)
            insert_one(b);
        step(b, commit);
        mind_the_wal(b, &asked_at);
    }
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
}

static void open_all(struct bare *b)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    b->db = open_database(b->path);
    for (const struct migration *m = sqlite_migrations; m->number; m++)
        run_sql(b->db, m->sql);
    b->event = prepare(b, STMT_webhook_event_add);
    b->message = prepare(b, STMT_message_add);
    memset(b->body, '7', BODY);
    sqlite3_wal_hook(b->db, count_frames, b);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (pthread_create(&b->checkpointer, NULL, checkpointer, b))
        die(NULL, "thread");
}

static void close_all(struct bare *b)
{
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->checkpointer, NULL);
    sqlite3_finalize(b->event);
    sqlite3_finalize(b->message);
    sqlite3_close(b->db);
}

int main(int argc, char **argv)
{
    static struct bare b;
    double began;

    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "bare_sqlite FILE [SECONDS] [BATCH]\n");
        return 2;
    }
    b.path = argv[1];
    b.seconds = argc > 2 ? strtod(argv[2], NULL) : 5;
    b.batch = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 64;
    open_all(&b);
    began = now();
    loop(&b);
    printf("{\"batch\":%d,\"events\":%llu,\"rate\":%.0f}\n", b.batch, (unsigned long long)b.number,
           (double)b.number / (now() - began));
    close_all(&b);
    return 0;
}
