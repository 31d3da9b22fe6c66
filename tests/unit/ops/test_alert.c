/* Alerts as rows: of several that look one tells, and the row and its messages are one commit. */
#include "ops/alert_watch.h"
#include "unit/queue/rig.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static struct {
    struct rig *rig;
    struct payments payments[RIG_NODES];
    struct alert_desk desk[RIG_NODES];
    struct alert_tellings tellings;
    struct arena arena;
    bool fails; /* behind what was written */
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    for (int i = 0; i < RIG_NODES; i++) {
        rig_queue(w.rig, i, (struct queue_options){ 0 });
        w.payments[i] = (struct payments){ .notifier.runtime = &w.payments[i].runtime,
                                           .runtime.env = &w.rig->env[i],
                                           .runtime.store = w.rig->store[i],
                                           .runtime.queue = w.rig->queue[i],
                                           .runtime.executor = &w.rig->den.desk.executor };
        w.desk[i] = (struct alert_desk){ .env = &w.rig->env[i],
                                         .payments = &w.payments[i],
                                         .unknown_ms = 15 * MINUTE,
                                         .mails = S("a@example.com, b@example.com"),
                                         .has_webhook = true };
    }
}

static struct alert_watch watch[RIG_NODES];

static void pass(int64_t ms)
{
    rig_pass(w.rig, ms);
    for (int i = 0; i < RIG_NODES; i++)
        while (watch[i].busy)
            desk_next(&w.rig->den.desk);
}

static int64_t count(const char *what)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
    return sql_int(w.rig, sql);
}

static void bury(int id, const char *kind)
{
    char sql[400];

    snprintf(sql, sizeof(sql),
             "INSERT INTO dead_letters (id, kind, reason, attempts, added_at, died_at) VALUES"
             " (%s0199e6a25c0070008000000000%06d%s, '%s', 'x', 1, 1, %lld)",
             w.rig->postgres ? "'\\x" : "x'", id, w.rig->postgres ? "'::bytea" : "'", kind,
             (long long)atomic_load(&rig_now_ms));
    sql_int(w.rig, sql);
}

static enum err do_look(struct tx *tx, void *ctx)
{
    const struct alert_desk *d = ctx;
    enum err e = alert_look(tx, d, &w.arena, env_now_ms(d->env), &w.tellings);

    return e ? e : w.fails ? ERR_INTERNAL : OK;
}

static enum err look(int node)
{
    enum err e;

    arena_init(&w.arena, 1 << 20);
    e = rig_do(w.rig, node, do_look, &w.desk[node]);
    arena_release(&w.arena);
    return e;
}

static int second(void)
{
    return w.rig->postgres ? 1 : 0;
}

static void a_dead_letter_is_told_once_whoever_looks(void **state)
{
    begin(state);
    assert_int_equal(look(0), OK);
    assert_int_equal(count("alerts"), 0);
    bury(1, "stripe.event");
    assert_int_equal(look(0), OK);
    assert_int_equal(w.tellings.count, 1);
    assert_int_equal(look(second()), OK);
    assert_int_equal(w.tellings.count, 0);
    assert_int_equal(count("alerts WHERE name = 'dlq_depth' AND status = 'firing'"), 1);
    assert_int_equal(count("message WHERE kind = 'alert' AND ref = 'dlq_depth'"), 3);
    assert_int_equal(count("sends WHERE status = 'waiting' AND channel = 'webhook'"), 1);
    assert_int_equal(count("sends WHERE target = 'a@example.com'"), 1);
    assert_int_equal(count("sends WHERE target = 'b@example.com' AND channel = 'mail'"), 1);
    assert_int_equal(count("sends s JOIN message m ON m.id = s.id"), 3);
}

static void it_resolves_after_a_calm_time_and_is_told_once(void **state)
{
    begin(state);
    bury(1, "stripe.event");
    look(0);
    sql_int(w.rig, "DELETE FROM dead_letters");
    look(second());
    pass(MINUTE);
    look(0);
    assert_int_equal(count("message"), 3);
    pass(MINUTE);
    look(second());
    assert_int_equal(w.tellings.count, 1);
    assert_int_equal(w.tellings.all[0].news, NEWS_RESOLVED);
    look(0);
    assert_int_equal(count("message"), 6);
    assert_int_equal(count("alerts WHERE status = 'ok' AND version = 3"), 1);
    assert_int_equal(count("message WHERE body LIKE '%\"state\":\"resolved\"%'"), 3);
}

