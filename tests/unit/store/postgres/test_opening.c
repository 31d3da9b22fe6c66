/* test_postgres_opening.c - what a unit sees of the server as it begins: settings that were changed
 * since the store was opened, and the time. */
#include "base/limits.h"
#include "observe/log.h"
#include "unit/store/postgres/rig.h"

#include <poll.h>

static enum err add_one(struct pg_rig *p)
{
    struct job j;

    job_init(&j, &p->rig, &kind_add);
    return job_run(&p->rig, &j);
}

/* --- what could be lost --- */

static void reset_server(void)
{
    pg_ask_server("ALTER SYSTEM RESET ALL");
    pg_ask_server("SELECT pg_reload_conf()");
}

static void synchronous_commit_off_at_run_time_loses_nothing_that_was_ok(void **state)
{
    enum { N = 20 };
    struct pg_rig *p = PG_RIG(state);

    rig_open(&p->rig, 1);
    assert_int_equal(add_one(p), OK);
    pg_set_server("wal_writer_flush_after", "1GB");
    pg_set_server("wal_writer_delay", "10s");
    pg_set_server("synchronous_commit", "off");
    for (int i = 0; i < N; i++)
        assert_int_equal(add_one(p), OK);
    pg_ctl("restart");
    pg_rig_reconnect(p);
    assert_int_equal(pg_ask(p, "SELECT count(*) FROM dead_letters"), 1 + N);
    reset_server();
}

static void unit_sees(struct pg_rig *p, enum err err)
{
    for (int i = 0; i < 1000 && add_one(p) != err; i++)
        poll(NULL, 0, 1);
    assert_int_equal(add_one(p), err);
}

static void refuses_while_off(struct pg_rig *p, const char *setting)
{
    int64_t rows;

    pg_set_server(setting, "off");
    unit_sees(p, ERR_UNAVAILABLE);
    assert_false(store_health(p->rig.store).writable);
    rows = rig_count(&p->rig); /* reading is harmless */
    assert_int_equal(add_one(p), ERR_UNAVAILABLE);
    assert_int_equal(rig_count(&p->rig), rows);
    pg_set_server(setting, "on");
    unit_sees(p, OK);
    assert_true(store_health(p->rig.store).writable);
}

static int count_lines(const char *path, const char *word)
{
    char line[1024];
    int count = 0;
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        count += strstr(line, word) != NULL;
    fclose(f);
    return count;
}

static void fsync_off_at_run_time_stores_nothing_and_is_said_once(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/log", p->rig.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    p->rig.env.log = log_new(&p->rig.env.clock, fileno(f), LOG_INFO, false);
    rig_open(&p->rig, 1);
    refuses_while_off(p, "fsync");
    assert_int_equal(count_lines(path, "does not fsync"), 1);
    refuses_while_off(p, "full_page_writes");
    assert_int_equal(count_lines(path, "full_page_writes=off"), 1);
    rig_close(&p->rig);
    log_free(p->rig.env.log);
    fclose(f);
    reset_server();
}

/* --- the time --- */

static int64_t ahead_ms(struct pg_rig *p)
{
    return clock_now_ms(&p->rig.env.clock) - clock_wall_ms(&p->rig.env.clock);
}

static void m12_a_clock_that_drifts_apart_is_set_right_by_the_next_unit(void **state)
{
    struct pg_rig *p = PG_RIG(state);

    rig_open(&p->rig, 1);
    assert_int_equal(add_one(p), OK);
    atomic_fetch_add(&rig_later_us, (int64_t)3600 * 1000 * 1000);
    assert_true(ahead_ms(p) > 3500 * 1000);
    assert_int_equal(add_one(p), OK);
    assert_true(ahead_ms(p) < 1000 * 1000);
    atomic_fetch_add(&rig_later_us, (int64_t)3600 * 1000 * 1000);
    (void)rig_count(&p->rig); /* a reader is as good */
    assert_true(ahead_ms(p) < 1000 * 1000);
}

/* A connection that comes up looks too (the listener's comes when it likes), so the first tries may
 * find the clock set right by it; a store that looks at every unit would never pass. */
static bool a_unit_leaves_the_clock_alone(struct pg_rig *p)
{
    for (int try = 0; try < 8; try++) {
        atomic_fetch_add(&p->rig.env.clock.base_ms, 3600 * 1000);
        assert_int_equal(add_one(p), OK);
        if (ahead_ms(p) > 3500 * 1000)
            return true;
    }
    return false;
}

static void m12_it_is_looked_at_only_now_and_then(void **state)
{
    struct pg_rig *p = PG_RIG(state);

    rig_open(&p->rig, 1);
    assert_int_equal(add_one(p), OK); /* looks */
    assert_true(a_unit_leaves_the_clock_alone(p));
    atomic_fetch_add(&rig_later_us, LIMIT_DB_CLOCK_MS * 1000);
    assert_int_equal(add_one(p), OK);
    assert_true(ahead_ms(p) < 1000 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PG_TEST(synchronous_commit_off_at_run_time_loses_nothing_that_was_ok),
        PG_TEST(fsync_off_at_run_time_stores_nothing_and_is_said_once),
        PG_TEST(m12_a_clock_that_drifts_apart_is_set_right_by_the_next_unit),
        PG_TEST(m12_it_is_looked_at_only_now_and_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
