/* test_postgres_store.c - what the pool does beyond the contract that all stores share. */
#include "base/limits.h"
#include "unit/store/postgres/rig.h"

#include <signal.h>

/* --- locks: two units that want each other's --- */

struct locker {
    struct job job; /* first */
    int64_t lanes[2];
    pthread_barrier_t *both; /* NULL: do not wait */
};

static enum err ignore_row(void *ctx, const struct row *row)
{
    (void)ctx;
    (void)row;
    return OK;
}

static enum err lock_lane(struct tx *tx, int64_t lane)
{
    const struct val v = V_INT(lane);

    return tx_bulk(tx, STMT_lane_lock, &v, 1, 1, ignore_row, NULL);
}

static enum err lock_both(struct tx *tx, struct unit *u)
{
    struct locker *l = (struct locker *)(void *)job_of(u);
    enum err e = lock_lane(tx, l->lanes[0]);

    if (!l->job.runs++ && l->both)
        pthread_barrier_wait(l->both);
    if (!e)
        e = lock_lane(tx, l->lanes[1]);
    return e ? e : job_insert(tx, &l->job);
}

static const struct unit_kind kind_lock = { "lock", UNIT_FRONT, lock_both, NULL };

static void a_deadlock_is_run_again_and_both_are_done(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct locker a, b;
    pthread_barrier_t both;
    char sql[128];

    snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET deadlock_timeout = '20ms'", p->name);
    pg_ask(p, sql);
    rig_open(&p->rig, 2);
    pthread_barrier_init(&both, NULL, 2);
    a = (struct locker){ .lanes = { 1, 2 }, .both = &both };
    b = (struct locker){ .lanes = { 2, 1 }, .both = &both };
    job_init(&a.job, &p->rig, &kind_lock);
    job_init(&b.job, &p->rig, &kind_lock);
    store_post(p->rig.store, &a.job.unit);
    store_post(p->rig.store, &b.job.unit);
    desk_wait(&p->rig.desk, 2);
    assert_int_equal(a.job.verdict, OK);
    assert_int_equal(b.job.verdict, OK);
    assert_true(a.job.runs + b.job.runs >= 3);
    assert_int_equal(rig_count(&p->rig), 2);
    pthread_barrier_destroy(&both);
}

static void a_lock_that_is_never_free_is_a_timeout(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct locker a = { .lanes = { 5, 6 } };

    rig_open(&p->rig, 1);
    pg_ask(p, "SELECT pg_advisory_lock(5)");
    job_init(&a.job, &p->rig, &kind_lock);
    assert_int_equal(job_run(&p->rig, &a.job), ERR_TIMEOUT);
    assert_int_equal(a.job.runs, 1 + LIMIT_RERUNS);
    pg_ask(p, "SELECT pg_advisory_unlock(5)");
    job_init(&a.job, &p->rig, &kind_lock);
    assert_int_equal(job_run(&p->rig, &a.job), OK);
}

static enum err lock_each(struct tx *tx, struct unit **u, size_t n)
{
    enum err e = OK;

    for (size_t i = 0; !e && i < n; i++)
        e = lock_both(tx, u[i]);
    for (size_t i = 0; i < n; i++)
        u[i]->err = e;
    return e;
}

static const struct unit_kind kind_lock_bulk = { "locks", UNIT_FRONT, lock_both, lock_each };

/* One worker, which takes them all at once when the bell has rung. */
static void run_as_bulk(struct pg_rig *p, struct unit *const *units, int n)
{
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct job blocker;

    job_init(&blocker, &p->rig, &kind_add);
    blocker.begun = &begun;
    blocker.go = &go;
    store_post(p->rig.store, &blocker.unit);
    bell_wait(&begun);
    for (int i = 0; i < n; i++)
        store_post(p->rig.store, units[i]);
    bell_ring(&go);
    desk_wait(&p->rig.desk, n + 1);
}

static void one_blocked_lane_of_a_bulk_is_a_timeout_for_itself_alone(void **state)
{
    enum { N = 20, BLOCKED = 3 };
    struct pg_rig *p = PG_RIG(state);
    struct locker l[N];
    struct unit *units[N];

    rig_open(&p->rig, 1);
    pg_ask(p, "SELECT pg_advisory_lock(103)");
    for (int i = 0; i < N; i++) {
        l[i] = (struct locker){ .lanes = { 100 + i, 200 + i } };
        job_init(&l[i].job, &p->rig, &kind_lock_bulk);
        units[i] = &l[i].job.unit;
    }
    run_as_bulk(p, units, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(l[i].job.verdict, i == BLOCKED ? ERR_TIMEOUT : OK);
        assert_int_equal(l[i].job.runs, i <= BLOCKED ? 2 : 1); /* once together, once alone */
    }
    assert_int_equal(rig_count(&p->rig), N);
}

