/* The runner on a real store, with a clock that the test moves. Every run leaves one audit row in
 * the transaction that finishes its message: that is the effect whose number is counted. */
#include "unit/queue/rig.h"

enum { REFS = 512 };

struct world {
    struct rig *rig;
    pthread_mutex_t lock;
    char order[REFS * 8]; /* refs in the order of their runs */
    int runs, fails;      /* fails: so many runs end in `err` */
    enum err err;
    int64_t ran_at[16];
    int alerts, ended[3], buried;
    bool burying_fails;
};

static struct world w;

static void note_run(const struct message *m)
{
    size_t used = strlen(w.order);

    if (w.runs < (int)COUNT(w.ran_at))
        w.ran_at[w.runs] = atomic_load(&rig_now_ms);
    w.runs++;
    if (used + m->ref.n + 2 < sizeof(w.order))
        snprintf(w.order + used, sizeof(w.order) - used, "%s" STR_FMT, used ? " " : "",
                 STR_ARG(m->ref));
}

static enum err effect(struct tx *tx, const struct message *m)
{
    return TX_DO(tx, STMT_audit_add, 1, V_INT(m->attempt), V_TEXT(S("EFFECT")), V_TEXT(m->ref),
                 V_TEXT(S("success")), V_INT(1), V_NULL);
}

static enum err run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    enum err e = effect(tx, m);
    bool fail;

    (void)ctx;
    pthread_mutex_lock(&w.lock);
    note_run(m);
    fail = w.fails > 0;
    w.fails -= fail;
    pthread_mutex_unlock(&w.lock);
    if (e || !fail)
        return e;
    why_set(why, "as the test wanted");
    return w.err;
}

static enum err run_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    enum err e = OK;

    (void)ctx;
    for (size_t i = 0; i < n && !e; i++)
        e = str_eq(m[i]->ref, S("bad")) ? ERR_VALIDATION : effect(tx, m[i]);
    return e;
}

static enum err run_unless_bad(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)ctx;
    (void)why;
    return str_eq(m->ref, S("bad")) ? ERR_VALIDATION : effect(tx, m);
}

static enum err buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    (void)tx, (void)m, (void)ctx, (void)why;
    if (w.burying_fails)
        return ERR_CONSTRAINT;
    w.buried++;
    return OK;
}

static void ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why)
{
    (void)env, (void)ctx, (void)m, (void)why;
    w.ended[end]++;
}

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m;
    assert_true(why[0]);
    w.alerts++;
}

static const struct job_kind kinds[] = {
    { .name = "test",
      .run = run,
      .retry = { .retries = 3, .first_ms = 1000, .factor = 2 },
      .buried = buried,
      .ended = ended },
    { .name = "bulk",
      .run = run_unless_bad,
      .run_many = run_many,
      .retry = { .retries = 3, .first_ms = 1000, .factor = 2 },
      .ended = ended },
};

static const struct queue_options options = { .kinds = kinds,
                                              .kind_count = COUNT(kinds),
                                              .alert = alert };

static struct rig *begin(void **state, int nodes)
{
    struct rig *r = *state;

    memset(&w, 0, sizeof(w));
    pthread_mutex_init(&w.lock, NULL);
    w.rig = r;
    for (int i = 0; i < nodes; i++) {
        rig_queue(r, i, options);
        queue_start(r->queue[i]);
    }
    rig_settle(r);
    return r;
}

struct adding {
    int node;
    struct queue_new m[REFS];
    size_t n;
};

static enum err do_add(struct tx *tx, void *ctx)
{
    struct adding *a = ctx;

    return queue_add(w.rig->queue[a->node], tx, env_now_ms(&w.rig->env[a->node]), a->m, a->n);
}

