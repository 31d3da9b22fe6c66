/* Reminders of collections (S2): who is told when, and that nobody is told twice or after payment,
 * whatever stops, changes or comes late. */
#include "base/time/parse.h"
#include "collection/reminder.h"
#include "payment/rows.h"
#include "unit/queue/rig.h"

#define COLLECTION "11111111-1111-4111-8111-111111111111"
#define OWNER "22222222-2222-4222-8222-222222222222"
#define ANN "33333333-3333-4333-8333-333333333333"
#define BOB "44444444-4444-4444-8444-444444444444"
#define DUE "2026-11-20T18:00:00+09:00"
#define DAY (INT64_C(24) * 3600 * 1000)
#define HOUR (INT64_C(3600) * 1000)

enum { MANY = 2 * LIMIT_REMINDED + 7 };

static struct {
    struct rig *rig;
    struct payments payments[RIG_NODES];
    struct job_kind kinds[RIG_NODES][3];
    struct arena arena;
    struct participant_input people[MANY];
} w;

static struct uuid id_of(const char *text)
{
    struct uuid id;

    assert_true(uuid_parse(str_of(text), &id));
    return id;
}

static int64_t instant(const char *text)
{
    int64_t ms;

    if (!time_parse(str_of(text), &ms))
        fail_msg("%s is not a time", text);
    return ms;
}

static enum err hand_on(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx;
    (void)m;
    (void)ctx;
    (void)why;
    return OK;
}

static void start_node(int node)
{
    struct payments *pp = &w.payments[node];

    w.kinds[node][0] = reminder_kind(pp);
    w.kinds[node][1] = reminder_plan_kind(pp);
    w.kinds[node][2] = (struct job_kind){ .name = "notify", .run = hand_on };
    rig_queue(w.rig, node, (struct queue_options){ .kinds = w.kinds[node], .kind_count = 3 });
    *pp = (struct payments){ .notifier.runtime = &pp->runtime,
                             .runtime.env = &w.rig->env[node],
                             .runtime.store = w.rig->store[node],
                             .runtime.queue = w.rig->queue[node] };
    assert_true(reminder_rule_read(S("-3,0,3@10:00"), &pp->reminders));
    queue_start(w.rig->queue[node]);
    rig_settle(w.rig);
}

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    atomic_store(&rig_now_ms, instant("2026-11-10T00:00:00Z"));
    start_node(0);
    arena_init(&w.arena, 4 * 1024 * 1024);
}

static void end(void)
{
    arena_release(&w.arena);
}

static void at(const char *time)
{
    rig_at(w.rig, instant(time));
}

/* --- what is put, and what came of it --- */

struct put {
    const char *due, *zone, *days, *time, *title;
    struct participant_input *people;
    size_t count;
    struct collection_result result;
};

static enum err do_put(struct tx *tx, void *ctx)
{
    struct put *p = ctx;
    struct collection_input in = { .id = id_of(COLLECTION),
                                   .owner = id_of(OWNER),
                                   .title = str_of(p->title ? p->title : "trip"),
                                   .time_zone = str_of(p->zone ? p->zone : "Asia/Tokyo"),
                                   .currency = "JPY",
                                   .due_ms = p->due ? instant(p->due) : 0,
                                   .has_reminders = p->days,
                                   .reminder_days = str_of(p->days ? p->days : ""),
                                   .reminder_time = str_of(p->time ? p->time : "10:00"),
                                   .participants = p->people,
                                   .participant_count = p->count };

    return collection_put(tx, &w.payments[0], &w.arena, &in, false, env_now_ms(&w.rig->env[0]),
                          &p->result);
}

static void put(struct put p)
{
    assert_int_equal(rig_do(w.rig, 0, do_put, &p), OK);
    rig_settle(w.rig);
}

static struct participant_input owes(const char *id)
{
    return (struct participant_input){ .id = id_of(id), .name = S("x"), .amount = 500 };
}

static void put_ann_and_bob(struct put p)
{
    struct participant_input people[] = { owes(ANN), owes(BOB) };

    p.people = people;
    p.count = COUNT(people);
    put(p);
}

static void put_many(struct put p)
{
    for (size_t i = 0; i < MANY; i++) {
        char id[UUID_TEXT + 1];

        snprintf(id, sizeof(id), "77777777-7777-4777-8777-%012zx", i);
        w.people[i] = owes(id);
    }
    p.people = w.people;
    p.count = MANY;
    put(p);
}

