/* test_sqlite_batch.c - many units, one commit, no threads: who fails alone, and what happens when
 * SQLite throws the whole transaction away. */
#include "store/sqlite/conn.h"
#include "unit/store/rig.h"

struct bench {
    struct rig rig;
    struct sqlite_db *db;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct sqlite_options o = { .path = b->rig.file };
    struct why why = { 0 };

    rig_init(&b->rig);
    if (sqlite_db_open(&o, &b->rig.env, &b->db, &why) || sqlite_db_migrate(b->db, &why))
        fail_msg("%s", why.text);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    sqlite_db_close(b->db);
    rig_release(&b->rig);
    free(b);
    return 0;
}

static enum err run(struct bench *b, struct job *jobs, size_t n)
{
    struct unit *units[SQLITE_BATCH_MAX];
    enum err e;

    for (size_t i = 0; i < n; i++)
        units[i] = &jobs[i].unit;
    e = sqlite_db_run(b->db, units, n);
    if (e != ERR_UNCERTAIN)
        desk_wait(&b->rig.desk, (int)n);
    return e;
}

static int64_t rows(struct bench *b)
{
    struct job j;

    job_init(&j, &b->rig, &kind_count);
    assert_int_equal(sqlite_db_read(b->db, &j.unit), OK);
    desk_wait(&b->rig.desk, 1);
    assert_int_equal(j.verdict, OK);
    return j.number;
}

/* What SQLite does to us when memory or disk fails inside of a statement. */
static void lose_transaction(struct tx *tx)
{
    struct sqlite_db *db = (struct sqlite_db *)tx;

    assert_int_equal(sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
}

/* Loses it, pretends that all is well, and tries to write outside of any transaction. */
static enum err run_evil(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    enum err e = job_insert(tx, j);

    j->runs++;
    if (e)
        return OK; /* a neighbour of its bulk lost it */
    if (j->hook)
        tx_after_commit(tx, job_hook, j, 1);
    if (j->runs <= j->number || j->number < 0)
        lose_transaction(tx);
    j->id = env_uuid(tx_env(tx));
    job_insert(tx, j);
    return OK;
}

static enum err run_evil_many(struct tx *tx, struct unit **u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        run_evil(tx, u[i]);
    return OK;
}

static const struct unit_kind kind_evil = { "evil", UNIT_FRONT, run_evil, NULL };
static const struct unit_kind kind_evil_bulk = { "evil_bulk", UNIT_FRONT, run_evil, run_evil_many };

static void others_survive_a_lost_transaction_and_the_offender_does_not(void **state)
{
    enum { N = 20 };
    struct bench *b = *state;
    struct job jobs[N];

    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &b->rig, i == 11 ? &kind_evil : &kind_add);
        jobs[i].hook = true;
    }
    jobs[11].number = -1; /* always */
    run(b, jobs, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].verdict, i == 11 ? ERR_UNAVAILABLE : OK);
        assert_int_equal(jobs[i].done, 1);
        assert_int_equal(jobs[i].hooked, i == 11 ? 0 : 1);
    }
    assert_int_equal(jobs[0].runs, 2);
    assert_int_equal(rows(b), N - 1);
}

static void the_offender_gets_a_commit_of_its_own(void **state)
{
    struct bench *b = *state;
    struct job jobs[3];

    for (int i = 0; i < 3; i++)
        job_init(&jobs[i], &b->rig, i == 1 ? &kind_evil : &kind_add);
    jobs[1].number = 1; /* the first time only */
    jobs[1].hook = true;
    assert_int_equal(run(b, jobs, 3), OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(jobs[i].verdict, OK);
    assert_int_equal(jobs[1].hooked, 1);
    assert_int_equal(rows(b), 4); /* the offender writes two */
}

static void an_offender_all_alone_fails_and_writes_nothing(void **state)
{
    struct bench *b = *state;
    struct job j;

    job_init(&j, &b->rig, &kind_evil);
    j.number = -1;
    run(b, &j, 1);
    assert_int_equal(j.verdict, ERR_UNAVAILABLE);
    assert_int_equal(rows(b), 0);
}

static void a_bulk_that_loses_the_transaction_is_run_one_by_one(void **state)
{
    enum { N = 10 };
    struct bench *b = *state;
    struct job jobs[N];

    for (int i = 0; i < N; i++)
        job_init(&jobs[i], &b->rig, i < 5 ? &kind_evil_bulk : &kind_add);
    jobs[2].number = -1;
    run(b, jobs, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(jobs[i].verdict, i == 2 ? ERR_UNAVAILABLE : OK);
    assert_int_equal(rows(b), 4 * 2 + 5);
}

/* A neighbour's own mistake must not become the verdict of those who did nothing wrong. */
static void too_many_offenders_fail_with_something_that_may_be_tried_again(void **state)
{
    enum { N = 10 };
    struct bench *b = *state;
    struct job jobs[N];

    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &b->rig, i % 2 ? &kind_evil : &kind_add);
        jobs[i].number = -1;
    }
    jobs[2].id = jobs[0].id; /* a conflict, before the next offender */
    assert_int_equal(run(b, jobs, N), ERR_UNAVAILABLE);
    assert_int_equal(jobs[8].verdict, ERR_UNAVAILABLE);
    assert_int_equal(rows(b), 0);
}

