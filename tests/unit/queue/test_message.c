/* The operations inside a transaction, without a runner. */
#include "unit/queue/rig.h"

enum { MOST = 16 };

struct op {
    struct rig *rig;
    struct queue_new add[MOST];
    size_t n;
    struct message m[MOST];
    size_t count;
    const struct message *one;
    struct uuid owner;
    struct arena arena;
    int64_t due_ms;
    bool busy, suspect;
};

static struct queue_new new_message(struct rig *r, const char *ref, int64_t lane)
{
    return (struct queue_new){ .id = env_uuid(&r->env[0]),
                               .kind = S("test"),
                               .ref = str_of(ref),
                               .has_lane = lane != 0,
                               .lane = lane,
                               .due_ms = env_now_ms(&r->env[0]) };
}

static enum err do_add(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    return queue_add(NULL, tx, env_now_ms(&o->rig->env[0]), o->add, o->n);
}

static enum err do_lease(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    struct lease l = {
        .owner = o->owner, .now_ms = env_now_ms(&o->rig->env[0]), .max = MOST, .idle = !o->busy
    };
    enum err e = queue_lease(tx, &o->arena, &l, o->m);

    o->count = l.count;
    o->suspect = l.suspect;
    return e;
}

static enum err do_finish(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    return queue_finish(NULL, tx, o->one);
}

/* The effect first, the fence behind it: a broken fence must take the effect along. */
static enum err do_effect_and_finish(struct tx *tx, void *ctx)
{
    struct op *o = ctx;
    enum err e = TX_DO(tx, STMT_audit_add, 1, V_INT(1), V_TEXT(S("EFFECT")), V_NULL,
                       V_TEXT(S("success")), V_INT(1), V_NULL);

    return e ? e : queue_finish(NULL, tx, o->one);
}

static enum err do_retry(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    return queue_retry(NULL, tx, o->one, o->due_ms, S("why it failed"));
}

static enum err do_bury(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    return queue_bury(NULL, tx, o->one, env_now_ms(&o->rig->env[0]), S("no hope"));
}

static enum err do_renew(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    return queue_renew(tx, &o->one, 1, o->due_ms);
}

static void op_init(struct op *o, struct rig *r)
{
    memset(o, 0, sizeof(*o));
    o->rig = r;
    o->owner = r->env[0].node;
    arena_init(&o->arena, 1 << 20);
}

static void add(struct op *o, const char *ref, int64_t lane)
{
    o->add[0] = new_message(o->rig, ref, lane);
    o->n = 1;
    assert_int_equal(rig_do(o->rig, 0, do_add, o), OK);
}

/* What one lease brings, as its refs in order. */
static void lease_brings(struct op *o, const char *refs)
{
    char got[256] = "";

    assert_int_equal(rig_do(o->rig, 0, do_lease, o), OK);
    for (size_t i = 0; i < o->count; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s" STR_FMT, i ? " " : "",
                 STR_ARG(o->m[i].ref));
    assert_string_equal(got, refs);
}

static enum err finish(struct op *o, const struct message *m)
{
    o->one = m;
    return rig_do(o->rig, 0, do_finish, o);
}

static void a_message_is_leased_with_all_it_carries(void **state)
{
    struct op o;

    op_init(&o, *state);
    o.add[0] = new_message(o.rig, "evt_1", 77);
    o.add[0].body = S("{\"a\":\"\u00e9\"}");
    o.n = 1;
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), OK);
    lease_brings(&o, "evt_1");
    assert_true(uuid_eq(o.m[0].id, o.add[0].id));
    assert_true(str_eq(o.m[0].kind, S("test")));
    assert_true(str_eq(o.m[0].body, o.add[0].body));
    assert_true(o.m[0].has_lane);
    assert_int_equal(o.m[0].lane, 77);
    assert_int_equal(o.m[0].attempt, 1);
    assert_int_equal(o.m[0].added_ms, env_now_ms(&o.rig->env[0]));
    assert_int_equal(o.m[0].last_error.n, 0);
    lease_brings(&o, "");
    arena_release(&o.arena);
}

static void an_id_that_exists_is_a_conflict_and_adds_nothing(void **state)
{
    struct op o;

    op_init(&o, *state);
    add(&o, "a", 0);
    o.add[1] = o.add[0];
    o.add[0] = new_message(o.rig, "b", 0);
    o.n = 2;
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), ERR_CONFLICT);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM message"), 1);
    arena_release(&o.arena);
}

static void the_longest_due_come_first(void **state)
{
    struct op o;

    op_init(&o, *state);
    for (size_t i = 0; i < 4; i++) {
        static const char *const refs[] = { "late", "early", "same-1", "same-2" };

        o.add[i] = new_message(o.rig, refs[i], 0);
    }
    o.add[0].due_ms -= 1;
    o.add[1].due_ms -= 100;
    o.add[2].due_ms -= 50;
    o.add[3].due_ms -= 50;
    o.n = 4;
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), OK);
    lease_brings(&o, "early same-1 same-2 late");
    arena_release(&o.arena);
}