static void add_due(const char *kind, const char *ref, int64_t lane, int64_t delay_ms)
{
    static struct adding a;

    a.n = 1;
    a.m[0] = (struct queue_new){ .id = env_uuid(&w.rig->env[0]),
                                 .kind = str_of(kind),
                                 .ref = str_of(ref),
                                 .has_lane = lane != 0,
                                 .lane = lane,
                                 .due_ms = atomic_load(&rig_now_ms) + delay_ms };
    assert_int_equal(rig_do(w.rig, 0, do_add, &a), OK);
}

static void add(const char *ref, int64_t lane)
{
    add_due("test", ref, lane, 0);
}

static void add_many(const char *kind, size_t n, size_t lanes)
{
    static struct adding a;

    a.n = n;
    for (size_t i = 0; i < n; i++)
        a.m[i] = (struct queue_new){ .id = env_uuid(&w.rig->env[0]),
                                     .kind = str_of(kind),
                                     .ref = S("m"),
                                     .has_lane = lanes,
                                     .lane = lanes ? (int64_t)(i % lanes) + 1 : 0,
                                     .due_ms = atomic_load(&rig_now_ms) };
    assert_int_equal(rig_do(w.rig, 0, do_add, &a), OK);
}

static int64_t effects(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'EFFECT'");
}

static int64_t live(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message");
}

static int64_t dead(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM dead_letters");
}

static int64_t now(void)
{
    return atomic_load(&rig_now_ms);
}

/* --- */

static void q1_a_message_runs_once_and_is_gone(void **state)
{
    struct rig *r = begin(state, 1);

    add("a", 0);
    assert_int_equal(queue_live(r->queue[0]), 1);
    rig_settle(r);
    assert_int_equal(w.runs, 1);
    assert_int_equal(w.ended[JOB_DONE], 1);
    assert_int_equal(effects(), 1);
    assert_int_equal(live(), 0);
    assert_int_equal(queue_live(r->queue[0]), 0);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_JOB, S("done")), 1);
}

static void q2_retries_come_after_exactly_1_2_and_4_s_and_then_the_end(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t start = now();
    char text[256];

    w.fails = 100;
    w.err = ERR_UNAVAILABLE;
    add("a", 9);
    add("behind", 9);
    rig_settle(r);
    for (int i = 0; i < 20 && !w.alerts; i++) {
        int64_t due = den_next_timer(&r->den);

        assert_true(due != CLOCK_NEVER);
        if (due <= start + 6999)
            assert_true(w.runs <= 3);
        rig_at(r, due - 1); /* a millisecond early nothing happens */
        if (w.runs == 4)
            break;
        if (w.runs == 3 && due == start + 7000)
            w.fails = 1;
        rig_at(r, due);
    }
    assert_int_equal(w.ran_at[0], start);
    assert_int_equal(w.ran_at[1], start + 1000);
    assert_int_equal(w.ran_at[2], start + 3000);
    assert_int_equal(w.ran_at[3], start + 7000);
    assert_string_equal(w.order, "a a a a behind");
    assert_int_equal(w.alerts, 1);
    assert_int_equal(w.buried, 1);
    assert_int_equal(w.ended[JOB_RETRIED], 3);
    assert_int_equal(w.ended[JOB_DEAD], 1);
    assert_int_equal(effects(), 1); /* of the one behind: failed runs leave nothing */
    sql_text(r, "SELECT reason || '/' || attempts FROM dead_letters", text, sizeof(text));
    assert_string_equal(text, "as the test wanted/4");
    assert_int_equal(sql_int(r, "SELECT count(*) FROM audit WHERE operation = 'DEAD_LETTER'"), 1);
    assert_int_equal(queue_live(r->queue[0]), 0);
}

static void q2_a_terminal_error_is_a_dead_letter_at_once(void **state)
{
    struct rig *r = begin(state, 1);

    w.fails = 1;
    w.err = ERR_VALIDATION;
    add("a", 0);
    rig_settle(r);
    assert_int_equal(w.runs, 1);
    assert_int_equal(dead(), 1);
    assert_int_equal(live(), 0);
    assert_int_equal(effects(), 0);
    assert_int_equal(w.alerts, 1);
}

