/* The database's trouble is not the message's, and yet none may hold up its lane for ever. */
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
    int runs, alerts;
} w;

static enum err seen(void *ctx, const struct row *row)
{
    (void)row;
    (*(int *)ctx)++;
    return OK;
}

/* Its failure comes back within the run: the rows are asked for. */
static enum err write_outcome(struct tx *tx, const struct message *m, struct str outcome)
{
    struct val v[] = { V_BLOB(uuid_bytes(&m->id)), V_TEXT(outcome), V_NULL,
                       V_INT(m->attempt),          V_NULL,          V_NULL };
    int rows = 0;

    return tx_bulk(tx, STMT_webhook_outcome_add, v, 1, COUNT(v), seen, &rows);
}

static enum err run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)ctx, (void)why;
    w.runs++;
    return write_outcome(tx, m, S("processed"));
}

static enum err buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    (void)ctx, (void)why;
    return write_outcome(tx, m, S("dead"));
}

/* PostgreSQL: sent later, so that its failure comes with the commit. */
static enum err run_deferred(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)ctx, (void)why;
    w.runs++;
    return TX_DO(tx, STMT_node_seen, -1, V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt));
}

static enum err run_fine(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)m, (void)ctx, (void)why;
    return OK;
}

static enum err run_never(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)m, (void)ctx, (void)why;
    return ERR_UNAVAILABLE;
}

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m, (void)why;
    w.alerts++;
}

static const struct job_kind kinds[] = {
    { .name = "writes",
      .run = run,
      .buried = buried,
      .retry = { .retries = 3, .first_ms = 1000, .factor = 2 } },
    { .name = "defers", .run = run_deferred },
    { .name = "fine", .run = run_fine },
    { .name = "never", .run = run_never, .retry = { .retries = 3, .first_ms = INT64_MAX } },
};
static const struct queue_options options = { .kinds = kinds,
                                              .kind_count = COUNT(kinds),
                                              .alert = alert };

static struct rig *begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    rig_queue(w.rig, 0, options);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    return w.rig;
}

static enum err do_add(struct tx *tx, void *ctx)
{
    struct env *env = &w.rig->env[0];
    int64_t now = env_now_ms(env);
    struct queue_new m = {
        .id = env_uuid(env), .kind = str_of(ctx), .has_lane = true, .lane = 1, .due_ms = now
    };

    return queue_add(w.rig->queue[0], tx, now, &m, 1);
}

static void add(char *kind)
{
    assert_int_equal(rig_do(w.rig, 0, do_add, kind), OK);
}

static int64_t live(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message");
}

static void pass_until_empty(struct rig *r, int64_t most_ms)
{
    for (int64_t ms = 0; live() && ms < most_ms; ms += 500)
        rig_pass(r, 500);
    assert_int_equal(live(), 0);
}

static void a_table_that_is_missing_for_a_moment_costs_no_attempt(void **state)
{
    struct rig *r = begin(state);

    sql_int(r, "ALTER TABLE webhook_outcomes RENAME TO elsewhere");
    add("writes");
    rig_settle(r);
    assert_true(w.runs >= 1);
    assert_int_equal(r->queue[0]->held, 1); /* parked */
    assert_int_equal(sql_int(r, "SELECT attempt FROM message"), 1);
    sql_int(r, "ALTER TABLE elsewhere RENAME TO webhook_outcomes");
    pass_until_empty(r, 5000);
    assert_int_equal(sql_int(r, "SELECT at FROM webhook_outcomes"), 1); /* the attempt */
    assert_int_equal(sql_int(r, "SELECT count(*) FROM dead_letters"), 0);
}

static void a_statement_that_is_sent_later_is_judged_alike(void **state)
{
    struct rig *r = begin(state);

    sql_int(r, "ALTER TABLE node_seen RENAME TO elsewhere");
    add("defers");
    rig_settle(r);
    assert_true(w.runs >= 1);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM dead_letters"), 0);
    assert_int_equal(r->queue[0]->held, 1);
    sql_int(r, "ALTER TABLE elsewhere RENAME TO node_seen");
    pass_until_empty(r, 5000);
    assert_int_equal(sql_int(r, "SELECT at FROM node_seen"), 1);
}