static void a_message_is_not_leased_before_it_is_due(void **state)
{
    struct op o;

    op_init(&o, *state);
    o.add[0] = new_message(o.rig, "later", 0);
    o.add[0].due_ms += 500;
    o.n = 1;
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), OK);
    rig_pass(o.rig, 499);
    lease_brings(&o, "");
    rig_pass(o.rig, 1);
    lease_brings(&o, "later");
    arena_release(&o.arena);
}

static void q8_a_lane_gives_one_message_at_a_time_in_order(void **state)
{
    struct op o;

    op_init(&o, *state);
    for (size_t i = 0; i < 5; i++) { /* a lane twice within one call, too */
        static const char *const refs[] = { "a1", "b1", "a2", "free", "a3" };
        static const int64_t lanes[] = { 1, INT64_MAX, 1, 0, 1 };

        o.add[i] = new_message(o.rig, refs[i], lanes[i]);
    }
    o.n = 5;
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), OK);
    add(&o, "a4", 1);
    lease_brings(&o, "a1 b1 free");
    assert_int_equal(finish(&o, &o.m[0]), OK);
    lease_brings(&o, "a2");
    assert_int_equal(finish(&o, &o.m[0]), OK);
    lease_brings(&o, "a3");
    assert_int_equal(finish(&o, &o.m[0]), OK);
    lease_brings(&o, "a4");
    assert_int_equal(finish(&o, &o.m[0]), OK);
    add(&o, "a5", 1);
    lease_brings(&o, "a5");
    arena_release(&o.arena);
}

static void q8_a_retry_parks_its_lane_and_nobody_else(void **state)
{
    struct op o;

    op_init(&o, *state);
    add(&o, "a1", 1);
    add(&o, "a2", 1);
    add(&o, "b1", 2);
    lease_brings(&o, "a1 b1");
    o.one = &o.m[0];
    o.due_ms = env_now_ms(&o.rig->env[0]) + 1000;
    assert_int_equal(rig_do(o.rig, 0, do_retry, &o), OK);
    lease_brings(&o, "");
    rig_pass(o.rig, 1000);
    lease_brings(&o, "a1");
    assert_int_equal(o.m[0].attempt, 2);
    assert_true(str_eq(o.m[0].last_error, S("why it failed")));
    arena_release(&o.arena);
}

static void d24_a_dead_letter_frees_its_lane(void **state)
{
    struct op o;
    char text[256];

    op_init(&o, *state);
    add(&o, "a1", 1);
    add(&o, "a2", 1);
    lease_brings(&o, "a1");
    o.one = &o.m[0];
    assert_int_equal(rig_do(o.rig, 0, do_bury, &o), OK);
    sql_text(o.rig, "SELECT ref || '/' || reason || '/' || attempts FROM dead_letters", text,
             sizeof(text));
    assert_string_equal(text, "a1/no hope/1");
    sql_text(o.rig, "SELECT operation || '/' || subject || '/' || result FROM audit", text,
             sizeof(text));
    assert_string_equal(text, "DEAD_LETTER/a1/failure");
    lease_brings(&o, "a2");
    arena_release(&o.arena);
}

static void q7_an_expired_lease_is_due_again_with_a_new_fence(void **state)
{
    struct message late;
    struct op o;

    op_init(&o, *state);
    add(&o, "a", 5);
    lease_brings(&o, "a");
    late = o.m[0];
    rig_pass(o.rig, LIMIT_LEASE_MS - 1);
    lease_brings(&o, "");
    rig_pass(o.rig, 1);
    lease_brings(&o, "a");
    assert_int_equal(o.m[0].attempt, 2);

    o.one = &late; /* the late worker: refused, and its effect is gone with it */
    assert_int_equal(rig_do(o.rig, 0, do_effect_and_finish, &o), ERR_STALE);
    assert_int_equal(rig_do(o.rig, 0, do_retry, &o), ERR_STALE);
    assert_int_equal(rig_do(o.rig, 0, do_bury, &o), ERR_STALE);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM audit"), 0);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM dead_letters"), 0);

    o.one = &o.m[0];
    assert_int_equal(rig_do(o.rig, 0, do_effect_and_finish, &o), OK);
    assert_int_equal(rig_do(o.rig, 0, do_effect_and_finish, &o), ERR_STALE);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM audit"), 1);
    arena_release(&o.arena);
}

