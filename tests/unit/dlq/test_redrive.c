/* A letter that cannot be moved does not keep a redrive from the others (Q6). */
#include "dlq/redrive.h"
#include "unit/queue/lanes.h"

static struct {
    struct rig *rig;
    struct arena arena;
    struct dead_letters letters;
    struct dead_kind kind;
    struct redrives redrives;
    struct redrive_new new;
    struct str json;
} w;

static enum err work(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)ctx, (void)why;
    return str_eq(m->ref, S("poor")) ? ERR_VALIDATION : OK;
}

/* Not the letter's own refusal: the unit of all of them fails. */
static enum err break_at_bad(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                             bool *ret_live, struct why *why)
{
    (void)tx, (void)ctx, (void)now_ms, (void)ret_live, (void)why;
    return str_starts(d->ref, S("bad")) ? ERR_INTERNAL : OK;
}

static void begin(void **state)
{
    static struct job_kind kinds[3];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    arena_init(&w.arena, 8 << 20);
    kinds[0] = (struct job_kind){ .name = "work", .run = work };
    kinds[1] = redrive_kind(&w.redrives);
    kinds[2] = dead_causes_kind();
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.kind = (struct dead_kind){ .name = "work", .retry = break_at_bad };
    w.letters = (struct dead_letters){
        .env = &w.rig->env[0], .queue = w.rig->queue[0], .kinds = &w.kind, .kind_count = 1
    };
    w.redrives.letters = &w.letters;
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
}

static struct uuid put(int i, const char *ref)
{
    struct uuid id = { { [0] = 1, [15] = (unsigned char)i } };
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO dead_letters (id, kind, ref, body, reason, attempts, added_at, died_at)"
             " VALUES (%s010000000000000000000000000000%02x%s, 'work', '%s', 'b', 'r', 3, 1, %d)",
             w.rig->postgres ? "'\\x" : "x'", i, w.rig->postgres ? "'::bytea" : "'", ref, 1000 + i);
    sql_int(w.rig, sql);
    return id;
}

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return redrive_start(tx, &w.arena, &w.redrives, &w.new, &w.json);
}

static void run_at(int64_t rate, const struct uuid *ids, size_t n)
{
    w.new = (struct redrive_new){ .id = env_uuid(&w.rig->env[0]),
                                  .rate = rate,
                                  .ids = ids,
                                  .id_count = n,
                                  .filter = { .kind = ids ? S("") : S("work") },
                                  .matched = 12,
                                  .exact = true };
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    for (int i = 0; i < 60; i++)
        rig_pass(w.rig, 500);
}

static void run(const struct uuid *ids, size_t n)
{
    run_at(100, ids, n);
}

static void check(void)
{
    char text[2048];

    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM redrives WHERE state = 'done'"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), 10);
    assert_int_equal(sql_int(w.rig, "SELECT refused FROM redrives"), 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters WHERE ref LIKE 'bad%'"), 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'DLQ_RETRY'"),
                     10);
    /* one person, one spelling: who came with the admin token is all zero */
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation LIKE 'REDRIVE%'"),
                     2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE user_id IS NULL"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(DISTINCT user_id) FROM audit"), 1);
    sql_text(w.rig, "SELECT refusals FROM redrives", text, sizeof(text));
    assert_non_null(strstr(text, "01000000-0000-0000-0000-000000000005"));
    assert_non_null(strstr(text, "01000000-0000-0000-0000-000000000006"));
}

static void q6_letters_that_fail_beside_each_other_are_refused_and_the_others_go_on(void **state)
{
    begin(state);
    for (int i = 1; i <= 12; i++)
        put(i, i == 5 || i == 6 ? "bad" : "fine");
    run(NULL, 0);
    check();
    arena_release(&w.arena);
}

static void q6_the_same_where_they_are_named(void **state)
{
    struct uuid ids[12];

    begin(state);
    for (int i = 1; i <= 12; i++)
        ids[i - 1] = put(i, i == 5 || i == 6 ? "bad" : "fine");
    run(ids, COUNT(ids));
    check();
    arena_release(&w.arena);
}

/* The clock was ahead when one of them died, so until_ms lies ahead as well: what dies again
 * meanwhile dies before that. */
