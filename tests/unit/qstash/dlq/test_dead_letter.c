/* A dead parcel as an operator sees it: what was sent, and the last of its attempts. */
#include "base/json/json.h"
#include "base/limits.h"
#include "payment/rows.h"
#include "qstash/dlq/dead_letter.h"
#include "qstash/rows.h"
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
    struct qstash q;
    struct parcel parcel;
    struct buf text;
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.q.env = &w.rig->env[0];
    w.q.store = w.rig->store[0];
    w.parcel = (struct parcel){ .id = env_uuid(w.q.env),
                                .method = S("PUT"),
                                .header = S("{\"x-a\":[\"1\"],\"x-b\":[\"2\"]}"),
                                .body = S("hello"),
                                .retries = 1000,
                                .flow = { .period_s = 1 },
                                .caller_ip = S("10.0.0.1") };
    assert_true(parcel_set_url(&w.parcel, S("http://a.test/x")));
}

struct past { /* a life of so many attempts, each with so many lines that are none */
    int attempts, others;
};

static enum err add_line(struct tx *tx, enum qstash_state state, int status)
{
    return log_add(tx, &(struct log_entry){ .id = w.parcel.id,
                                            .at_ms = 1000 + status,
                                            .state = state,
                                            .answered = status,
                                            .status = status });
}

static enum err do_live(struct tx *tx, void *ctx)
{
    const struct past *past = ctx;
    enum err e = parcel_post(&w.q, tx, &w.parcel);

    for (int i = 1; i < past->attempts && !e; i++) {
        for (int j = 0; j < past->others && !e; j++)
            e = add_line(tx, QSTASH_ACTIVE, 0);
        if (!e)
            e = add_line(tx, QSTASH_ERROR, 100 + i);
    }
    return e ? e : parcel_give_up(&w.q, tx, w.parcel.id, S("nobody is there"));
}

static enum err do_show(struct tx *tx, void *ctx)
{
    struct dead_letter d = {
        .id = w.parcel.id, .attempts = *(int *)ctx, .reason = S("it is a test"), .died_ms = 5000
    };

    buf_clear(&w.text);
    buf_char(&w.text, '{');
    return qstash_dead_show(tx, &w.q, &d, &w.text);
}

static const cJSON *shown(int attempts) /* the tree lives until the next */
{
    static cJSON *tree;

    buf_release(&w.text);
    buf_init(&w.text, 4 << 20);
    assert_int_equal(rig_do(w.rig, 0, do_show, &attempts), OK);
    buf_char(&w.text, '}');
    json_freep(&tree);
    if (json_parse(buf_str(&w.text), &tree, NULL))
        fail_msg("not JSON: " STR_FMT, STR_ARG(buf_str(&w.text)));
    buf_release(&w.text);
    return tree;
}

