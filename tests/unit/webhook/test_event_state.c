/* Where an event stands, and who may touch it past the queue (Q4, Q5). */
#include "event/apply_event.h"
#include "event/refetch.h"
#include "unit/queue/rig.h"
#include "webhook/event_state.h"
#include "webhook/receive.h"

static struct {
    struct rig *rig;
    struct arena arena;
    struct apply_event apply;
    struct job_kind kind;
    struct stripe_event event;
    struct new_event fresh;
    struct event_state standing;
    struct message message;
} w;

#define EVENT                                                                                      \
    "{\"id\":\"evt_1\",\"type\":\"charge.failed\",\"livemode\":false,\"data\":{\"object\":{"       \
    "\"id\":\"ch_1\",\"object\":\"charge\",\"payment_intent\":\"pi_1\"}}}"

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    arena_init(&w.arena, 1 << 20);
    w.kind = apply_event_kind(&w.apply, 3, 1000);
    assert_int_equal(stripe_event_read(&w.arena, S(EVENT), &w.event), OK);
    w.fresh = (struct new_event){ .event = &w.event,
                                  .body = S(EVENT),
                                  .request_id = S("req-1"),
                                  .trace = S("00-1-1-01"),
                                  .received_ms = env_now_ms(&w.rig->env[0]),
                                  .message = env_uuid(&w.rig->env[0]) };
    w.message = (struct message){ .kind = APPLY_EVENT_KIND,
                                  .has_lane = w.event.has_lane,
                                  .lane = w.event.lane,
                                  .attempt = 2,
                                  .ref = w.event.id,
                                  .body = receive_job(&w.arena, &w.event, S("")) };
}

static void end(void)
{
    arena_release(&w.arena);
}

/* --- units --- */

static enum err do_read(struct tx *tx, void *ctx)
{
    (void)ctx;
    return event_state_read(tx, S("evt_1"), &w.standing);
}

static enum err do_add(struct tx *tx, void *ctx)
{
    (void)ctx;
    return event_state_read_or_add(tx, &w.fresh, &w.standing);
}

static enum err do_bury(struct tx *tx, void *ctx)
{
    w.message.id = w.standing.message;
    return event_state_bury(tx, &w.kind, &w.message, env_now_ms(&w.rig->env[0]), ctx);
}

static enum err do_revive(struct tx *tx, void *ctx)
{
    (void)ctx;
    return event_state_revive(tx, &w.standing);
}

static enum err do_queue(struct tx *tx, void *ctx)
{
    struct queue_new m = { .id = *(struct uuid *)ctx, .kind = S("k"), .ref = S("evt_1") };

    return queue_add(NULL, tx, 1, &m, 1);
}

static enum err do_outcome(struct tx *tx, void *ctx)
{
    struct val v[] = { V_BLOB(uuid_bytes(&w.standing.message)),
                       V_TEXT(str_of(ctx)),
                       V_NULL,
                       V_INT(1),
                       V_NULL,
                       V_NULL };

    return tx_bulk(tx, STMT_webhook_outcome_add, v, 1, COUNT(v), NULL, NULL);
}

static enum err run(enum err (*unit)(struct tx *, void *), const void *ctx)
{
    return rig_do(w.rig, 0, unit, (void *)(uintptr_t)ctx);
}

static enum event_state_kind look(void)
{
    assert_int_equal(run(do_read, NULL), OK);
    return w.standing.kind;
}

/* --- */

static void q4_an_unknown_event_is_stored_once_and_is_open(void **state)
{
    begin(state);
    assert_int_equal(run(do_read, NULL), ERR_NOT_FOUND);
    assert_int_equal(run(do_add, NULL), OK);
    assert_int_equal(w.standing.kind, EVENT_STATE_OPEN);
    assert_true(uuid_eq(w.standing.message, w.fresh.message));
    w.fresh.message = env_uuid(&w.rig->env[0]); /* it comes again */
    w.fresh.received_ms += 1000;
    assert_int_equal(run(do_add, NULL), OK);
    assert_int_equal(w.standing.kind, EVENT_STATE_OPEN);
    assert_false(uuid_eq(w.standing.message, w.fresh.message));
    assert_int_equal(w.standing.received_ms, w.fresh.received_ms - 1000);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM webhook_events"), 1);
    end();
}

static void q4_what_the_queue_has_is_the_queues(void **state)
{
    struct uuid ask;

    begin(state);
    assert_int_equal(run(do_add, NULL), OK);
    assert_int_equal(run(do_queue, &w.standing.message), OK);
    assert_int_equal(look(), EVENT_STATE_QUEUED);
    assert_int_equal(sql_int(w.rig, "DELETE FROM message"), -1);
    assert_int_equal(look(), EVENT_STATE_OPEN);
    ask = refetch_id(w.standing.message); /* its second half (E2) */
    assert_false(uuid_eq(ask, w.standing.message));
    assert_int_equal(run(do_queue, &ask), OK);
    assert_int_equal(look(), EVENT_STATE_QUEUED);
    end();
}

