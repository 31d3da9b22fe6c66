/* Retention of flow keys: all that nobody needs go, however many are in use before them. (The rest
 * of retention is seen from outside, in tests/e2e/qstash_read.test.mjs.) */
#include "base/limits.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

#define DAY (INT64_C(24) * 3600 * 1000)

static struct {
    struct rig *rig;
    struct qstash q;
    int64_t wait_ms; /* until the next step, as the last one said */
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.q.env = &w.rig->env[0];
    w.q.store = w.rig->store[0];
}

static int64_t now(void)
{
    return atomic_load(&rig_now_ms);
}

/* n keys, last used at used_ms; in_use: a delayed parcel counts on each. */
static void add_keys(const char *name, int n, int64_t used_ms, bool in_use)
{
    const char *numbers = w.rig->postgres
                              ? ""
                              : "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c"
                                " LIMIT 9999) ";
    const char *from = w.rig->postgres ? "generate_series(1, 9999) c(i)" : "c";
    char sql[600];

    snprintf(sql, sizeof(sql),
             "%sINSERT INTO qstash_flows (key, parallelism, used_at)"
             " SELECT '%s-' || i, 1, %lld FROM %s WHERE i <= %d",
             numbers, name, (long long)used_ms, from, n);
    sql_int(w.rig, sql);
    snprintf(sql, sizeof(sql),
             "%sINSERT INTO qstash_live (id, place, due_at, flow_key, bytes, host_hash, path_hash,"
             " caller_ip) SELECT %s, 0, 0, '%s-' || i, 0, 0, 0, '' FROM %s WHERE i <= %d",
             numbers, w.rig->postgres ? "decode(md5(i::text), 'hex')" : "randomblob(16)", name,
             from, n);
    if (in_use)
        sql_int(w.rig, sql);
}

static enum err do_forget(struct tx *tx, void *ctx)
{
    struct job_kind kind = qstash_forget_kind(&w.q);
    struct job j = { .env = w.q.env };
    struct why why;
    enum err e = kind.settle(tx, &j, kind.ctx, &why);

    *(int64_t *)ctx = j.again_ms - now();
    return e;
}

/* How many steps it took until there was nothing to do for an hour. */
static int forget_all(void)
{
    int steps = 0;

    do {
        assert_int_equal(rig_do(w.rig, 0, do_forget, &w.wait_ms), OK);
        assert_true(++steps < 1000);
    } while (w.wait_ms < 3600 * 1000);
    return steps;
}

static int64_t keys(const char *where)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM qstash_flows WHERE %s", where);
    return sql_int(w.rig, sql);
}

static void keys_that_are_in_use_are_passed_by_however_many(void **state)
{
    const int64_t old = now() - (LIMIT_QSTASH_FLOW_DAYS + 1) * DAY;

    begin(state);
    add_keys("delayed", 5000, old, true);
    add_keys("idle", 1000, old + 1, false);
    add_keys("new", 10, old + 2 * DAY, false);
    assert_true(forget_all() > 2); /* a step is short */
    assert_int_equal(keys("key LIKE 'idle%'"), 0);
    assert_int_equal(keys("key LIKE 'delayed%'"), 5000);
    assert_int_equal(keys("key LIKE 'new%'"), 10);
    assert_int_equal(forget_all(), 1); /* they are not looked at again, every hour */
}

static void one_that_is_not_in_use_any_more_goes_in_its_time(void **state)
{
    begin(state);
    add_keys("delayed", 3, now() - (LIMIT_QSTASH_FLOW_DAYS + 1) * DAY, true);
    forget_all();
    sql_int(w.rig, "DELETE FROM qstash_live");
    forget_all();
    assert_int_equal(keys("1 = 1"), 3);
    atomic_fetch_add(&rig_now_ms, (LIMIT_QSTASH_FLOW_DAYS + 1) * DAY);
    forget_all();
    assert_int_equal(keys("1 = 1"), 0);
}

static void those_that_somebody_set_stay(void **state)
{
    begin(state);
    add_keys("k", 5, 0, false);
    sql_int(w.rig, "UPDATE qstash_flows SET paused = 1 WHERE key = 'k-1'");
    sql_int(w.rig, "UPDATE qstash_flows SET pinned_rate = 1 WHERE key = 'k-2'");
    sql_int(w.rig, "UPDATE qstash_flows SET pinned_parallelism = 1 WHERE key = 'k-3'");
    sql_int(w.rig, "UPDATE qstash_flows SET running = 1 WHERE key = 'k-4'");
    forget_all();
    assert_int_equal(keys("key <> 'k-5'"), 4);
    assert_int_equal(keys("key = 'k-5'"), 0);
}

#define ALL(ON)                                                                                    \
    ON(keys_that_are_in_use_are_passed_by_however_many),                                           \
        ON(one_that_is_not_in_use_any_more_goes_in_its_time), ON(those_that_somebody_set_stay)

int main(void)
{
    const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
