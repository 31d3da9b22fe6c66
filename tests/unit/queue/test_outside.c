/* Kinds that work outside of the database: the call stands between lease and settle, for however
 * long; its effect is one audit row in the transaction that ends the message or puts it off. */
#include "unit/queue/rig.h"

enum { MOST = LIMIT_OUTSIDE + 100 };

static struct {
    struct rig *rig;
    struct job *away[MOST]; /* outside, in the order they went */
    int away_count;
    int calls, beside;
    _Atomic int settles, plain_runs; /* on store threads */
    int released, ended[4], alerts;
    bool at_once;     /* outside() ends itself */
    int settle_fails; /* so many end in settle_err */
    enum err settle_err;
    bool writes_outcome; /* settle needs a table that a test may hide */
    int64_t again_ms;    /* of the next settle that is called */
    struct why why;
    char body[64];
} w;

/* --- the kinds --- */

static void outside(struct job *j, void *ctx)
{
    (void)ctx;
    w.calls++;
    snprintf(w.body, sizeof(w.body), STR_FMT, STR_ARG(j->message->body));
    if (w.at_once) {
        job_outside_done(j, OK, NULL);
        return;
    }
    assert_true(w.away_count < MOST);
    w.away[w.away_count++] = j;
}

static enum err effect(struct tx *tx, const struct message *m)
{
    return TX_DO(tx, STMT_audit_add, 1, V_INT(m->attempt), V_TEXT(S("EFFECT")), V_TEXT(m->ref),
                 V_TEXT(S("success")), V_INT(1), V_NULL);
}

static enum err no_row(void *ctx, const struct row *row)
{
    (void)ctx, (void)row;
    return OK;
}

static enum err settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct val v[] = { V_BLOB(uuid_bytes(&j->message->id)),
                       V_TEXT(S("processed")),
                       V_NULL,
                       V_INT(j->message->attempt),
                       V_NULL,
                       V_NULL };
    enum err e = effect(tx, j->message);

    (void)ctx;
    w.settles++;
    assert_int_equal(j->again_ms, 0);
    j->again_ms = w.again_ms;
    if (!e && w.writes_outcome)
        e = tx_bulk(tx, STMT_webhook_outcome_add, v, 1, COUNT(v), no_row, NULL);
    if (e || !w.settle_fails)
        return e;
    w.settle_fails--;
    why_set(why, "settle as the test wanted");
    return w.settle_err;
}

static void release(struct job *j, void *ctx)
{
    (void)ctx;
    w.released++;
    if (j->state)
        (*(_Atomic int *)j->state)++;
    for (int i = 0; i < w.away_count; i++)
        if (w.away[i] == j)
            w.away[i] = NULL;
}

static enum err run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)ctx, (void)why;
    w.plain_runs++;
    return effect(tx, m);
}

static void ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why)
{
    (void)env, (void)ctx;
    w.ended[end]++;
    why_set(&w.why, "%s", why);
    if (m->attempt > 1 && held_inside(w.rig->queue[0]) > 1)
        w.beside++;
}

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m, (void)why;
    w.alerts++;
}

static const struct job_kind kinds[] = {
    { .name = "slow",
      .outside = outside,
      .settle = settle,
      .release = release,
      .ended = ended,
      .retry = { .retries = 3, .first_ms = 1000, .factor = 2 } },
    { .name = "patient", .outside = outside, .settle = settle, .patient = true },
    { .name = "plain",
      .run = run,
      .ended = ended,
      .retry = { .retries = 3, .first_ms = 1000, .factor = 2 } },
};
static const struct queue_options options = { .kinds = kinds,
                                              .kind_count = COUNT(kinds),
                                              .alert = alert };

/* --- what the tests say --- */

static void start(int node)
{
    rig_queue(w.rig, node, options);
    queue_start(w.rig->queue[node]);
    rig_settle(w.rig);
}

static struct rig *begin(void **state, int nodes)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    for (int i = 0; i < nodes; i++)
        start(i);
    return w.rig;
}

/* Its memory is gone; who was outside never comes back. */
static void crash(int node)
{
    struct rig *r = w.rig;

    rig_settle(r);
    den_arm(&r->den.desk.executor, &r->queue[node]->timer, CLOCK_NEVER);
    queue_free(r->queue[node]);
    r->queue[node] = NULL;
    r->env[node].node = env_uuid(&r->env[node]);
}

static void forget(int node) /* it has stopped */
{
    queue_free(w.rig->queue[node]);
    w.rig->queue[node] = NULL;
}

static int64_t now(void)
{
    return atomic_load(&rig_now_ms);
}

struct adding {
    int node;
    struct queue_new m;
    struct message leased;
    struct arena arena;
};