/* Each has waited for more than a second when it is run alone. */
static enum err fail_late(struct tx *tx, struct unit **u, size_t n)
{
    (void)tx, (void)u, (void)n;
    atomic_fetch_add(&rig_later_us, (LIMIT_STORE_WAIT_MS + 1) * 1000);
    return ERR_CONFLICT;
}

static void what_began_in_time_is_not_given_up_when_its_bulk_falls_apart(void **state)
{
    static const struct unit_kind kind = { "late", UNIT_FRONT, job_add, fail_late };
    struct pg_rig *p = PG_RIG(state);
    struct job jobs[4];
    struct unit *units[COUNT(jobs)];

    rig_open(&p->rig, 1);
    for (size_t i = 0; i < COUNT(jobs); i++) {
        job_init(&jobs[i], &p->rig, &kind);
        units[i] = &jobs[i].unit;
    }
    run_as_bulk(p, units, COUNT(jobs));
    for (size_t i = 0; i < COUNT(jobs); i++)
        assert_int_equal(jobs[i].verdict, OK);
}

/* One of them waits for something that is no matter of the database. */
static enum err not_yet_many(struct tx *tx, struct unit **u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum err e = job_add(tx, u[i]);

        if (e)
            return e;
    }
    return OK;
}

static void one_of_a_bulk_that_is_not_ready_is_no_trouble_of_the_database(void **state)
{
    static const struct unit_kind kind = { "not yet", UNIT_BACK, job_add, not_yet_many };
    enum { N = 4, WAITS = 2 };
    struct pg_rig *p = PG_RIG(state);
    struct job jobs[N];
    struct unit *units[N];

    rig_open(&p->rig, 1);
    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], &p->rig, &kind);
        jobs[i].fail = i == WAITS ? ERR_UNAVAILABLE : OK;
        units[i] = &jobs[i].unit;
    }
    run_as_bulk(p, units, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(jobs[i].verdict, i == WAITS ? ERR_UNAVAILABLE : OK);
    assert_int_equal(rig_count(&p->rig), N); /* the blocker, and three of them */
}

/* --- failures stick --- */

static enum err conflict_and_go_on(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    struct row row;

    (void)job_insert(tx, j);
    (void)TX_ROW(tx, STMT_dead_count, &row, V_INT(INT64_MAX));
    return OK; /* a lie */
}

static void a_unit_that_ignores_its_failure_is_not_believed(void **state)
{
    static const struct unit_kind kind = { "lie", UNIT_FRONT, conflict_and_go_on, NULL };
    struct pg_rig *p = PG_RIG(state);
    struct job first, liar;

    rig_open(&p->rig, 1);
    job_init(&first, &p->rig, &kind_add);
    assert_int_equal(job_run(&p->rig, &first), OK);
    job_init(&liar, &p->rig, &kind);
    liar.id = first.id;
    assert_int_equal(job_run(&p->rig, &liar), ERR_CONFLICT);
}

/* Our transaction id is known by then, so nothing else makes us look before COMMIT. */
static enum err look_add_and_miss(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    struct row row;
    enum err e = TX_ROW(tx, STMT_dead_count, &row, V_INT(INT64_MAX));

    if (!e)
        e = job_insert(tx, j);
    return e ? e
             : TX_DO(tx, STMT_message_retry, 1, V_INT(1), V_TEXT(S("why")), V_INT(1),
                     V_BLOB(uuid_bytes(&j->id)), V_INT(1));
}

static void a_wrong_row_count_in_the_last_statement_is_not_committed(void **state)
{
    static const struct unit_kind kind = { "miss", UNIT_FRONT, look_add_and_miss, NULL };
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    rig_open(&p->rig, 1);
    job_init(&j, &p->rig, &kind);
    assert_int_equal(job_run(&p->rig, &j), ERR_STALE);
    assert_int_equal(rig_count(&p->rig), 0);
}

static enum err many_statements(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    enum err e = OK;

    for (int i = 0; !e && i < 500; i++) {
        j->id.b[0] = (unsigned char)(i >> 8);
        j->id.b[1] = (unsigned char)i;
        e = job_insert(tx, j);
    }
    return e;
}

static void a_unit_of_many_statements_fits_into_the_pipeline(void **state)
{
    static const struct unit_kind kind = { "many", UNIT_FRONT, many_statements, NULL };
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    rig_open(&p->rig, 1);
    job_init(&j, &p->rig, &kind);
    assert_int_equal(job_run(&p->rig, &j), OK);
    assert_int_equal(rig_count(&p->rig), 500);
}