/* What CREATE INDEX does to it. */
static void a_table_that_is_locked_costs_no_attempt(void **state)
{
    struct rig *r = begin(state);
    PGconn *c = PQconnectdb(r->url);

    PQclear(PQexec(c, "BEGIN; LOCK TABLE webhook_outcomes IN SHARE MODE"));
    add("writes");
    rig_settle(r);
    assert_int_equal(r->queue[0]->held, 1);
    assert_int_equal(sql_int(r, "SELECT attempt FROM message"), 1);
    PQclear(PQexec(c, "ROLLBACK"));
    PQfinish(c);
    pass_until_empty(r, 5000);
    assert_int_equal(sql_int(r, "SELECT at FROM webhook_outcomes"), 1);
}

static void what_the_database_never_takes_is_a_dead_letter_in_the_end(void **state)
{
    struct rig *r = begin(state);

    sql_int(r, "ALTER TABLE webhook_outcomes RENAME TO elsewhere");
    add("writes");
    add("fine"); /* behind it, in its lane */
    pass_until_empty(r, 300 * 1000);
    assert_int_equal(w.alerts, 1);
    assert_int_equal(sql_int(r, "SELECT attempts FROM dead_letters"), 4);
    assert_true(w.runs >= 4 * LIMIT_PARKS);
    assert_int_equal(r->queue[0]->held, 0);
}

static void a_retry_beyond_the_end_of_time_stays_there(void **state)
{
    struct rig *r = begin(state);
    char due[32];

    add("never");
    rig_settle(r);
    sql_text(r, "SELECT due_at FROM message", due, sizeof(due));
    assert_string_equal(due, "9223372036854775807");
}

static void fill(struct rig *r, int rows)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "INSERT INTO message (id, kind, ready, due_at, added_at)"
             " SELECT decode(md5(i::text), 'hex'), 'fine', 1, 9000000000000, 0"
             " FROM generate_series(1, %d) i",
             rows);
    sql_int(r, sql);
}

/* PostgreSQL: counting millions of rows takes longer than a statement may. */
static void the_runner_starts_behind_a_backlog_that_nobody_can_count(void **state)
{
    struct rig *r = *state;

    memset(&w, 0, sizeof(w));
    w.rig = r;
    sql_int(r, "ALTER TABLE message SET (autovacuum_enabled = false)");
    fill(r, 100);
    rig_queue(r, 0, options);
    queue_start(r->queue[0]);
    assert_true(r->queue[0]->started);
    rig_settle(r);
    assert_int_equal(queue_live(r->queue[0]), 100); /* few: exact */
    rig_kill(r, 0);
    sql_int(r, "DELETE FROM message");
    fill(r, 100000);
    sql_int(r, "UPDATE pg_class SET reltuples = 5000000 WHERE relname = 'message'");
    rig_queue(r, 0, options);
    queue_start(r->queue[0]);
    rig_settle(r);
    assert_int_equal(queue_live(r->queue[0]), 5000000);
}

/* The count is tried again soon: the backlog's limit rests on it. */
static void a_first_count_that_fails_is_tried_again_soon(void **state)
{
    struct rig *r = *state;
    PGconn *c = PQconnectdb(r->url);

    memset(&w, 0, sizeof(w));
    w.rig = r;
    fill(r, 7);
    PQclear(PQexec(c, "BEGIN; LOCK TABLE message IN ACCESS EXCLUSIVE MODE"));
    rig_queue(r, 0, options);
    queue_start(r->queue[0]);
    while (r->queue[0]->counting)
        desk_next(&r->den.desk);
    PQclear(PQexec(c, "ROLLBACK"));
    PQfinish(c);
    rig_settle(r);
    assert_int_equal(queue_live(r->queue[0]), 0);
    rig_pass(r, LIMIT_TROUBLE_MAX_MS);
    assert_int_equal(queue_live(r->queue[0]), 7);
}

#define ALL(ON)                                                                                    \
    ON(a_table_that_is_missing_for_a_moment_costs_no_attempt),                                     \
        ON(a_statement_that_is_sent_later_is_judged_alike),                                        \
        ON(what_the_database_never_takes_is_a_dead_letter_in_the_end),                             \
        ON(a_retry_beyond_the_end_of_time_stays_there)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = {
        ALL(ON_POSTGRES),
        ON_POSTGRES(a_table_that_is_locked_costs_no_attempt),
        ON_POSTGRES(the_runner_starts_behind_a_backlog_that_nobody_can_count),
        ON_POSTGRES(a_first_count_that_fails_is_tried_again_soon),
    };

    return RUN_BOTH(sqlite, postgres);
}