static void q8_a_parked_lane_blocks_nobody_else(void **state)
{
    struct rig *r = begin(state, 1);
    bool b_first;

    w.fails = 1;
    w.err = ERR_TIMEOUT;
    add("a1", 1);
    rig_settle(r);
    add("a2", 1);
    add("b1", 2);
    add("c1", 0);
    rig_settle(r);
    b_first = !strcmp(w.order, "a1 b1 c1"); /* on PostgreSQL they run side by side */
    assert_string_equal(w.order, b_first ? "a1 b1 c1" : "a1 c1 b1");
    rig_pass(r, 1000);
    assert_string_equal(w.order, b_first ? "a1 b1 c1 a1 a2" : "a1 c1 b1 a1 a2");
}

static void q11_nothing_is_asked_of_the_database_while_idle(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t units;

    add("a", 1);
    rig_settle(r);
    units = store_health(r->store[0]).units;
    if (!r->postgres) {
        assert_true(den_next_timer(&r->den) == CLOCK_NEVER);
        rig_pass(r, INT64_C(24) * 3600 * 1000);
        assert_int_equal(store_health(r->store[0]).units, units);
        return;
    }
    for (int i = 0; i < 3; i++)
        rig_pass(r, LIMIT_POLL_MS); /* one fetch each, plus a count a minute after work */
    assert_int_equal(store_health(r->store[0]).units, units + 3);
}

static void q11_a_delayed_message_wakes_the_runner_at_its_time(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t start = now();

    add_due("test", "late", 0, 90000);
    add_due("test", "early", 0, 4000);
    rig_settle(r);
    assert_int_equal(w.runs, 0);
    assert_int_equal(den_next_timer(&r->den), start + 4000);
    rig_pass(r, 4000);
    assert_string_equal(w.order, "early");
    for (int64_t t = now(); t <= start + 90000; t += r->postgres ? 1000 : 43000)
        rig_at(r, t);
    assert_string_equal(w.order, "early late");
    assert_int_equal(w.ran_at[1], start + 90000);
}

static void q7_leases_of_a_dead_node_are_taken_over(void **state)
{
    struct rig *r = begin(state, 2);

    w.fails = 0;
    queue_start(r->queue[1]);
    /* node 1 leases it and dies: its row is written as that node would */
    add_due("test", "orphan", 3, 60000);
    add_due("test", "behind", 3, 0);
    rig_settle(r);
    {
        char sql[200];

        snprintf(sql, sizeof(sql),
                 "UPDATE message SET due_at = %lld, attempt = 1, owner = %s WHERE ref = 'orphan'",
                 (long long)now() + LIMIT_LEASE_MS, r->postgres ? "'\\x00'::bytea" : "x'00'");
        sql_int(r, sql);
    }
    queue_wake(r->queue[0]);
    rig_settle(r);
    assert_int_equal(w.runs, 0);
    for (int i = 0; i < LIMIT_LEASE_MS; i += 500)
        rig_pass(r, 500);
    assert_string_equal(w.order, "orphan behind");
    assert_int_equal(live(), 0);
}

static void q12_a_message_that_killed_its_server_too_often_is_buried_unrun(void **state)
{
    struct rig *r = begin(state, 1);
    char text[256];

    add_due("test", "killer", 4, 1000);
    add_due("test", "next", 4, 0);
    sql_int(r, "UPDATE message SET attempt = 4, last_error = 'the last word' WHERE ref = 'killer'");
    rig_pass(r, 1000);
    assert_string_equal(w.order, "next");
    assert_int_equal(w.alerts, 1);
    sql_text(r, "SELECT reason FROM dead_letters", text, sizeof(text));
    assert_non_null(strstr(text, "in 4 attempts"));
    assert_non_null(strstr(text, "the last word"));
}

