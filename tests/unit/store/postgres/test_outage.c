/* test_postgres_outage.c - the server goes away and comes back. What was OK is there, what was
 * refused is not, and the store heals by itself. */
#include "base/limits.h"
#include "unit/store/postgres/rig.h"

#include <poll.h>
#include <signal.h>

static bool row_is_there(struct pg_rig *p, const struct job *j)
{
    const char *value = (const char *)j->id.b;
    int length = sizeof(j->id.b), binary = 1;
    PGresult *r = PQexecParams(p->outside, "SELECT 1 FROM dead_letters WHERE id = $1", 1, NULL,
                               &value, &length, &binary, 0);
    bool there = PQntuples(r) == 1;

    assert_int_equal(PQresultStatus(r), PGRES_TUPLES_OK);
    PQclear(r);
    return there;
}

static void assert_true_verdict(struct pg_rig *p, const struct job *j)
{
    bool there = row_is_there(p, j);

    if (j->verdict == OK && !there)
        fail_msg("a unit was OK and is lost");
    if (j->verdict != OK && j->verdict != ERR_UNCERTAIN && there)
        fail_msg("a unit was %s and is there", err_code(j->verdict));
    if (j->verdict == OK && atomic_load(&j->hooked) != 1)
        fail_msg("a unit was OK and its hook ran %d times", j->hooked);
}

enum { STREAM = 4000, WINDOW = 16 };

/* Keeps WINDOW units under way until told to stop. */
struct stream {
    struct pg_rig *p;
    struct job *jobs;
    _Atomic int posted;
    _Atomic bool stop;
};

static void *keep_posting(void *arg)
{
    struct stream *s = arg;
    int executor = 0;

    while (s->posted < STREAM && !atomic_load(&s->stop)) {
        struct job *j = &s->jobs[s->posted++];

        job_init(j, &s->p->rig, s->posted % 4 ? &kind_add : &kind_add_back);
        j->hook = true;
        store_post(s->p->rig.store, &j->unit);
        if (s->posted - executor >= WINDOW) {
            desk_wait(&s->p->rig.desk, 1);
            executor++;
        }
    }
    desk_wait(&s->p->rig.desk, s->posted - executor);
    return NULL;
}

static void heals(struct pg_rig *p)
{
    struct job j;
    enum err e = ERR_UNAVAILABLE;

    for (int i = 0; e && i < 100; i++) {
        job_init(&j, &p->rig, &kind_add);
        e = job_run(&p->rig, &j);
    }
    assert_int_equal(e, OK);
    assert_true(store_health(p->rig.store).writable);
}

static void a_server_that_loses_power_under_load_loses_nothing_that_was_ok(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct stream s = { .p = p, .jobs = calloc(STREAM, sizeof(struct job)) };
    pthread_t thread;
    int ok = 0;

    rig_open(&p->rig, 4);
    assert_int_equal(pthread_create(&thread, NULL, keep_posting, &s), 0);
    while (store_health(p->rig.store).commits < 100)
        poll(NULL, 0, 1);
    pg_ctl("restart");
    pg_rig_reconnect(p);
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    heals(p);
    for (int i = 0; i < s.posted; i++) {
        assert_int_equal(s.jobs[i].done, 1);
        assert_true_verdict(p, &s.jobs[i]);
        ok += s.jobs[i].verdict == OK;
    }
    assert_true(ok >= 100);
    free(s.jobs);
}

/* One backend dies; the server throws all the others out and recovers, without a new start. */
static void a_backend_that_is_killed_under_load_loses_nothing_that_was_ok(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct stream s = { .p = p, .jobs = calloc(STREAM, sizeof(struct job)) };
    pthread_t thread;

    rig_open(&p->rig, 4);
    assert_int_equal(pthread_create(&thread, NULL, keep_posting, &s), 0);
    while (store_health(p->rig.store).commits < 100)
        poll(NULL, 0, 1);
    assert_int_equal(kill(PQbackendPID(p->outside), SIGKILL), 0);
    while (PQpingParams((const char *const[]){ "dbname", NULL },
                        (const char *const[]){ p->rig.url, NULL }, 1) == PQPING_OK &&
           s.posted < STREAM)
        poll(NULL, 0, 1);
    while (PQpingParams((const char *const[]){ "dbname", NULL },
                        (const char *const[]){ p->rig.url, NULL }, 1) != PQPING_OK)
        poll(NULL, 0, 1);
    pg_rig_reconnect(p);
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    heals(p);
    for (int i = 0; i < s.posted; i++)
        assert_true_verdict(p, &s.jobs[i]);
    free(s.jobs);
}

