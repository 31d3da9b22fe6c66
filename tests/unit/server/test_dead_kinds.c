/* Dead parcels and events, retried by the kinds that the server has: however large they are, a
 * redrive goes on (Q6), and what is refused is as it was. */
#include "base/limits.h"
#include "dlq/redrive.h"
#include "payment/rows.h"
#include "qstash/rows.h"
#include "server/dead_kinds.h"
#include "unit/queue/rig.h"
#include "webhook/replay.h"

enum { LARGE = 24 }; /* of them more than a unit's memory holds */

static struct {
    struct rig *rig;
    struct arena arena;
    struct qstash q;
    struct dead_kind kinds[DEAD_KINDS];
    struct dead_letters letters;
    struct redrives redrives;
    struct redrive_new new;
    struct str json;
    char *body;
    int64_t rate; /* 0: the highest */
    bool poor;    /* what is retried dies again */
} w;

static enum err work(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)ctx, (void)why;
    return w.poor ? parcel_give_up(&w.q, tx, m->id, S("nobody is there")) : OK;
}

static void begin(void **state)
{
    static struct job_kind kinds[3];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    arena_init(&w.arena, 8 << 20);
    kinds[0] = (struct job_kind){ .name = "qstash.deliver", .run = work };
    kinds[1] = (struct job_kind){ .name = "stripe.event", .run = work };
    kinds[2] = redrive_kind(&w.redrives);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.q.env = &w.rig->env[0];
    w.q.store = w.rig->store[0];
    w.q.queue = w.rig->queue[0];
    w.letters = (struct dead_letters){ .env = w.q.env,
                                       .queue = w.q.queue,
                                       .kinds = w.kinds,
                                       .kind_count = dead_kinds_fill(w.kinds, &w.q) };
    w.redrives = (struct redrives){ .letters = &w.letters, .replay = replay_event };
    w.body = malloc(LIMIT_QSTASH_BODY);
    memset(w.body, 'x', LIMIT_QSTASH_BODY);
}

static void end(void)
{
    free(w.body);
    arena_release(&w.arena);
}

/* --- parcels --- */

static enum err do_die(struct tx *tx, void *ctx)
{
    struct parcel *p = ctx;
    enum err e = parcel_post(&w.q, tx, p);

    return e ? e : parcel_give_up(&w.q, tx, p->id, S("nobody is there"));
}

/* Long ago, one after the other. */
static struct uuid die(struct str queue, size_t bytes)
{
    struct parcel p = { .id = env_uuid(w.q.env),
                        .method = S("PUT"),
                        .body = { w.body, bytes },
                        .queue = queue,
                        .flow = { .period_s = 1 },
                        .caller_ip = S("10.0.0.1"),
                        .created_ms = env_now_ms(w.q.env) };

    assert_true(parcel_set_url(&p, S("http://a.test/x")));
    assert_int_equal(rig_do(w.rig, 0, do_die, &p), OK);
    sql_int(w.rig, "DELETE FROM message");
    sql_int(w.rig, "UPDATE dead_letters SET added_at = 1, died_at = 1000 + (SELECT q.seq"
                   " FROM qstash_dead q WHERE q.id = dead_letters.id) WHERE added_at > 1");
    return p.id;
}

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return redrive_start(tx, &w.arena, &w.redrives, &w.new, &w.json);
}

static void redrive(struct redrive_new n)
{
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    w.new = n;
    w.new.id = env_uuid(w.q.env);
    w.new.rate = w.rate ? w.rate : LIMIT_REDRIVE_RATE;
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    for (int i = 0; i < 60; i++)
        rig_pass(w.rig, 500);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM redrives WHERE state = 'done'"), 1);
}

static void q6_a_redrive_of_parcels_that_no_unit_holds_together_goes_on(void **state)
{
    begin(state);
    for (int i = 0; i < LARGE; i++)
        die(S(""), LIMIT_QSTASH_BODY);
    redrive((struct redrive_new){ .filter = { .kind = S("qstash.deliver") } });
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), LARGE);
    assert_int_equal(sql_int(w.rig, "SELECT matched FROM redrives"), LARGE);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_dead"), 0);
    end();
}

struct asking {
    struct dead_letter letter;
    struct dead_need need;
};

static enum err do_ask(struct tx *tx, void *ctx)
{
    struct asking *a = ctx;

    for (size_t i = 0; i < w.letters.kind_count; i++)
        if (str_eq(str_of(w.kinds[i].name), S("qstash.deliver")))
            return w.kinds[i].need(tx, w.kinds[i].ctx, &a->letter, &a->need);
    return ERR_INTERNAL;
}

static void m9_a_parcel_says_which_gates_it_comes_to(void **state)
{
    struct asking plain, queued, gone;
    int64_t lanes[2];

    begin(state);
    plain = (struct asking){ .letter.id = die(S(""), 100) };
    queued = (struct asking){ .letter.id = die(S("q"), 100) };
    gone = (struct asking){ .letter.id = env_uuid(w.q.env) };
    assert_int_equal(rig_do(w.rig, 0, do_ask, &plain), OK);
    assert_true(plain.need.has_gates && plain.need.bytes >= 100);
    assert_int_equal(plain.need.lane_count, 0);
    assert_int_equal(rig_do(w.rig, 0, do_ask, &queued), OK);
    assert_int_equal(queued.need.lane_count, 1);
    gate_lanes(&(struct live){ .queue_id = sql_int(w.rig, "SELECT id FROM qstash_queues") }, lanes);
    assert_int_equal(queued.need.lanes[0], lanes[0]);
    assert_int_equal(rig_do(w.rig, 0, do_ask, &gone), ERR_NOT_FOUND);
    end();
}