static void what_rolls_back_tells_nobody(void **state)
{
    begin(state);
    bury(1, "stripe.event");
    w.fails = true;
    assert_int_equal(look(0), ERR_INTERNAL);
    assert_int_equal(count("alerts") + count("message") + count("sends"), 0);
    w.fails = false;
    assert_int_equal(look(0), OK);
    assert_int_equal(count("message"), 3);
}

static enum err do_read_state(struct tx *tx, void *ctx)
{
    return queue_read_state(tx, atomic_load(&rig_now_ms), ctx);
}

static void a_telling_that_died_raises_no_alert(void **state)
{
    struct queue_state s;

    begin(state);
    bury(1, "alert");
    pass(48 * 60 * MINUTE);
    assert_int_equal(look(0), OK);
    assert_int_equal(count("alerts"), 0);
    assert_int_equal(rig_do(w.rig, 0, do_read_state, &s), OK);
    assert_int_equal(s.dead, 0);
    bury(2, "stripe.event");
    pass(MINUTE);
    assert_int_equal(rig_do(w.rig, 0, do_read_state, &s), OK);
    assert_int_equal(s.dead, 1);
    assert_int_equal(s.dead_oldest_ms, MINUTE);
}

static enum err do_bury(struct tx *tx, void *ctx)
{
    struct queue_new n = { .id = env_uuid(tx_env(tx)), .kind = str_of(ctx), .due_ms = 1 };
    struct message m;
    enum err e = queue_add_leased(w.rig->queue[0], tx, 1, &n, &m);

    return e ? e : queue_bury(w.rig->queue[0], tx, &m, 1, S("x"));
}

static void a_telling_that_died_is_no_new_dead_letter(void **state)
{
    begin(state);
    assert_int_equal(rig_do(w.rig, 0, do_bury, "alert"), OK);
    assert_int_equal(metrics_read(w.rig->env[0].metrics, COUNT_DEAD, S("")), 0);
    assert_int_equal(rig_do(w.rig, 0, do_bury, "stripe.event"), OK);
    assert_int_equal(metrics_read(w.rig->env[0].metrics, COUNT_DEAD, S("")), 1);
    assert_int_equal(count("dead_letters"), 2);
}

static void an_old_letter_is_an_alert_of_its_own(void **state)
{
    begin(state);
    bury(1, "stripe.event");
    pass(24 * 60 * MINUTE);
    look(0);
    assert_int_equal(count("alerts WHERE status = 'firing'"), 1);
    pass(10 * SECOND);
    look(0);
    assert_int_equal(count("alerts WHERE name = 'dlq_age' AND status = 'firing'"), 1);
    pass(4 * 60 * MINUTE);
    look(0);
    assert_int_equal(w.tellings.count, 2); /* both go on, and are told again */
    assert_int_equal(w.tellings.all[0].news, NEWS_STILL);
}

/* --- a node's own --- */

static void open_watch(int node)
{
    assert_true(alert_watch_open(&watch[node], &w.desk[node]));
    alert_watch_start(&watch[node], &w.rig->den.desk.executor);
    while (watch[node].busy) /* takes over what was left behind */
        desk_next(&w.rig->den.desk);
}

static void forge(int node, int64_t n)
{
    metrics_count_as(w.rig->env[node].metrics, COUNT_WEBHOOK_REJECTED, S("mismatch"), n);
}

static void a_node_tells_of_its_own_rate_and_keeps_no_row_when_all_is_well(void **state)
{
    begin(state);
    open_watch(0);
    pass(10 * SECOND);
    assert_int_equal(count("alerts"), 0);
    forge(0, 11);
    pass(10 * SECOND);
    assert_int_equal(count("alerts WHERE name = 'signature_failures' AND status = 'firing'"), 1);
    assert_int_equal(count("message"), 3);
    for (int i = 0; i < 20; i++)
        pass(10 * SECOND);
    assert_int_equal(count("alerts"), 0);
    assert_int_equal(count("message"), 6);
    alert_watch_close(&watch[0]);
}

static void a_dead_letter_is_looked_at_without_waiting_for_the_minute(void **state)
{
    begin(state);
    open_watch(0);
    bury(1, "stripe.event");
    pass(10 * SECOND);
    assert_int_equal(count("alerts"), 0);
    metrics_count(w.rig->env[0].metrics, COUNT_DEAD, 1);
    pass(10 * SECOND);
    assert_int_equal(count("alerts WHERE name = 'dlq_depth'"), 1);
    alert_watch_close(&watch[0]);
}