static enum err write_in_a_reader(struct tx *tx, struct unit *u)
{
    return job_insert(tx, job_of(u));
}

static void a_reader_cannot_write_and_takes_no_transaction_id(void **state)
{
    static const struct unit_kind kind = { "sneak", UNIT_READ, write_in_a_reader, NULL };
    struct pg_rig *p = PG_RIG(state);
    int64_t before, after;
    struct job j;

    rig_open(&p->rig, 1);
    before = pg_ask(p, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text");
    for (int i = 0; i < 10; i++)
        (void)rig_count(&p->rig);
    after = pg_ask(p, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text");
    assert_int_equal(after - before, 0);
    job_init(&j, &p->rig, &kind);
    assert_int_equal(job_run(&p->rig, &j), ERR_STORE_FULL);
    assert_int_equal(pg_ask(p, "SELECT count(*) FROM dead_letters"), 0);
}

/* --- bulk --- */

struct event {
    struct unit unit;
    struct uuid id;
    char name[40];
    enum err verdict;
};

enum { EVENT_COLUMNS = 10 };

static void event_values(const struct event *e, struct val v[EVENT_COLUMNS])
{
    const struct val values[EVENT_COLUMNS] = {
        V_TEXT(S("stripe")),
        V_TEXT(str_of(e->name)),
        V_TEXT(S("payment_intent.succeeded")),
        V_INT(0),
        V_INT(1),
        V_INT(2),
        V_BLOB(uuid_bytes(&e->id)),
        V_TEXT(S("req")),
        V_TEXT(S("trace")),
        V_BLOB(S("{\"id\":\"evt\"}")),
    };

    memcpy(v, values, sizeof(values));
}

static enum err mark_new(void *ctx, const struct row *row)
{
    int *count = ctx;

    assert_int_equal(row->col[0].type, VAL_BLOB);
    ++*count;
    return OK;
}

static _Atomic int bulks;

static enum err add_events(struct tx *tx, struct unit **units, size_t n)
{
    struct val v[LIMIT_BULK * EVENT_COLUMNS];
    int added = 0;

    atomic_fetch_add(&bulks, 1);
    for (size_t i = 0; i < n; i++)
        event_values(CONTAINER_OF(units[i], struct event, unit), v + i * EVENT_COLUMNS);
    return tx_bulk(tx, STMT_webhook_event_add, v, n, EVENT_COLUMNS, mark_new, &added);
}

static enum err add_event(struct tx *tx, struct unit *u)
{
    return add_events(tx, &u, 1);
}

static void event_done(struct unit *u)
{
    CONTAINER_OF(u, struct event, unit)->verdict = u->err;
}

static const struct unit_kind kind_event = { "event", UNIT_FRONT, add_event, add_events };

enum { POSTERS = 4, EACH = 1250 };

struct poster {
    struct pg_rig *p;
    struct desk desk;
    struct event *events;
    int number;
};

static void *post_events(void *arg)
{
    struct poster *me = arg;

    for (int from = 0; from < EACH; from += EACH / 10) { /* a few at a time, as a door would */
        for (int i = from; i < from + EACH / 10; i++) {
            struct event *e = &me->events[i];

            e->unit = (struct unit){ &kind_event, &me->desk.executor, .done = event_done };
            e->id = env_uuid(&me->p->rig.env);
            snprintf(e->name, sizeof(e->name), "evt_%d_%d", me->number, i - i % 50); /* repeats */
            store_post(me->p->rig.store, &e->unit);
        }
        desk_wait(&me->desk, EACH / 10);
    }
    return NULL;
}

static void five_thousand_events_from_four_threads_are_stored_once(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];

    rig_open(&p->rig, 4);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ .p = p, .number = i };
        posters[i].events = calloc(EACH, sizeof(struct event));
        desk_init(&posters[i].desk);
        assert_int_equal(pthread_create(&threads[i], NULL, post_events, &posters[i]), 0);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
        for (int k = 0; k < EACH; k++)
            assert_int_equal(posters[i].events[k].verdict, OK);
        free(posters[i].events);
    }
    assert_int_equal(pg_ask(p, "SELECT count(*) FROM webhook_events"), POSTERS * EACH / 50);
    assert_true(atomic_load(&bulks) < POSTERS * EACH);
    assert_int_equal(store_health(p->rig.store).units, POSTERS * EACH);
}

/* --- waiting --- */