static void too_many_offenders_fail_the_batch_and_the_next_one_works(void **state)
{
    enum { N = 12 };
    struct bench *b = *state;
    struct job jobs[N];

    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &b->rig, i % 2 ? &kind_evil : &kind_add);
        jobs[i].number = -1;
    }
    assert_int_equal(run(b, jobs, N), ERR_UNAVAILABLE);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].done, 1);
        assert_int_not_equal(jobs[i].verdict, OK);
    }
    assert_int_equal(rows(b), 0);
    job_init(&jobs[0], &b->rig, &kind_add);
    assert_int_equal(run(b, jobs, 1), OK);
    assert_int_equal(rows(b), 1);
}

/* --- real refusals of SQLite --- */

static void limit_pages(struct bench *b, int more)
{
    char sql[64];

    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", more);
    assert_int_equal(sqlite3_exec(b->db->handle, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void a_full_disk_inside_a_statement_fails_who_meets_it(void **state)
{
    enum { N = 200 };
    static const char big[3000] = { 'x' };
    struct bench *b = *state;
    struct job *jobs = calloc(N, sizeof(*jobs));
    int full = 0, ok = 0;

    limit_pages(b, 100);
    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &b->rig, &kind_add);
        jobs[i].ref = (struct str){ big, sizeof(big) };
    }
    run(b, jobs, N);
    for (int i = 0; i < N; i++) {
        full += jobs[i].verdict == ERR_STORE_FULL;
        ok += jobs[i].verdict == OK;
    }
    assert_int_equal(full + ok, N);
    assert_true(full > 0);
    assert_int_equal(rows(b), ok);
    limit_pages(b, 1000000);
    job_init(&jobs[0], &b->rig, &kind_add);
    assert_int_equal(run(b, jobs, 1), OK);
    assert_int_equal(rows(b), ok + 1);
    free(jobs);
}

static void a_commit_that_finds_the_disk_full_fails_all_and_heals(void **state)
{
    struct bench *b = *state;
    struct job jobs[3];

    assert_true(faults_parse(&b->rig.env.faults, S("store.commit=full@1")));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            job_init(&jobs[i], &b->rig, &kind_add);
            jobs[i].fail = i == 1 ? ERR_STALE : OK;
            jobs[i].hook = true;
        }
        assert_int_equal(run(b, jobs, 3), round ? OK : ERR_STORE_FULL);
        assert_int_equal(jobs[0].verdict, round ? OK : ERR_STORE_FULL);
        assert_int_equal(jobs[1].verdict, round ? ERR_STALE : ERR_STORE_FULL);
        assert_int_equal(jobs[0].hooked, round);
    }
    assert_int_equal(rows(b), 2);
}

static void a_commit_of_unknown_fate_answers_nobody(void **state)
{
    struct bench *b = *state;
    struct job j;

    assert_true(faults_parse(&b->rig.env.faults, S("store.commit=io@1")));
    job_init(&j, &b->rig, &kind_add);
    j.hook = true;
    assert_int_equal(run(b, &j, 1), ERR_UNCERTAIN);
    assert_int_equal(j.done + j.hooked, 0);
    assert_null(b->rig.desk.first);
    sqlite_db_abandon(b->db); /* what a server would be forced to do */
    b->db = NULL;
}

