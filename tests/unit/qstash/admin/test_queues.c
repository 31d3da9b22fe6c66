/* A queue that is deleted while somebody enqueues into it (PostgreSQL: SQLite has one writer). */
#include "qstash/rows.h"
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
    struct qstash qstash;
    struct asked asked;
    PGconn *other; /* who holds the queue's lock */
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.qstash.env = &w.rig->env[0];
    w.qstash.store = w.rig->store[0];
    rig_queue(w.rig, 0, (struct queue_options){ 0 });
    w.qstash.queue = w.rig->queue[0];
    w.other = PQconnectdb(w.rig->url);
}

static void say(const char *sql)
{
    PGresult *r = PQexec(w.other, sql);
    ExecStatusType s = PQresultStatus(r);

    if (s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(r));
    PQclear(r);
}

static enum err do_post(struct tx *tx, void *ctx)
{
    struct parcel p = { .id = env_uuid(&w.rig->env[0]),
                        .created_ms = atomic_load(&rig_now_ms),
                        .not_before_ms = atomic_load(&rig_now_ms),
                        .method = S("POST"),
                        .queue = S("q"),
                        .caller_ip = S("10.0.0.1") };

    (void)ctx;
    assert_true(parcel_set_url(&p, S("http://a.example/")));
    return parcel_post(&w.qstash, tx, &p);
}

static void post(void) /* and do not wait for it */
{
    static const struct unit_kind kind = { "test.post", UNIT_FRONT, asked_run, NULL };

    w.asked = (struct asked){ .rig = w.rig, .run = do_post };
    w.asked.unit =
        (struct unit){ .kind = &kind, .executor = &w.rig->den.desk.executor, .done = asked_done };
    w.rig->asked++;
    store_post(w.rig->store[0], &w.asked.unit);
}

static void until_it_waits_for_the_lock(void)
{
    while (sql_int(w.rig, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                          " AND NOT granted") == 0 &&
           desk_is_empty(&w.rig->den.desk))
        usleep(1000);
}

static void what_is_enqueued_meanwhile_goes_into_a_new_queue_of_that_name(void **state)
{
    static const char *const ways[] = {
        "UPDATE qstash_queues SET name = NULL, paused = 1", /* deleted, and not yet swept */
        "DELETE FROM qstash_queues",                        /* and swept */
    };
    char sql[128];
    int64_t lanes[2];

    for (size_t i = 0; i < COUNT(ways); i++) {
        begin(state);
        say("DELETE FROM qstash_live");
        say("DELETE FROM qstash_queues");
        say("INSERT INTO qstash_queues (name, parallelism, created_at, updated_at)"
            " VALUES ('q', 1, 1, 1)");
        gate_lanes(&(struct live){ .queue_id = sql_int(w.rig, "SELECT id FROM qstash_queues") },
                   lanes);
        say("BEGIN");
        snprintf(sql, sizeof(sql), "SELECT pg_advisory_xact_lock(%lld)", (long long)lanes[0]);
        say(sql);
        post();
        until_it_waits_for_the_lock();
        say(ways[i]);
        say("COMMIT");
        while (!w.asked.back)
            desk_next(&w.rig->den.desk);
        assert_int_equal(w.asked.unit.err, OK);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_live l JOIN qstash_queues q"
                                        " ON q.id = l.queue_id WHERE q.name = 'q' AND q.lag = 1"
                                        " AND q.running = 1 AND l.slot = 1"),
                         1);
        PQfinish(w.other);
        queue_free(w.rig->queue[0]);
        w.rig->queue[0] = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest postgres[] = { ON_POSTGRES(
        what_is_enqueued_meanwhile_goes_into_a_new_queue_of_that_name) };

    return getenv("TEST_POSTGRES") ? cmocka_run_group_tests(postgres, NULL, NULL) : 0;
}
