/* test_store.c - what store.h promises, on every database that is there: SQLite always, PostgreSQL
 * when TEST_POSTGRES names one. Each test gets a database of its own. */
#include "store/tx_log.h"
#include "unit/store/rig.h"

#include <libpq-fe.h>

static const char *server; /* NULL: SQLite */
static int number;         /* of the next PostgreSQL database */

static void on_server(const char *sql)
{
    PGconn *c = PQconnectdb(server);
    PGresult *r = PQexec(c, sql);

    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

static void name_database(char name[64])
{
    snprintf(name, 64, "contract_%d_%d", (int)getpid(), number);
}

static void use_postgres(struct rig *r)
{
    char name[64], sql[128];

    number++;
    name_database(name);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s", name);
    on_server(sql);
    snprintf(r->url, sizeof(r->url), "%.*s/%s", (int)(strrchr(server, '/') - server), server, name);
}

static int setup_with(void **state, int connections)
{
    struct rig *r = malloc(sizeof(*r));

    rig_init(r);
    if (server)
        use_postgres(r);
    rig_open(r, connections);
    *state = r;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, 0);
}

static int setup_single(void **state)
{
    return setup_with(state, 1);
}

static int teardown(void **state)
{
    struct rig *r = *state;
    char name[64], sql[128];

    atomic_store(&rig_later_us, 0);
    rig_release(r);
    free(r);
    if (server) {
        name_database(name);
        snprintf(sql, sizeof(sql), "DROP DATABASE %s WITH (FORCE)", name);
        on_server(sql);
    }
    return 0;
}

/* --- verdicts --- */

static void a_unit_that_is_ok_is_there(void **state)
{
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind_add);
    assert_int_equal(job_run(r, &j), OK);
    assert_int_equal(j.done, 1);
    assert_int_equal(rig_count(r), 1);
}

static void a_failing_unit_is_rolled_back_alone(void **state)
{
    enum { N = 50 };
    struct rig *r = *state;
    struct job jobs[N];

    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], r, &kind_add);
        jobs[i].fail = i == 20 ? ERR_UNPROCESSABLE : OK;
    }
    for (int i = 0; i < N; i++)
        store_post(r->store, &jobs[i].unit);
    desk_wait(&r->desk, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(jobs[i].verdict, i == 20 ? ERR_UNPROCESSABLE : OK);
    assert_int_equal(rig_count(r), N - 1);
}

static void hooks_run_after_the_commit_and_never_after_a_rollback(void **state)
{
    struct rig *r = *state;
    struct job good, bad;

    job_init(&good, r, &kind_add);
    job_init(&bad, r, &kind_add);
    good.hook = bad.hook = true;
    bad.fail = ERR_UNPROCESSABLE;
    store_post(r->store, &good.unit);
    store_post(r->store, &bad.unit);
    desk_wait(&r->desk, 2);
    assert_int_equal(good.hooked, 1);
    assert_int_equal(bad.hooked, 0);
}

static enum err log_and_insert(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    char text[] = "gone when it is written";
    enum err e;

    LOG_AFTER_COMMIT(tx, LOG_ERROR, "A line", LOG_TEXT("text", str_of(text)),
                     LOG_SOME("none", S("")), LOG_NUM("fail", j->fail != OK));
    memset(text, 'x', sizeof(text) - 1);
    e = job_insert(tx, j);
    return e ? e : j->fail;
}