static int64_t told(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM notifications WHERE type = 'reminder'");
}

static int64_t told_of(const char *name)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM notifications WHERE dedupe LIKE '%%:reminder:%s'", name);
    return sql_int(w.rig, sql);
}

static int64_t waiting(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message WHERE kind = 'collection.remind'");
}

static void pays(const char *status, int64_t refunded)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "UPDATE participants SET status = '%s', paid_amount = 500, refunded_amount = %lld,"
             " paid_at = 1 WHERE amount = 500 AND participant_id = (SELECT max(participant_id)"
             " FROM participants)",
             status, (long long)refunded);
    if (w.rig->postgres) /* it has no max() of bytes */
        snprintf(sql, sizeof(sql),
                 "UPDATE participants SET status = '%s', paid_amount = 500, refunded_amount = %lld,"
                 " paid_at = 1 WHERE participant_id = (SELECT participant_id FROM participants"
                 " ORDER BY participant_id DESC LIMIT 1)",
                 status, (long long)refunded);
    sql_int(w.rig, sql);
}

/* --- the plain path --- */

static void s2_before_on_and_after_the_due_date(void **state)
{
    static const struct {
        const char *at;
        int64_t told;
    } rows[] = {
        { "2026-11-17T00:59:59.999Z", 0 }, { "2026-11-17T01:00:00Z", 2 },
        { "2026-11-19T23:00:00Z", 2 },     { "2026-11-20T01:00:00Z", 4 },
        { "2026-11-27T00:59:00Z", 4 },     { "2026-11-27T01:00:00Z", 6 },
        { "2027-11-27T01:00:00Z", 6 },
    };

    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "-3,0,7" });
    for (size_t i = 0; i < COUNT(rows); i++) {
        at(rows[i].at);
        if (told() != rows[i].told)
            fail_msg("%s: %lld", rows[i].at, (long long)told());
    }
    assert_int_equal(told_of("2026-11-20:-3"), 2);
    assert_int_equal(told_of("2026-11-20:0"), 2);
    assert_int_equal(told_of("2026-11-20:7"), 2);
    assert_int_equal(waiting(), 0);
    end();
}

static void s2_who_has_none_of_its_own_has_the_servers(void **state)
{
    static const struct {
        const char *why, *days;
        int64_t told;
    } rows[] = {
        { "the server's: -3, 0, 3", NULL, 6 },
        { "none", "", 0 },
        { "its own", "1", 2 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!i)
            begin(state);
        sql_int(w.rig, "DELETE FROM notifications");
        atomic_store(&rig_now_ms, instant("2026-11-10T00:00:00Z"));
        put_ann_and_bob((struct put){ .due = DUE, .days = rows[i].days });
        for (int day = 0; day < 20; day++)
            rig_pass(w.rig, DAY);
        if (told() != rows[i].told)
            fail_msg("%s: %lld", rows[i].why, (long long)told());
    }
    end();
}

static void s2_without_a_due_date_nobody_is_reminded(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .days = "-3,0,7" });
    assert_int_equal(waiting(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE reminder_at IS NULL"),
                     1);
    end();
}

/* --- who has paid --- */

static void s2_who_has_paid_is_not_reminded_nor_who_got_it_back(void **state)
{
    static const int64_t refunded[] = { 0, 200, 500 };

    for (size_t i = 0; i < COUNT(refunded); i++) {
        if (!i) {
            begin(state);
            put_ann_and_bob((struct put){ .due = DUE, .days = "-3,-2,-1,0" });
            at("2026-11-17T01:00:00Z");
            assert_int_equal(told(), 2);
        }
        pays("paid", refunded[i]);
        rig_pass(w.rig, DAY);
        if (told() != 3 + (int64_t)i)
            fail_msg("refunded %lld: %lld told", (long long)refunded[i], (long long)told());
    }
    end();
}

struct hold {
    struct uuid notification;
    bool holds;
};

static enum err keep_notification(void *ctx, const struct row *row)
{
    struct uuid who, bob = id_of(BOB);

    assert_true(uuid_of_bytes(row->col[3].s, &who));
    if (uuid_eq(who, bob))
        assert_true(uuid_of_bytes(row->col[0].s, &((struct hold *)ctx)->notification));
    return OK;
}