static void q6_the_same_where_they_are_named_in_any_order_and_twice(void **state)
{
    struct uuid ids[2 * LARGE];

    begin(state);
    for (int i = 0; i < LARGE; i++)
        ids[LARGE - 1 - i] = ids[LARGE + i] = die(S(""), LIMIT_QSTASH_BODY);
    redrive((struct redrive_new){ .ids = ids, .id_count = COUNT(ids) });
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), LARGE);
    assert_int_equal(sql_int(w.rig, "SELECT refused FROM redrives"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    end();
}

/* A parcel that dies again is a new letter. The clock was ahead when one of them died, so until_ms
 * lies ahead as well. */
static void q6_a_parcel_is_not_taken_twice_where_one_died_ahead_of_the_clock(void **state)
{
    char sql[128];

    begin(state);
    w.poor = true;
    for (int i = 0; i < 4; i++)
        die(S(""), 10);
    snprintf(sql, sizeof(sql), "UPDATE dead_letters SET died_at = %lld WHERE died_at > 1003",
             (long long)env_now_ms(w.q.env) + 600 * 1000);
    sql_int(w.rig, sql);
    w.rate = 2;
    redrive((struct redrive_new){ .filter = { .kind = S("qstash.deliver") } });
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), 4);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'DLQ_RETRY'"), 4);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 4);
    end();
}

static void q6_a_parcel_whose_retry_is_refused_keeps_what_was_made_of_its_body(void **state)
{
    begin(state);
    die(S("q"), 10);
    sql_int(w.rig, "INSERT INTO message_edits (message_id, at, body, sha256_after)"
                   " SELECT id, 1, id, '' FROM dead_letters");
    sql_int(w.rig, "DELETE FROM qstash_queues"); /* and others have all the room since */
    sql_int(w.rig, "INSERT INTO qstash_queues (name, parallelism, paused, created_at, updated_at)"
                   " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                   " WHERE i < 10000) SELECT 'n' || i, 1, 0, 1, 1 FROM n");
    redrive((struct redrive_new){ .filter = { .kind = S("qstash.deliver") } });
    assert_int_equal(sql_int(w.rig, "SELECT refused FROM redrives"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_edits e JOIN dead_letters d"
                                    " ON d.id = e.message_id"),
                     1);
    end();
}

/* --- events --- */

/* Nobody could read it when it came, and nobody can now. */
static void come_unreadable(int i)
{
    bool pg = w.rig->postgres;
    char sql[1024];

    snprintf(
        sql, sizeof(sql),
        "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id,"
        " request_id, trace, body) VALUES ('stripe', 'evt_%d', 1, %s02%026d%02x01', 'r', '', %s)",
        i, pg ? "'\\x" : "x'", 0, i,
        pg ? "convert_to(repeat('x', 262144), 'UTF8')" : "zeroblob(262144)");
    sql_int(w.rig, sql);
    sql_int(w.rig, "INSERT INTO webhook_outcomes (message_id, at, outcome)"
                   " SELECT message_id, 1, 'dead' FROM webhook_events"
                   " WHERE message_id NOT IN (SELECT message_id FROM webhook_outcomes)");
    sql_int(w.rig, "INSERT INTO dead_letters (id, kind, ref, reason, attempts, added_at, died_at)"
                   " SELECT message_id, 'stripe.event', stripe_event_id, 'r', 1, 1, 1000 + seq"
                   " FROM webhook_events WHERE message_id NOT IN (SELECT id FROM dead_letters)");
}

static void check_refused(void)
{
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT refused FROM redrives"), 2 * LARGE);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 2 * LARGE);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM webhook_outcomes"), 2 * LARGE);
}

static void q6_a_redrive_of_events_that_no_unit_holds_together_goes_on(void **state)
{
    begin(state);
    for (int i = 0; i < 2 * LARGE; i++)
        come_unreadable(i);
    redrive((struct redrive_new){ .filter = { .kind = S("stripe.event") } });
    check_refused();
    end();
}

static void q6_a_replay_of_events_that_no_unit_holds_together_goes_on(void **state)
{
    begin(state);
    for (int i = 0; i < 2 * LARGE; i++)
        come_unreadable(i);
    redrive((struct redrive_new){ .is_replay = true, .filter = { .to_ms = 1000 } });
    check_refused();
    end();
}

#define ALL(ON)                                                                                    \
    ON(q6_a_redrive_of_parcels_that_no_unit_holds_together_goes_on),                               \
        ON(m9_a_parcel_says_which_gates_it_comes_to),                                              \
        ON(q6_a_parcel_is_not_taken_twice_where_one_died_ahead_of_the_clock),                      \
        ON(q6_a_parcel_whose_retry_is_refused_keeps_what_was_made_of_its_body),                    \
        ON(q6_the_same_where_they_are_named_in_any_order_and_twice),                               \
        ON(q6_a_redrive_of_events_that_no_unit_holds_together_goes_on),                            \
        ON(q6_a_replay_of_events_that_no_unit_holds_together_goes_on)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