static void a_line_is_written_once_and_never_after_a_rollback(void **state)
{
    static const struct unit_kind kind = { "log", UNIT_FRONT, log_and_insert, NULL };
    struct rig *r = *state;
    struct job jobs[3];
    char text[1000] = "";
    FILE *f = tmpfile();

    r->env.log = log_new(&r->env.clock, fileno(f), LOG_WARN, false);
    for (size_t i = 0; i < COUNT(jobs); i++)
        job_init(&jobs[i], r, &kind);
    jobs[0].fail = ERR_UNPROCESSABLE;
    jobs[2].id = jobs[1].id;
    for (size_t i = 0; i < COUNT(jobs); i++)
        store_post(r->store, &jobs[i].unit);
    desk_wait(&r->desk, COUNT(jobs));
    log_free(r->env.log);
    r->env.log = NULL;
    rewind(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    assert_non_null(strstr(text, "\"message\":\"A line\",\"text\":\"gone when it is written\","
                                 "\"fail\":0}\n"));
    assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
    fclose(f);
}

/* A hook that came before the commit would not see the row from another connection. */
static void look_from_outside(void *ctx, int64_t arg)
{
    (void)arg;
    bell_ring(ctx);
}

static struct bell *committed;

static enum err add_and_ring(struct tx *tx, struct unit *u)
{
    tx_after_commit(tx, look_from_outside, committed, 0);
    return job_insert(tx, job_of(u));
}

static void a_hook_comes_when_others_can_see_the_row(void **state)
{
    static const struct unit_kind kind = { "ring", UNIT_FRONT, add_and_ring, NULL };
    struct bell bell = BELL_INIT;
    struct rig *r = *state;
    struct job add, count;

    committed = &bell;
    job_init(&add, r, &kind);
    job_init(&count, r, &kind_count);
    store_post(r->store, &add.unit);
    bell_wait(&bell);
    store_post(r->store, &count.unit);
    desk_wait(&r->desk, 2);
    assert_int_equal(add.verdict, OK);
    assert_int_equal(count.number, 1);
}

static void the_same_key_twice_in_one_batch_is_one_row_and_one_conflict(void **state)
{
    struct rig *r = *state;
    struct job a, b;

    job_init(&a, r, &kind_add);
    job_init(&b, r, &kind_add);
    b.id = a.id;
    store_post(r->store, &a.unit);
    store_post(r->store, &b.unit);
    desk_wait(&r->desk, 2);
    assert_true((a.verdict == OK && b.verdict == ERR_CONFLICT) ||
                (b.verdict == OK && a.verdict == ERR_CONFLICT));
    assert_int_equal(rig_count(r), 1);
}

static enum err add_short_id(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);

    return TX_DO(tx, STMT_dead_letter_add, 1, V_BLOB(S("short")), V_TEXT(S("test")), V_TEXT(j->ref),
                 V_NULL, V_TEXT(S("why")), V_TEXT(S("why")), V_INT(1), V_INT(2));
}

static void a_broken_check_is_a_constraint_not_a_conflict(void **state)
{
    static const struct unit_kind kind = { "short", UNIT_FRONT, add_short_id, NULL };
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind);
    assert_int_equal(job_run(r, &j), ERR_CONSTRAINT);
    assert_int_equal(rig_count(r), 0);
}

static enum err add_a_large_total(struct tx *tx, struct unit *u)
{
    (void)u;
    return TX_DO(tx, STMT_reconcile_total_add, 1, V_TEXT(S("2026-11-19")), V_TEXT(S("stripe")),
                 V_TEXT(S("theirs")), V_TEXT(S("JPY")), V_INT(1), V_INT(INT64_MAX), V_INT(0),
                 V_INT(0));
}

static enum err add_large_refunds(struct tx *tx, struct unit *u)
{
    struct uuid payment = env_uuid(tx_env(tx));
    enum err e = OK;
    struct row row;

    (void)u;
    for (int i = 0; i < 2 && !e; i++) {
        struct uuid id = env_uuid(tx_env(tx));

        e = TX_DO(tx, STMT_refund_add, 1, V_BLOB(uuid_bytes(&id)), V_BLOB(uuid_bytes(&payment)),
                  V_INT(INT64_MAX), V_NULL, V_TEXT(S("pending")), V_NULL, V_INT(0), V_INT(1),
                  V_NULL);
    }
    return e ? e : TX_ROW(tx, STMT_refund_sums, &row, V_BLOB(uuid_bytes(&payment)));
}

static void a_sum_that_64_bits_do_not_hold_is_an_error_of_its_own(void **state)
{
    static const struct unit_kind total = { "total", UNIT_BACK, add_a_large_total, NULL };
    static const struct unit_kind refunds = { "refunds", UNIT_BACK, add_large_refunds, NULL };
    struct rig *r = *state;
    struct job first, second, third, after;

    job_init(&first, r, &total);
    job_init(&second, r, &total);
    job_init(&third, r, &refunds);
    job_init(&after, r, &kind_add);
    assert_int_equal(job_run(r, &first), OK);
    assert_int_equal(job_run(r, &second), ERR_SUM_TOO_LARGE);
    assert_int_equal(job_run(r, &third), ERR_SUM_TOO_LARGE);
    assert_int_equal(job_run(r, &after), OK);
}