static void q6_what_dies_again_is_not_taken_twice_where_a_letter_died_ahead_of_the_clock(
    void **state)
{
    char sql[128];

    begin(state);
    for (int i = 1; i <= 12; i++)
        put(i, "poor");
    snprintf(sql, sizeof(sql), "UPDATE dead_letters SET died_at = %lld WHERE died_at > 1010",
             (long long)env_now_ms(&w.rig->env[0]) + 600 * 1000);
    sql_int(w.rig, sql);
    run_at(2, NULL, 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM redrives WHERE state = 'done'"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT matched FROM redrives"), 12);
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), 12);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'DLQ_RETRY'"),
                     12);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 12);
    run_at(2, NULL, 0); /* another redrive takes them again */
    assert_int_equal(sql_int(w.rig, "SELECT sum(done) FROM redrives"), 24);
    arena_release(&w.arena);
}

/* --- lanes --- */

/* Its gate has the number that its ref says. */
static enum err need_gate(struct tx *tx, void *ctx, const struct dead_letter *d,
                          struct dead_need *ret_need)
{
    (void)tx, (void)ctx;
    *ret_need = (struct dead_need){ .has_gates = true,
                                    .lanes = { strtoll(d->ref.p, NULL, 10) },
                                    .lane_count = 1 };
    return OK;
}

static enum err enter_gate(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                           bool *ret_live, struct why *why)
{
    int64_t lane = strtoll(d->ref.p, NULL, 10);

    (void)ctx, (void)now_ms, (void)why;
    *ret_live = true;
    return queue_lock_lanes(tx, &lane, 1);
}

/* What comes last has the lane that is locked first: by itself, or through its kind. */
static void m9_the_lanes_of_a_step_are_locked_in_one_order(void **state)
{
    static const int first[] = { 1, 2 };

    begin(state);
    w.kind = (struct dead_kind){ .name = "gated", .retry = enter_gate, .need = need_gate };
    for (size_t i = 0; i < COUNT(first); i++) {
        PGconn *other = lane_hold(w.rig, first[i]);

        put(1, "7");
        put(2, i ? "2" : "6");
        sql_int(w.rig, "UPDATE dead_letters SET kind = 'gated'");
        put(3, "fine");
        put(4, "fine");
        sql_int(w.rig, "UPDATE dead_letters SET lane = 5 WHERE died_at = 1003");
        sql_int(w.rig, i ? "UPDATE dead_letters SET lane = 4 WHERE died_at = 1004"
                         : "UPDATE dead_letters SET lane = 1 WHERE died_at = 1004");
        w.new = (struct redrive_new){ .id = env_uuid(&w.rig->env[0]), .rate = 100 };
        assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
        assert_int_equal(lane_leave(w.rig, other), 0);
        for (int k = 0; k < 10; k++)
            rig_pass(w.rig, 1000);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
    }
    arena_release(&w.arena);
}

