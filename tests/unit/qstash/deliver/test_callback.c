/* What a callback tells, byte for byte, and what it is itself. */
#include "base/json/json.h"
#include "base/limits.h"
#include "qstash/deliver/callback.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, LIMIT_QSTASH_ARENA);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct parcel source(const char *callbacks)
{
    struct parcel p = { .id = { { 1, 2, 3 } },
                        .created_ms = 1000,
                        .not_before_ms = 2000,
                        .method = S("PUT"),
                        .header = S("{\"Content-Type\":[\"text/plain\"],\"X-A\":[\"1\",\"2\"]}"),
                        .body = S("hello"),
                        .retries = 3,
                        .callbacks = str_of(callbacks),
                        .labels = S("a,b"),
                        .queue = S("q"),
                        .flow_key = S("k"),
                        .flow = { 1, 2, 3 },
                        .caller_ip = S("192.0.2.1") };

    assert_true(parcel_set_url(&p, S("https://a.test/in?x=\"")));
    return p;
}

#define BOTH                                                                                       \
    "{\"callback\":{\"url\":\"https://back.test/c\"},\"failure\":{\"url\":\"https://back.test/"    \
    "f\","                                                                                         \
    "\"method\":\"PATCH\",\"retries\":0,\"retryDelay\":\"pow(2, retried)\",\"timeoutMs\":1500,"    \
    "\"header\":{\"Authorization\":[\"Bearer \303\274\"],\"Content-Type\":[\"x/y\"]}}}"

static struct parcel make(const struct parcel *p, const struct attempt *at, bool failure)
{
    struct parcel made;

    assert_int_equal(callback_make(&arena, p, at, 1, failure, S("77-8"), &made), OK);
    return made;
}

#define assert_str(s, text)                                                                        \
    do {                                                                                           \
        struct str got_ = (s);                                                                     \
        if (!str_eq(got_, str_of(text)))                                                           \
            fail_msg("got " STR_FMT "\nwanted %s", STR_ARG(got_), text);                           \
    } while (0)

static void q9_it_tells_all_of_section_8(void **state)
{
    struct attempt at = { .status = 201,
                          .delivered = true,
                          .response_header = S("{\"X-B\":[\"3\"]}"),
                          .response_body = S("\377\376") };
    struct parcel p = source(BOTH), made;

    (void)state;
    made = make(&p, &at, false);
    assert_str(made.body,
               "{\"status\":201,\"header\":{\"X-B\":[\"3\"]},\"body\":\"//4=\",\"retried\":1,"
               "\"maxRetries\":3,\"sourceMessageId\":\"msg_01020300000000000000000000000000\","
               "\"url\":\"https://a.test/in?x=\\\"\",\"method\":\"PUT\","
               "\"sourceHeader\":{\"Content-Type\":[\"text/plain\"],\"X-A\":[\"1\",\"2\"]},"
               "\"sourceBody\":\"aGVsbG8=\",\"notBefore\":2000,\"createdAt\":1000,"
               "\"callerIP\":\"192.0.2.1\"}");
    p.topic = S("group");
    p.endpoint = S("one");
    p.schedule_id = S("scd_1");
    p.header = p.body = (struct str){ 0 };
    at = (struct attempt){ .error = S("Timeout was reached") };
    made = make(&p, &at, true);
    assert_str(made.body,
               "{\"status\":0,\"header\":{},\"body\":\"\",\"retried\":1,\"maxRetries\":3,"
               "\"dlqId\":\"77-8\",\"sourceMessageId\":\"msg_01020300000000000000000000000000\","
               "\"topicName\":\"group\",\"endpointName\":\"one\","
               "\"url\":\"https://a.test/in?x=\\\"\",\"method\":\"PUT\",\"sourceHeader\":{},"
               "\"sourceBody\":\"\",\"notBefore\":2000,\"createdAt\":1000,"
               "\"scheduleId\":\"scd_1\",\"callerIP\":\"192.0.2.1\"}");
    assert_int_equal(json_check(made.body, NULL), OK);
}