static const cJSON *field(const cJSON *o, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

static const cJSON *live_and_die(struct past past)
{
    assert_int_equal(rig_do(w.rig, 0, do_live, &past), OK);
    return shown(past.attempts);
}

static int number(const cJSON *o, const char *name)
{
    assert_true(cJSON_IsNumber(field(o, name)));
    return field(o, name)->valueint;
}

static void q6_attempts_are_the_lines_that_say_error_the_oldest_first(void **state)
{
    const cJSON *tries, *one;

    begin(state);
    tries = field(live_and_die((struct past){ .attempts = 3, .others = 2 }), "failures");
    assert_int_equal(cJSON_GetArraySize(tries), 3);
    one = cJSON_GetArrayItem(tries, 0);
    assert_int_equal(number(one, "attempt"), 1);
    assert_int_equal(number(one, "status"), 101);
    assert_string_equal(field(one, "error")->valuestring, "answered 101");
    assert_string_equal(field(one, "at")->valuestring, "1970-01-01T00:00:01.101Z");
    one = cJSON_GetArrayItem(tries, 2);
    assert_int_equal(number(one, "attempt"), 3);
    assert_null(field(one, "status")); /* there was no answer */
    assert_string_equal(field(one, "error")->valuestring, "nobody is there");
}

static void q6_the_last_hundred_attempts_are_shown_and_no_endless_log_is_read(void **state)
{
    const cJSON *tries;

    begin(state);
    tries = field(live_and_die((struct past){ .attempts = 250, .others = 2 }), "failures");
    assert_int_equal(cJSON_GetArraySize(tries), 100);
    assert_int_equal(number(tries->child, "attempt"), 151);
    assert_int_equal(number(tries->child, "status"), 251);
    begin(state);
    tries = field(live_and_die((struct past){ .attempts = 3, .others = LIMIT_QSTASH_LOOKED }),
                  "failures");
    assert_int_equal(cJSON_GetArraySize(tries), 2); /* behind so many lines the first is not seen */
    assert_int_equal(number(tries->child, "attempt"), 2);
}

static void q6_without_its_log_it_has_the_answer_it_died_of(void **state)
{
    const cJSON *tries;

    begin(state);
    live_and_die((struct past){ .attempts = 3 });
    sql_int(w.rig, "DELETE FROM qstash_log");
    tries = field(shown(3), "failures");
    assert_int_equal(cJSON_GetArraySize(tries), 1);
    assert_string_equal(field(tries->child, "error")->valuestring, "it is a test");
    sql_int(w.rig, "UPDATE qstash_dead SET status = 404");
    tries = field(shown(3), "failures");
    assert_int_equal(number(tries->child, "attempt"), 3);
    assert_int_equal(number(tries->child, "status"), 404);
    assert_string_equal(field(tries->child, "error")->valuestring, "answered 404");
    assert_string_equal(field(tries->child, "at")->valuestring, "1970-01-01T00:00:05.000Z");
}

static void q6_the_payload_is_what_was_sent_but_for_what_nobody_may_see(void **state)
{
    static const struct {
        const char *why, *redact;
        struct str body;
        const char *name, *value; /* of the payload's body */
    } rows[] = {
        { "text", "", S("hello\r\n\t"), "body", "hello\r\n\t" },
        { "an event of a provider", "", S("{\"last4\":\"4242\", \"a\":1}"), "body",
          "{\"last4\":\"[redacted]\", \"a\":1}" },
        { "a card in a text", "", S("card\n4242424242424242"), "body", "card\n************4242" },
        { "an empty body is left out", "", S(""), "body", NULL },
        { "other bytes", "", S("\xff\xfe"), "bodyBinary",
          "{\"bytes\":2,\"sha256\":"
          "\"b3d510ef04275ca8e698e5b3cbb0ece3949ef9252f0cdc839e9ee347409a2209\"}" },
        { "a NUL is in no text", "", S("a\0b"), "bodyBinary",
          "{\"bytes\":3,\"sha256\":"
          "\"59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138\"}" },
        { "nor is what a terminal obeys", "", S("\x1b[2J"), "bodyBinary",
          "{\"bytes\":4,\"sha256\":"
          "\"05704e8a84c06017af3105c9536c4f0a8396a079988a10374146d7f747e3b705\"}" },
        { "hidden", "body,header[X-B]", S("hello"), "body",
          "REDACTED:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        const cJSON *payload, *body, *header;
        char *said;

        begin(state);
        w.parcel.body = rows[i].body;
        w.parcel.redact = str_of(rows[i].redact);
        payload = field(live_and_die((struct past){ .attempts = 1 }), "payload");
        assert_string_equal(field(payload, "method")->valuestring, "PUT");
        assert_string_equal(field(payload, "url")->valuestring, "http://a.test/x");
        body = field(payload, rows[i].name);
        said = !body                  ? NULL
               : cJSON_IsString(body) ? strdup(body->valuestring)
                                      : cJSON_PrintUnformatted(body);
        if (!rows[i].value != !body || (said && strcmp(said, rows[i].value) != 0))
            fail_msg("%s: %s", rows[i].why, said ? said : "none");
        free(said);
        header = field(payload, "header");
        assert_string_equal(field(header, "X-A")->child->valuestring, "1");
        assert_int_equal(strncmp(field(header, "X-B")->child->valuestring, "REDACTED:", 9) == 0,
                         rows[i].redact[0] != '\0');
    }
}

static enum err do_show_nobody(struct tx *tx, void *ctx)
{
    struct dead_letter d = { .id = env_uuid(w.q.env) };
    struct buf b;
    enum err e;

    (void)ctx;
    buf_init(&b, 1024);
    e = qstash_dead_show(tx, &w.q, &d, &b);
    assert_int_equal(b.n, 0);
    buf_release(&b);
    return e;
}

static void q6_what_is_no_dead_parcel_is_not_found_and_writes_nothing(void **state)
{
    begin(state);
    assert_int_equal(rig_do(w.rig, 0, do_show_nobody, NULL), ERR_NOT_FOUND);
}

#define ALL(ON)                                                                                    \
    ON(q6_attempts_are_the_lines_that_say_error_the_oldest_first),                                 \
        ON(q6_the_last_hundred_attempts_are_shown_and_no_endless_log_is_read),                     \
        ON(q6_without_its_log_it_has_the_answer_it_died_of),                                       \
        ON(q6_the_payload_is_what_was_sent_but_for_what_nobody_may_see),                           \
        ON(q6_what_is_no_dead_parcel_is_not_found_and_writes_nothing)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
