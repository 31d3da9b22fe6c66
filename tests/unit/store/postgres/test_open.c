/* test_postgres_open.c - which databases are refused at the start, and in which words. */
#include "unit/store/postgres/rig.h"

static enum err open_url(struct pg_rig *p, const char *url, struct why *why)
{
    struct store_options o = { .url = str_of(url), .connections = 1 };
    enum err e = store_open(&o, &p->rig.env, &p->rig.store, why);

    if (strchr(why->text, '\n') || strstr(why->text, "hunter2"))
        fail_msg("not one line without secrets: %s", why->text);
    return e;
}

static void assert_refused(struct pg_rig *p, const char *url, enum err err, const char *word)
{
    struct why why = { 0 };
    enum err e = open_url(p, url, &why);

    if (e != err || !strstr(why.text, word))
        fail_msg("%s: %s: %s (wanted %s)", url, err_code(e), why.text, word);
    assert_null(p->rig.store);
}

/* Twenty times as fast, so that five seconds of patience are over soon. */
static int64_t hurry_us(const struct clock *c)
{
    return rig_mono_us(c) * 20;
}

static void a_server_that_is_not_there_is_named_without_the_password(void **state)
{
    struct pg_rig *p = PG_RIG(state);

    p->rig.env.clock.mono_us = hurry_us;
    assert_refused(p, "postgres://someone:hunter2@127.0.0.1:1/shop", ERR_UNAVAILABLE, "port 1");
    assert_refused(p, "postgres://someone:hunter2@127.0.0.1:1/shop", ERR_UNAVAILABLE, "shop");
}

static void a_database_that_is_not_there_is_named(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    char url[160];

    p->rig.env.clock.mono_us = hurry_us;
    pg_url(url, "nowhere");
    assert_refused(p, url, ERR_UNAVAILABLE, "nowhere");
}

static void an_address_that_cannot_be_read_is_not_repeated(void **state)
{
    struct pg_rig *p = PG_RIG(state);

    assert_refused(p, "postgres://me:hunter2@[::1/x", ERR_VALIDATION, "ICHIDO_DB");
    assert_refused(p, "postgres://me:hunter2@h/x?nonsense=1", ERR_VALIDATION, "ICHIDO_DB");
}

static void synchronous_commit_off_is_refused(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    char url[256];

    snprintf(url, sizeof(url), "%s?options=-csynchronous_commit%%3Doff", p->rig.url);
    assert_refused(p, url, ERR_VALIDATION, "synchronous_commit=off");
}

static void a_server_that_does_not_fsync_is_refused(void **state)
{
    struct pg_rig *p = PG_RIG(state);

    pg_set_server("fsync", "off");
    assert_refused(p, p->rig.url, ERR_VALIDATION, "fsync=off");
    pg_set_server("fsync", "on");
    pg_set_server("full_page_writes", "off");
    assert_refused(p, p->rig.url, ERR_VALIDATION, "full_page_writes=off");
    pg_set_server("full_page_writes", "on");
    rig_open(&p->rig, 1);
}

static void a_database_that_is_not_utf8_is_refused(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    char url[160];

    pg_ask_server("CREATE DATABASE ascii_only TEMPLATE template0 ENCODING 'SQL_ASCII'");
    pg_url(url, "ascii_only");
    assert_refused(p, url, ERR_VALIDATION, "UTF8");
    pg_ask_server("DROP DATABASE ascii_only WITH (FORCE)");
}

static void d25_a_database_of_a_newer_program_is_refused(void **state)
{
    struct pg_rig *p = PG_RIG(state);

    rig_open(&p->rig, 1);
    rig_close(&p->rig);
    pg_ask(p, "INSERT INTO schema_migrations VALUES (9999, 'from the future', 1)");
    assert_refused(p, p->rig.url, ERR_VALIDATION, "9999");
}

static void *open_it(void *arg)
{
    struct pg_rig *p = arg;
    struct store_options o = { .url = str_of(p->rig.url), .connections = 1 };
    struct why why = { 0 };
    struct store *s;

    if (store_open(&o, &p->rig.env, &s, &why))
        return strdup(why.text);
    store_free(s);
    return NULL;
}

static void d25_nodes_that_start_together_migrate_once(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    pthread_t nodes[4];
    void *why;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&nodes[i], NULL, open_it, p), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(nodes[i], &why);
        if (why)
            fail_msg("%s", (char *)why);
    }
    assert_true(pg_ask(p, "SELECT count(*) FROM schema_migrations") >= 1);
    assert_int_equal(pg_ask(p, "SELECT count(*) - count(DISTINCT number) FROM schema_migrations"),
                     0);
}

/* What a node that died in the middle, or a file that failed, leaves: the rest comes later. */
static void d25_each_file_is_a_commit_of_its_own(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    int64_t last;

    pg_ask(p, "CREATE TABLE redrives (id int)"); /* in the way of 0014 */
    assert_refused(p, p->rig.url, ERR_INTERNAL, "redrive");
    assert_int_equal(pg_ask(p, "SELECT max(number) FROM schema_migrations"), 13);
    pg_ask(p, "DROP TABLE redrives");
    rig_open(&p->rig, 1);
    last = pg_ask(p, "SELECT max(number) FROM schema_migrations");
    assert_true(last >= 15);
    assert_int_equal(pg_ask(p, "SELECT count(*) FROM schema_migrations"), last);
}

static int64_t fast_clock_ms(const struct clock *c)
{
    struct clock machine;

    (void)c;
    clock_init(&machine);
    return machine.wall_ms(&machine) + 3600 * 1000;
}

static void the_clock_follows_the_database_where_they_differ(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    int64_t ahead_ms;

    p->rig.env.clock.wall_ms = fast_clock_ms;
    rig_open(&p->rig, 1);
    ahead_ms = clock_wall_ms(&p->rig.env.clock) - clock_now_ms(&p->rig.env.clock);
    assert_true(ahead_ms > 3500 * 1000 && ahead_ms < 3700 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PG_TEST(a_server_that_is_not_there_is_named_without_the_password),
        PG_TEST(a_database_that_is_not_there_is_named),
        PG_TEST(an_address_that_cannot_be_read_is_not_repeated),
        PG_TEST(synchronous_commit_off_is_refused),
        PG_TEST(a_server_that_does_not_fsync_is_refused),
        PG_TEST(a_database_that_is_not_utf8_is_refused),
        PG_TEST(d25_a_database_of_a_newer_program_is_refused),
        PG_TEST(d25_nodes_that_start_together_migrate_once),
        PG_TEST(d25_each_file_is_a_commit_of_its_own),
        PG_TEST(the_clock_follows_the_database_where_they_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