static enum err retry_what_is_not_there(struct tx *tx, struct unit *u)
{
    struct job *j = job_of(u);
    enum err e = job_insert(tx, j);

    return e ? e
             : TX_DO(tx, STMT_message_retry, 1, V_INT(1), V_TEXT(S("why")), V_INT(1),
                     V_BLOB(uuid_bytes(&j->id)), V_INT(1));
}

static void another_row_count_than_expected_is_stale_and_rolls_back(void **state)
{
    static const struct unit_kind kind = { "stale", UNIT_FRONT, retry_what_is_not_there, NULL };
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind);
    assert_int_equal(job_run(r, &j), ERR_STALE);
    assert_int_equal(rig_count(r), 0);
}

static enum err find_nothing(struct tx *tx, struct unit *u)
{
    struct row row;

    (void)u;
    return TX_ROW(tx, STMT_queue_oldest_ready, &row, V_INT(INT64_MAX));
}

/* --- bulk kinds --- */

static enum err insert_many(struct tx *tx, struct unit **u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum err e = job_insert(tx, job_of(u[i]));

        if (e)
            return e;
        tx_after_commit(tx, job_hook, job_of(u[i]), 1);
        job_of(u[i])->number = (int64_t)n;
        u[i]->err = OK;
    }
    return OK;
}

static enum err insert_with_hook(struct tx *tx, struct unit *u)
{
    job_of(u)->runs++;
    tx_after_commit(tx, job_hook, job_of(u), 1);
    return job_insert(tx, job_of(u));
}

static const struct unit_kind kind_bulk = { "bulk", UNIT_FRONT, insert_with_hook, insert_many };

static void a_poisonous_row_in_a_bulk_fails_alone(void **state)
{
    enum { N = 40 };
    struct rig *r = *state;
    struct job jobs[N], first;

    job_init(&first, r, &kind_bulk);
    assert_int_equal(job_run(r, &first), OK);
    for (int i = 0; i < N; i++)
        job_init(&jobs[i], r, &kind_bulk);
    jobs[7].id = first.id; /* it is there already */
    for (int i = 0; i < N; i++)
        store_post(r->store, &jobs[i].unit);
    desk_wait(&r->desk, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].verdict, i == 7 ? ERR_CONFLICT : OK);
        assert_int_equal(jobs[i].hooked, i == 7 ? 0 : 1);
    }
    assert_int_equal(rig_count(r), N);
}

/* --- values --- */

static enum err keep_last(void *ctx, const struct row *row)
{
    struct row *kept = ctx;

    *kept = *row;
    return OK;
}

static void fill_event(struct val v[10], struct str event, struct str message_id, struct str body)
{
    v[0] = V_TEXT(S("stripe"));
    v[1] = V_TEXT(event);
    v[2] = V_NULL;
    v[3] = V_NULL;
    v[4] = V_INT(INT64_MIN);
    v[5] = V_INT(INT64_MAX);
    v[6] = V_BLOB(message_id);
    v[7] = V_TEXT(S(""));
    v[8] = V_TEXT(S(""));
    v[9] = V_BLOB(body);
}

static enum err round_trip_blobs(struct tx *tx, struct unit *u)
{
    static const char nul[] = "a\0b\xff\n";
    struct str ids[] = { { nul, 6 }, S(""), { NULL, 0 } };
    struct str events[] = { S("evt_1"), S("evt_2"), S("evt_日本") };

    (void)u;
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct row row = { 0 };
        struct val v[10], name[1] = { V_TEXT(events[i]) };
        enum err e;

        fill_event(v, events[i], ids[i], ids[i]);
        e = tx_bulk(tx, STMT_webhook_event_add, v, 1, 10, keep_last, &row);
        if (e)
            return e;
        assert_int_equal(row.count, 1);
        e = tx_bulk(tx, STMT_webhook_event_find, name, 1, 1, keep_last, &row);
        if (e)
            return e;
        assert_int_equal(row.col[0].type, VAL_TEXT);
        assert_true(str_eq(row.col[0].s, events[i]));
        assert_int_equal(row.col[1].type, VAL_BLOB);
        assert_true(str_eq(row.col[1].s, ids[i]));
    }
    return OK;
}