static enum err do_hold(struct tx *tx, void *ctx)
{
    static const struct uuid highest = { { 0xff } };
    struct hold *h = ctx;
    struct val v[] = { v_uuid(&highest), V_INT(10) };
    enum err e = tx_each(tx, STMT_notifications_page, v, COUNT(v), keep_notification, h);

    return e ? e : reminder_holds(tx, h->notification, env_now_ms(&w.rig->env[0]), &h->holds);
}

/* Bob's only one. */
static bool holds(void)
{
    struct hold h = { .holds = false };

    assert_int_equal(rig_do(w.rig, 0, do_hold, &h), OK);
    return h.holds;
}

static void start_over(const char *time)
{
    sql_int(w.rig, "DELETE FROM notifications");
    sql_int(w.rig, "DELETE FROM message");
    sql_int(w.rig, "DELETE FROM collections");
    sql_int(w.rig, "DELETE FROM participants");
    atomic_store(&rig_now_ms, instant(time));
}

static void s2_a_reminder_is_looked_at_again_before_it_is_sent(void **state)
{
    struct participant_input other = owes(BOB);
    const struct {
        const char *why, *made, *now;
        struct put put;
        bool paid, holds;
    } rows[] = {
        { "just made", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z", .holds = true },
        { "nearly a day", "2026-11-17T01:00:00Z", "2026-11-18T00:59:59Z", .holds = true },
        { "its mail server was away for a day", "2026-11-17T01:00:00Z", "2026-11-18T01:00:00Z",
          .holds = false },
        { "today", "2026-11-20T01:00:00Z", "2026-11-20T14:59:59Z", .holds = true },
        { "that was yesterday", "2026-11-20T01:00:00Z", "2026-11-20T15:00:00Z", .holds = false },
        { "paid since", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z", .paid = true },
        { "another hour of that day, and another title", "2026-11-17T01:00:00Z",
          "2026-11-17T01:00:00Z",
          .put = { .due = "2026-11-20T00:00:00+09:00", .days = "-3,0", .title = "x" },
          .holds = true },
        { "another time: of that day she was told", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z",
          .put = { .due = DUE, .days = "-3", .time = "11:00" }, .holds = true },
        { "postponed", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z",
          .put = { .due = "2026-11-27T18:00:00+09:00", .days = "-3,0" } },
        { "no reminders any more", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z",
          .put = { .due = DUE, .days = "" } },
        { "not on that day any more", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z",
          .put = { .due = DUE, .days = "-2,0" } },
        { "no due date any more", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z",
          .put = { .days = "-3,0" } },
        { "another amount", "2026-11-17T01:00:00Z", "2026-11-17T01:00:00Z",
          .put = { .due = DUE, .days = "-3,0", .people = &other, .count = 1 } },
    };

    begin(state);
    other.amount = 501;
    for (size_t i = 0; i < COUNT(rows); i++) {
        start_over("2026-11-10T00:00:00Z");
        put_ann_and_bob((struct put){ .due = DUE, .days = "-3,0" });
        at(rows[i].made);
        assert_int_equal(told(), 2);
        if (rows[i].put.days)
            put(rows[i].put);
        if (rows[i].paid)
            pays("paid", 0);
        atomic_store(&rig_now_ms, instant(rows[i].now));
        if (holds() != rows[i].holds)
            fail_msg("%s", rows[i].why);
    }
    end();
}

/* Another node may know it; a day later it is too late for any. */
static void s2_a_reminder_waits_for_a_node_that_knows_its_zone(void **state)
{
    struct hold h = { .holds = true };

    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "-3" });
    at("2026-11-17T01:00:00Z");
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Nowhere/Else'");
    assert_int_equal(rig_do(w.rig, 0, do_hold, &h), ERR_OVERLOADED);
    rig_pass(w.rig, DAY);
    assert_false(holds());
    end();
}

/* --- plans that change --- */

static void s2_a_new_due_date_is_a_new_plan(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0" });
    put((struct put){ .due = "2026-11-25T18:00:00+09:00", .days = "0" });
    assert_int_equal(waiting(), 2);
    at("2026-11-20T02:00:00Z");
    assert_int_equal(told(), 0);
    assert_int_equal(waiting(), 1);
    at("2026-11-25T01:00:00Z");
    assert_int_equal(told_of("2026-11-25:0"), 2);
    end();
}