static struct adding adding(const char *kind, const char *ref, int64_t delay_ms)
{
    return (struct adding){ .m = { .id = env_uuid(&w.rig->env[0]),
                                   .kind = str_of(kind),
                                   .ref = str_of(ref),
                                   .body = S("{}"),
                                   .due_ms = now() + delay_ms } };
}

static enum err do_add(struct tx *tx, void *ctx)
{
    struct adding *a = ctx;

    return queue_add(w.rig->queue[a->node], tx, now(), &a->m, 1);
}

static enum err do_add_leased(struct tx *tx, void *ctx)
{
    struct adding *a = ctx;

    return queue_add_leased(w.rig->queue[a->node], tx, now(), &a->m, &a->leased);
}

static enum err do_take(struct tx *tx, void *ctx)
{
    struct adding *a = ctx;

    return queue_take(w.rig->queue[a->node], tx, &a->arena, a->m.id, now(), &a->leased);
}

static struct uuid add(const char *kind, const char *ref)
{
    struct adding a = adding(kind, ref, 0);

    assert_int_equal(rig_do(w.rig, 0, do_add, &a), OK);
    rig_settle(w.rig);
    return a.m.id;
}

static struct adding add_leased(const char *ref)
{
    struct adding a = adding("slow", ref, 0);

    assert_int_equal(rig_do(w.rig, 0, do_add_leased, &a), OK);
    assert_int_equal(a.leased.attempt, 1);
    rig_settle(w.rig);
    return a;
}

static enum err take(int node, struct uuid id, struct message *ret_message)
{
    struct adding a = { .node = node, .m = { .id = id } };
    enum err e;

    arena_init(&a.arena, 64 * 1024);
    e = rig_do(w.rig, node, do_take, &a);
    if (!e)
        assert_true(str_eq(a.leased.body, S("{}")));
    *ret_message = a.leased;
    ret_message->kind = S("slow");
    ret_message->ref = ret_message->body = ret_message->last_error = (struct str){ 0 };
    arena_release(&a.arena);
    return e;
}

static void done_as(int at, enum err e, const char *why)
{
    struct job *j = w.away[at];

    assert_true(at < w.away_count);
    assert_non_null(j);
    w.away[at] = NULL;
    job_outside_done(j, e, why);
    rig_settle(w.rig);
}

static void done(int at)
{
    done_as(at, OK, NULL);
}

static int64_t effects(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'EFFECT'");
}

static int64_t live(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message");
}

static int64_t attempt(void)
{
    return sql_int(w.rig, "SELECT max(attempt) FROM message");
}

static int64_t leased_until(void)
{
    return sql_int(w.rig, "SELECT min(due_at) FROM message WHERE owner IS NOT NULL");
}

static void fill(const char *kind, const char *ref, int n, bool had_owner)
{
    char sql[600];

    snprintf(sql, sizeof(sql),
             "%s INSERT INTO message (id, kind, ref, ready, due_at, added_at, attempt, owner)"
             " SELECT %s, '%s', '%s', 1, %lld, 0, %d, %s FROM %s",
             w.rig->postgres ? ""
                             : "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c"
                               " LIMIT 20000)",
             w.rig->postgres ? "decode(md5(i::text || random()::text), 'hex')" : "randomblob(16)",
             kind, ref, (long long)now() - 1, had_owner,
             !had_owner        ? "NULL"
             : w.rig->postgres ? "'\\x00'::bytea"
                               : "x'00'",
             w.rig->postgres ? "generate_series(1, 20000) c(i)" : "c");
    snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), " WHERE i <= %d", n);
    sql_int(w.rig, sql);
}

/* --- one job --- */

static void the_effect_comes_with_the_end_and_after_the_call(void **state)
{
    struct rig *r = begin(state, 1);

    add("slow", "a");
    assert_int_equal(w.calls, 1);
    assert_int_equal(w.settles, 0);
    assert_int_equal(effects(), 0);
    assert_int_equal(live(), 1);
    assert_int_equal(r->queue[0]->away, 1);
    done(0);
    assert_int_equal(effects(), 1);
    assert_int_equal(live(), 0);
    assert_int_equal(w.ended[JOB_DONE], 1);
    assert_int_equal(w.released, 1);
    assert_int_equal(r->queue[0]->held + r->queue[0]->outside + r->queue[0]->away, 0);
    assert_int_equal(queue_live(r->queue[0]), 0);
}

static void the_call_may_be_over_before_it_returns(void **state)
{
    begin(state, 1);
    w.at_once = true;
    for (int i = 0; i < 20; i++)
        add(i % 2 ? "slow" : "patient", "a");
    assert_int_equal(w.calls, 20);
    assert_int_equal(effects(), 20);
    assert_int_equal(live(), 0);
    assert_int_equal(w.released, 10);
}

