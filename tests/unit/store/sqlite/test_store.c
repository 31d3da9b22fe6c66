/* test_sqlite_store.c - the threads around SQLite: a full disk, a broken one, a killed process, and
 * the length of the WAL. */
#include "base/limits.h"
#include "unit/store/rig.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int64_t file_size(const char *file, const char *suffix)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof(path), "%s%s", file, suffix);
    return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

/* --- full --- */

static void a_full_disk_fails_the_commit_and_heals_by_itself(void **state)
{
    struct rig r;
    struct job j;

    (void)state;
    rig_init(&r);
    assert_true(faults_parse(&r.env.faults, S("store.commit=full@2-3")));
    rig_open(&r, 0);
    for (int i = 1; i <= 4; i++) {
        bool full = i == 2 || i == 3;

        job_init(&j, &r, &kind_add);
        assert_int_equal(job_run(&r, &j), full ? ERR_STORE_FULL : OK);
        assert_int_equal(store_health(r.store).writable, !full);
    }
    assert_int_equal(rig_count(&r), 2);
    rig_release(&r);
}

/* The kernel refuses to let the file grow, as a quota would. In a child: the limit is for good. */
static void a_write_that_the_kernel_refuses_is_a_full_disk(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    if (!pid) {
        struct rlimit small = { 2048 * 1024, 2048 * 1024 }; /* the tables alone take a third */
        static char big[64 * 1024];
        enum err e = OK;
        struct rig r;
        struct job j;
        int ok = 0;

        memset(big, 'x', sizeof(big));
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        rig_init(&r);
        rig_open(&r, 0);
        for (int i = 0; i < 50 && !e; i++, ok += !e) {
            job_init(&j, &r, &kind_add);
            j.ref = (struct str){ big, sizeof(big) };
            e = job_run(&r, &j);
        }
        if (e != ERR_STORE_FULL || store_health(r.store).writable || rig_count(&r) != ok)
            _exit(2);
        rig_release(&r);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- broken --- */

static int answered; /* the write end of a pipe: the child's answers */

static void leave(void *ctx, const char *why)
{
    (void)ctx, (void)why;
    _exit(42);
}

static void tell(struct unit *u)
{
    struct job *j = job_of(u);

    job_done(u);
    if (!u->err && write(answered, &j->id, sizeof(j->id)) != sizeof(j->id))
        _exit(9);
}

/* A server that answers through the pipe, until its faults end it. */
static void serve(struct rig *r, const char *faults)
{
    struct store_options o = { .url = str_of(r->url), .owner = S("child"), .fatal = leave };
    struct why why;
    struct job *jobs = calloc(8, sizeof(*jobs));

    if (!faults_parse(&r->env.faults, str_of(faults)) || store_open(&o, &r->env, &r->store, &why))
        _exit(8);
    for (;;) {
        for (int i = 0; i < 8; i++) {
            job_init(&jobs[i], r, i % 2 ? &kind_add : &kind_add_back);
            jobs[i].unit.done = tell;
            store_post(r->store, &jobs[i].unit);
        }
        desk_wait(&r->desk, 8);
    }
}

/* Runs it; returns how many answers came, and how it ended. */
static int run_server(struct rig *r, const char *faults, int kill_after, int *ret_status)
{
    struct uuid id;
    int pipes[2], answers = 0;
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (!pid) {
        close(pipes[0]);
        answered = pipes[1];
        serve(r, faults);
    }
    close(pipes[1]);
    while (read(pipes[0], &id, sizeof(id)) == sizeof(id))
        if (++answers == kill_after)
            kill(pid, SIGKILL);
    close(pipes[0]);
    assert_int_equal(waitpid(pid, ret_status, 0), pid);
    return answers;
}

static void a_failed_fsync_answers_nobody_and_ends_the_process(void **state)
{
    struct rig r;
    int status, answers;

    (void)state;
    rig_init(&r);
    answers = run_server(&r, "store.commit=io@5", 0, &status);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    rig_open(&r, 0);
    assert_true(rig_count(&r) >= answers);
    rig_release(&r);
}

static void t6_a_killed_process_loses_nothing_that_it_answered(void **state)
{
    static const char *const faults[] = { "", "", "store.commit=crash@7", "store.committed=crash@9",
                                          "store.begin=crash@4" };
    struct rig r;
    int status, answers = 0;

    (void)state;
    rig_init(&r);
    for (size_t i = 0; i < COUNT(faults); i++) {
        int64_t rows;

        answers += run_server(&r, faults[i], *faults[i] ? 0 : 300, &status);
        assert_true(WIFSIGNALED(status));
        rig_open(&r, 0);
        rows = rig_count(&r);
        assert_true(rows >= answers);
        answers = (int)rows; /* what was stored and not told counts from here on */
        rig_close(&r);
    }
    rig_release(&r);
}

/* --- the WAL --- */

static char payload[48 * 1024];

static void post_round(struct rig *r, struct job *jobs, int n)
{
    for (int i = 0; i < n; i++) {
        job_init(&jobs[i], r, &kind_add);
        jobs[i].ref = (struct str){ payload, sizeof(payload) };
        store_post(r->store, &jobs[i].unit);
    }
    desk_wait(&r->desk, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(jobs[i].verdict, OK);
}

/* Commits never pause here, so without the gate the WAL would grow for ever. */
static void the_wal_starts_over_under_load(void **state)
{
    enum { EACH = 32, ROUNDS_MAX = 2000 };
    struct job *jobs = calloc(EACH, sizeof(*jobs));
    int64_t before = 0, wal = 0;
    int rounds = 0;
    struct rig r;

    (void)state;
    memset(payload, 'x', sizeof(payload));
    rig_init(&r);
    rig_open(&r, 0);
    while (wal >= before && rounds < ROUNDS_MAX) {
        before = wal;
        post_round(&r, jobs, EACH);
        wal = store_health(r.store).wal_bytes;
        rounds++;
    }
    assert_true(wal < before);
    assert_true(before >= (int64_t)LIMIT_WAL * 4096); /* and not before it is worth it */
    rig_close(&r);
    assert_true(file_size(r.file, "-wal") <= 0); /* a clean end leaves none */
    rig_open(&r, 0);
    assert_int_equal(rig_count(&r), rounds * EACH);
    free(jobs);
    rig_release(&r);
}

/* --- shares --- */

static int finished_back;

static void count_back(struct unit *u)
{
    job_done(u);
    finished_back++;
}

/* Front units keep coming; the back ones still get their share. */
static void back_units_are_not_starved_by_front_units(void **state)
{
    enum { FRONT = 300, BACK = 20 };
    struct job *front = calloc(FRONT, sizeof(*front)), *back = calloc(BACK, sizeof(*back));
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct job blocker;
    struct rig r;

    (void)state;
    finished_back = 0;
    rig_init(&r);
    rig_open(&r, 0);
    job_init(&blocker, &r, &kind_add);
    blocker.begun = &begun;
    blocker.go = &go;
    store_post(r.store, &blocker.unit);
    bell_wait(&begun);
    for (int i = 0; i < BACK; i++) {
        job_init(&back[i], &r, &kind_add_back);
        back[i].unit.done = count_back;
        store_post(r.store, &back[i].unit);
    }
    for (int i = 0; i < FRONT; i++) {
        job_init(&front[i], &r, &kind_add);
        store_post(r.store, &front[i].unit);
    }
    bell_ring(&go);
    desk_wait(&r.desk, 1 + FRONT);
    assert_true(finished_back >=
                2); /* one a batch at the very least: three batches of front units */
    desk_wait(&r.desk, BACK);
    assert_int_equal(finished_back, BACK);
    free(front);
    free(back);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_disk_fails_the_commit_and_heals_by_itself),
        TEST(a_write_that_the_kernel_refuses_is_a_full_disk),
        TEST(a_failed_fsync_answers_nobody_and_ends_the_process),
        TEST(t6_a_killed_process_loses_nothing_that_it_answered),
        TEST(the_wal_starts_over_under_load),
        TEST(back_units_are_not_starved_by_front_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
