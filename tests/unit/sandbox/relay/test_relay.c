/* The relay's rows and messages. Its connections are tests/e2e/stripe_listen.test.mjs. */
#include "base/json/json.h"
#include "sandbox/relay/listeners.h"
#include "unit/sandbox/stage.h"

#define COUNT_OF(table) "SELECT count(*) FROM sandbox_relay_" table

struct step {
    struct relay relay;
    int64_t now_ms;
    const char *name, *link;
    struct relay_rows rows;
    int events;
    char secret[RELAY_SECRET + 1];
};

static enum err add_session(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct step *s = ctx;

    (void)g;
    (void)a;
    return TX_DO(
        tx, STMT_relay_session_add, 1, V_TEXT(str_of(s->name)),
        V_TEXT(S("whsec_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")),
        V_INT(s->now_ms), V_INT(s->now_ms + LIMIT_RELAY_AWAIT_MS));
}

static enum err look(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct step *s = ctx;

    (void)g;
    (void)a;
    return relay_rows_live(&s->relay, tx, s->now_ms, 0, &s->rows);
}

static enum err join(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct step *s = ctx;

    (void)g;
    (void)a;
    return relay_row_join(tx, str_of(s->name), str_of(s->link), s->now_ms, s->secret);
}

static enum err leave(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct step *s = ctx;

    (void)g;
    (void)a;
    return TX_DO(tx, STMT_relay_session_leave, -1, V_INT(s->now_ms + LIMIT_RELAY_AWAIT_MS),
                 V_TEXT(str_of(s->name)), V_TEXT(str_of(s->link)));
}

static enum err add_events(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct step *s = ctx;
    enum err e = OK;

    (void)g;
    (void)a;
    for (int i = 0; i < s->events && !e; i++) {
        e = relay_rows_live(&s->relay, tx, s->now_ms, 0, &s->rows);
        if (!e)
            e = relay_rows_wait(tx, &s->rows, S("evt_3x"), s->now_ms);
    }
    return e;
}

static void a_session_lives_while_it_is_connected_and_a_while_longer(void **state)
{
    struct stage *g = stage_new(false);
    struct step s = { .now_ms = 1000, .name = "cliws_a", .link = "one" };

    (void)state;
    assert_int_equal(stage_do(g, add_session, &s), OK);
    assert_int_equal(stage_do(g, look, &s), OK);
    assert_int_equal(s.rows.count, 1);
    assert_false(s.rows.rows[0].connected);
    assert_int_equal(stage_do(g, join, &s), OK);
    assert_int_equal(strlen(s.secret), RELAY_SECRET);
    s.now_ms += 100 * (int64_t)LIMIT_RELAY_AWAIT_MS;
    assert_int_equal(stage_do(g, look, &s), OK);
    assert_true(s.rows.count == 1 && s.rows.rows[0].connected);
    assert_int_equal(s.relay.live, 1);

    s.link = "two"; /* takes it over; that the first one leaves means nothing then */
    assert_int_equal(stage_do(g, join, &s), OK);
    s.link = "one";
    assert_int_equal(stage_do(g, leave, &s), OK);
    assert_int_equal(stage_int(g, COUNT_OF("sessions WHERE until IS NULL")), 1);
    s.link = "two";
    assert_int_equal(stage_do(g, leave, &s), OK);

    s.events = 3;
    assert_int_equal(stage_do(g, add_events, &s), OK);
    s.now_ms += LIMIT_RELAY_AWAIT_MS - 1;
    assert_int_equal(stage_do(g, join, &s), OK);
    assert_int_equal(stage_do(g, leave, &s), OK);
    s.now_ms += LIMIT_RELAY_AWAIT_MS;
    assert_int_equal(stage_do(g, join, &s), ERR_NOT_FOUND);
    assert_int_equal(stage_int(g, COUNT_OF("waiting")), 3);
    assert_int_equal(stage_do(g, look, &s), OK);
    assert_int_equal(s.rows.count, 0);
    assert_int_equal(s.relay.live, 0);
    assert_int_equal(stage_int(g, COUNT_OF("sessions")), 0);
    assert_int_equal(stage_int(g, COUNT_OF("waiting")), 0);
    stage_free(g);
}