static void a_call_that_failed_is_made_again_by_the_policy(void **state)
{
    struct rig *r = begin(state, 1);

    add("slow", "a");
    done_as(0, ERR_GATEWAY_TIMEOUT, "nobody answered");
    assert_int_equal(w.settles, 0);
    assert_int_equal(w.ended[JOB_RETRIED], 1);
    assert_string_equal(w.why.text, "nobody answered");
    assert_int_equal(w.released, 1);
    rig_pass(r, 999);
    assert_int_equal(w.calls, 1);
    rig_pass(r, 1);
    assert_int_equal(w.calls, 2);
    done_as(1, ERR_UNCERTAIN, NULL);
    assert_true(w.why.text[0]); /* the err's own words */
    rig_pass(r, 2000);
    done(2);
    assert_int_equal(sql_int(r, "SELECT at FROM audit WHERE operation = 'EFFECT'"), 3);
    assert_int_equal(live(), 0);
    assert_int_equal(w.released, 3);
}

static void a_call_that_cannot_succeed_is_a_dead_letter(void **state)
{
    struct rig *r = begin(state, 1);
    char reason[100];

    add("slow", "a");
    done_as(0, ERR_VALIDATION, "no such thing");
    assert_int_equal(live(), 0);
    assert_int_equal(effects(), 0);
    sql_text(r, "SELECT reason FROM dead_letters", reason, sizeof(reason));
    assert_string_equal(reason, "no such thing");
    assert_int_equal(w.ended[JOB_DEAD] + w.alerts, 2);
    assert_int_equal(w.released, 1);
}

static void a_call_that_fails_for_ever_ends_with_the_budget(void **state)
{
    struct rig *r = begin(state, 1);

    add("slow", "a");
    for (int i = 0; i < 4; i++) {
        done_as(i, ERR_GATEWAY, NULL);
        rig_pass(r, 10000);
    }
    assert_int_equal(w.calls, 4);
    assert_int_equal(sql_int(r, "SELECT attempts FROM dead_letters"), 4);
    assert_int_equal(w.released, 4);
}

static void settle_that_fails_is_judged_like_run(void **state)
{
    static const struct {
        enum err err;
        int calls, dead;
    } rows[] = {
        { ERR_UNAVAILABLE, 2,
          0 }, /* its own verdict, not the database's: a retry, from outside on */
        { ERR_CONSTRAINT, 1, 1 },
    };
    struct rig *r = begin(state, 1);

    w.at_once = true;
    for (size_t i = 0; i < COUNT(rows); i++) {
        w.calls = w.alerts = 0;
        w.settle_fails = 1;
        w.settle_err = rows[i].err;
        w.again_ms = now() + 5; /* of a run that failed: not kept */
        add("slow", "a");
        assert_string_equal(w.why.text, "settle as the test wanted");
        w.again_ms = 0;
        rig_pass(r, 1000);
        assert_int_equal(w.calls, rows[i].calls);
        assert_int_equal(w.alerts, rows[i].dead);
        assert_int_equal(live(), 0);
    }
    assert_int_equal(effects(), 1);
    assert_int_equal(w.released, 3);
}

static void settle_may_put_it_off_with_its_effect(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t again = now() + 60000;

    add("slow", "a");
    w.again_ms = again;
    done(0);
    assert_int_equal(effects(), 1);
    assert_int_equal(w.ended[JOB_PUT_OFF], 1);
    assert_int_equal(w.released, 1);
    assert_int_equal(r->queue[0]->held, 0);
    assert_int_equal(queue_live(r->queue[0]), 1);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message WHERE owner IS NULL"), 1);
    assert_int_equal(sql_int(r, "SELECT due_at FROM message"), again);
    rig_at(r, again - 1);
    assert_int_equal(w.calls, 1);
    rig_at(r, again);
    assert_int_equal(w.calls, 2);
    w.again_ms = 0;
    done(1);
    assert_int_equal(effects(), 2);
    assert_int_equal(live(), 0);
    assert_int_equal(w.ended[JOB_DONE], 1);
    assert_int_equal(w.released, 2);
}

/* --- put off without a word --- */

static void put_off(int at, int64_t due_ms)
{
    struct job *j = w.away[at];

    assert_non_null(j);
    w.away[at] = NULL;
    job_put_off(j, due_ms);
}

static void put_off_all(int64_t due_ms)
{
    for (int i = 0; i < w.away_count; i++)
        if (w.away[i])
            put_off(i, due_ms + i);
    rig_settle(w.rig);
}

