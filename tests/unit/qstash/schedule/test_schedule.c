/* Schedules: when they fire, what they make, and that there is always one wake-up and never two. */
#include "payment/rows.h"
#include "qstash/rows.h"
#include "qstash/schedule/schedules.h"
#include "unit/queue/rig.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define START INT64_C(1760000000000) /* Thursday, 9 October 2025, 08:53:20 UTC */
#define AT_0900 (START + 400000)     /* the next full hour */

static struct {
    struct rig *rig;
    struct qstash qstash;
    struct uuid model;
} w;

static enum err deliver_nothing(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)m, (void)ctx, (void)why;
    return OK;
}

static void begin(void **state)
{
    static struct job_kind kinds[3];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.qstash.env = &w.rig->env[0];
    w.qstash.store = w.rig->store[0];
    kinds[0] = qstash_schedule_kind(&w.qstash);
    kinds[1] = qstash_window_kind(&w.qstash);
    kinds[2] = (struct job_kind){ .name = "qstash.deliver", .run = deliver_nothing };
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.qstash.queue = w.rig->queue[0];
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(atomic_load(&rig_now_ms), START);
}

static void sql(const char *text)
{
    char unused[8];

    sql_text(w.rig, text, unused, sizeof(unused));
}

/* --- a schedule --- */

struct plan {
    const char *cron, *destination, *queue, *group, *body;
    int64_t next_ms, delay_ms;
    int64_t version; /* 0: 1 */
};

static enum err do_add(struct tx *tx, void *ctx)
{
    const struct plan *p = ctx;
    struct schedule s = { .id = S("nightly"),
                          .cron = str_of(p->cron),
                          .version = p->version ? p->version : 1,
                          .template_id = w.model,
                          .next_ms = p->next_ms };
    struct parcel model = { .id = w.model,
                            .created_ms = START,
                            .method = S("PUT"),
                            .header = S("{\"X-One\":[\"1\"]}"),
                            .body = str_of(p->body ? p->body : "hello"),
                            .retries = 7,
                            .queue = str_of(p->queue),
                            .schedule_id = s.id,
                            .caller_ip = S("10.1.2.3") };
    struct val v[PARCEL_VALUES];
    char flow[FLOW_JSON];
    enum err e;

    if (p->group)
        model.url = str_of(p->group);
    else
        parcel_set_url(&model, str_of(p->destination ? p->destination : "http://a.example/x?y=1"));
    parcel_values(&model, flow, v);
    e = tx_bulk(tx, STMT_qstash_message_add, v, 1, PARCEL_VALUES, NULL, NULL);
    if (!e)
        e = TX_DO(tx, STMT_qstash_schedule_put, 1, V_TEXT(s.id), V_INT(s.version),
                  v_uuid(&s.template_id), V_TEXT(s.cron), V_INT(p->delay_ms), V_INT(START),
                  V_INT(s.next_ms));
    return e ? e : schedule_plan(&w.qstash, tx, &s, false, START);
}

static void add(struct plan p)
{
    w.model = env_uuid(&w.rig->env[0]);
    if (!p.cron)
        p.cron = "0 * * * *";
    if (!p.next_ms)
        p.next_ms = AT_0900;
    assert_int_equal(rig_do(w.rig, 0, do_add, &p), OK);
    rig_settle(w.rig);
}

/* Parcels so far; the template is none. */
static int64_t made(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM qstash_live");
}

static int64_t wakeups(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message WHERE kind = 'qstash.schedule'");
}

static int64_t next_at(void)
{
    return sql_int(w.rig, "SELECT next_at FROM qstash_schedules");
}

static void error_is(const char *text)
{
    char error[256];

    sql_text(w.rig, "SELECT coalesce(error, '') FROM qstash_schedules", error, sizeof(error));
    assert_string_equal(error, text);
}

/* What always holds: one wake-up, and it is for the time that the schedule shows. */
static void is_planned_for(int64_t ms)
{
    assert_int_equal(next_at(), ms);
    assert_int_equal(wakeups(), 1);
    assert_int_equal(sql_int(w.rig, "SELECT due_at FROM message WHERE kind = 'qstash.schedule'"),
                     ms);
}