static void a_transaction_that_cannot_begin_fails_all(void **state)
{
    struct bench *b = *state;
    struct job jobs[2];

    assert_true(faults_parse(&b->rig.env.faults, S("store.begin=retry@1")));
    for (int i = 0; i < 2; i++)
        job_init(&jobs[i], &b->rig, &kind_add);
    assert_int_equal(run(b, jobs, 2), ERR_UNAVAILABLE);
    assert_int_equal(jobs[0].runs + jobs[1].runs, 0);
    assert_int_equal(jobs[1].verdict, ERR_UNAVAILABLE);
}

static void another_program_that_holds_the_file_makes_us_unavailable(void **state)
{
    struct bench *b = *state;
    sqlite3 *other;
    struct job j;

    assert_int_equal(sqlite3_open(b->rig.file, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    job_init(&j, &b->rig, &kind_add);
    assert_int_equal(run(b, &j, 1), ERR_UNAVAILABLE);
    sqlite3_close(other);
    job_init(&j, &b->rig, &kind_add);
    assert_int_equal(run(b, &j, 1), OK);
}

/* --- a disk that breaks its promise: the system's VFS, with a WAL whose fsync can fail --- */

static bool fsync_fails;
static sqlite3_io_methods failing_methods;
static sqlite3_vfs failing_vfs;

static int failing_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return fsync_fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *ret_flags)
{
    int rc = sqlite3_vfs_find(NULL)->xOpen(vfs, name, file, flags, ret_flags);

    if (!rc && (flags & SQLITE_OPEN_WAL)) {
        failing_methods = *file->pMethods;
        failing_methods.xSync = failing_sync;
        file->pMethods = &failing_methods;
    }
    return rc;
}

static void a_failed_fsync_is_uncertain(void **state)
{
    struct sqlite_options o = { .vfs = "failing" };
    struct bench *b = *state;
    struct why why;
    struct job j;

    sqlite_setup();
    failing_vfs = *sqlite3_vfs_find(NULL);
    failing_vfs.zName = "failing";
    failing_vfs.xOpen = failing_open;
    assert_int_equal(sqlite3_vfs_register(&failing_vfs, 0), SQLITE_OK);
    sqlite_db_close(b->db);
    o.path = b->rig.file;
    assert_int_equal(sqlite_db_open(&o, &b->rig.env, &b->db, &why), OK);
    fsync_fails = true;
    job_init(&j, &b->rig, &kind_add);
    j.hook = true;
    assert_int_equal(run(b, &j, 1), ERR_UNCERTAIN);
    assert_int_equal(j.done + j.hooked, 0);
    assert_non_null(strstr(sqlite_db_error(b->db), "disk I/O error"));
    fsync_fails = false;
    sqlite_db_abandon(b->db);
    b->db = NULL;
    sqlite3_vfs_unregister(&failing_vfs);
}

/* The page where the index begins that dead_count walks. */
static long root_page(struct bench *b)
{
    sqlite3_stmt *s;
    long page;

    assert_int_equal(sqlite3_prepare_v2(b->db->handle,
                                        "SELECT rootpage FROM sqlite_schema"
                                        " WHERE name = 'dead_letters_kind'",
                                        -1, &s, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    page = (long)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return page;
}

static void scribble(const char *path, long page)
{
    FILE *f = fopen(path, "r+");

    assert_non_null(f);
    assert_int_equal(fseek(f, (page - 1) * 4096, SEEK_SET), 0);
    for (int i = 0; i < 4096; i++)
        fputc(0xa5, f);
    fclose(f);
}

static enum err be_seen(struct tx *tx, struct unit *u)
{
    return TX_DO(tx, STMT_node_seen, 1, V_BLOB(uuid_bytes(&job_of(u)->id)), V_INT(1));
}

static const struct unit_kind kind_seen = { "seen", UNIT_FRONT, be_seen, NULL };

static void a_damaged_file_answers_nobody(void **state)
{
    struct sqlite_options o = { 0 };
    struct bench *b = *state;
    long page = root_page(b);
    struct job jobs[2];
    struct why why;

    sqlite_db_close(b->db);
    scribble(b->rig.file, page);
    o.path = b->rig.file;
    assert_int_equal(sqlite_db_open(&o, &b->rig.env, &b->db, &why), OK);
    job_init(&jobs[0], &b->rig, &kind_count);
    assert_int_equal(sqlite_db_read(b->db, &jobs[0].unit), ERR_UNCERTAIN);
    job_init(&jobs[0], &b->rig, &kind_seen); /* this one could be written */
    job_init(&jobs[1], &b->rig, &kind_count);
    assert_int_equal(run(b, jobs, 2), ERR_UNCERTAIN);
    assert_int_equal(jobs[0].done + jobs[1].done, 0);
    assert_int_equal(sqlite_db_wal_frames(b->db), 0);
    assert_null(b->rig.desk.first);
}

/* --- bulk and order --- */

static struct job *order[16];
static int ordered;

static enum err note(struct tx *tx, struct unit *u)
{
    (void)tx;
    order[ordered++] = job_of(u);
    return OK;
}

static enum err note_many(struct tx *tx, struct unit **u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        note(tx, u[i]);
        job_of(u[i])->number = (int64_t)n;
    }
    return OK;
}

static void a_bulk_kind_is_gathered_and_keeps_its_order(void **state)
{
    static const struct unit_kind bulk = { "bulk", UNIT_FRONT, note, note_many };
    static const struct unit_kind single = { "single", UNIT_FRONT, note, NULL };
    static const int wanted[] = { 0, 1, 3, 5, 2, 4, 6 };
    struct bench *b = *state;
    struct job jobs[7];

    ordered = 0;
    for (int i = 0; i < 7; i++)
        job_init(&jobs[i], &b->rig, i % 2 ? &bulk : &single);
    assert_int_equal(run(b, jobs, 7), OK);
    for (int i = 0; i < 7; i++)
        assert_ptr_equal(order[i], &jobs[wanted[i]]);
    assert_int_equal(jobs[5].number, 3);
}

static enum err measure_many(struct tx *tx, struct unit **u, size_t n)
{
    (void)tx;
    for (size_t i = 0; i < n; i++)
        job_of(u[i])->number = (int64_t)n;
    return OK;
}

static void a_bulk_never_exceeds_its_limit(void **state)
{
    static const struct unit_kind bulk = { "bulk", UNIT_FRONT, job_count, measure_many };
    struct bench *b = *state;
    struct job *jobs = calloc(SQLITE_BATCH_MAX, sizeof(*jobs));

    for (int i = 0; i < SQLITE_BATCH_MAX; i++)
        job_init(&jobs[i], &b->rig, &bulk);
    assert_int_equal(run(b, jobs, SQLITE_BATCH_MAX), OK);
    for (int i = 0; i < SQLITE_BATCH_MAX; i++)
        assert_true(jobs[i].number > 1 && jobs[i].number <= LIMIT_BULK);
    free(jobs);
}

/* --- reading --- */

static void a_unit_that_only_reads_cannot_write(void **state)
{
    struct sqlite_options o = { .read_only = true };
    struct bench *b = *state;
    struct sqlite_db *reader;
    struct why why;
    struct job j;

    o.path = b->rig.file;
    assert_int_equal(sqlite_db_open(&o, &b->rig.env, &reader, &why), OK);
    job_init(&j, &b->rig, &kind_add);
    assert_int_equal(sqlite_db_read(reader, &j.unit), OK);
    desk_wait(&b->rig.desk, 1);
    assert_int_equal(j.verdict, ERR_INTERNAL);
    sqlite_db_abandon(reader);
    assert_int_equal(rows(b), 0);
}

#define FRESH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(others_survive_a_lost_transaction_and_the_offender_does_not),
        FRESH(the_offender_gets_a_commit_of_its_own),
        FRESH(an_offender_all_alone_fails_and_writes_nothing),
        FRESH(a_bulk_that_loses_the_transaction_is_run_one_by_one),
        FRESH(too_many_offenders_fail_with_something_that_may_be_tried_again),
        FRESH(too_many_offenders_fail_the_batch_and_the_next_one_works),
        FRESH(a_full_disk_inside_a_statement_fails_who_meets_it),
        FRESH(a_commit_that_finds_the_disk_full_fails_all_and_heals),
        FRESH(a_commit_of_unknown_fate_answers_nobody),
        FRESH(a_transaction_that_cannot_begin_fails_all),
        FRESH(another_program_that_holds_the_file_makes_us_unavailable),
        FRESH(a_failed_fsync_is_uncertain),
        FRESH(a_damaged_file_answers_nobody),
        FRESH(a_bulk_kind_is_gathered_and_keeps_its_order),
        FRESH(a_bulk_never_exceeds_its_limit),
        FRESH(a_unit_that_only_reads_cannot_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