static void s2_what_moves_no_reminder_makes_no_new_plan(void **state)
{
    static const struct {
        const char *why;
        struct put put;
        int64_t plan;
    } rows[] = {
        { "the same", { .due = DUE, .days = "-3,0" }, 1 },
        { "a title", { .due = DUE, .days = "-3,0", .title = "x" }, 1 },
        { "another hour of that day", { .due = "2026-11-20T00:00:00+09:00", .days = "-3,0" }, 1 },
        { "the day before", { .due = "2026-11-19T23:59:59+09:00", .days = "-3,0" }, 2 },
        { "other days", { .due = "2026-11-19T23:59:59+09:00", .days = "-3" }, 3 },
        { "another time",
          { .due = "2026-11-19T23:59:59+09:00", .days = "-3", .time = "11:00" },
          4 },
        { "another zone",
          { .due = "2026-11-19T23:59:59+09:00", .days = "-3", .time = "11:00", .zone = "UTC" },
          5 },
        { "no due date", { .days = "-3", .time = "11:00", .zone = "UTC" }, 6 },
    };

    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "-3,0" });
    for (size_t i = 0; i < COUNT(rows); i++) {
        put(rows[i].put);
        if (sql_int(w.rig, "SELECT reminder_plan FROM collections") != rows[i].plan)
            fail_msg("%s", rows[i].why);
    }
    rig_pass(w.rig, 30 * DAY);
    assert_int_equal(told(), 0);
    assert_int_equal(waiting(), 0);
    end();
}

static void s2_who_was_told_of_a_day_is_not_told_again_by_another_plan(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "-3,0" });
    at("2026-11-17T01:00:00Z");
    put((struct put){ .due = DUE, .days = "-3,0", .time = "12:00" });
    at("2026-11-17T03:00:00Z");
    assert_int_equal(told(), 2);
    assert_int_equal(waiting(), 2); /* the old plan's is still to come, and will do nothing */
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), 2);
    at("2026-11-20T03:00:00Z");
    assert_int_equal(told(), 4);
    assert_int_equal(waiting(), 0);
    end();
}

/* The walk was due, or had told some of them, when the plan was changed. */
static void s2_a_plan_that_is_changed_while_people_are_told_tells_the_others(void **state)
{
    static const struct {
        const char *why, *days, *time;
        int64_t late_ms, told;
    } rows[] = {
        { "one more day", "0,7", "10:00", 1000, MANY },
        { "nothing but other days", "7", "10:00", 1000, 0 },
        { "half an hour later", "0", "10:30", 1000, MANY },
        { "it was missed long ago", "0,7", "10:00", DAY, 0 },
    };

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        start_over("2026-11-10T00:00:00Z");
        put_many((struct put){ .due = DUE, .days = "0" });
        sql_int(w.rig, "UPDATE message SET due_at = due_at + 864000000"); /* it has not run yet */
        atomic_store(&rig_now_ms, instant("2026-11-20T01:00:00Z") + rows[i].late_ms);
        put((struct put){ .due = DUE, .days = rows[i].days, .time = rows[i].time });
        rig_pass(w.rig, HOUR);
        if (told_of("2026-11-20:0") != rows[i].told || told() != rows[i].told)
            fail_msg("%s: %lld", rows[i].why, (long long)told());
    }
    end();
}

/* PostgreSQL: the collection is read without a lock. The trigger stands for who changes it. */
static void s2_what_was_told_of_a_plan_that_changed_meanwhile_is_taken_back(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0,7" });
    if (w.rig->postgres)
        sql_int(w.rig, "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
                       " UPDATE collections SET reminder_plan = 2; RETURN NEW; END'");
    sql_int(w.rig, w.rig->postgres
                       ? "CREATE TRIGGER changed AFTER INSERT ON notifications FOR EACH ROW"
                         " EXECUTE FUNCTION change()"
                       : "CREATE TRIGGER changed AFTER INSERT ON notifications BEGIN"
                         " UPDATE collections SET reminder_plan = 2; END");
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), 0);
    sql_int(w.rig,
            w.rig->postgres ? "DROP TRIGGER changed ON notifications" : "DROP TRIGGER changed");
    rig_pass(w.rig, HOUR);
    assert_int_equal(told(), 2);
    assert_int_equal(waiting(), 1);
    end();
}