static void q12_an_unknown_kind_is_tried_slowly_and_never_judged_at_once(void **state)
{
    struct rig *r = begin(state, 1);
    int retries = 0;

    add_due("from.the.future", "x", 0, 0);
    add("known", 0);
    rig_settle(r);
    assert_string_equal(w.order, "known");
    assert_int_equal(dead(), 0);
    while (!dead() && retries++ < 2 * retry_table[RETRY_UNKNOWN_KIND].retries)
        rig_pass(r, retry_table[RETRY_UNKNOWN_KIND].max_ms);
    assert_int_equal(dead(), 1);
    assert_int_equal(sql_int(r, "SELECT attempts FROM dead_letters"),
                     retry_table[RETRY_UNKNOWN_KIND].retries + 1);
}

static void q12_a_hook_that_fails_does_not_keep_the_dead_alive(void **state)
{
    struct rig *r = begin(state, 1);

    w.fails = 1;
    w.err = ERR_VALIDATION;
    w.burying_fails = true;
    add("a", 0);
    rig_settle(r);
    assert_int_equal(dead(), 1);
    assert_int_equal(live(), 0);
}

static void q1_many_messages_share_statements_and_each_has_its_effect_once(void **state)
{
    struct rig *r = begin(state, 1);

    add_many("bulk", 300, 0);
    rig_settle(r);
    assert_int_equal(effects(), 300);
    add_many("bulk", 300, 7); /* long lanes: one of each at a time */
    rig_settle(r);
    assert_int_equal(effects(), 600);
    assert_int_equal(live(), 0);
    assert_int_equal(queue_live(r->queue[0]), 0);
    assert_int_equal(w.ended[JOB_DONE], 600);
}

static void q12_one_bad_message_among_many_hurts_nobody(void **state)
{
    struct rig *r = begin(state, 1);
    static struct adding a;

    a.n = 100;
    for (size_t i = 0; i < a.n; i++)
        a.m[i] = (struct queue_new){ .id = env_uuid(&r->env[0]),
                                     .kind = S("bulk"),
                                     .ref = i == 50 ? S("bad") : S("good"),
                                     .due_ms = now() };
    assert_int_equal(rig_do(r, 0, do_add, &a), OK);
    rig_settle(r);
    assert_int_equal(effects(), 99);
    assert_int_equal(dead(), 1);
    assert_int_equal(live(), 0);
}

static void q7_two_runners_share_the_work_and_nothing_happens_twice(void **state)
{
    struct rig *r = begin(state, 2);

    for (int i = 0; i < 4; i++) {
        add_many("bulk", 200, i % 2 ? 11 : 0);
        queue_wake(r->queue[1]);
    }
    rig_settle(r);
    for (int i = 0; i < 40 && live(); i++)
        rig_pass(r, 500);
    assert_int_equal(effects(), 800);
    assert_int_equal(live(), 0);
    assert_int_equal(w.ended[JOB_DONE], 800);
    assert_int_equal(sql_int(r, "SELECT max(at) FROM audit"), 1); /* at: the attempt */
}

/* --- a database in trouble --- */

static void set_faults(struct rig *r, const char *text)
{
    assert_true(faults_parse(&r->store_env[0].faults, str_of(text)));
}

static void a_fetch_that_fails_is_tried_again_with_growing_pauses(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t start;

    add_due("test", "a", 0, 1000);
    set_faults(r, "store.commit=full@1-7");
    rig_pass(r, 1000);
    start = now();
    while (!w.runs && now() < start + 60000)
        rig_at(r, den_next_timer(&r->den));
    /* 100 + 200 + 400 + 800 + 1600 + 2000 + 2000 */
    assert_int_equal(now() - start, 7100);
    assert_int_equal(effects(), 1);
    set_faults(r, "");
}