static void what_a_node_left_behind_is_resolved_by_another(void **state)
{
    begin(state);
    open_watch(0);
    forge(0, 11);
    pass(10 * SECOND);
    alert_watch_close(&watch[0]);
    executor_arm(&w.rig->den.desk.executor, &watch[0].timer, CLOCK_NEVER); /* killed */
    pass(4 * MINUTE);
    w.rig->env[0].node = env_uuid(&w.rig->env[0]); /* and started again */
    look(0);
    assert_int_equal(w.tellings.count, 0);
    pass(MINUTE);
    look(0);
    assert_int_equal(w.tellings.count, 1);
    assert_true(w.tellings.all[0].gone && w.tellings.all[0].news == NEWS_RESOLVED);
    look(0);
    assert_int_equal(w.tellings.count, 0);
    assert_int_equal(count("alerts"), 0);
    assert_int_equal(count("message"), 6);
    assert_int_equal(count("message WHERE body LIKE '%node_gone%'"), 3);
}

/* Only SQLite has one node, who knows that all others are dead. */
static void a_node_that_is_started_again_goes_on_with_its_alerts(void **state)
{
    begin(state);
    open_watch(0);
    forge(0, 11);
    pass(10 * SECOND);
    assert_int_equal(count("message"), 3);
    executor_arm(&w.rig->den.desk.executor, &watch[0].timer, CLOCK_NEVER); /* killed */
    alert_watch_close(&watch[0]);
    w.rig->env[0].node = env_uuid(&w.rig->env[0]);
    open_watch(0);
    forge(0, 11);
    for (int i = 0; i < 60; i++) {
        forge(0, 11);
        pass(10 * SECOND);
        look(0);
    }
    assert_int_equal(count("message"), 3); /* neither told again nor resolved */
    assert_int_equal(count("alerts"), 1);
    assert_int_equal(count("alerts WHERE status = 'firing' AND version > 3"), 1);
    for (int i = 0; i < 20; i++)
        pass(10 * SECOND);
    assert_int_equal(count("message"), 6);
    assert_int_equal(count("alerts"), 0);
    alert_watch_close(&watch[0]);
}

/* One that was killed, and another one that lives, or the same one under its new name. */
static void what_fires_elsewhere_is_not_told_as_resolved(void **state)
{
    begin(state);
    open_watch(0);
    forge(0, 11);
    pass(10 * SECOND);
    executor_arm(&w.rig->den.desk.executor, &watch[0].timer, CLOCK_NEVER); /* killed */
    alert_watch_close(&watch[0]);
    open_watch(1);
    for (int i = 0; i < 31; i++) {
        forge(1, 11);
        pass(10 * SECOND);
    }
    assert_int_equal(count("message"), 6);
    assert_int_equal(count("alerts WHERE status = 'firing'"), 2);
    look(1);
    assert_int_equal(w.tellings.count, 0);
    assert_int_equal(count("message"), 6);
    assert_int_equal(count("alerts WHERE status = 'firing'"), 1);
    alert_watch_close(&watch[1]);
}

/* --- while the store is away --- */

static int64_t lines(const char *what)
{
    char path[128], line[4096];
    int64_t n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/log", w.rig->dir);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        n += strstr(line, what) != NULL;
    fclose(f);
    return n;
}

static void what_cannot_be_stored_is_told_aloud_once(void **state)
{
    begin(state);
    open_watch(0);
    pass(10 * SECOND);
    sql_int(w.rig, "ALTER TABLE alerts RENAME TO away");
    for (int i = 0; i < 3; i++) {
        forge(0, 11);
        pass(10 * SECOND);
        assert_int_equal(lines("Alert firing"), 1);
    }
    sql_int(w.rig, "ALTER TABLE away RENAME TO alerts");
    pass(10 * SECOND);
    assert_int_equal(count("alerts WHERE status = 'firing'"), 1);
    assert_int_equal(count("message"), 3);
    assert_int_equal(lines("Alert firing"), 1);
    for (int i = 0; i < 20; i++)
        pass(10 * SECOND);
    assert_int_equal(lines("Alert resolved"), 1);
    forge(0, 11);
    pass(10 * SECOND);
    assert_int_equal(lines("Alert firing"), 2);
    alert_watch_close(&watch[0]);
}

static void what_ends_before_it_could_be_stored_ends_aloud(void **state)
{
    begin(state);
    open_watch(0);
    pass(10 * SECOND);
    sql_int(w.rig, "ALTER TABLE alerts RENAME TO away");
    forge(0, 11);
    for (int i = 0; i < 10; i++)
        pass(10 * SECOND);
    assert_int_equal(lines("Alert firing"), 1);
    assert_int_equal(lines("Alert resolved"), 1);
    sql_int(w.rig, "ALTER TABLE away RENAME TO alerts");
    pass(10 * SECOND);
    assert_int_equal(count("alerts") + count("message"), 0);
    forge(0, 11);
    pass(10 * SECOND);
    assert_int_equal(lines("Alert firing"), 2);
    assert_int_equal(count("message"), 3);
    alert_watch_close(&watch[0]);
}