static void bytes_come_back_as_they_went_nul_and_empty_included(void **state)
{
    static const struct unit_kind kind = { "blobs", UNIT_FRONT, round_trip_blobs, NULL };
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind);
    assert_int_equal(job_run(r, &j), OK);
}

static enum err add_message(struct tx *tx, struct job *j, struct val lane, struct val ref,
                            struct val body)
{
    struct uuid id = env_uuid(tx_env(tx));
    struct val v[8] = { V_BLOB(uuid_bytes(&id)),
                        V_TEXT(S("日本語")),
                        lane,
                        V_INT(INT64_MIN),
                        V_INT(INT64_MAX),
                        ref,
                        body,
                        V_INT(1) };

    (void)j;
    return tx_bulk(tx, STMT_message_add, v, 1, 8, NULL, NULL);
}

struct rows {
    struct row row[4];
    int count;
};

static enum err keep_each(void *ctx, const struct row *row)
{
    struct rows *rows = ctx;

    rows->row[rows->count++] = *row;
    return OK;
}

static enum err round_trip_scalars(struct tx *tx, struct unit *u)
{
    struct rows rows = { 0 };
    const struct row *a = &rows.row[0], *b = &rows.row[1];
    enum err e = add_message(tx, job_of(u), V_INT(INT64_MIN), V_TEXT(S("")), V_NULL);

    if (!e)
        e = add_message(tx, job_of(u), V_INT(INT64_MAX), V_NULL, V_TEXT(S("七\n\"'\\$1;--")));
    if (!e)
        e = tx_each(tx, STMT_message_due, (struct val[]){ V_INT(0), V_INT(10) }, 2, keep_each,
                    &rows);
    if (e)
        return e;
    assert_int_equal(rows.count, 2);
    assert_true(str_eq(a->col[2].s, S("日本語")));
    assert_true(a->col[3].i == INT64_MIN && b->col[3].i == INT64_MAX);
    assert_true(a->col[5].i == INT64_MAX);
    assert_true(a->col[6].type == VAL_TEXT && a->col[6].s.n == 0 && a->col[7].type == VAL_NULL);
    assert_true(b->col[6].type == VAL_NULL);
    assert_true(str_eq(b->col[7].s, S("七\n\"'\\$1;--")));
    return OK;
}

static void null_is_not_empty_and_numbers_keep_their_64_bits(void **state)
{
    static const struct unit_kind kind = { "scalars", UNIT_FRONT, round_trip_scalars, NULL };
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind);
    assert_int_equal(job_run(r, &j), OK);
}

static void a_row_that_is_not_there_is_not_found(void **state)
{
    static const struct unit_kind kind = { "none", UNIT_READ, find_nothing, NULL };
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind);
    assert_int_equal(job_run(r, &j), ERR_NOT_FOUND);
}

static enum err stop_at_first(void *ctx, const struct row *row)
{
    (void)row;
    ++*(int *)ctx;
    return ERR_UNPROCESSABLE;
}

static enum err stop_early(struct tx *tx, struct unit *u)
{
    struct val lease[] = { V_INT(0), V_INT(10) };
    int seen = 0;
    enum err e = add_message(tx, job_of(u), V_INT(1), V_NULL, V_NULL);

    if (!e)
        e = add_message(tx, job_of(u), V_INT(2), V_NULL, V_NULL);
    if (e)
        return e;
    assert_int_equal(tx_each(tx, STMT_message_due, lease, 2, stop_at_first, &seen),
                     ERR_UNPROCESSABLE);
    assert_int_equal(seen, 1);
    return job_insert(tx, job_of(u)); /* the transaction goes on */
}

static void an_err_from_each_ends_the_walk_and_not_the_transaction(void **state)
{
    static const struct unit_kind kind = { "stop", UNIT_FRONT, stop_early, NULL };
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind);
    assert_int_equal(job_run(r, &j), OK);
    assert_int_equal(rig_count(r), 1);
}

/* --- who sees what, and when --- */