static void s2_who_is_added_later_gets_the_coming_ones(void **state)
{
    struct participant_input ann = owes(ANN), bob = owes(BOB);

    begin(state);
    put((struct put){ .due = DUE, .days = "-3,0", .people = &ann, .count = 1 });
    at("2026-11-17T01:00:00Z");
    put((struct put){ .due = DUE, .days = "-3,0", .people = &bob, .count = 1 });
    rig_pass(w.rig, HOUR);
    assert_int_equal(told(), 1);
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), 3);
    end();
}

static void s2_a_collection_that_is_made_late_has_what_is_still_to_come(void **state)
{
    begin(state);
    at("2026-11-20T01:00:01Z");
    put_ann_and_bob((struct put){ .due = DUE, .days = "-3,0,7" });
    rig_pass(w.rig, HOUR);
    assert_int_equal(told(), 0);
    at("2026-11-27T01:00:00Z");
    assert_int_equal(told(), 2);
    end();
}

/* --- late --- */

static void s2_less_than_a_day_late_is_sent_and_only_the_newest(void **state)
{
    static const struct {
        const char *why, *back;
        int64_t first, second, third;
    } rows[] = {
        { "23 h 59 min late", "2026-11-18T00:59:00Z", 2, 0, 0 },
        { "a day late: left out", "2026-11-18T01:00:00Z", 0, 0, 0 },
        { "two were missed: the newest", "2026-11-20T03:00:00Z", 0, 2, 0 },
        { "three were missed, the last long ago", "2026-12-24T00:00:00Z", 0, 0, 0 },
        { "three were missed, the last just now", "2026-11-27T01:00:00Z", 0, 0, 2 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!i)
            begin(state);
        start_over("2026-11-10T00:00:00Z");
        put_ann_and_bob((struct put){ .due = DUE, .days = "-3,0,7" });
        at(rows[i].back);
        if (told_of("2026-11-20:-3") != rows[i].first ||
            told_of("2026-11-20:0") != rows[i].second || told_of("2026-11-20:7") != rows[i].third)
            fail_msg("%s", rows[i].why);
        if (told() != rows[i].first + rows[i].second + rows[i].third)
            fail_msg("%s: more than that", rows[i].why);
    }
    end();
}

static void s2_a_late_one_gives_way_to_that_of_the_day(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "-1,0" });
    at("2026-11-19T16:00:00Z"); /* one in the morning of the 20th: yesterday's was missed */
    assert_int_equal(told(), 0);
    assert_int_equal(waiting(), 1);
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told_of("2026-11-20:0"), 2);
    assert_int_equal(told(), 2);
    end();
}

/* --- many people, crashes, repeats --- */

static void s2_many_people_are_told_by_pages_each_once(void **state)
{
    begin(state);
    put_many((struct put){ .due = DUE, .days = "0,7" });
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), MANY);
    assert_int_equal(waiting(), 1);
    at("2026-11-27T01:00:00Z");
    assert_int_equal(told(), 2 * MANY);
    assert_int_equal(waiting(), 0);
    end();
}

/* Any message of a walk, at any later time: as after a restored backup, or from the dead letters.
 */
static void s2_a_message_that_comes_again_tells_nobody_and_starts_no_second_chain(void **state)
{
    begin(state);
    put_many((struct put){ .due = DUE, .days = "0,7" });
    sql_int(w.rig, "CREATE TABLE copy AS SELECT * FROM message WHERE kind = 'collection.remind'");
    at("2026-11-20T01:00:00Z");
    for (int i = 0; i < 3; i++) {
        sql_int(w.rig, "UPDATE copy SET seq = seq + 1000000");
        sql_int(w.rig, w.rig->postgres
                           ? "INSERT INTO message OVERRIDING SYSTEM VALUE SELECT * FROM copy"
                           : "INSERT INTO message SELECT * FROM copy");
        queue_wake(w.rig->queue[0]);
        rig_pass(w.rig, HOUR);
        assert_int_equal(told(), MANY);
        assert_int_equal(waiting(), 1);
    }
    end();
}

