/* test_postgres_commit.c - M6: whatever happens around COMMIT, a unit's verdict is true. Each unit
 * inserts a row with a key of its own, so that a second effect would show as a conflict or a row.
 */
#include "base/limits.h"
#include "unit/store/postgres/rig.h"

static void open_with(struct pg_rig *p, const char *faults)
{
    rig_open(&p->rig, 1);
    assert_true(faults_parse(&p->rig.env.faults, str_of(faults)));
}

static enum err run_one(struct pg_rig *p, struct job *j)
{
    job_init(j, &p->rig, &kind_add);
    j->hook = true;
    return job_run(&p->rig, j);
}

static int64_t rows(struct pg_rig *p)
{
    return pg_ask(p, "SELECT count(*) FROM dead_letters");
}

static void lost_before_commit_it_is_run_again(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    open_with(p, "pg.before_commit=fail@1");
    assert_int_equal(run_one(p, &j), OK);
    assert_int_equal(j.runs, 2);
    assert_int_equal(j.hooked, 1);
    assert_int_equal(rows(p), 1);
}

static void lost_after_commit_and_committed_it_is_not_run_again(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    open_with(p, "pg.after_commit_sent=fail@1");
    assert_int_equal(run_one(p, &j), OK);
    assert_int_equal(j.runs, 1);
    assert_int_equal(j.hooked, 1);
    assert_int_equal(rows(p), 1);
}

static void lost_with_commit_and_aborted_it_is_run_again(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    open_with(p, "pg.commit_unsent=fail@1");
    assert_int_equal(run_one(p, &j), OK);
    assert_int_equal(j.runs, 2);
    assert_int_equal(j.hooked, 1);
    assert_int_equal(rows(p), 1);
}

static void lost_after_commit_and_nobody_to_ask_it_is_uncertain(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    open_with(p, "pg.after_commit_sent=fail@1,pg.ask=fail");
    assert_int_equal(run_one(p, &j), ERR_UNCERTAIN);
    assert_int_equal(j.runs, 1);
    assert_int_equal(j.hooked, 0);
    assert_int_equal(run_one(p, &j), OK); /* the next one does not care */
}

static void lost_every_time_it_is_unavailable_and_nothing_is_there(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    open_with(p, "pg.before_commit=fail");
    assert_int_equal(run_one(p, &j), ERR_UNAVAILABLE);
    assert_int_equal(j.runs, 1 + LIMIT_RERUNS);
    assert_int_equal(j.hooked, 0);
    assert_int_equal(rows(p), 0);
}

static void a_reader_in_doubt_is_just_run_again(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    open_with(p, "pg.after_commit_sent=fail@1,pg.ask=fail");
    job_init(&j, &p->rig, &kind_count);
    assert_int_equal(job_run(&p->rig, &j), OK);
    assert_int_equal(j.runs, 2);
}

static void faults_all_over_and_every_unit_happens_once(void **state)
{
    enum { N = 300 };
    struct pg_rig *p = PG_RIG(state);
    struct job *jobs = calloc(N, sizeof(*jobs));

    rig_open(&p->rig, 4);
    /* Where one worker alone gets on, one unit meets all of a stretch: none is longer than it is
     * run again. */
    assert_true(faults_parse(&p->rig.env.faults,
                             S("pg.before_commit=fail@10-12,pg.after_commit_sent=fail@20-22,"
                               "pg.commit_unsent=fail@40-42,pg.before_commit=fail@60-62,"
                               "pg.after_commit_sent=fail@100-110,pg.commit_unsent=fail@150-152")));
    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &p->rig, i % 3 ? &kind_add : &kind_add_back);
        jobs[i].hook = true;
        store_post(p->rig.store, &jobs[i].unit);
    }
    desk_wait(&p->rig.desk, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].verdict, OK);
        assert_int_equal(jobs[i].hooked, 1);
    }
    assert_int_equal(rows(p), N);
    free(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PG_TEST(lost_before_commit_it_is_run_again),
        PG_TEST(lost_after_commit_and_committed_it_is_not_run_again),
        PG_TEST(lost_with_commit_and_aborted_it_is_run_again),
        PG_TEST(lost_after_commit_and_nobody_to_ask_it_is_uncertain),
        PG_TEST(lost_every_time_it_is_unavailable_and_nothing_is_there),
        PG_TEST(a_reader_in_doubt_is_just_run_again),
        PG_TEST(faults_all_over_and_every_unit_happens_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