static void who_does_not_listen_is_owed_so_much_and_no_more(void **state)
{
    struct stage *g = stage_new(false);
    struct step s = { .now_ms = 1000, .name = "cliws_a" };
    char text[256];
    static char log[64 * 1024]; /* there may be lines of slow units, too */
    int fd;

    (void)state;
    assert_int_equal(stage_do(g, add_session, &s), OK);
    s.name = "cliws_b";
    s.now_ms = 2000;
    assert_int_equal(stage_do(g, add_session, &s), OK);
    stage_sql(g,
              "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 49990)"
              " INSERT INTO sandbox_relay_waiting SELECT 'cliws_a', i, 'evt_3x' FROM n",
              text, sizeof(text));
    stage_sql(g, "UPDATE sandbox_relay_sessions SET last = 49990 WHERE id = 'cliws_a'", text,
              sizeof(text));
    s.now_ms = 1500; /* before the second one was there */
    s.events = 200;
    assert_int_equal(stage_do(g, add_events, &s), OK);
    assert_int_equal(stage_int(g, COUNT_OF("waiting WHERE session = 'cliws_b'")), 0);
    assert_in_range(stage_int(g, COUNT_OF("waiting WHERE session = 'cliws_a'")),
                    LIMIT_RELAY_WAITING, LIMIT_RELAY_WAITING + LIMIT_RELAY_TRIM);
    assert_int_equal(stage_int(g, "SELECT max(seq) FROM sandbox_relay_waiting"), 49990 + 200);
    s.now_ms = 2500;
    assert_int_equal(stage_do(g, add_events, &s), OK);
    assert_int_equal(stage_int(g, COUNT_OF("waiting WHERE session = 'cliws_b'")), 200);

    snprintf(text, sizeof(text), "%s/log", g->dir);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, log, sizeof(log) - 1) > 0);
    close(fd);
    assert_non_null(strstr(log, "forgot the oldest events"));
    stage_free(g);
}

static enum err use_devices(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct step *s = ctx;
    struct str secret;
    char name[32], fresh[32];
    enum err e = OK;

    (void)g;
    for (int i = 0; i < s->events && !e; i++) {
        snprintf(name, sizeof(name), "%s%d", s->name, i);
        snprintf(fresh, sizeof(fresh), "secret of %d at %lld", i, (long long)s->now_ms);
        e = relay_rows_secret(tx, a, str_of(name), str_of(fresh), s->now_ms++, &secret);
    }
    snprintf(s->secret, sizeof(s->secret), STR_FMT, STR_ARG(secret));
    return e;
}

static void a_device_keeps_its_secret_unless_a_thousand_others_came(void **state)
{
    struct stage *g = stage_new(false);
    struct step s = { .now_ms = 1, .name = "mine", .events = 1 };
    char first[RELAY_SECRET + 1];

    (void)state;
    assert_int_equal(stage_do(g, use_devices, &s), OK);
    strcpy(first, s.secret);
    s.name = "other";
    s.events = LIMIT_RELAY_DEVICES - 1;
    assert_int_equal(stage_do(g, use_devices, &s), OK);
    s.name = "mine";
    s.events = 1;
    assert_int_equal(stage_do(g, use_devices, &s), OK);
    assert_string_equal(s.secret, first);
    s.name = "other still";
    s.events = LIMIT_RELAY_DEVICES;
    assert_int_equal(stage_do(g, use_devices, &s), OK);
    assert_int_equal(stage_int(g, COUNT_OF("devices")), LIMIT_RELAY_DEVICES);
    s.name = "mine";
    s.events = 1;
    assert_int_equal(stage_do(g, use_devices, &s), OK);
    assert_string_not_equal(s.secret, first);
    stage_free(g);
}

/* --- messages --- */

static const char *text_of(const cJSON *o, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

    if (!cJSON_IsString(v))
        fail_msg("%s is no text", name);
    return v->valuestring;
}