/* The store's being away is why webhooks cannot be stored, and why a pending alert cannot. */
static void a_rate_fires_though_the_store_is_away(void **state)
{
    begin(state);
    open_watch(0);
    pass(10 * SECOND);
    sql_int(w.rig, "ALTER TABLE alerts RENAME TO away");
    for (int i = 0; i < 8; i++) {
        metrics_count(w.rig->env[0].metrics, COUNT_WEBHOOK_UNSTORED, 20);
        pass(10 * SECOND);
    }
    assert_int_equal(lines("webhook_failure_rate"), 1);
    sql_int(w.rig, "ALTER TABLE away RENAME TO alerts");
    pass(10 * SECOND);
    assert_int_equal(count("alerts WHERE name = 'webhook_failure_rate' AND status = 'firing'"), 1);
    assert_int_equal(lines("webhook_failure_rate"), 1);
    alert_watch_close(&watch[0]);
}

static void what_was_told_needs_no_memory_for_ever(void **state)
{
    begin(state);
    open_watch(0);
    for (int i = 0; i < 40; i++) {
        watch[0].own[ALERT_SIGNATURES].state.told_ms = 1; /* four hours ago */
        forge(0, 11);
        pass(10 * SECOND);
    }
    assert_in_range(watch[0].arena.used, 1, 8 * 1024);
    alert_watch_close(&watch[0]);
}

/* Timers fire a little late, each of them. */
static void a_minute_is_six_ticks(void **state)
{
    struct stretch s;

    begin(state);
    open_watch(0);
    for (int i = 0; i < 40; i++) {
        pass(10 * SECOND + i * 7 % 50);
        window_last(watch[0].window, MINUTE, &s);
        if (i >= 6)
            assert_in_range(s.to_ms - s.from_ms, MINUTE, MINUTE + 300);
    }
    alert_watch_close(&watch[0]);
}

static void a_row_that_another_one_took_away_is_begun_anew(void **state)
{
    begin(state);
    open_watch(0);
    forge(0, 11);
    pass(10 * SECOND);
    sql_int(w.rig, "DELETE FROM alerts");
    for (int i = 0; i < 7; i++) {
        forge(0, 11);
        pass(10 * SECOND);
    }
    assert_int_equal(count("alerts WHERE status = 'firing' AND version = 1"), 1);
    assert_int_equal(count("message"), 6);
    alert_watch_close(&watch[0]);
}

static void an_idle_node_asks_the_database_nothing(void **state)
{
    int64_t before, units;

    begin(state);
    open_watch(0);
    pass(10 * SECOND);
    before = metrics_read(w.rig->store_env[0].metrics, COUNT_UNITS, S(""));
    for (int i = 0; i < 30; i++) /* the queue's own looks are not ours */
        watch[0].timer.fire(&watch[0].timer);
    units = metrics_read(w.rig->store_env[0].metrics, COUNT_UNITS, S("")) - before;
    assert_int_equal(units, 0);
    alert_watch_close(&watch[0]);
}

#define ALL(ON)                                                                                    \
    ON(a_dead_letter_is_told_once_whoever_looks),                                                  \
        ON(it_resolves_after_a_calm_time_and_is_told_once), ON(what_rolls_back_tells_nobody),      \
        ON(a_telling_that_died_raises_no_alert), ON(a_telling_that_died_is_no_new_dead_letter),    \
        ON(an_old_letter_is_an_alert_of_its_own),                                                  \
        ON(a_node_tells_of_its_own_rate_and_keeps_no_row_when_all_is_well),                        \
        ON(a_dead_letter_is_looked_at_without_waiting_for_the_minute),                             \
        ON(what_a_node_left_behind_is_resolved_by_another),                                        \
        ON(a_row_that_another_one_took_away_is_begun_anew),                                        \
        ON(what_cannot_be_stored_is_told_aloud_once),                                              \
        ON(what_ends_before_it_could_be_stored_ends_aloud),                                        \
        ON(a_rate_fires_though_the_store_is_away), ON(what_was_told_needs_no_memory_for_ever),     \
        ON(a_minute_is_six_ticks), ON(an_idle_node_asks_the_database_nothing)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        ALL(ON_SQLITE), ON_SQLITE(a_node_that_is_started_again_goes_on_with_its_alerts)
    };
    static const struct CMUnitTest postgres[] = {
        ALL(ON_POSTGRES), ON_POSTGRES(what_fires_elsewhere_is_not_told_as_resolved)
    };

    return RUN_BOTH(sqlite, postgres);
}