static void q9_it_is_an_ordinary_parcel_with_nothing_of_its_sources_gates(void **state)
{
    struct attempt at = { .status = 500 };
    struct parcel p = source(BOTH), made;

    (void)state;
    made = make(&p, &at, false);
    assert_str(made.url, "https://back.test/c");
    assert_str(made.host, "back.test");
    assert_str(made.path, "/c");
    assert_str(made.method, "POST");
    assert_str(made.header, "{\"Content-Type\":[\"application/json\"]}");
    assert_int_equal(made.retries, 3); /* the source's own */
    assert_int_equal(made.timeout_ms, 0);
    assert_true(made.has_source && uuid_eq(made.source, p.id));
    assert_str(made.caller_ip, "192.0.2.1");
    assert_true(parcel_is_plain(&made) && !made.callbacks.n && !made.redact.n);
    assert_true(!made.topic.n && !made.endpoint.n && !made.schedule_id.n && !made.has_webhook_id);
    made = make(&p, &at, true);
    assert_str(made.url, "https://back.test/f");
    assert_str(made.method, "PATCH");
    assert_str(made.retry_delay, "pow(2, retried)");
    assert_str(made.header, "{\"Content-Type\":[\"application/json\"],"
                            "\"Authorization\":[\"Bearer \303\274\"]}");
    assert_int_equal(made.retries, 0);
    assert_int_equal(made.timeout_ms, 1500);
}

/* The source's body stands in the callback's: who may not read the one may not read the other. */
static void q9_what_is_hidden_of_the_source_is_hidden_of_it(void **state)
{
    struct attempt at = { .status = 200 };
    struct parcel p = source(BOTH);

    (void)state;
    p.redact = S("header[Authorization]");
    assert_str(make(&p, &at, false).redact, "body");
}

static void one_that_nobody_asked_for_is_not_made(void **state)
{
    static const struct {
        const char *callbacks;
        bool failure;
        enum err err;
    } rows[] = {
        { "", false, ERR_NOT_FOUND },
        { "", true, ERR_NOT_FOUND },
        { "{\"callback\":{\"url\":\"http://b.test/\"}}", true, ERR_NOT_FOUND },
        { "{\"failure\":{\"url\":\"http://b.test/\"}}", false, ERR_NOT_FOUND },
        { "{\"callback\":{\"url\":\"http://b.test/\"}}", false, OK },
        { "{\"callback\":{\"url\":\"nowhere\"}}", false, ERR_INTERNAL },
        { "nonsense", false, ERR_INTERNAL },
    };
    struct attempt at = { .status = 200 };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct parcel p = source(rows[i].callbacks), made;

        if (callback_make(&arena, &p, &at, 0, rows[i].failure, S("1-1"), &made) != rows[i].err)
            fail_msg("row %zu", i);
    }
}

static void the_largest_body_and_answer_fit(void **state)
{
    static char body[LIMIT_QSTASH_BODY], said[LIMIT_QSTASH_ANSWER];
    struct attempt at = { .status = 500, .response_body = { said, sizeof(said) } };
    struct parcel p = source(BOTH), made;

    (void)state;
    memset(body, 'b', sizeof(body));
    memset(said, 's', sizeof(said));
    p.body = (struct str){ body, sizeof(body) };
    assert_non_null(arena_str(&arena, p.body).p); /* it stands there too, with the answer */
    assert_non_null(arena_str(&arena, at.response_body).p);
    made = make(&p, &at, false);
    assert_in_range(made.body.n, sizeof(body) * 4 / 3, 2 << 20);
    made = make(&p, &at, true); /* both in one unit */
    assert_int_equal(json_check(made.body, NULL), OK);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(q9_it_tells_all_of_section_8),
        T(q9_it_is_an_ordinary_parcel_with_nothing_of_its_sources_gates),
        T(q9_what_is_hidden_of_the_source_is_hidden_of_it),
        T(one_that_nobody_asked_for_is_not_made),
        T(the_largest_body_and_answer_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