/* --- firing --- */

static void it_fires_at_its_time_and_not_before(void **state)
{
    char text[256];

    begin(state);
    add((struct plan){ 0 });
    rig_at(w.rig, AT_0900 - 1);
    assert_int_equal(made(), 0);
    is_planned_for(AT_0900);
    rig_at(w.rig, AT_0900);
    assert_int_equal(made(), 1);
    is_planned_for(AT_0900 + HOUR);
    rig_at(w.rig, AT_0900 + HOUR);
    assert_int_equal(made(), 2);
    is_planned_for(AT_0900 + 2 * HOUR);
    sql_text(
        w.rig,
        "SELECT method || ' ' || url || ' ' || header || ' ' || schedule_id || ' ' || caller_ip"
        " || ' ' || CAST(retries AS TEXT) || ' ' || CAST(length(body) AS TEXT)"
        " FROM qstash_messages WHERE id IN (SELECT id FROM qstash_live) LIMIT 1",
        text, sizeof(text));
    assert_string_equal(text,
                        "PUT http://a.example/x?y=1 {\"X-One\":[\"1\"]} nightly 10.1.2.3 7 5");
}

static void what_it_made_last_is_kept(void **state)
{
    char ids[64], id[64];

    begin(state);
    add((struct plan){ 0 });
    rig_at(w.rig, AT_0900);
    assert_int_equal(sql_int(w.rig, "SELECT last_at FROM qstash_schedules"), AT_0900);
    sql_text(w.rig, "SELECT last_ids FROM qstash_schedules", ids, sizeof(ids));
    sql_text(w.rig,
             w.rig->postgres ? "SELECT encode(id, 'hex') FROM qstash_live"
                             : "SELECT lower(hex(id)) FROM qstash_live",
             id + 6, sizeof(id) - 6);
    memcpy(id, "[\"msg_", 6);
    strcat(id, "\"]");
    assert_string_equal(ids, id);
}

static void after_a_long_sleep_it_fires_once(void **state)
{
    begin(state);
    add((struct plan){ .cron = "*/5 * * * *", .next_ms = START + 100000 });
    rig_at(w.rig, AT_0900 + 7 * HOUR + 30 * MINUTE + 1);
    assert_int_equal(made(), 1);
    is_planned_for(AT_0900 + 7 * HOUR + 35 * MINUTE);
}