static void a_job_that_could_not_be_stored_costs_no_attempt(void **state)
{
    struct rig *r = begin(state, 1);

    w.fails = 1;
    w.err = ERR_UNAVAILABLE;
    add_due("test", "a", 0, 1000);
    set_faults(r, "store.commit=full@2-6");
    rig_pass(r, 1000);
    for (int i = 0; i < 100 && live(); i++)
        rig_pass(r, 500);
    assert_int_equal(effects(), 1);
    assert_int_equal(dead(), 0);
    assert_int_equal(sql_int(r, "SELECT at FROM audit"), 2); /* one retry, by the policy */
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_JOB, S("retried")), 1);
    set_faults(r, "");
}

/* --- a job that takes its time --- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static int at_gate, gate_open;
static struct task arrived; /* wakes the test's own thread */

static void arrived_run(struct task *t)
{
    (void)t;
}

static enum err run_slowly(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)ctx;
    (void)why;
    pthread_mutex_lock(&gate);
    at_gate++;
    arrived.run = arrived_run;
    executor_post(&w.rig->den.desk.executor, &arrived);
    while (!gate_open)
        pthread_cond_wait(&gate_moved, &gate);
    pthread_mutex_unlock(&gate);
    return effect(tx, m);
}

static void set_gate(int open)
{
    pthread_mutex_lock(&gate);
    gate_open = open;
    if (!open)
        at_gate = 0;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate);
}

static const struct job_kind slow_kinds[] = {
    { .name = "test", .run = run_slowly, .ended = ended }
};
static const struct queue_options slow_options = { .kinds = slow_kinds, .kind_count = 1 };

static void pump_until_gate(struct rig *r, int n)
{
    for (;;) {
        bool there;

        pthread_mutex_lock(&gate);
        there = at_gate >= n;
        pthread_mutex_unlock(&gate);
        if (there)
            return;
        desk_next(&r->den.desk);
    }
}

/* PostgreSQL only: on SQLite the one writer is busy with the slow job itself. */
static void q7_a_lease_is_renewed_while_its_message_runs(void **state)
{
    struct rig *r = *state;

    memset(&w, 0, sizeof(w));
    w.rig = r;
    set_gate(0);
    rig_queue(r, 0, slow_options);
    queue_start(r->queue[0]);
    rig_settle(r);
    add("slow", 0);
    pump_until_gate(r, 1);

    for (int i = 0; i < 10; i++) { /* 30 s, three times the lease */
        atomic_fetch_add(&rig_now_ms, LIMIT_RENEW_MS);
        den_fire(&r->den);
        while (r->queue[0]->renewal || r->queue[0]->fetching)
            desk_next(&r->den.desk);
    }
    assert_true(sql_int(r, "SELECT due_at FROM message") > now());
    assert_int_equal(sql_int(r, "SELECT attempt FROM message"), 1);
    set_gate(1);
    rig_settle(r);
    assert_int_equal(effects(), 1);
    assert_int_equal(live(), 0);
}

static void note_moved(void *ctx)
{
    ++*(int *)ctx;
}

static int64_t t5_offset(const struct rig *r)
{
    return atomic_load(&r->env[0].clock.test_offset_ms);
}

static void t5_a_step_of_the_clock_takes_our_leases_along(void **state)
{
    struct rig *r = *state;
    int moved = 0;

    memset(&w, 0, sizeof(w));
    w.rig = r;
    set_gate(0);
    rig_queue(r, 0, slow_options);
    queue_start(r->queue[0]);
    rig_settle(r);
    add("slow", 0);
    pump_until_gate(r, 1);
    queue_clock_moved(r->queue[0], 3600 * 1000, note_moved, &moved);
    if (!r->postgres)
        set_gate(1); /* the renewal stands behind the job at the one writer */
    while (!moved)
        desk_next(&r->den.desk);
    assert_int_equal(t5_offset(r), 3600 * 1000);
    if (r->postgres)
        assert_true(sql_int(r, "SELECT due_at FROM message") >= now() + 3600 * 1000);
    set_gate(1);
    rig_settle(r);
    assert_int_equal(effects(), 1);
    assert_int_equal(w.ended[JOB_DONE], 1);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_JOB, S("stale")), 0);
    atomic_store(&r->env[0].clock.test_offset_ms, 0);
}

