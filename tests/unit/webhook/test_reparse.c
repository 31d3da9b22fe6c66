/* Events that could not be understood when they came are read again when they are retried (Q6, W6).
 */
#include "unit/queue/rig.h"
#include "webhook/reparse.h"

static struct {
    struct rig *rig;
    struct arena arena;
    struct dead_kind kind;
    struct dead_letters letters;
} w;

static void begin(void **state)
{
    w.rig = *state;
    arena_init(&w.arena, 8 << 20);
    w.kind = stripe_dead_kind();
    w.letters = (struct dead_letters){ .env = &w.rig->env[0], .kinds = &w.kind, .kind_count = 1 };
}

/* A letter of the event `ref`; body and reason as SQL. */
static void letter(const char *ref, const char *body, const char *reason)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO dead_letters (id, kind, ref, body, reason, attempts, added_at, died_at)"
             " VALUES (%s, 'stripe.event', '%s', %s, '%s', 0, 1, 2)",
             w.rig->postgres ? "decode(md5(random()::text), 'hex')" : "randomblob(16)", ref, body,
             reason);
    sql_int(w.rig, sql);
}

static void event(const char *ref, const char *body)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id,"
             " request_id, trace, body) VALUES ('stripe', '%s', 1, %s, 'r', '00-ab-cd-01', %s)",
             ref, w.rig->postgres ? "'\\x01'" : "x'01'", body);
    sql_int(w.rig, sql);
}

static const char *bytes(const char *text)
{
    static char sql[900];

    snprintf(sql, sizeof(sql), w.rig->postgres ? "convert_to('%s', 'UTF8')" : "CAST('%s' AS BLOB)",
             text);
    return sql;
}

static enum err do_step(struct tx *tx, void *ctx)
{
    return dead_act_step(tx, ctx);
}

static struct dead_act retry_all(void)
{
    struct dead_act a = { .letters = &w.letters, .limit = 10, .by = "a test" };

    assert_int_equal(dead_act_begin(&a, &w.arena), OK);
    while (dead_act_took(&a, rig_do(w.rig, 0, do_step, &a)))
        ;
    assert_int_equal(a.err, OK);
    return a;
}

static void q6_an_event_that_can_be_read_now_gets_its_message(void **state)
{
    struct dead_act a;
    char text[512];

    begin(state);
    letter("sha256:ab", "NULL", "not JSON");
    event("sha256:ab",
          bytes("{\"id\":\"evt_1\",\"type\":\"payment_intent.succeeded\",\"livemode\":false,"
                "\"data\":{\"object\":{\"object\":\"payment_intent\",\"id\":\"pi_1\",\"amount\":1,"
                "\"currency\":\"jpy\",\"status\":\"succeeded\",\"amount_received\":1}}}"));
    a = retry_all();
    assert_int_equal(a.done, 1);
    sql_text(w.rig, "SELECT body FROM message WHERE lane IS NOT NULL AND ready = 1", text,
             sizeof(text));
    assert_non_null(strstr(text, "{\"type\":\"payment_intent.succeeded\",\"live\":false"));
    assert_non_null(strstr(text, "\"trace\":\"00-ab-cd-01\""));
    assert_non_null(strstr(text, "\"fact\":{"));
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 0);
    arena_release(&w.arena);
}

static void q6_what_no_retry_can_heal_is_refused_and_says_why(void **state)
{
    static const struct {
        const char *body, *why;
    } rows[] = {
        { "{\"id\":", "its stored body still cannot be read (a value was expected); delete it" },
        { "{\"id\":7,\"type\":\"a.b\"}",
          "its stored body still cannot be read (no sane id); delete it" },
        { NULL, "its event is not stored any more; delete it" },
    };

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct dead_act a;

        sql_int(w.rig, "DELETE FROM dead_letters");
        sql_int(w.rig, "DELETE FROM webhook_events");
        letter("sha256:ab", "NULL", "not JSON");
        if (rows[i].body)
            event("sha256:ab", bytes(rows[i].body));
        a = retry_all();
        assert_int_equal(a.refused, 1);
        assert_string_equal(a.refusals[0].why, rows[i].why);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
    }
    arena_release(&w.arena);
}

static void q6_a_message_that_was_read_is_tried_again_as_it_is(void **state)
{
    char text[64];

    begin(state);
    letter("evt_1", "'{\"type\":\"a.b\"}'", "no such payment yet");
    event("evt_1", bytes("not even JSON"));
    assert_int_equal(retry_all().done, 1);
    sql_text(w.rig, "SELECT body FROM message", text, sizeof(text));
    assert_string_equal(text, "{\"type\":\"a.b\"}");
    arena_release(&w.arena);
}

#define ALL(ON)                                                                                    \
    ON(q6_an_event_that_can_be_read_now_gets_its_message),                                         \
        ON(q6_what_no_retry_can_heal_is_refused_and_says_why),                                     \
        ON(q6_a_message_that_was_read_is_tried_again_as_it_is)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) }, postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