static void s2_a_dead_reminder_is_followed_by_the_next(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0,7" });
    sql_int(w.rig, "UPDATE message SET attempt = 1000 WHERE kind = 'collection.remind'");
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
    assert_int_equal(waiting(), 1);
    at("2026-11-27T01:00:00Z");
    assert_int_equal(told_of("2026-11-20:7"), 2);
    end();
}

static void s2_a_message_that_cannot_be_read_is_a_dead_letter(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0" });
    sql_int(w.rig, "UPDATE message SET body = '{\"plan\":1}' WHERE kind = 'collection.remind'");
    at("2026-11-20T01:00:00Z");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
    assert_int_equal(told(), 0);
    end();
}

static void s2_two_nodes_tell_once(void **state)
{
    begin(state);
    start_node(1);
    put_many((struct put){ .due = DUE, .days = "0" });
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), MANY);
    assert_int_equal(waiting(), 0);
    end();
}

static void s2_a_zone_that_is_gone_is_looked_for_every_hour(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0,7" });
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Nowhere/Else'");
    at("2026-11-20T01:00:00Z");
    assert_int_equal(told(), 0);
    assert_int_equal(waiting(), 1);
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Asia/Tokyo'");
    rig_pass(w.rig, HOUR);
    assert_int_equal(told(), 2);
    assert_int_equal(waiting(), 1);
    end();
}

/* As long as there could be something to tell: then the plan is over, and so is the looking. */
static void s2_a_zone_that_never_comes_back_is_not_looked_for_for_ever(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0,7" });
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Nowhere/Else'");
    at("2026-11-20T01:00:00Z");
    rig_pass(w.rig, 92 * DAY);
    assert_int_equal(waiting(), 1);
    rig_pass(w.rig, DAY);
    assert_int_equal(waiting(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE reminder_at IS NULL"),
                     1);
    end();
}

static void s2_an_old_message_of_a_zone_that_is_gone_starts_no_chain(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0,7" });
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Nowhere/Else', reminder_at = 1");
    at("2026-11-20T01:00:00Z");
    assert_int_equal(waiting(), 0);
    end();
}

/* --- the server's rule changes --- */

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return reminder_start(tx, &w.payments[0], env_now_ms(&w.rig->env[0]));
}

static int64_t sweep(const char *rule)
{
    assert_true(reminder_rule_read(str_of(rule), &w.payments[0].reminders));
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    rig_settle(w.rig);
    return sql_int(w.rig, "SELECT reminder_plan FROM collections");
}

static void s2_a_start_with_another_rule_plans_anew_who_goes_by_it(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE });
    assert_int_equal(sweep("-3,0,3@10:00"), 1);
    assert_int_equal(sweep("1@10:00"), 2);
    assert_int_equal(sweep("1@10:00"), 2);
    assert_int_equal(sweep(""), 3);
    assert_int_equal(sweep("2@10:00"), 4);
    for (int day = 0; day < 20; day++)
        rig_pass(w.rig, DAY);
    assert_int_equal(told(), 2);
    assert_int_equal(told_of("2026-11-20:2"), 2);
    end();
}

static void s2_a_start_leaves_alone_who_has_a_rule_of_its_own(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE, .days = "0" });
    assert_int_equal(sweep("1@10:00"), 1);
    end();
}

/* A node without the data of time zones takes nobody's plan away. */
static void s2_a_start_leaves_alone_whose_zone_it_does_not_know(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE });
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Nowhere/Else'");
    assert_int_equal(sweep("1@10:00"), 1);
    sql_int(w.rig, "UPDATE collections SET time_zone = 'Asia/Tokyo'");
    at("2026-11-17T01:00:00Z");
    assert_int_equal(told_of("2026-11-20:-3"), 2);
    end();
}

/* Made before there were reminders: no plan, no message. */
static void s2_a_start_plans_what_was_made_before_there_were_plans(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE });
    sql_int(w.rig, "DELETE FROM message");
    sql_int(w.rig, "UPDATE collections SET reminder_plan = 0, reminder_rule = NULL,"
                   " reminder_at = NULL");
    assert_int_equal(sweep("-3,0,3@10:00"), 1);
    at("2026-11-17T01:00:00Z");
    assert_int_equal(told(), 2);
    end();
}