static void while_it_is_away_units_come_back_and_health_is_red(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job front, back, read;

    rig_open(&p->rig, 2);
    heals(p);
    pg_ctl("stop");
    job_init(&front, &p->rig, &kind_add);
    job_init(&back, &p->rig, &kind_add_back);
    job_init(&read, &p->rig, &kind_count);
    store_post(p->rig.store, &front.unit);
    store_post(p->rig.store, &back.unit);
    store_post(p->rig.store, &read.unit);
    desk_wait(&p->rig.desk, 3);
    assert_int_equal(front.verdict, ERR_UNAVAILABLE);
    assert_int_equal(back.verdict, ERR_UNAVAILABLE);
    assert_int_equal(read.verdict, ERR_UNAVAILABLE);
    assert_false(store_health(p->rig.store).writable);
    pg_ctl("start");
    pg_rig_reconnect(p);
    heals(p);
    assert_true_verdict(p, &front);
}

/* --- a unit that waits for room while idle workers believe in dead connections --- */

static enum err meet_and_add(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);

    pthread_barrier_wait((pthread_barrier_t *)(void *)(uintptr_t)j->number);
    return job_insert(tx, j);
}

/* Every worker has a connection once all of them have met. */
static void connect_all(struct pg_rig *p, int workers)
{
    static const struct unit_kind kind = { "meet", UNIT_BACK, meet_and_add, NULL };
    pthread_barrier_t all;
    struct job jobs[8];

    assert_true(workers <= 8);
    pthread_barrier_init(&all, NULL, (unsigned)workers);
    for (int i = 0; i < workers; i++) {
        job_init(&jobs[i], &p->rig, &kind);
        jobs[i].number = (int64_t)(uintptr_t)&all;
        store_post(p->rig.store, &jobs[i].unit);
    }
    desk_wait(&p->rig.desk, workers);
    pthread_barrier_destroy(&all);
}

static enum err add_many(struct tx *tx, struct unit **u, size_t n)
{
    enum err e = OK;

    for (size_t i = 0; !e && i < n; i++)
        e = job_add(tx, u[i]);
    return e;
}

static void a_unit_behind_one_of_its_kind_has_its_verdict_too(void **state)
{
    static const struct unit_kind kind = { "bulk", UNIT_FRONT, job_add, add_many };
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct pg_rig *p = PG_RIG(state);
    struct job first, second;

    rig_open(&p->rig, 4);
    connect_all(p, 4);
    job_init(&first, &p->rig, &kind);
    job_init(&second, &p->rig, &kind);
    first.begun = &begun;
    first.go = &go;
    store_post(p->rig.store, &first.unit);
    bell_wait(&begun);
    store_post(p->rig.store, &second.unit);
    pg_ctl("stop");
    alarm(20); /* in case nobody ever looks at it */
    bell_ring(&go);
    desk_wait(&p->rig.desk, 2);
    alarm(0);
    assert_int_equal(first.verdict, ERR_UNAVAILABLE);
    assert_int_not_equal(second.verdict, OK);
    pg_ctl("start");
    pg_rig_reconnect(p);
    heals(p);
}

static void closing_while_it_is_away_ends(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job jobs[8];

    rig_open(&p->rig, 2);
    pg_ctl("stop");
    for (size_t i = 0; i < COUNT(jobs); i++) {
        job_init(&jobs[i], &p->rig, i % 2 ? &kind_add : &kind_add_back);
        store_post(p->rig.store, &jobs[i].unit);
    }
    rig_close(&p->rig);
    desk_wait(&p->rig.desk, COUNT(jobs));
    for (size_t i = 0; i < COUNT(jobs); i++)
        assert_int_equal(jobs[i].verdict, ERR_UNAVAILABLE);
    pg_ctl("start");
    pg_rig_reconnect(p);
}

static void health_turns_green_without_any_unit(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    rig_open(&p->rig, 2);
    pg_ctl("stop");
    for (int i = 0; i < 2; i++) { /* both connections have to notice */
        job_init(&j, &p->rig, &kind_add);
        (void)job_run(&p->rig, &j);
    }
    pg_ctl("start");
    while (!store_health(p->rig.store).writable)
        poll(NULL, 0, 5);
    pg_rig_reconnect(p);
    heals(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PG_TEST(a_server_that_loses_power_under_load_loses_nothing_that_was_ok),
        PG_TEST(a_backend_that_is_killed_under_load_loses_nothing_that_was_ok),
        PG_TEST(while_it_is_away_units_come_back_and_health_is_red),
        PG_TEST(a_unit_behind_one_of_its_kind_has_its_verdict_too),
        PG_TEST(closing_while_it_is_away_ends),
        PG_TEST(health_turns_green_without_any_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