static void who_has_nothing_to_settle_is_only_put_off(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t again = now() + 60000;

    add("slow", "a");
    sql_int(r, "UPDATE message SET last_error = 'of an earlier attempt'");
    put_off(0, again);
    rig_settle(r);
    assert_int_equal(w.settles, 0);
    assert_int_equal(w.ended[JOB_PUT_OFF], 1);
    assert_int_equal(w.released, 1);
    assert_int_equal(r->queue[0]->held + r->queue[0]->away, 0);
    assert_int_equal(queue_live(r->queue[0]), 1);
    assert_int_equal(sql_int(r, "SELECT due_at FROM message WHERE owner IS NULL AND attempt = 1"
                                " AND last_error IS NULL"),
                     again);
    rig_at(r, again - 1);
    assert_int_equal(w.calls, 1);
    rig_at(r, again);
    assert_int_equal(w.calls, 2);
    done(1);
    assert_int_equal(effects(), 1);
    assert_int_equal(live(), 0);
}

static void thousands_are_put_off_in_few_commits(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t again = now() + 60000, commits;

    fill("slow", "a", 2000, false);
    queue_wake(r->queue[0]);
    rig_settle(r);
    assert_int_equal(w.calls, 2000);
    commits = store_health(r->store[0]).commits;
    put_off_all(again);
    assert_true(store_health(r->store[0]).commits - commits < 200);
    assert_int_equal(w.ended[JOB_PUT_OFF], 2000);
    assert_int_equal(w.released, 2000);
    assert_int_equal(sql_int(r, "SELECT count(DISTINCT due_at) FROM message WHERE owner IS NULL"),
                     2000); /* each has its own time */
    assert_int_equal(sql_int(r, "SELECT min(due_at) FROM message"), again);
    assert_int_equal(sql_int(r, "SELECT max(due_at) FROM message"), again + 1999);
    rig_at(r, again + 999);
    assert_int_equal(w.calls, 3000);
    crash(0);
}

static void of_many_that_are_put_off_only_who_lost_its_lease_is_left_alone(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t again = now() + 60000;

    fill("slow", "a", 100, false);
    queue_wake(r->queue[0]);
    rig_settle(r);
    sql_int(r, "UPDATE message SET attempt = 2, due_at = 7 WHERE seq % 40 = 0"); /* another node */
    put_off_all(again);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message WHERE due_at = 7"
                                " AND owner IS NOT NULL"),
                     2);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message WHERE due_at >= 60000"
                                " AND owner IS NULL AND attempt = 1"),
                     98);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_JOB, S("stale")), 2);
    assert_int_equal(w.ended[JOB_PUT_OFF], 98);
    assert_int_equal(w.released, 100);
}

static void what_could_not_be_put_off_is_tried_again(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t again = now() + 60000;

    add("slow", "a");
    add("slow", "b");
    sql_int(r, "ALTER TABLE message RENAME TO elsewhere");
    put_off_all(again);
    for (int i = 0; i < 5; i++)
        rig_pass(r, 500);
    assert_int_equal(w.released, 0);
    sql_int(r, "ALTER TABLE elsewhere RENAME TO message");
    for (int i = 0; i < 5; i++)
        rig_pass(r, 1000);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message WHERE owner IS NULL AND attempt = 1"),
                     2);
    assert_int_equal(w.released, 2);
    assert_int_equal(w.calls, 2);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message_failures"), 0);
}

static void the_database_s_trouble_repeats_settle_only(void **state)
{
    struct rig *r = begin(state, 1);

    w.writes_outcome = true;
    add("slow", "a");
    sql_int(r, "ALTER TABLE webhook_outcomes RENAME TO elsewhere");
    done(0);
    for (int i = 0; i < 10; i++)
        rig_pass(r, 1000);
    assert_true(w.settles > 1);
    assert_int_equal(r->queue[0]->held, 1);
    assert_int_equal(w.released, 0);
    sql_int(r, "ALTER TABLE elsewhere RENAME TO webhook_outcomes");
    rig_pass(r, 3000);
    assert_int_equal(live(), 0);
    assert_int_equal(w.calls, 1);
    assert_int_equal(effects(), 1);
    assert_int_equal(sql_int(r, "SELECT at FROM webhook_outcomes"), 1); /* the attempt */
    assert_int_equal(w.released, 1);
}

static void who_lost_its_lease_outside_leaves_nothing(void **state)
{
    struct rig *r = begin(state, 1);

    for (int i = 0; i < 2; i++) {
        add("slow", "a");
        sql_int(r, "UPDATE message SET attempt = attempt + 1"); /* as another node would */
        w.again_ms = i ? now() + 1000 : 0;
        done(i);
        assert_int_equal(effects(), 0);
        assert_int_equal(r->queue[0]->held, 0);
        assert_int_equal(w.released, i + 1);
        assert_int_equal(metrics_read(r->env[0].metrics, COUNT_JOB, S("stale")), i + 1);
        sql_int(r, "DELETE FROM message");
    }
    assert_int_equal(w.ended[JOB_DONE] + w.ended[JOB_RETRIED] + w.ended[JOB_DEAD], 0);
}