static void many_like_it(int count)
{
    char sql[900];

    snprintf(sql, sizeof(sql),
             w.rig->postgres
                 ? "INSERT INTO collections (collection_id, owner_id, title, currency, due_at,"
                   " time_zone, created_at, updated_at) SELECT decode(lpad(to_hex(i), 32, '0'),"
                   " 'hex'), owner_id, title, currency, due_at + i %% 3, time_zone, 1, 1"
                   " FROM collections, generate_series(1, %d) AS i"
                 : "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                   " INSERT INTO collections (collection_id, owner_id, title, currency, due_at,"
                   " time_zone, created_at, updated_at) SELECT randomblob(16),"
                   " owner_id, title, currency, due_at + i %% 3, time_zone, 1, 1"
                   " FROM collections, n",
             count);
    sql_int(w.rig, sql);
}

static void s2_a_start_goes_over_many_by_pages(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE });
    many_like_it(MANY);
    sweep("-3,0,3@10:00");
    assert_int_equal(waiting(), MANY + 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE reminder_plan = 1"),
                     MANY + 1);
    end();
}

/* Those behind more than one step looks at, all of which have their plan. */
static void s2_a_start_finds_who_stands_behind_many_that_need_nothing(void **state)
{
    begin(state);
    put_ann_and_bob((struct put){ .due = DUE });
    many_like_it(3 * LIMIT_PLANS_LOOKED_AT);
    sweep("-3,0,3@10:00");
    sql_int(w.rig, "UPDATE collections SET reminder_rule = '0@10:00' WHERE created_at > 1");
    sql_int(w.rig, "UPDATE collections SET due_at = due_at + 1000 WHERE created_at > 1");
    sweep("-3,0,3@10:00");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE reminder_plan = 1"),
                     3 * LIMIT_PLANS_LOOKED_AT);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE reminder_plan = 2"), 1);
    end();
}

#define TESTS(ON)                                                                                  \
    ON(s2_before_on_and_after_the_due_date), ON(s2_who_has_none_of_its_own_has_the_servers),       \
        ON(s2_without_a_due_date_nobody_is_reminded),                                              \
        ON(s2_who_has_paid_is_not_reminded_nor_who_got_it_back),                                   \
        ON(s2_a_reminder_is_looked_at_again_before_it_is_sent),                                    \
        ON(s2_a_new_due_date_is_a_new_plan), ON(s2_what_moves_no_reminder_makes_no_new_plan),      \
        ON(s2_who_was_told_of_a_day_is_not_told_again_by_another_plan),                            \
        ON(s2_who_is_added_later_gets_the_coming_ones),                                            \
        ON(s2_a_collection_that_is_made_late_has_what_is_still_to_come),                           \
        ON(s2_less_than_a_day_late_is_sent_and_only_the_newest),                                   \
        ON(s2_a_late_one_gives_way_to_that_of_the_day),                                            \
        ON(s2_many_people_are_told_by_pages_each_once),                                            \
        ON(s2_a_message_that_comes_again_tells_nobody_and_starts_no_second_chain),                 \
        ON(s2_a_dead_reminder_is_followed_by_the_next),                                            \
        ON(s2_a_message_that_cannot_be_read_is_a_dead_letter), ON(s2_two_nodes_tell_once),         \
        ON(s2_a_zone_that_is_gone_is_looked_for_every_hour),                                       \
        ON(s2_a_start_with_another_rule_plans_anew_who_goes_by_it),                                \
        ON(s2_a_start_leaves_alone_who_has_a_rule_of_its_own),                                     \
        ON(s2_a_start_plans_what_was_made_before_there_were_plans),                                \
        ON(s2_a_start_goes_over_many_by_pages),                                                    \
        ON(s2_a_start_finds_who_stands_behind_many_that_need_nothing),                             \
        ON(s2_a_start_leaves_alone_whose_zone_it_does_not_know),                                   \
        ON(s2_a_zone_that_never_comes_back_is_not_looked_for_for_ever),                            \
        ON(s2_an_old_message_of_a_zone_that_is_gone_starts_no_chain),                              \
        ON(s2_a_plan_that_is_changed_while_people_are_told_tells_the_others),                      \
        ON(s2_what_was_told_of_a_plan_that_changed_meanwhile_is_taken_back),                       \
        ON(s2_a_reminder_waits_for_a_node_that_knows_its_zone)

int main(void)
{
    const struct CMUnitTest sqlite[] = { TESTS(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { TESTS(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