static void a_clock_that_was_set_back_fires_no_time_twice(void **state)
{
    begin(state);
    add((struct plan){ .next_ms = AT_0900 + 2 * HOUR });
    sql("UPDATE message SET due_at = 0"); /* as at the start of a server whose clock is behind */
    queue_wake(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(made(), 1);
    is_planned_for(AT_0900 + 3 * HOUR);
}

static void each_message_is_delayed(void **state)
{
    begin(state);
    add((struct plan){ .delay_ms = 90000 });
    rig_at(w.rig, AT_0900);
    assert_int_equal(sql_int(w.rig, "SELECT due_at FROM qstash_live"), AT_0900 + 90000);
}

static void a_queue_takes_them_in_and_stays_as_it_is(void **state)
{
    begin(state);
    sql("INSERT INTO qstash_queues (name, parallelism, paused, created_at, updated_at)"
        " VALUES ('q', 5, 1, 1, 1)");
    add((struct plan){ .queue = "q" });
    rig_at(w.rig, AT_0900);
    assert_int_equal(sql_int(w.rig, "SELECT lag FROM qstash_queues WHERE parallelism = 5"
                                    " AND paused = 1 AND updated_at = 1"),
                     1);
    assert_int_equal(sql_int(w.rig, "SELECT place FROM qstash_live"), PLACE_QUEUE);
}

/* --- groups --- */

static void a_group_is_asked_for_its_members_when_it_fires(void **state)
{
    char text[256];

    begin(state);
    sql("INSERT INTO qstash_endpoints (group_name, url, name) VALUES ('g', 'http://a.example/', "
        "'a')");
    add((struct plan){ .group = "g" });
    sql("INSERT INTO qstash_endpoints (group_name, url) VALUES ('g', 'http://b.example/b')");
    rig_at(w.rig, AT_0900);
    assert_int_equal(made(), 2);
    sql_text(w.rig,
             "SELECT url || ' ' || topic || ' ' || coalesce(endpoint, '-') || ' ' || host"
             " FROM qstash_messages WHERE url LIKE '%b.example%'",
             text, sizeof(text));
    assert_string_equal(text, "http://b.example/b g - b.example");
    error_is("");
}

static void a_group_that_is_gone_is_the_schedules_error_and_it_goes_on(void **state)
{
    begin(state);
    add((struct plan){ .group = "g" });
    rig_at(w.rig, AT_0900);
    assert_int_equal(made(), 0);
    error_is("url group not found: g");
    assert_int_equal(sql_int(w.rig, "SELECT last_at FROM qstash_schedules"), -1);
    is_planned_for(AT_0900 + HOUR);
    sql("INSERT INTO qstash_endpoints (group_name, url) VALUES ('g', 'http://a.example/')");
    rig_at(w.rig, AT_0900 + HOUR);
    assert_int_equal(made(), 1);
    error_is("");
}

/* --- a firing in several steps, run by hand --- */

enum { MEMBERS = 10, LARGE = 1000 * 1000, STEP = LIMIT_QSTASH_STEP_BYTES / LARGE };

struct taking {
    struct lease lease;
    struct arena texts;
    struct message messages[LIMIT_STATEMENT_ROWS];
};

static enum err do_step(struct tx *tx, void *ctx)
{
    struct job_kind kind = qstash_schedule_kind(&w.qstash);
    struct taking *t = ctx;
    struct why why;
    enum err e;

    t->lease = (struct lease){ .owner = w.qstash.env->node,
                               .now_ms = atomic_load(&rig_now_ms),
                               .max = LIMIT_STATEMENT_ROWS };
    e = queue_lease(tx, &t->texts, &t->lease, t->messages);
    for (size_t i = 0; i < t->lease.count && !e; i++) {
        e = kind.run(tx, &t->messages[i], kind.ctx, &why);
        if (!e)
            e = queue_finish(NULL, tx, &t->messages[i]);
    }
    return e;
}

static enum err step(void)
{
    static struct taking t;
    enum err e;

    arena_init(&t.texts, 1 << 20);
    e = rig_do(w.rig, 0, do_step, &t);
    arena_release(&t.texts);
    return e;
}

static void begin_by_hand(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.qstash.env = &w.rig->env[0];
    w.qstash.store = w.rig->store[0];
}

static void add_members(void)
{
    char text[160];

    for (int i = 0; i < MEMBERS; i++) {
        snprintf(text, sizeof(text),
                 "INSERT INTO qstash_endpoints (group_name, url, name)"
                 " VALUES ('g', 'http://m%d.example/in?n=%d', %s)",
                 i, i, i % 2 ? "'odd'" : "NULL");
        sql(text);
    }
}

static void fire_large(void)
{
    static char body[LARGE + 1];

    memset(body, 'x', LARGE);
    add_members();
    add((struct plan){ .group = "g", .body = body, .delay_ms = 60000 });
    atomic_store(&rig_now_ms, AT_0900);
    assert_int_equal(step(), OK);
}

/* What was made, as last_ids says it. */
static void made_ids(char *text, size_t size)
{
    sql_text(w.rig,
             w.rig->postgres ? "SELECT '[' || string_agg('\"msg_' || encode(id, 'hex') || '\"',"
                               " ',' ORDER BY seq) || ']' FROM qstash_live"
                             : "SELECT '[' || group_concat('\"msg_' || lower(hex(id)) || '\"', ',')"
                               " || ']' FROM (SELECT id FROM qstash_live ORDER BY seq)",
             text, size);
}

static void a_firing_of_large_bodies_to_a_group_is_cut_into_steps(void **state)
{
    char promised[1024], got[1024];

    begin_by_hand(state);
    fire_large();
    assert_int_equal(made(), STEP);
    sql_text(w.rig, "SELECT last_ids FROM qstash_schedules", promised, sizeof(promised));
    sql("DELETE FROM qstash_endpoints"); /* what was fired goes on, whatever becomes of it */
    sql("DELETE FROM qstash_messages WHERE host = ''");
    sql("DELETE FROM qstash_schedules");
    for (int made_so_far = STEP; made_so_far < MEMBERS;) {
        assert_int_equal(step(), OK);
        made_so_far = made_so_far + STEP < MEMBERS ? made_so_far + STEP : MEMBERS;
        assert_int_equal(made(), made_so_far);
    }
    made_ids(got, sizeof(got));
    assert_string_equal(got, promised);
    assert_int_equal(
        sql_int(w.rig, "SELECT count(*) FROM qstash_messages WHERE topic = 'g' AND method = 'PUT'"
                       " AND header = '{\"X-One\":[\"1\"]}' AND length(body) = 1000000"
                       " AND retries = 7 AND schedule_id = 'nightly' AND url ="
                       " 'http://' || host || '/in?n=' || substr(host, 2, 1)"),
        MEMBERS);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_messages WHERE endpoint = 'odd'"),
                     MEMBERS / 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(DISTINCT due_at) FROM qstash_live"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT max(due_at) FROM qstash_live"), AT_0900 + 60000);
    assert_int_equal(step(), OK);
    assert_int_equal(made(), MEMBERS); /* and that was all of it */
}