static void q4_an_outcome_ends_it(void **state)
{
    static const char *const words[] = { "processed", "applied", "superseded", "ignored",
                                         "wrong_mode" };

    begin(state);
    assert_int_equal(run(do_add, NULL), OK);
    for (size_t i = 0; i < COUNT(words); i++) {
        assert_int_equal(run(do_outcome, words[i]), OK);
        assert_int_equal(look(), EVENT_STATE_DONE);
        sql_int(w.rig, "DELETE FROM webhook_outcomes");
    }
    end();
}

static void q4_a_dead_one_waits_for_an_operator_who_may_give_it_up(void **state)
{
    char text[200];

    begin(state);
    assert_int_equal(run(do_add, NULL), OK);
    assert_int_equal(run(do_bury, "it is bad"), OK);
    assert_int_equal(look(), EVENT_STATE_DEAD);
    sql_text(w.rig,
             "SELECT kind || '/' || ref || '/' || reason || '/' || attempts || '/' ||"
             " (lane IS NOT NULL) FROM dead_letters",
             text, sizeof(text));
    assert_string_equal(text, w.rig->postgres ? "stripe.event/evt_1/it is bad/2/true"
                                              : "stripe.event/evt_1/it is bad/2/1");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message_failures"), 1);
    sql_text(w.rig, "SELECT subject || ': ' || detail FROM audit", text, sizeof(text));
    assert_string_equal(text, "evt_1: stripe.event, attempt 2: it is bad");
    assert_int_not_equal(run(do_bury, "again"), OK); /* once */
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit"), 1);
    sql_int(w.rig, "DELETE FROM dead_letters");
    assert_int_equal(look(), EVENT_STATE_GIVEN_UP);
    end();
}

static void q4_whoever_takes_the_letter_first_has_the_event(void **state)
{
    begin(state);
    assert_int_equal(run(do_add, NULL), OK);
    assert_int_equal(run(do_bury, "it is bad"), OK);
    assert_int_equal(look(), EVENT_STATE_DEAD);
    assert_int_equal(run(do_revive, NULL), OK);
    assert_int_equal(run(do_revive, NULL), ERR_STALE);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    end();
}

/* --- two nodes --- */

struct slow {
    struct unit unit;
    enum event_state_kind seen;
    bool back;
};

static enum err slow_run(struct tx *tx, struct unit *u)
{
    struct slow *s = CONTAINER_OF(u, struct slow, unit);
    struct event_state st;
    enum err e = event_state_read_or_add(tx, &w.fresh, &st);

    s->seen = st.kind;
    if (e || st.kind != EVENT_STATE_OPEN)
        return e;
    usleep(20 * 1000); /* the other one is here by now, and waits */
    return do_outcome(tx, (void *)(uintptr_t) "applied");
}

static void slow_done(struct unit *u)
{
    struct slow *s = CONTAINER_OF(u, struct slow, unit);

    s->back = true;
}

static void take_turns(void)
{
    static const struct unit_kind kind = { "test.slow", UNIT_FRONT, slow_run, NULL };
    struct slow s[4] = { 0 };
    int open = 0, done = 0;

    for (size_t i = 0; i < COUNT(s); i++) {
        s[i].unit = (struct unit){ .kind = &kind,
                                   .executor = &w.rig->den.desk.executor,
                                   .done = slow_done };
        store_post(w.rig->store[i % 2], &s[i].unit);
    }
    for (size_t i = 0; i < COUNT(s); i++) {
        while (!s[i].back)
            desk_next(&w.rig->den.desk);
        assert_int_equal(s[i].unit.err, OK);
        open += s[i].seen == EVENT_STATE_OPEN;
        done += s[i].seen == EVENT_STATE_DONE;
    }
    assert_int_equal(open, 1);
    assert_int_equal(done, COUNT(s) - 1);
}

/* All see it as open, or as unknown; only one of them may. */
static void q4_two_nodes_with_one_event_take_turns(void **state)
{
    begin(state);
    assert_int_equal(run(do_add, NULL), OK);
    take_turns();
    end();
}

static void q4_two_nodes_with_one_unknown_event_take_turns(void **state)
{
    begin(state);
    w.standing.message = w.fresh.message;
    take_turns();
    end();
}

#define ALL(ON)                                                                                    \
    ON(q4_an_unknown_event_is_stored_once_and_is_open), ON(q4_what_the_queue_has_is_the_queues),   \
        ON(q4_an_outcome_ends_it), ON(q4_a_dead_one_waits_for_an_operator_who_may_give_it_up),     \
        ON(q4_whoever_takes_the_letter_first_has_the_event),                                       \
        ON(q4_two_nodes_with_one_event_take_turns),                                                \
        ON(q4_two_nodes_with_one_unknown_event_take_turns)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
