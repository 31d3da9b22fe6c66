/* A publish to a group: however much it is, no unit is large; whatever fails, the answer says which
 * members have it. */
#include "base/buf.h"
#include "qstash/publish/fan_out.h"
#include "unit/queue/rig.h"

enum { LARGE = 1000 * 1000, STEP = LIMIT_QSTASH_STEP_BYTES / LARGE, MEMBERS = 10 };

static struct {
    struct rig *rig;
    struct qstash q;
    struct arena arena;
    struct input in;
    struct mailing m;
    int units;  /* that were run */
    bool twice; /* the store runs each unit again */
} w;

static char body[LARGE];

static void begin(void **state, int members, size_t size)
{
    char sql[128], unused[8];

    memset(&w, 0, sizeof(w));
    memset(body, 'x', sizeof(body));
    w.rig = *state;
    w.q = (struct qstash){ .env = &w.rig->env[0], .store = w.rig->store[0], .dedup_ms = 60000 };
    arena_init(&w.arena, LIMIT_REQUEST_ARENA);
    for (int i = 0; i < members; i++) {
        snprintf(sql, sizeof(sql),
                 "INSERT INTO qstash_endpoints (group_name, url) VALUES ('g', 'http://m%d.test/')",
                 i);
        sql_text(w.rig, sql, unused, sizeof(unused));
    }
    w.in = (struct input){ .group = S("g"),
                           .delay_ms = 60000,
                           .parcel = { .method = S("POST"),
                                       .body = { body, size },
                                       .caller_ip = S("192.0.2.1"),
                                       .retries = 3 } };
    assert_true(mailing_init(&w.m, w.q.env, &w.arena, &w.in, env_now_ms(w.q.env)));
}

static void end(void)
{
    arena_release(&w.arena);
}

static enum err do_run(struct tx *tx, void *ctx)
{
    struct arena_mark before = arena_mark(&w.arena);
    enum err e;

    (void)ctx;
    e = mailing_run(&w.q, tx, &w.arena, &w.m);
    if (e || !w.twice)
        return e;
    arena_rewind(&w.arena, before); /* it was in vain: the rows are not there */
    return ERR_TIMEOUT;
}

static enum err run(void)
{
    struct arena_mark before = arena_mark(&w.arena);
    enum err e;

    w.units++;
    w.twice = true;
    assert_int_equal(rig_do(w.rig, 0, do_run, NULL), ERR_TIMEOUT);
    w.twice = false;
    arena_rewind(&w.arena, before);
    e = rig_do(w.rig, 0, do_run, NULL);
    return e;
}

static void run_all(void)
{
    do
        assert_int_equal(run(), OK);
    while (mailing_goes_on(&w.m));
}

static int64_t stored(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM qstash_live");
}

static int occurs(const char *what, enum err e)
{
    struct buf b;
    int n = 0;

    buf_init(&b, 1 << 20);
    mailing_write(&b, &w.m, e);
    buf_char(&b, '\0');
    for (const char *at = b.p; (at = strstr(at, what)); at++)
        n++;
    buf_release(&b);
    return n;
}

static void large_bodies_are_stored_some_at_a_time(void **state)
{
    begin(state, MEMBERS, LARGE);
    assert_int_equal(run(), OK);
    assert_int_equal(stored(), STEP);
    sql_int(w.rig, "DELETE FROM qstash_endpoints"); /* those that it had at that moment count */
    assert_true(mailing_goes_on(&w.m));
    run_all();
    assert_int_equal(stored(), MEMBERS);
    assert_int_equal(w.units, (MEMBERS + STEP - 1) / STEP);
    assert_int_equal(occurs("\"messageId\":\"msg_", OK), MEMBERS);
    assert_int_equal(occurs("error", OK), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM qstash_messages WHERE topic = 'g'"
                                    " AND length(body) = 1000000"),
                     MEMBERS);
    for (int i = 0; i < MEMBERS; i++)
        assert_true(uuid_eq(w.m.all[i].answer, w.m.ids[i]));
    end();
}

static void small_ones_are_one_unit(void **state)
{
    begin(state, LIMIT_QSTASH_ENDPOINTS, 1000);
    run_all();
    assert_int_equal(stored(), LIMIT_QSTASH_ENDPOINTS);
    assert_int_equal(w.units, 1);
    end();
}

static void one_that_is_larger_than_a_step_is_one_by_itself(void **state)
{
    static char header[LIMIT_QSTASH_STEP_BYTES + 1000];

    begin(state, 2, LARGE);
    memset(header, ' ', sizeof(header));
    w.in.parcel.header = (struct str){ header, sizeof(header) };
    run_all();
    assert_int_equal(stored(), 2);
    assert_int_equal(w.units, 2);
    end();
}

static void who_was_not_reached_is_told_so(void **state)
{
    begin(state, MEMBERS, LARGE);
    assert_int_equal(run(), OK);
    assert_true(mailing_goes_on(&w.m));
    assert_true(faults_parse(&w.rig->store_env[0].faults, S("qstash.group=full")));
    assert_int_equal(rig_do(w.rig, 0, do_run, NULL), ERR_STORE_FULL);
    assert_int_equal(stored(), STEP);
    assert_int_equal(occurs("\"messageId\":\"msg_", ERR_STORE_FULL), STEP);
    assert_int_equal(occurs("{\"error\":\"The disk is full", ERR_STORE_FULL), MEMBERS - STEP);
    assert_int_equal(occurs("\"url\":\"http://m", ERR_STORE_FULL), MEMBERS);
    end();
}

/* The second time only those are new that the first did not reach. */
static void q9_a_repeat_with_the_same_key_completes_it(void **state)
{
    begin(state, MEMBERS, LARGE);
    w.in.dedup = DEDUP_BY_ID;
    assert_int_equal(run(), OK);
    assert_true(mailing_init(&w.m, w.q.env, &w.arena, &w.in, env_now_ms(w.q.env)));
    run_all();
    assert_int_equal(stored(), MEMBERS);
    assert_int_equal(occurs("\"deduplicated\":true", OK), STEP);
    end();
}

static void a_group_that_is_not_there_is_not_found(void **state)
{
    begin(state, 0, 10);
    assert_int_equal(rig_do(w.rig, 0, do_run, NULL), ERR_NOT_FOUND);
    end();
}

#define ALL(ON)                                                                                    \
    ON(large_bodies_are_stored_some_at_a_time), ON(small_ones_are_one_unit),                       \
        ON(one_that_is_larger_than_a_step_is_one_by_itself), ON(who_was_not_reached_is_told_so),   \
        ON(q9_a_repeat_with_the_same_key_completes_it), ON(a_group_that_is_not_there_is_not_found)

int main(void)
{
    const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
