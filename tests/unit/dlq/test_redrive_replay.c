/* An event that cannot be applied once more does not keep a replay from the others (Q6). */
#include "dlq/redrive.h"
#include "unit/queue/lanes.h"

static struct {
    struct rig *rig;
    struct arena arena;
    struct dead_letters letters;
    struct redrives redrives;
    struct redrive_new new;
    struct str json;
} w;

static enum err work(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)m, (void)ctx, (void)why;
    return OK;
}

/* Not the event's own refusal: the unit of all of them fails. */
static enum err break_at_bad(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                             struct replay_found *f, struct why *why)
{
    (void)tx, (void)a, (void)why;
    f->message = (struct queue_new){ .id = { { [0] = 2, [15] = (unsigned char)event_id.p[4] } },
                                     .kind = S("work"),
                                     .ref = event_id,
                                     .due_ms = now_ms };
    f->was = S("applied");
    return event_id.p[4] == 'e' || event_id.p[4] == 'f' ? ERR_INTERNAL : OK;
}

static void begin(void **state)
{
    static struct job_kind kinds[2];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    arena_init(&w.arena, 8 << 20);
    kinds[0] = (struct job_kind){ .name = "work", .run = work };
    kinds[1] = redrive_kind(&w.redrives);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.letters = (struct dead_letters){ .env = &w.rig->env[0], .queue = w.rig->queue[0] };
    w.redrives = (struct redrives){ .letters = &w.letters, .replay = break_at_bad };
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
}

static void came(char name)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id,"
             " request_id, trace, body) VALUES ('stripe', 'evt_%c', 1, %s02%028d%02x', 'r', '',"
             " %s00')",
             name, w.rig->postgres ? "'\\x" : "x'", 0, name, w.rig->postgres ? "'\\x" : "x'");
    sql_int(w.rig, sql);
}

static enum err do_start(struct tx *tx, void *ctx)
{
    (void)ctx;
    return redrive_start(tx, &w.arena, &w.redrives, &w.new, &w.json);
}

static void q6_events_that_fail_are_refused_and_counted_and_the_others_go_on(void **state)
{
    char text[2048];

    begin(state);
    for (char c = 'a'; c <= 'l'; c++)
        came(c);
    w.new = (struct redrive_new){ .id = env_uuid(&w.rig->env[0]),
                                  .rate = 100,
                                  .is_replay = true,
                                  .filter = { .to_ms = 1000 },
                                  .matched = 12,
                                  .exact = true };
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    for (int i = 0; i < 60; i++)
        rig_pass(w.rig, 500);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM redrives WHERE state = 'done'"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives"), 10);
    assert_int_equal(sql_int(w.rig, "SELECT refused FROM redrives"), 2);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE operation = 'EVENT_REPLAY'"),
                     10);
    sql_text(w.rig, "SELECT refusals FROM redrives", text, sizeof(text));
    assert_non_null(strstr(text, "02000000-0000-0000-0000-000000000065"));
    assert_non_null(strstr(text, "02000000-0000-0000-0000-000000000066"));
    arena_release(&w.arena);
}

/* --- lanes --- */

/* The first one is dead, in lane 9; the others are done, the last of them in the first lane. */
static enum err find_lanes(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                           struct replay_found *f, struct why *why)
{
    break_at_bad(tx, a, event_id, now_ms, f, why);
    f->is_dead = event_id.p[4] == 'a';
    f->letters[0] = f->letters[1] = f->message.id;
    f->message.has_lane = true;
    f->message.lane = 'l' + 1 - event_id.p[4];
    return OK;
}

static void m9_the_lanes_of_a_replays_step_are_locked_in_one_order(void **state)
{
    PGconn *other;

    begin(state);
    w.redrives.replay = find_lanes;
    for (char c = 'a'; c <= 'l'; c++)
        came(c);
    sql_int(w.rig, "INSERT INTO dead_letters (id, kind, lane, ref, reason, attempts, added_at,"
                   " died_at) SELECT message_id, 'work', 9, stripe_event_id, 'r', 1, 1, 1000"
                   " FROM webhook_events WHERE stripe_event_id = 'evt_a'");
    w.new = (struct redrive_new){ .id = env_uuid(&w.rig->env[0]),
                                  .rate = LIMIT_REDRIVE_RATE,
                                  .is_replay = true,
                                  .filter = { .to_ms = 1000 } };
    other = lane_hold(w.rig, 1);
    assert_int_equal(rig_do(w.rig, 0, do_start, NULL), OK);
    assert_int_equal(lane_leave(w.rig, other), 0);
    for (int i = 0; i < 10; i++)
        rig_pass(w.rig, 1000);
    assert_int_equal(sql_int(w.rig, "SELECT done FROM redrives WHERE state = 'done'"), 12);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    arena_release(&w.arena);
}

#define ALL(ON) ON(q6_events_that_fail_are_refused_and_counted_and_the_others_go_on)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) }, postgres[] = {
        ALL(ON_POSTGRES), ON_POSTGRES(m9_the_lanes_of_a_replays_step_are_locked_in_one_order)
    };

    return RUN_BOTH(sqlite, postgres);
}