static void the_rest_of_a_firing_that_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *why, *change;
        enum err err;
    } rows[] = {
        { "its content is gone", "DELETE FROM qstash_messages", ERR_NOT_FOUND },
        { "it names nobody", "UPDATE message SET body = 'msg_' WHERE ref LIKE 'msg%'",
          ERR_VALIDATION },
        { "its content has no name", "UPDATE message SET ref = 'msg_1' WHERE ref LIKE 'msg%'",
          ERR_VALIDATION },
    };

    begin_by_hand(state);
    fire_large();
    for (size_t i = COUNT(rows); i-- > 0;) {
        sql(rows[i].change);
        if (step() != rows[i].err)
            fail_msg("%s", rows[i].why);
        if (rows[i].err == ERR_VALIDATION) {
            sql("DELETE FROM message");
            sql("DELETE FROM qstash_messages");
            sql("DELETE FROM qstash_live");
            sql("DELETE FROM qstash_endpoints");
            sql("DELETE FROM qstash_schedules");
            atomic_store(&rig_now_ms, START);
            fire_large();
        }
    }
}

static void one_queue_too_many_is_the_schedules_error(void **state)
{
    begin(state);
    sql(w.rig->postgres
            ? "INSERT INTO qstash_queues (name, parallelism, created_at, updated_at)"
              " SELECT 'full-' || i, 1, 1, 1 FROM generate_series(1, 10000) c(i)"
            : "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 10000)"
              " INSERT INTO qstash_queues (name, parallelism, created_at, updated_at)"
              " SELECT 'full-' || i, 1, 1, 1 FROM c");
    add_members();
    for (int to_group = 0; to_group < 2; to_group++) {
        sql("DELETE FROM message");
        sql("DELETE FROM qstash_schedules");
        atomic_store(&rig_now_ms, START);
        add((struct plan){ .queue = "one-more", .group = to_group ? "g" : NULL });
        rig_at(w.rig, AT_0900);
        assert_int_equal(made(), 0);
        error_is(QUEUES_FULL);
        assert_int_equal(next_at(), AT_0900 + HOUR);
    }
    sql("UPDATE qstash_queues SET name = NULL WHERE name = 'full-9'");
    rig_at(w.rig, AT_0900 + HOUR);
    assert_int_equal(made(), MEMBERS);
    error_is("");
}

/* --- pause, overwrite, delete --- */

static void paused_it_skips_and_goes_on(void **state)
{
    begin(state);
    add((struct plan){ 0 });
    sql("UPDATE qstash_schedules SET paused = 1");
    rig_at(w.rig, AT_0900);
    rig_at(w.rig, AT_0900 + HOUR);
    assert_int_equal(made(), 0);
    is_planned_for(AT_0900 + 2 * HOUR);
    sql("UPDATE qstash_schedules SET paused = 0");
    rig_at(w.rig, AT_0900 + 2 * HOUR);
    assert_int_equal(made(), 1);
}