static void one_that_is_beyond_its_budget_is_not_called_again(void **state)
{
    struct rig *r = begin(state, 0);

    fill("slow", "a", 1, true);
    sql_int(r, "UPDATE message SET attempt = 4");
    start(0);
    assert_int_equal(w.calls, 0);
    assert_int_equal(w.released, 1);
    assert_int_equal(sql_int(r, "SELECT attempts FROM dead_letters"), 5);
}

/* --- however long --- */

static void the_lease_is_renewed_for_as_long_as_it_takes(void **state)
{
    struct rig *r = begin(state, 1);

    add("slow", "a");
    for (int s = 0; s < 20 * 60; s++) {
        rig_pass(r, 1000);
        if (s % 60 == 0)
            assert_true(leased_until() > now() + LIMIT_LEASE_MS - LIMIT_RENEW_MS - 1000);
    }
    assert_int_equal(w.calls, 1);
    assert_int_equal(attempt(), 1);
    done(0);
    assert_int_equal(effects(), 1);
}

static void the_test_clock_takes_it_along(void **state)
{
    struct rig *r = begin(state, 1);
    bool moved = false;

    add("slow", "a");
    queue_clock_moved(r->queue[0], 3600 * 1000, rig_note_stopped, &moved);
    rig_settle(r);
    assert_true(moved);
    assert_int_equal(leased_until(), now() + 3600 * 1000 + LIMIT_LEASE_MS);
    assert_int_equal(attempt(), 1);
    done(0);
    assert_int_equal(w.calls, 1);
    assert_int_equal(effects(), 1);
}

static void thousands_are_renewed_and_moved_in_several_commits(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t renewed;

    fill("slow", "a", 3 * LIMIT_LEASED + 7, false);
    queue_wake(r->queue[0]);
    rig_settle(r);
    assert_int_equal(w.calls, 3 * LIMIT_LEASED + 7);
    rig_pass(r, LIMIT_RENEW_MS);
    renewed = leased_until();
    assert_int_equal(renewed, now() + LIMIT_LEASE_MS);
    queue_clock_moved(r->queue[0], 60000, NULL, NULL);
    rig_settle(r);
    assert_int_equal(leased_until(), renewed + 60000);
    assert_int_equal(attempt(), 1);
    crash(0);
    assert_int_equal(w.released, 3 * LIMIT_LEASED + 7);
}

/* --- adoption --- */

static void what_was_added_leased_goes_on_at_once(void **state)
{
    struct rig *r = begin(state, 1);
    struct adding a = add_leased("a");
    char body[] = "{\"n\":1}";
    _Atomic int released = 0;

    assert_int_equal(w.calls, 0);
    assert_int_equal(queue_live(r->queue[0]), 1);
    assert_int_equal(leased_until(), now() + LIMIT_LEASE_MS);
    a.leased.body = str_of(body);
    queue_adopt(r->queue[0], &a.leased, &released);
    memset(body, 'x', sizeof(body) - 1); /* it has its own copy */
    rig_settle(r);
    assert_int_equal(w.calls, 1);
    assert_string_equal(w.body, "{\"n\":1}");
    assert_ptr_equal(w.away[0]->state, &released);
    for (int i = 0; i < 30; i++)
        rig_pass(r, 1000);
    assert_int_equal(attempt(), 1);
    done(0);
    assert_int_equal(effects(), 1);
    assert_int_equal(released, 1);
    assert_int_equal(live(), 0);
    assert_int_equal(queue_live(r->queue[0]), 0);
}

static void an_id_that_exists_is_a_conflict(void **state)
{
    struct rig *r = begin(state, 1);
    struct adding a = add_leased("a");

    assert_int_equal(rig_do(r, 0, do_add_leased, &a), ERR_CONFLICT);
    rig_settle(r);
    assert_int_equal(live(), 1);
    assert_int_equal(queue_live(r->queue[0]), 1);
}

/* SQLite: nobody polls, so this is the only one who looks. */
static void what_is_never_adopted_is_fetched_when_its_lease_has_run_out(void **state)
{
    struct rig *r = begin(state, 1);
    struct adding a = add_leased("adopted");

    queue_adopt(r->queue[0], &a.leased, NULL);
    rig_settle(r);
    done(0);
    rig_pass(r, 5000);
    add_leased("lost");
    rig_pass(r, 5001); /* the first one's time */
    assert_int_equal(w.calls, 1);
    for (int i = 0; i < 15; i++)
        rig_pass(r, 1000);
    assert_int_equal(w.calls, 2);
    assert_int_equal(attempt(), 2);
    done(1);
    assert_int_equal(effects(), 2);
}