/* The body and its digest are p2 of the wire reference, made by stripe-node. */
static void an_event_is_written_as_the_command_line_reads_it(void **state)
{
    const struct relay_event_out e = {
        .seq = 42,
        .id = S("evt_test_0001"),
        .body = S("{\"id\":\"evt_test_0001\",\"object\":\"event\",\"type\":"
                  "\"payment_intent.succeeded\"}"),
    };
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *headers, *version;
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    assert_true(relay_message_write(&b, &e, S(SECRET), 1760000000));
    assert_int_equal(json_parse(buf_str(&b), &tree, NULL), OK);
    assert_string_equal(text_of(tree, "type"), "webhook_event");
    assert_string_equal(text_of(tree, "event_payload"),
                        "{\n  \"id\": \"evt_test_0001\",\n  \"object\": \"event\",\n"
                        "  \"type\": \"payment_intent.succeeded\"\n}");
    headers = cJSON_GetObjectItemCaseSensitive(tree, "http_headers");
    assert_string_equal(text_of(headers, "Stripe-Signature"),
                        "t=1760000000,v1="
                        "911de9eb81cdef30f678478f962a093174d2ac05e604d5294711f9ed4903d39f");
    version = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "endpoint"),
                                               "api_version");
    assert_true(cJSON_IsNull(version));
    assert_string_equal(text_of(tree, "webhook_conversation_id"), "wc_sandbox_42");
    buf_release(&b);
    buf_init(&b, 100);
    assert_false(relay_message_write(&b, &e, S(SECRET), 1760000000)); /* no room for it */
    buf_release(&b);
}

static void what_a_listener_says_is_read_or_means_nothing(void **state)
{
    static const struct {
        const char *text;
        int type;
        int64_t seq, status;
    } rows[] = {
        { "{\"type\":\"event_ack\",\"event_id\":\"evt_1\",\"webhook_conversation_id\":"
          "\"wc_sandbox_7\",\"webhook_id\":\"we_1\"}",
          RELAY_ACK, 7, 0 },
        { "{\"type\":\"webhook_response\",\"status\":204,\"webhook_conversation_id\":"
          "\"wc_sandbox_9\",\"body\":\"\"}",
          RELAY_RESPONSE, 9, 204 },
        { "{\"type\":\"event_ack\",\"webhook_conversation_id\":\"wc_sandbox_0\"}", RELAY_ACK, 0,
          0 },
        { "{\"type\":\"event_ack\",\"webhook_conversation_id\":\"wc_sandbox_-1\"}", RELAY_ACK, 0,
          0 },
        { "{\"type\":\"event_ack\",\"webhook_conversation_id\":\"wc_sandbox_07\"}", RELAY_ACK, 0,
          0 },
        { "{\"type\":\"event_ack\",\"webhook_conversation_id\":\"wc_\\u0073andbox_7\"}", RELAY_ACK,
          0, 0 },
        { "{\"type\":\"event_ack\",\"webhook_conversation_id\":\"wc_sandbox_9223372036854775808\"}",
          RELAY_ACK, 0, 0 },
        { "{\"type\":\"event_ack\",\"webhook_conversation_id\":7}", RELAY_ACK, 0, 0 },
        { "{\"type\":\"event_ack\"}", RELAY_ACK, 0, 0 },
        { "{\"type\":\"webhook_response\",\"status\":\"204\"}", RELAY_RESPONSE, 0, 0 },
        { "{\"type\":\"webhook_response\",\"status\":2.5}", RELAY_RESPONSE, 0, 0 },
        { "{\"type\":\"hello\"}", RELAY_OTHER, 0, 0 },
        { "{}", RELAY_OTHER, 0, 0 },
        { "[]", RELAY_OTHER, 0, 0 },
        { "{\"type\":\"event_ack\"", RELAY_OTHER, 0, 0 },
        { "", RELAY_OTHER, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct relay_message_in in = relay_message_read(str_of(rows[i].text));

        if ((int)in.type != rows[i].type || in.seq != rows[i].seq || in.status != rows[i].status)
            fail_msg("%s: %d %lld %lld", rows[i].text, (int)in.type, (long long)in.seq,
                     (long long)in.status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_lives_while_it_is_connected_and_a_while_longer),
        cmocka_unit_test(who_does_not_listen_is_owed_so_much_and_no_more),
        cmocka_unit_test(a_device_keeps_its_secret_unless_a_thousand_others_came),
        cmocka_unit_test(an_event_is_written_as_the_command_line_reads_it),
        cmocka_unit_test(what_a_listener_says_is_read_or_means_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