static void readers_see_committed_rows_only(void **state)
{
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct rig *r = *state;
    struct job writer;

    job_init(&writer, r, &kind_add);
    writer.begun = &begun;
    writer.go = &go;
    store_post(r->store, &writer.unit);
    bell_wait(&begun); /* its row is written, its commit is not */
    assert_int_equal(rig_count(r), 0);
    bell_ring(&go);
    desk_wait(&r->desk, 1);
    assert_int_equal(writer.verdict, OK);
    assert_int_equal(rig_count(r), 1);
}

static void units_come_home_on_the_thread_of_their_home(void **state)
{
    struct rig *r = *state;
    struct job j;

    job_init(&j, r, &kind_add_back);
    assert_int_equal(job_run(r, &j), OK);
    assert_true(pthread_equal(j.thread, pthread_self()));
}

/* The writer is blocked while the clock moves on: who waits for an answer is told to come again,
 * the queue's own work is not lost. */
static void p6_waiting_longer_than_a_second_is_a_timeout_for_the_front_only(void **state)
{
    struct bell begun = BELL_INIT, go = BELL_INIT;
    struct rig *r = *state;
    struct job blocker, late, back;

    job_init(&blocker, r, &kind_add);
    job_init(&late, r, &kind_add);
    job_init(&back, r, &kind_add_back);
    blocker.begun = &begun;
    blocker.go = &go;
    store_post(r->store, &blocker.unit);
    bell_wait(&begun);
    store_post(r->store, &late.unit);
    store_post(r->store, &back.unit);
    atomic_fetch_add(&rig_later_us, INT64_C(1001000) * rig_patience);
    bell_ring(&go);
    desk_wait(&r->desk, 3);
    assert_int_equal(blocker.verdict, OK);
    assert_int_equal(late.verdict, ERR_TIMEOUT);
    assert_int_equal(late.runs, 0);
    assert_int_equal(back.verdict, OK);
}

/* --- many --- */

enum { CROWD_THREADS = 4, CROWD_EACH = 2500 };

struct crowd {
    struct rig *rig;
    struct desk desk;
    struct job *jobs;
};

static const struct unit_kind *crowd_kind(int i)
{
    static const struct unit_kind bulk_back = { "bulk_back", UNIT_BACK, insert_with_hook,
                                                insert_many };

    return i % 5 == 0 ? &kind_add_back : i % 3 == 0 ? &kind_add : i % 2 ? &kind_bulk : &bulk_back;
}

static void *crowd_post(void *arg)
{
    struct crowd *c = arg;
    int out = 0;

    desk_init(&c->desk);
    for (int i = 0; i < CROWD_EACH; i++) {
        struct job *j = &c->jobs[i];

        job_init(j, c->rig, crowd_kind(i));
        j->unit.executor = &c->desk.executor;
        if (i % 100 == 50)
            j->id = c->jobs[i - 1].id; /* one in a hundred is a repeat */
        store_post(c->rig->store, &j->unit);
        if (++out == 100) {
            desk_wait(&c->desk, 50);
            out -= 50;
        }
    }
    desk_wait(&c->desk, out);
    return NULL;
}

static void ten_thousand_units_get_one_verdict_each(void **state)
{
    struct rig *r = *state;
    struct crowd crowd[CROWD_THREADS];
    pthread_t threads[CROWD_THREADS];
    int ok = 0, conflict = 0;

    for (int t = 0; t < CROWD_THREADS; t++) {
        crowd[t] = (struct crowd){ .rig = r, .jobs = calloc(CROWD_EACH, sizeof(struct job)) };
        assert_int_equal(pthread_create(&threads[t], NULL, crowd_post, &crowd[t]), 0);
    }
    for (int t = 0; t < CROWD_THREADS; t++) {
        pthread_join(threads[t], NULL);
        for (int i = 0; i < CROWD_EACH; i++) {
            assert_int_equal(crowd[t].jobs[i].done, 1);
            ok += crowd[t].jobs[i].verdict == OK;
            conflict += crowd[t].jobs[i].verdict == ERR_CONFLICT;
        }
        free(crowd[t].jobs);
    }
    assert_int_equal(conflict, CROWD_THREADS * CROWD_EACH / 100);
    assert_int_equal(ok + conflict, CROWD_THREADS * CROWD_EACH);
    assert_int_equal(rig_count(r), ok);
}