static void one_that_is_lost_among_many_is_found_too(void **state)
{
    struct rig *r = begin(state, 1);

    for (int i = 0; i < 40; i++) {
        struct adding a = add_leased(i == 3 ? "lost" : "adopted");

        w.at_once = i != 3;
        if (i != 3)
            queue_adopt(r->queue[0], &a.leased, NULL);
        rig_pass(r, 1000);
    }
    assert_int_equal(w.calls, 40);
    assert_int_equal(live(), 0);
}

static void what_was_adopted_costs_no_query_when_its_lease_would_have_run_out(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t units;

    w.at_once = true;
    for (int i = 0; i < 5; i++) {
        struct adding a = add_leased("a");

        queue_adopt(r->queue[0], &a.leased, NULL);
        rig_settle(r);
    }
    assert_int_equal(live(), 0);
    units = store_health(r->store[0]).units;
    for (int i = 0; i < 60; i++)
        rig_pass(r, 1000);
    assert_int_equal(store_health(r->store[0]).units, units);
    assert_int_equal(den_next_timer(&r->den), CLOCK_NEVER);
}

static void a_crash_before_the_adoption_is_resumed(void **state)
{
    struct rig *r = begin(state, 1);

    add_leased("a");
    crash(0);
    start(0);
    if (r->postgres) {
        assert_int_equal(w.calls, 0); /* whose lease it is may live */
        rig_pass(r, LIMIT_LEASE_MS + 1);
    }
    assert_int_equal(w.calls, 1);
    assert_int_equal(attempt(), 2);
    done(0);
    assert_int_equal(effects(), 1);
}

static void a_crash_outside_is_resumed(void **state)
{
    struct rig *r = begin(state, 1);

    for (int i = 0; i < 30; i++)
        add("slow", "a");
    crash(0);
    assert_int_equal(w.released, 30);
    w.at_once = true;
    start(0);
    rig_pass(r, LIMIT_LEASE_MS + 1);
    assert_int_equal(w.calls, 60);
    assert_int_equal(effects(), 30);
    assert_int_equal(live(), 0);
}

/* SQLite: the start frees the leases of those who are dead, and no others. */
static void a_lease_that_was_given_before_the_start_is_ours(void **state)
{
    struct rig *r = begin(state, 0);
    struct adding a;

    rig_queue(r, 0, options);
    a = add_leased("a");
    queue_adopt(r->queue[0], &a.leased, NULL);
    queue_start(r->queue[0]);
    rig_settle(r);
    assert_int_equal(w.calls, 1);
    assert_int_equal(attempt(), 1);
    done(0);
    assert_int_equal(effects(), 1);
}

static void take_leases_what_nobody_has_under_way(void **state)
{
    struct rig *r = begin(state, 1);
    struct adding later = adding("slow", "later", 3600 * 1000);
    struct adding lane[2];
    struct message m;

    assert_int_equal(rig_do(r, 0, do_add, &later), OK);
    rig_settle(r);
    assert_int_equal(take(0, later.m.id, &m), OK);
    assert_int_equal(m.attempt, 1);
    assert_int_equal(leased_until(), now() + LIMIT_LEASE_MS);
    assert_int_equal(take(0, later.m.id, &m), ERR_NOT_FOUND);
    assert_int_equal(attempt(), 1);
    atomic_fetch_add(&rig_now_ms, LIMIT_LEASE_MS); /* and the runner has not looked yet */
    assert_int_equal(take(0, later.m.id, &m), OK);
    assert_int_equal(m.attempt, 2);
    queue_adopt(r->queue[0], &m, NULL);
    rig_settle(r);
    done(0);
    assert_int_equal(live(), 0);
    assert_int_equal(take(0, later.m.id, &m), ERR_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        lane[i] = adding("slow", "lane", 1000);
        lane[i].m.has_lane = true;
        lane[i].m.lane = 7;
        assert_int_equal(rig_do(r, 0, do_add, &lane[i]), OK);
    }
    assert_int_equal(take(0, lane[1].m.id, &m), ERR_NOT_FOUND);
    assert_int_equal(take(0, lane[0].m.id, &m), OK);
    queue_adopt(r->queue[0], &m, NULL);
    rig_settle(r);
    done(1);
    rig_pass(r, 1000); /* its lane went on */
    done(2);
    assert_int_equal(live(), 0);
}

static void one_that_another_node_has_cannot_be_taken(void **state)
{
    struct rig *r = begin(state, 2);
    struct uuid id = add("slow", "a");
    struct adding b = adding("slow", "b", 3600 * 1000);
    struct message m;
    PGconn *c;

    assert_int_equal(w.calls, 1);
    for (int node = 0; node < 2; node++)
        assert_int_equal(take(node, id, &m), ERR_NOT_FOUND);
    done(0);
    assert_int_equal(rig_do(r, 0, do_add, &b), OK);
    c = PQconnectdb(r->url);
    PQclear(PQexec(c, "BEGIN; SELECT * FROM message FOR UPDATE"));
    assert_int_equal(take(1, b.m.id, &m), ERR_NOT_FOUND); /* nobody waits for a lock */
    PQclear(PQexec(c, "ROLLBACK"));
    PQfinish(c);
    assert_int_equal(take(1, b.m.id, &m), OK);
    assert_int_equal(take(0, b.m.id, &m), ERR_NOT_FOUND);
}