static void p6_waiting_longer_than_a_second_is_a_timeout_for_the_front_only(void **state)
{
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct pg_rig *p = PG_RIG(state);
    struct job blocker, late, back;

    rig_open(&p->rig, 1);
    job_init(&blocker, &p->rig, &kind_add);
    job_init(&late, &p->rig, &kind_add);
    job_init(&back, &p->rig, &kind_add_back);
    blocker.begun = &begun;
    blocker.go = &go;
    store_post(p->rig.store, &blocker.unit);
    bell_wait(&begun);
    store_post(p->rig.store, &late.unit);
    store_post(p->rig.store, &back.unit);
    atomic_fetch_add(&rig_later_us, (LIMIT_STORE_WAIT_MS + 1) * 1000);
    bell_ring(&go);
    desk_wait(&p->rig.desk, 3);
    assert_int_equal(blocker.verdict, OK);
    assert_int_equal(late.verdict, ERR_TIMEOUT);
    assert_int_equal(late.runs, 0);
    assert_int_equal(back.verdict, OK);
}

static void the_back_gets_a_share_while_the_front_is_full(void **state)
{
    enum { N = 40 };
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct pg_rig *p = PG_RIG(state);
    struct job blocker, front[N], back;
    int before = 0;

    rig_open(&p->rig, 1);
    job_init(&blocker, &p->rig, &kind_add);
    blocker.begun = &begun;
    blocker.go = &go;
    store_post(p->rig.store, &blocker.unit);
    bell_wait(&begun);
    for (int i = 0; i < N; i++) {
        job_init(&front[i], &p->rig, &kind_add);
        store_post(p->rig.store, &front[i].unit);
    }
    job_init(&back, &p->rig, &kind_add_back);
    store_post(p->rig.store, &back.unit);
    bell_ring(&go);
    for (; !back.done; before++)
        desk_wait(&p->rig.desk, 1);
    assert_true(before < N / 2);
    desk_wait(&p->rig.desk, N + 2 - before);
}

/* --- a peer that hangs --- */

static enum err hang_then_count(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    struct row row;
    enum err e = TX_ROW(tx, STMT_dead_count, &row, V_INT(INT64_MAX));

    if (!j->runs++) {
        bell_ring(j->begun);
        bell_wait(j->go);
    }
    return e ? e : TX_ROW(tx, STMT_dead_count, &row, V_INT(INT64_MAX));
}

static void a_server_that_does_not_answer_is_left_for_another_connection(void **state)
{
    static const struct unit_kind kind = { "hang", UNIT_FRONT, hang_then_count, NULL };
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct pg_rig *p = PG_RIG(state);
    struct job j;
    pid_t backend;

    rig_open(&p->rig, 1);
    job_init(&j, &p->rig, &kind);
    j.begun = &begun;
    j.go = &go;
    store_post(p->rig.store, &j.unit);
    bell_wait(&begun);
    backend = (pid_t)pg_ask(p, "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                               " AND state = 'idle in transaction'");
    assert_true(backend > 1);
    assert_int_equal(kill(backend, SIGSTOP), 0);
    bell_ring(&go);
    desk_wait(&p->rig.desk, 1);
    assert_int_equal(kill(backend, SIGCONT), 0);
    assert_int_equal(j.verdict, OK);
    assert_int_equal(j.runs, 2);
}

static void a_lost_session_is_replaced_without_anyone_noticing(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct job j;

    rig_open(&p->rig, 1);
    for (int i = 0; i < 3; i++) {
        job_init(&j, &p->rig, &kind_add);
        assert_int_equal(job_run(&p->rig, &j), OK);
        pg_ask(p, "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
                  " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    }
    assert_int_equal(rig_count(&p->rig), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PG_TEST(a_deadlock_is_run_again_and_both_are_done),
        PG_TEST(a_lock_that_is_never_free_is_a_timeout),
        PG_TEST(one_blocked_lane_of_a_bulk_is_a_timeout_for_itself_alone),
        PG_TEST(what_began_in_time_is_not_given_up_when_its_bulk_falls_apart),
        PG_TEST(one_of_a_bulk_that_is_not_ready_is_no_trouble_of_the_database),
        PG_TEST(a_unit_that_ignores_its_failure_is_not_believed),
        PG_TEST(a_wrong_row_count_in_the_last_statement_is_not_committed),
        PG_TEST(a_unit_of_many_statements_fits_into_the_pipeline),
        PG_TEST(a_reader_cannot_write_and_takes_no_transaction_id),
        PG_TEST(five_thousand_events_from_four_threads_are_stored_once),
        PG_TEST(p6_waiting_longer_than_a_second_is_a_timeout_for_the_front_only),
        PG_TEST(the_back_gets_a_share_while_the_front_is_full),
        PG_TEST(a_server_that_does_not_answer_is_left_for_another_connection),
        PG_TEST(a_lost_session_is_replaced_without_anyone_noticing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