static void a_reused_seq_does_not_pass_the_fence(void **state)
{
    struct message gone;
    struct op o;

    op_init(&o, *state);
    add(&o, "a", 0);
    lease_brings(&o, "a");
    gone = o.m[0];
    assert_int_equal(finish(&o, &gone), OK);
    add(&o, "b", 0); /* SQLite gives it the same seq */
    lease_brings(&o, "b");
    assert_int_equal(finish(&o, &gone), ERR_STALE);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM message"), 1);
    arena_release(&o.arena);
}

static void a_renewed_lease_lasts_and_a_lost_one_is_left_alone(void **state)
{
    struct message mine;
    struct op o;

    op_init(&o, *state);
    add(&o, "a", 0);
    lease_brings(&o, "a");
    mine = o.m[0];
    o.one = &mine;
    o.due_ms = env_now_ms(&o.rig->env[0]) + 15000;
    assert_int_equal(rig_do(o.rig, 0, do_renew, &o), OK);
    rig_pass(o.rig, 14999);
    lease_brings(&o, "");
    rig_pass(o.rig, 1);
    lease_brings(&o, "a");
    o.one = &mine;
    o.due_ms += 100000;
    assert_int_equal(rig_do(o.rig, 0, do_renew, &o), OK);
    rig_pass(o.rig, LIMIT_LEASE_MS);
    lease_brings(&o, "a");
    arena_release(&o.arena);
}

static void q12_what_its_owner_never_ended_is_leased_alone_and_only_when_idle(void **state)
{
    struct op o;

    op_init(&o, *state);
    add(&o, "lapsed-1", 0);
    add(&o, "lapsed-2", 0);
    lease_brings(&o, "lapsed-1 lapsed-2");
    rig_pass(o.rig, LIMIT_LEASE_MS);
    add(&o, "fresh", 0);
    o.busy = true;
    lease_brings(&o, "");
    assert_true(o.suspect);
    o.busy = false;
    lease_brings(&o, "lapsed-1");
    assert_true(o.suspect);
    assert_int_equal(o.m[0].attempt, 2);
    lease_brings(&o, "lapsed-2");
    o.busy = true;
    lease_brings(&o, "fresh");
    assert_false(o.suspect);
    arena_release(&o.arena);
}

static void q12_those_before_a_suspect_are_leased_without_it(void **state)
{
    struct op o;

    op_init(&o, *state);
    add(&o, "lapsed", 0);
    lease_brings(&o, "lapsed");
    add(&o, "early-1", 0);
    add(&o, "early-2", 0);
    rig_pass(o.rig, LIMIT_LEASE_MS);
    add(&o, "late", 0);
    lease_brings(&o, "early-1 early-2");
    assert_true(o.suspect);
    lease_brings(&o, "lapsed");
    lease_brings(&o, "late");
    arena_release(&o.arena);
}

static void q12_a_message_that_was_given_back_is_no_suspect(void **state)
{
    struct op o;

    op_init(&o, *state);
    add(&o, "a", 0);
    lease_brings(&o, "a");
    o.one = &o.m[0];
    o.due_ms = env_now_ms(&o.rig->env[0]);
    assert_int_equal(rig_do(o.rig, 0, do_retry, &o), OK);
    add(&o, "b", 0);
    o.busy = true;
    lease_brings(&o, "a b");
    assert_false(o.suspect);
    arena_release(&o.arena);
}

static void finishing_one_readies_only_the_next_of_its_lane(void **state)
{
    struct op o;

    op_init(&o, *state);
    for (size_t i = 0; i < MOST; i++)
        o.add[i] = new_message(o.rig, "x", (int64_t)(i % 4) + 1);
    o.n = MOST;
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), OK);
    lease_brings(&o, "x x x x");
    assert_int_equal(finish(&o, &o.m[2]), OK);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM message WHERE ready = 1"), 4);
    assert_int_equal(sql_int(o.rig, "SELECT count(*) FROM message"), MOST - 1);
    arena_release(&o.arena);
}

static enum err do_finish_all(struct tx *tx, void *ctx)
{
    const struct message *m[MOST];
    struct op *o = ctx;

    for (size_t i = 0; i < o->count; i++)
        m[o->count - 1 - i] = &o->m[i];
    return queue_finish_many(NULL, tx, m, o->count);
}

static void finishing_many_readies_the_next_of_each_lane(void **state)
{
    struct op o;

    op_init(&o, *state);
    for (size_t i = 0; i < 9; i++)
        o.add[i] = new_message(o.rig, i < 3 ? "1" : i < 6 ? "2" : "3", (int64_t)(i % 3));
    o.n = 9; /* lane 0 is no lane */
    assert_int_equal(rig_do(o.rig, 0, do_add, &o), OK);
    lease_brings(&o, "1 1 1 2 3");
    assert_int_equal(rig_do(o.rig, 0, do_finish_all, &o), OK);
    lease_brings(&o, "2 2");
    o.m[0].attempt++; /* one broken fence spoils the lot */
    assert_int_equal(rig_do(o.rig, 0, do_finish_all, &o), ERR_STALE);
    o.m[0].attempt--;
    assert_int_equal(rig_do(o.rig, 0, do_finish_all, &o), OK);
    lease_brings(&o, "3 3");
    arena_release(&o.arena);
}