static void a_lease_that_lapsed_while_outside_is_the_other_nodes(void **state)
{
    struct rig *r = begin(state, 2);
    struct queue *first;

    add("slow", "a");
    first = r->queue[CONTAINER_OF(w.away[0], struct item, job)->queue == r->queue[1]];
    sql_int(r, "UPDATE message SET due_at = due_at - 10000"); /* as if it had slept */
    for (int i = 0; i < 2; i++)
        if (r->queue[i] != first)
            queue_wake(r->queue[i]);
    rig_settle(r);
    assert_int_equal(w.calls, 2);
    assert_int_equal(attempt(), 2);
    done(0);
    assert_int_equal(effects(), 0);
    done(1);
    assert_int_equal(effects(), 1);
    assert_int_equal(live(), 0);
    assert_int_equal(w.released, 2);
}

enum { ADOPTERS = 4, EACH = 50 };

struct adopter {
    pthread_t thread;
    struct adding a[EACH];
    _Atomic int released;
};

static void *adopt_all(void *arg)
{
    struct adopter *t = arg;

    for (int i = 0; i < EACH; i++)
        queue_adopt(w.rig->queue[0], &t->a[i].leased, &t->released);
    return NULL;
}

static void threads_may_adopt_at_once(void **state)
{
    struct rig *r = begin(state, 1);
    struct adopter t[ADOPTERS];

    w.at_once = true;
    for (int i = 0; i < ADOPTERS; i++) {
        t[i].released = 0;
        for (int k = 0; k < EACH; k++)
            t[i].a[k] = add_leased("a");
    }
    for (int i = 0; i < ADOPTERS; i++)
        assert_int_equal(pthread_create(&t[i].thread, NULL, adopt_all, &t[i]), 0);
    while (live())
        desk_next(&r->den.desk);
    for (int i = 0; i < ADOPTERS; i++)
        pthread_join(t[i].thread, NULL);
    rig_settle(r);
    for (int i = 0; i < ADOPTERS; i++)
        assert_int_equal(t[i].released, EACH);
    assert_int_equal(effects(), ADOPTERS * EACH);
}

/* --- stopping --- */

static void a_stop_waits_for_what_is_outside_and_settles_it(void **state)
{
    struct rig *r = begin(state, 1);
    struct adding a = add_leased("adopted");
    bool stopped = false;

    add("slow", "a");
    queue_stop(r->queue[0], rig_note_stopped, &stopped);
    rig_settle(r);
    assert_false(stopped);
    queue_adopt(r->queue[0], &a.leased, NULL); /* a request that is being answered */
    rig_settle(r);
    assert_int_equal(w.calls, 2);
    add("slow", "not any more");
    for (int i = 0; i < 30; i++)
        rig_pass(r, 1000);
    assert_true(sql_int(r, "SELECT min(due_at) FROM message WHERE attempt = 1") > now() + 5000);
    assert_int_equal(w.calls, 2);
    done(0);
    assert_int_equal(effects(), 1);
    assert_false(stopped);
    done(1);
    assert_true(stopped);
    assert_int_equal(effects(), 2);
    assert_int_equal(w.released, 2);
    assert_int_equal(den_next_timer(&r->den), CLOCK_NEVER);
    forget(0);
}

static void a_call_that_fails_while_stopping_is_written_down(void **state)
{
    struct rig *r = begin(state, 1);
    bool stopped = false;

    add("slow", "a");
    queue_stop(r->queue[0], rig_note_stopped, &stopped);
    rig_settle(r);
    done_as(0, ERR_GATEWAY, "down");
    assert_true(stopped);
    assert_int_equal(w.ended[JOB_RETRIED], 1);
    assert_int_equal(sql_int(r, "SELECT due_at FROM message WHERE owner IS NULL"), now() + 1000);
    forget(0);
}

static void what_is_adopted_behind_the_end_is_released_and_stays_leased(void **state)
{
    struct rig *r = begin(state, 1);
    struct adding a = add_leased("a");
    _Atomic int released = 0;

    rig_stop(r, 0);
    queue_adopt(r->queue[0], &a.leased, &released);
    rig_settle(r);
    assert_int_equal(w.calls, 0);
    forget(0);
    assert_int_equal(released, 1);
    assert_int_equal(attempt(), 1);
}

