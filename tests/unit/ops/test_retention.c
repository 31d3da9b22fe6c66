/* What is old goes some at a time: no statement of the one writer changes more than M2 allows. */
#include "ops/retention.h"
#include "unit/queue/rig.h"

enum { OLD = 450, DAY = 24 * 3600 * 1000 };

static struct {
    struct rig *rig;
    struct payments payments;
    struct retention retention;
} w;

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return retention_start(tx, &w.retention, env_now_ms(&w.rig->env[0]));
}

static void begin(void **state)
{
    static struct job_kind kinds[1];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.retention = (struct retention){ .payments = &w.payments, .days = 30 };
    kinds[0] = retention_kind(&w.retention);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = 1 });
    w.payments.runtime.queue = w.rig->queue[0];
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
}

/* @ is an id of its own. */
static void fill(const char *insert)
{
    const char *id = w.rig->postgres ? "decode(md5(i::text), 'hex')" : "randomblob(16)";
    char sql[1024];
    int n = 0;

    for (; *insert; insert++)
        n += *insert == '@' ? snprintf(sql + n, sizeof(sql) - (size_t)n, "%s", id)
                            : snprintf(sql + n, sizeof(sql) - (size_t)n, "%c", *insert);
    snprintf(sql + n, sizeof(sql) - (size_t)n,
             " FROM (WITH RECURSIVE x (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < %d)"
             " SELECT i FROM x) n",
             OLD);
    sql_int(w.rig, sql);
}

static void check_left(int64_t want)
{
    static const char *const left[] = {
        "SELECT count(*) FROM webhook_events WHERE length(body) > 0",
        "SELECT count(*) FROM message_edits",
        "SELECT count(*) FROM event_replays",
        "SELECT count(*) FROM replays",
        "SELECT count(*) FROM sends WHERE target LIKE '%.jp'",
    };

    for (size_t i = 0; i < COUNT(left); i++)
        if (sql_int(w.rig, left[i]) != want)
            fail_msg("%s: %lld, not %lld", left[i], (long long)sql_int(w.rig, left[i]),
                     (long long)want);
}

static void m2_what_is_old_goes_some_at_a_time_until_nothing_is_left(void **state)
{
    begin(state);
    fill("INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id,"
         " request_id, trace, body) SELECT 'stripe', 'evt_' || i, i, @, 'r', '', @");
    sql_int(w.rig, "INSERT INTO webhook_outcomes (message_id, outcome, at)"
                   " SELECT message_id, 'applied', 1 FROM webhook_events");
    fill("INSERT INTO message_edits (message_id, at, body, sha256_after) SELECT @, i, @, ''");
    fill("INSERT INTO event_replays (message_id, event_id, redrive_id, was, at, outcome)"
         " SELECT @, 'e', @, 'applied', i, 'applied'");
    fill("INSERT INTO replays (payment_id, operation_id, operation, times, first_at, last_at)"
         " SELECT @, @, 'create', 1, i, i");
    fill("INSERT INTO sends (id, notification_id, channel, target, status, tries, created_at,"
         " updated_at) SELECT @, @, 'mail', 'a%b.jp', 'sent', 1, 1, 1");
    check_left(OLD);
    rig_pass(w.rig, DAY);
    check_left(OLD - LIMIT_STATEMENT_ROWS);
    for (int i = 1; i < 5;
         i++) /* the job asks the store for the time, whose clock is the real one */
        rig_at(w.rig, env_now_ms(&w.rig->store_env[0]) + i * 1000);
    check_left(0);
}

#define ALL(ON) ON(m2_what_is_old_goes_some_at_a_time_until_nothing_is_left)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) }, postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