/* Somebody else retries the one that failed alone, before it is skipped; it dies again. */
static void q6_a_letter_that_died_anew_meanwhile_does_not_take_the_others_along(void **state)
{
    char sql[128];

    begin(state);
    for (int i = 1; i <= 12; i++)
        put(i, i == 5 ? "bad" : "fine");
    w.new = (struct redrive_new){ .id = env_uuid(&w.rig->env[0]),
                                  .rate = 100,
                                  .filter = { .kind = S("work") } };
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    for (int i = 0; i < 100 && sql_int(w.rig, "SELECT count(*) FROM message WHERE last_error"
                                              " LIKE 'letter %'") < 1;
         i++)
        rig_pass(w.rig, 100);
    snprintf(sql, sizeof(sql), "UPDATE dead_letters SET died_at = %lld WHERE ref = 'bad'",
             (long long)env_now_ms(&w.rig->env[0]));
    sql_int(w.rig, sql);
    for (int i = 0; i < 60; i++)
        rig_pass(w.rig, 500);
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives WHERE state = 'done'"), 11);
    assert_int_equal(sql_int(w.rig, "SELECT refused FROM redrives"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
    arena_release(&w.arena);
}

static enum err do_resume(struct tx *tx, void *ctx)
{
    return redrives_resume(tx, &w.redrives, ctx);
}

/* As a node of an older version does, which does not know the kind. */
static void q6_a_redrive_whose_message_was_buried_or_taken_away_goes_on(void **state)
{
    static const char *const acts[] = {
        "INSERT INTO dead_letters (id, kind, ref, reason, attempts, added_at, died_at)"
        " SELECT id, kind, ref, 'r', 12, 1, 999999 FROM message WHERE kind = 'dlq.redrive'",
        "DELETE FROM message WHERE kind = 'dlq.redrive'",
    };
    bool running = false;

    begin(state);
    for (int i = 1; i <= 12; i++)
        put(i, "fine");
    w.new = (struct redrive_new){ .id = env_uuid(&w.rig->env[0]),
                                  .rate = 1,
                                  .filter = { .kind = S("work") },
                                  .matched = 12,
                                  .exact = true };
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    for (int round = 0; round < 2; round++) {
        rig_pass(w.rig, 1000);
        for (int k = round; k < 2; k++) /* with a letter, and without */
            sql_int(w.rig, acts[k]);
        rig_pass(w.rig, 5000);
        assert_true(sql_int(w.rig, "SELECT done FROM redrives") < 8);
        assert_int_equal(rig_do(w.rig, 0, do_resume, &running), OK);
        assert_true(running);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters WHERE kind <> 'work'"),
                         0);
    }
    for (int i = 0; i < 30; i++)
        rig_pass(w.rig, 1000);
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives WHERE state = 'done'"), 12);
    assert_int_equal(rig_do(w.rig, 0, do_resume, &running), OK);
    assert_false(running);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
    arena_release(&w.arena);
}

static void q6_a_letter_without_a_cause_gets_one_within_a_minute(void **state)
{
    struct redrive_watch watch;

    begin(state);
    redrive_watch(&watch, &w.redrives, w.rig->store[0], &w.rig->den.desk.executor);
    for (int i = 0; i < 2; i++) {
        while (watch.busy)
            desk_next(&w.rig->den.desk);
        rig_settle(w.rig);
        put(1 + i, "fine");
        watch.commits = -1; /* somebody committed something here */
        rig_pass(w.rig, LIMIT_REDRIVE_LOOK_MS);
        while (watch.busy)
            desk_next(&w.rig->den.desk);
        rig_pass(w.rig, 1000);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters WHERE cause = ''"), 0);
    }
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
    arena_release(&w.arena);
    for (int i = 0; i < DEN_TIMERS; i++)
        if (w.rig->den.timers[i] == &watch.timer)
            w.rig->den.timers[i] = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            q6_a_letter_that_died_anew_meanwhile_does_not_take_the_others_along, setup_sqlite,
            teardown),
        cmocka_unit_test_setup_teardown(
            q6_a_letter_that_died_anew_meanwhile_does_not_take_the_others_along, setup_postgres,
            teardown),
        cmocka_unit_test_setup_teardown(m9_the_lanes_of_a_step_are_locked_in_one_order,
                                        setup_postgres, teardown),
        cmocka_unit_test_setup_teardown(q6_a_letter_without_a_cause_gets_one_within_a_minute,
                                        setup_sqlite, teardown),
        cmocka_unit_test_setup_teardown(q6_a_letter_without_a_cause_gets_one_within_a_minute,
                                        setup_postgres, teardown),
        cmocka_unit_test_setup_teardown(q6_a_redrive_whose_message_was_buried_or_taken_away_goes_on,
                                        setup_sqlite, teardown),
        cmocka_unit_test_setup_teardown(q6_a_redrive_whose_message_was_buried_or_taken_away_goes_on,
                                        setup_postgres, teardown),
        cmocka_unit_test_setup_teardown(
            q6_letters_that_fail_beside_each_other_are_refused_and_the_others_go_on, setup_sqlite,
            teardown),
        cmocka_unit_test_setup_teardown(q6_the_same_where_they_are_named, setup_sqlite, teardown),
        cmocka_unit_test_setup_teardown(
            q6_letters_that_fail_beside_each_other_are_refused_and_the_others_go_on, setup_postgres,
            teardown),
        cmocka_unit_test_setup_teardown(q6_the_same_where_they_are_named, setup_postgres, teardown),
        cmocka_unit_test_setup_teardown(
            q6_what_dies_again_is_not_taken_twice_where_a_letter_died_ahead_of_the_clock,
            setup_sqlite, teardown),
        cmocka_unit_test_setup_teardown(
            q6_what_dies_again_is_not_taken_twice_where_a_letter_died_ahead_of_the_clock,
            setup_postgres, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