static void t5_a_step_of_the_clock_makes_messages_due(void **state)
{
    struct rig *r = begin(state, 1);
    int moved = 0;

    add_due("test", "tomorrow", 0, 24 * 3600 * 1000);
    rig_settle(r);
    assert_int_equal(w.runs, 0);
    queue_clock_moved(r->queue[0], 24 * 3600 * 1000, note_moved, &moved);
    rig_settle(r);
    assert_int_equal(moved, 1);
    assert_int_equal(w.runs, 1);
    atomic_store(&r->env[0].clock.test_offset_ms, 0);
}

static void at_start_leases_of_the_dead_are_due_at_once(void **state)
{
    struct rig *r = begin(state, 1);

    add_due("test", "leased", 0, 60000);
    add_due("test", "delayed", 0, 60000);
    rig_kill(r, 0);
    sql_int(r, "UPDATE message SET attempt = 1, owner = x'00' WHERE ref = 'leased'");
    rig_queue(r, 0, options);
    queue_start(r->queue[0]);
    rig_settle(r);
    assert_string_equal(w.order, "leased");
    assert_int_equal(queue_live(r->queue[0]), 1);
}

static void stopping_finishes_what_runs_and_leases_no_more(void **state)
{
    struct rig *r = begin(state, 1);
    bool stopped = false;

    add_many("bulk", 400, 0);
    queue_stop(r->queue[0], rig_note_stopped, &stopped);
    while (!stopped)
        desk_next(&r->den.desk);
    assert_int_equal(r->queue[0]->held, 0);
    assert_int_equal(effects() + live(), 400);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message WHERE owner IS NOT NULL"), 0);
    queue_wake(r->queue[0]);
    assert_true(desk_is_empty(&r->den.desk));
    queue_free(r->queue[0]);
    r->queue[0] = NULL;
}

#define ALL(ON)                                                                                    \
    ON(q1_a_message_runs_once_and_is_gone),                                                        \
        ON(q2_retries_come_after_exactly_1_2_and_4_s_and_then_the_end),                            \
        ON(q2_a_terminal_error_is_a_dead_letter_at_once), ON(q8_a_parked_lane_blocks_nobody_else), \
        ON(q11_nothing_is_asked_of_the_database_while_idle),                                       \
        ON(q11_a_delayed_message_wakes_the_runner_at_its_time),                                    \
        ON(q7_leases_of_a_dead_node_are_taken_over),                                               \
        ON(q12_a_message_that_killed_its_server_too_often_is_buried_unrun),                        \
        ON(q12_an_unknown_kind_is_tried_slowly_and_never_judged_at_once),                          \
        ON(q12_a_hook_that_fails_does_not_keep_the_dead_alive),                                    \
        ON(q1_many_messages_share_statements_and_each_has_its_effect_once),                        \
        ON(q12_one_bad_message_among_many_hurts_nobody),                                           \
        ON(q7_two_runners_share_the_work_and_nothing_happens_twice),                               \
        ON(t5_a_step_of_the_clock_takes_our_leases_along),                                         \
        ON(t5_a_step_of_the_clock_makes_messages_due),                                             \
        ON(stopping_finishes_what_runs_and_leases_no_more)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        ALL(ON_SQLITE),
        ON_SQLITE(at_start_leases_of_the_dead_are_due_at_once),
        ON_SQLITE(a_fetch_that_fails_is_tried_again_with_growing_pauses),
        ON_SQLITE(a_job_that_could_not_be_stored_costs_no_attempt),
    };
    static const struct CMUnitTest postgres[] = {
        ALL(ON_POSTGRES),
        ON_POSTGRES(q7_a_lease_is_renewed_while_its_message_runs),
    };

    return RUN_BOTH(sqlite, postgres);
}