/* --- beside others --- */

static void a_thousand_that_hang_starve_nobody(void **state)
{
    struct rig *r = begin(state, 1);

    fill("slow", "hangs", 1000, false);
    fill("plain", "p", 900, false);
    queue_wake(r->queue[0]);
    rig_settle(r);
    assert_int_equal(w.calls, 1000);
    assert_int_equal(w.plain_runs, 900);
    for (int i = 0; i < 10; i++) {
        add("plain", "p");
        rig_pass(r, 1000);
        assert_int_equal(w.ended[JOB_DONE], 901 + i);
    }
    assert_int_equal(r->queue[0]->away, 1000);
    crash(0);
}

static void with_limit_outside_nothing_is_fetched_until_one_ends(void **state)
{
    struct rig *r = begin(state, 1);
    int64_t units;

    fill("slow", "hangs", LIMIT_OUTSIDE, false);
    queue_wake(r->queue[0]);
    rig_settle(r);
    fill("plain", "p", 3, false);
    assert_int_equal(r->queue[0]->outside, LIMIT_OUTSIDE);
    units = store_health(r->store[0]).units;
    queue_wake(r->queue[0]);
    rig_settle(r);
    assert_int_equal(store_health(r->store[0]).units, units);
    assert_int_equal(w.plain_runs, 0);
    done(0);
    assert_int_equal(w.plain_runs, 3);
    crash(0);
}

static void suspects_of_kinds_that_work_outside_are_resumed_at_once(void **state)
{
    struct rig *r = begin(state, 0);

    fill("slow", "s", 300, true);
    fill("plain", "s", 20, true);
    fill("slow", "s", 300, true);
    fill("plain", "p", 20, false);
    start(0);
    assert_int_equal(w.calls, 600); /* and they hang */
    assert_int_equal(w.plain_runs, 40);
    assert_int_equal(w.beside, 0);
    assert_false(r->queue[0]->suspect);
    add("plain", "p");
    assert_int_equal(w.plain_runs, 41);
    crash(0);
}

#define ALL(ON)                                                                                    \
    ON(the_effect_comes_with_the_end_and_after_the_call),                                          \
        ON(the_call_may_be_over_before_it_returns),                                                \
        ON(a_call_that_failed_is_made_again_by_the_policy),                                        \
        ON(a_call_that_cannot_succeed_is_a_dead_letter),                                           \
        ON(a_call_that_fails_for_ever_ends_with_the_budget),                                       \
        ON(settle_that_fails_is_judged_like_run), ON(settle_may_put_it_off_with_its_effect),       \
        ON(who_has_nothing_to_settle_is_only_put_off), ON(thousands_are_put_off_in_few_commits),   \
        ON(of_many_that_are_put_off_only_who_lost_its_lease_is_left_alone),                        \
        ON(what_could_not_be_put_off_is_tried_again),                                              \
        ON(the_database_s_trouble_repeats_settle_only),                                            \
        ON(who_lost_its_lease_outside_leaves_nothing),                                             \
        ON(one_that_is_beyond_its_budget_is_not_called_again),                                     \
        ON(the_lease_is_renewed_for_as_long_as_it_takes), ON(the_test_clock_takes_it_along),       \
        ON(thousands_are_renewed_and_moved_in_several_commits),                                    \
        ON(what_was_added_leased_goes_on_at_once), ON(an_id_that_exists_is_a_conflict),            \
        ON(what_is_never_adopted_is_fetched_when_its_lease_has_run_out),                           \
        ON(one_that_is_lost_among_many_is_found_too), ON(a_crash_before_the_adoption_is_resumed),  \
        ON(a_crash_outside_is_resumed), ON(a_lease_that_was_given_before_the_start_is_ours),       \
        ON(take_leases_what_nobody_has_under_way), ON(threads_may_adopt_at_once),                  \
        ON(a_stop_waits_for_what_is_outside_and_settles_it),                                       \
        ON(a_call_that_fails_while_stopping_is_written_down),                                      \
        ON(what_is_adopted_behind_the_end_is_released_and_stays_leased),                           \
        ON(a_thousand_that_hang_starve_nobody),                                                    \
        ON(with_limit_outside_nothing_is_fetched_until_one_ends),                                  \
        ON(suspects_of_kinds_that_work_outside_are_resumed_at_once)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        ALL(ON_SQLITE),
        ON_SQLITE(what_was_adopted_costs_no_query_when_its_lease_would_have_run_out),
    };
    static const struct CMUnitTest postgres[] = {
        ALL(ON_POSTGRES),
        ON_POSTGRES(one_that_another_node_has_cannot_be_taken),
        ON_POSTGRES(a_lease_that_lapsed_while_outside_is_the_other_nodes),
    };

    return RUN_BOTH(sqlite, postgres);
}