static void health_counts_what_was_done(void **state)
{
    struct rig *r = *state;
    struct store_health h;
    struct job j;

    job_init(&j, r, &kind_add);
    assert_int_equal(job_run(r, &j), OK);
    h = store_health(r->store);
    assert_true(h.writable);
    assert_int_equal(h.waiting, 0);
    assert_int_equal(h.commits, 1);
    assert_int_equal(h.units, 1);
}

/* --- coming back --- */

static void opening_again_finds_everything_and_migrates_nothing(void **state)
{
    struct rig *r = *state;
    struct job j;

    for (int i = 0; i < 3; i++) {
        job_init(&j, r, &kind_add);
        assert_int_equal(job_run(r, &j), OK);
        rig_close(r);
        rig_open(r, 0);
        assert_int_equal(rig_count(r), i + 1);
    }
}

static void closing_finishes_what_was_posted(void **state)
{
    enum { N = 300 };
    struct rig *r = *state;
    struct job *jobs = calloc(N, sizeof(*jobs));

    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], r, i % 2 ? &kind_add : &kind_add_back);
        store_post(r->store, &jobs[i].unit);
    }
    rig_close(r);
    desk_wait(&r->desk, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(jobs[i].verdict, OK);
    rig_open(r, 0);
    assert_int_equal(rig_count(r), N);
    free(jobs);
}

/* An arena is rewound before every run, so a unit that runs twice does not grow. */
static enum err use_arena(struct tx *tx, struct unit *u)
{
    assert_non_null(arena_alloc(u->arena, 1, 600)); /* two of them are over its limit */
    return job_insert(tx, job_of(u));
}

static enum err fail_always(struct tx *tx, struct unit **u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        use_arena(tx, u[i]);
    return ERR_UNPROCESSABLE;
}

static void the_arena_is_rewound_before_each_run(void **state)
{
    static const struct unit_kind kind = { "arena", UNIT_FRONT, use_arena, fail_always };
    enum { N = 10 };
    struct rig *r = *state;
    struct job jobs[N];
    struct arena arenas[N];

    for (int i = 0; i < N; i++) {
        job_init(&jobs[i], r, &kind);
        arena_init(&arenas[i], 1000);
        jobs[i].unit.arena = &arenas[i];
        store_post(r->store, &jobs[i].unit);
    }
    desk_wait(&r->desk, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(jobs[i].verdict, OK);
        arena_release(&arenas[i]);
    }
}

#define FRESH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define SINGLE(f) cmocka_unit_test_setup_teardown(f, setup_single, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(a_unit_that_is_ok_is_there),
        FRESH(a_failing_unit_is_rolled_back_alone),
        FRESH(hooks_run_after_the_commit_and_never_after_a_rollback),
        FRESH(a_line_is_written_once_and_never_after_a_rollback),
        FRESH(a_hook_comes_when_others_can_see_the_row),
        FRESH(the_same_key_twice_in_one_batch_is_one_row_and_one_conflict),
        FRESH(a_broken_check_is_a_constraint_not_a_conflict),
        FRESH(a_sum_that_64_bits_do_not_hold_is_an_error_of_its_own),
        FRESH(another_row_count_than_expected_is_stale_and_rolls_back),
        FRESH(a_poisonous_row_in_a_bulk_fails_alone),
        FRESH(bytes_come_back_as_they_went_nul_and_empty_included),
        FRESH(null_is_not_empty_and_numbers_keep_their_64_bits),
        FRESH(a_row_that_is_not_there_is_not_found),
        FRESH(an_err_from_each_ends_the_walk_and_not_the_transaction),
        FRESH(readers_see_committed_rows_only),
        FRESH(units_come_home_on_the_thread_of_their_home),
        SINGLE(p6_waiting_longer_than_a_second_is_a_timeout_for_the_front_only),
        FRESH(ten_thousand_units_get_one_verdict_each),
        FRESH(health_counts_what_was_done),
        FRESH(opening_again_finds_everything_and_migrates_nothing),
        FRESH(closing_finishes_what_was_posted),
        FRESH(the_arena_is_rewound_before_each_run),
    };
    int bad;

    rig_patience = 10;
    bad = cmocka_run_group_tests_name("store on SQLite", tests, NULL, NULL);

    server = getenv("TEST_POSTGRES");
    if (server)
        bad += cmocka_run_group_tests_name("store on PostgreSQL", tests, NULL, NULL);
    return bad != 0;
}