static enum err do_state(struct tx *tx, void *ctx)
{
    struct op *o = ctx;
    struct queue_state s;
    enum err e = queue_read_state(tx, env_now_ms(&o->rig->env[0]), &s);

    o->due_ms = s.oldest_ready_ms;
    o->count = (size_t)s.dead;
    return e;
}

static void o9_the_oldest_ready_message_is_known(void **state)
{
    struct op o;

    op_init(&o, *state);
    assert_int_equal(rig_do(o.rig, 0, do_state, &o), OK);
    assert_int_equal(o.due_ms, 0);
    add(&o, "a", 1);
    add(&o, "b", 2);
    rig_pass(o.rig, 700);
    assert_int_equal(rig_do(o.rig, 0, do_state, &o), OK);
    assert_int_equal(o.due_ms, 700);
    lease_brings(&o, "a b");
    o.one = &o.m[0];
    assert_int_equal(rig_do(o.rig, 0, do_bury, &o), OK);
    assert_int_equal(rig_do(o.rig, 0, do_state, &o), OK);
    assert_int_equal(o.due_ms, 0);
    assert_int_equal(o.count, 1);
    arena_release(&o.arena);
}

static void o9_dead_letters_are_counted_up_to_a_limit(void **state)
{
    struct op o;

    op_init(&o, *state);
    sql_int(o.rig, o.rig->postgres
                       ? "INSERT INTO dead_letters (id, kind, reason, attempts, added_at, died_at)"
                         " SELECT decode(md5(i::text), 'hex'), 'k', 'r', 1, 0, 0"
                         " FROM generate_series(1, 10100) i"
                       : "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                         " WHERE i < 10100) INSERT INTO dead_letters"
                         " (id, kind, reason, attempts, added_at, died_at)"
                         " SELECT randomblob(16), 'k', 'r', 1, 0, 0 FROM n");
    assert_int_equal(rig_do(o.rig, 0, do_state, &o), OK);
    assert_int_equal(o.count, LIMIT_DEAD_SEEN);
    arena_release(&o.arena);
}

static enum err do_retry_with_half_a_character(struct tx *tx, void *ctx)
{
    struct op *o = ctx;

    return queue_retry(NULL, tx, o->one, o->due_ms, S("\xe9\xa0\x98\xe5\x8f"));
}

static void q12_a_reason_that_was_cut_within_a_character_is_stored(void **state)
{
    char text[64];
    struct op o;

    op_init(&o, *state);
    add(&o, "a", 0);
    lease_brings(&o, "a");
    o.one = &o.m[0];
    o.due_ms = env_now_ms(&o.rig->env[0]);
    assert_int_equal(rig_do(o.rig, 0, do_retry_with_half_a_character, &o), OK);
    sql_text(o.rig, "SELECT last_error FROM message", text, sizeof(text));
    assert_string_equal(text, "\xe9\xa0\x98");
    arena_release(&o.arena);
}

#define ALL(ON)                                                                                    \
    ON(a_message_is_leased_with_all_it_carries),                                                   \
        ON(an_id_that_exists_is_a_conflict_and_adds_nothing), ON(the_longest_due_come_first),      \
        ON(a_message_is_not_leased_before_it_is_due),                                              \
        ON(q8_a_lane_gives_one_message_at_a_time_in_order),                                        \
        ON(q8_a_retry_parks_its_lane_and_nobody_else), ON(d24_a_dead_letter_frees_its_lane),       \
        ON(q7_an_expired_lease_is_due_again_with_a_new_fence),                                     \
        ON(a_reused_seq_does_not_pass_the_fence),                                                  \
        ON(a_renewed_lease_lasts_and_a_lost_one_is_left_alone),                                    \
        ON(finishing_one_readies_only_the_next_of_its_lane),                                       \
        ON(finishing_many_readies_the_next_of_each_lane),                                          \
        ON(q12_what_its_owner_never_ended_is_leased_alone_and_only_when_idle),                     \
        ON(q12_those_before_a_suspect_are_leased_without_it),                                      \
        ON(q12_a_message_that_was_given_back_is_no_suspect),                                       \
        ON(o9_dead_letters_are_counted_up_to_a_limit), ON(o9_the_oldest_ready_message_is_known),   \
        ON(q12_a_reason_that_was_cut_within_a_character_is_stored)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) }, postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