static void a_wakeup_of_an_older_version_does_nothing(void **state)
{
    begin(state);
    add((struct plan){ 0 });
    add((struct plan){ .cron = "30 * * * *", .next_ms = AT_0900 + 30 * MINUTE, .version = 2 });
    assert_int_equal(wakeups(), 2);
    rig_at(w.rig, AT_0900);
    assert_int_equal(made(), 0);
    is_planned_for(AT_0900 + 30 * MINUTE);
    rig_at(w.rig, AT_0900 + 30 * MINUTE);
    assert_int_equal(made(), 1);
    is_planned_for(AT_0900 + 90 * MINUTE);
}

static void a_wakeup_of_a_deleted_schedule_does_nothing(void **state)
{
    begin(state);
    add((struct plan){ 0 });
    sql("DELETE FROM qstash_schedules");
    rig_at(w.rig, AT_0900);
    assert_int_equal(made(), 0);
    assert_int_equal(wakeups(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
}

static enum err do_unplan(struct tx *tx, void *ctx)
{
    struct schedule s;
    struct arena a;
    enum err e;

    (void)ctx;
    arena_init(&a, 4096);
    e = schedule_read(tx, &a, S("nightly"), &s);
    if (!e)
        e = schedule_unplan(&w.qstash, tx, &s, START);
    arena_release(&a);
    return e;
}

static void its_wakeup_can_be_taken_away(void **state)
{
    begin(state);
    add((struct plan){ 0 });
    rig_at(w.rig, AT_0900);
    is_planned_for(AT_0900 + HOUR);
    assert_int_equal(rig_do(w.rig, 0, do_unplan, NULL), OK);
    assert_int_equal(wakeups(), 0);
    assert_int_equal(rig_do(w.rig, 0, do_unplan, NULL), OK); /* gone is gone */
}

/* --- trouble --- */

static void a_zone_that_is_gone_is_looked_for_every_hour(void **state)
{
    static const char *const words = "the time zone Nowhere/Land cannot be read here";

    begin(state);
    add((struct plan){ .cron = "CRON_TZ=Nowhere/Land 0 * * * *" });
    rig_at(w.rig, AT_0900); /* this time was known before the zone went */
    assert_int_equal(made(), 1);
    assert_int_equal(sql_int(w.rig, "SELECT last_at FROM qstash_schedules"), AT_0900);
    error_is(words);
    is_planned_for(AT_0900 + HOUR);
    rig_at(w.rig, AT_0900 + HOUR); /* to look for it, and not to fire */
    assert_int_equal(made(), 1);
    error_is(words);
    is_planned_for(AT_0900 + 2 * HOUR);
    sql("UPDATE qstash_schedules SET cron = 'CRON_TZ=UTC 15 * * * *'");
    rig_at(w.rig, AT_0900 + 2 * HOUR);
    assert_int_equal(made(), 1);
    error_is("");
    is_planned_for(AT_0900 + 2 * HOUR + 15 * MINUTE);
    rig_at(w.rig, AT_0900 + 2 * HOUR + 15 * MINUTE);
    assert_int_equal(made(), 2);
}

static void a_wakeup_that_dies_is_followed_by_the_next(void **state)
{
    begin(state);
    add((struct plan){ 0 });
    assert_true(faults_parse(&w.rig->env[0].faults, S("schedule:nightly=fail@1")));
    rig_at(w.rig, AT_0900);
    assert_int_equal(made(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
    assert_int_equal(
        sql_int(w.rig, "SELECT count(*) FROM qstash_schedules WHERE error IS NOT NULL"), 1);
    is_planned_for(AT_0900 + HOUR);
    rig_at(w.rig, AT_0900 + HOUR);
    assert_int_equal(made(), 1);
    error_is("");
}

static void a_wakeup_that_is_revived_fires_and_plans_nothing(void **state)
{
    begin(state);
    add((struct plan){ 0 });
    rig_at(w.rig, AT_0900);
    is_planned_for(AT_0900 + HOUR);
    sql(w.rig->postgres
            ? "INSERT INTO message (id, kind, due_at, added_at, ref, body, ready) VALUES"
              " (decode('00112233445566778899aabbccddeeff', 'hex'), 'qstash.schedule', 1, 1,"
              " 'nightly', '1 1760000400000', 1)"
            : "INSERT INTO message (id, kind, due_at, added_at, ref, body, ready) VALUES"
              " (x'00112233445566778899aabbccddeeff', 'qstash.schedule', 1, 1,"
              " 'nightly', '1 1760000400000', 1)");
    queue_wake(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(made(), 2);
    is_planned_for(AT_0900 + HOUR);
}

/* --- the text of a wake-up, and the times --- */

static void a_wakeup_says_version_and_time(void **state)
{
    static const struct {
        const char *text;
        bool fine, look;
    } rows[] = {
        { "1 2", true, false },     { "1760000000000 1760000000001", true, false },
        { "1 2 look", true, true }, { "1", false, false },
        { "", false, false },       { "1 2 3", false, false },
        { "a b", false, false },    { "1  2", false, false },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct wakeup u;

        if (wakeup_read(str_of(rows[i].text), &u) != rows[i].fine)
            fail_msg("row %zu: %s", i, rows[i].text);
        if (rows[i].fine)
            assert_int_equal(u.look, rows[i].look);
    }
}

static void the_next_time_is_told_or_the_reason_why_not(void **state)
{
    static const struct {
        const char *why, *cron;
        enum err e;
        int64_t next;
    } rows[] = {
        { "every minute", "* * * * *", OK, START + 40000 },
        { "UTC unless it says otherwise", "0 9 * * *", OK, AT_0900 },
        { "with a zone", "CRON_TZ=Asia/Tokyo 0 18 * * *", OK, AT_0900 },
        { "never", "0 0 30 2 *", OK, CLOCK_NEVER },
        { "no cron", "* * * *", ERR_VALIDATION, 0 },
        { "no zone", "CRON_TZ=Mars/Base * * * * *", ERR_NOT_FOUND, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };
        int64_t next = 0;

        if (schedule_next(str_of(rows[i].cron), START, &next, &why) != rows[i].e ||
            (rows[i].e ? !why.text[0] : next != rows[i].next))
            fail_msg("row %zu: %s: %lld %s", i, rows[i].why, (long long)next, why.text);
    }
}

#define ALL(ON)                                                                                    \
    ON(it_fires_at_its_time_and_not_before), ON(what_it_made_last_is_kept),                        \
        ON(after_a_long_sleep_it_fires_once), ON(a_clock_that_was_set_back_fires_no_time_twice),   \
        ON(each_message_is_delayed), ON(a_queue_takes_them_in_and_stays_as_it_is),                 \
        ON(a_group_is_asked_for_its_members_when_it_fires),                                        \
        ON(a_group_that_is_gone_is_the_schedules_error_and_it_goes_on),                            \
        ON(a_firing_of_large_bodies_to_a_group_is_cut_into_steps),                                 \
        ON(the_rest_of_a_firing_that_cannot_be_is_refused),                                        \
        ON(one_queue_too_many_is_the_schedules_error), ON(paused_it_skips_and_goes_on),            \
        ON(a_wakeup_of_an_older_version_does_nothing),                                             \
        ON(a_wakeup_of_a_deleted_schedule_does_nothing), ON(its_wakeup_can_be_taken_away),         \
        ON(a_zone_that_is_gone_is_looked_for_every_hour),                                          \
        ON(a_wakeup_that_dies_is_followed_by_the_next),                                            \
        ON(a_wakeup_that_is_revived_fires_and_plans_nothing)

int main(void)
{
    const struct CMUnitTest sqlite[] = {
        cmocka_unit_test(a_wakeup_says_version_and_time),
        cmocka_unit_test(the_next_time_is_told_or_the_reason_why_not),
        ALL(ON_SQLITE),
    };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
