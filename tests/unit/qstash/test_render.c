#include "qstash/render.h"
#include "unit/cm.h"

#include <string.h>

static void must_be(const char *why, struct buf *b, const char *want)
{
    struct str have = buf_str(b);

    assert_false(b->failed);
    if (!str_eq(have, str_of(want)))
        fail_msg("%s:\nhave " STR_FMT "\nwant %s", why, STR_ARG(have), want);
    buf_release(b);
}

static struct buf begun(void)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_char(&b, '{');
    return b;
}

static struct parcel plain(void)
{
    struct parcel p = { .method = S("POST"),
                        .url = S("https://a.test/x"),
                        .created_ms = 10,
                        .not_before_ms = 20,
                        .retries = 3,
                        .flow = { .period_s = 1 },
                        .caller_ip = S("10.0.0.1") };

    memset(p.id.b, 0xab, sizeof(p.id.b));
    return p;
}

#define ID "msg_abababababababababababababababab"

static void a_message_has_what_was_given_and_no_more(void **state)
{
    struct parcel p = plain();
    struct buf b = begun();

    (void)state;
    render_message(&b, &p);
    must_be("the least", &b,
            "{\"messageId\":\"" ID "\",\"url\":\"https://a.test/x\",\"method\":\"POST\","
            "\"maxRetries\":3,\"notBefore\":20,\"createdAt\":10,\"callerIP\":\"10.0.0.1\","
            "\"callerIp\":\"10.0.0.1\"");
}

static struct parcel full(void)
{
    struct parcel p = plain();

    p.topic = S("group");
    p.endpoint = S("first");
    p.header = S("{\"content-type\":[\"text/plain\"],\"x-secret\":[\"abc\",\"d\"]}");
    p.body = S("hello");
    p.retry_delay = S("1000 * retried");
    p.timeout_ms = 5000;
    p.callbacks = S("{\"callback\":{\"url\":\"https://a.test/\\\"q\\\"\",\"retries\":2,"
                    "\"header\":{\"x-tenant\":[\"t\"]}},\"failure\":{\"url\":\"https://b.test\"}}");
    p.queue = S("q");
    p.schedule_id = S("s");
    p.flow_key = S("k");
    p.flow = (struct flow_limits){ .parallelism = 2, .period_s = 60 };
    p.labels = S("one,two");
    return p;
}

static void a_message_has_all_that_was_given(void **state)
{
    struct parcel p = full();
    struct buf b = begun();

    (void)state;
    render_message(&b, &p);
    must_be("all of it", &b,
            "{\"messageId\":\"" ID "\",\"url\":\"https://a.test/x\",\"topicName\":\"group\","
            "\"endpointName\":\"first\",\"method\":\"POST\","
            "\"header\":{\"Content-Type\":[\"text/plain\"],\"X-Secret\":[\"abc\",\"d\"]},"
            "\"body\":\"hello\",\"maxRetries\":3,\"retryDelayExpression\":\"1000 * retried\","
            "\"notBefore\":20,\"createdAt\":10,\"callback\":\"https://a.test/\\\"q\\\"\","
            "\"callbackHeader\":{\"X-Tenant\":[\"t\"]},\"failureCallback\":\"https://b.test\","
            "\"queueName\":\"q\",\"scheduleId\":\"s\",\"callerIP\":\"10.0.0.1\","
            "\"callerIp\":\"10.0.0.1\",\"flowControlKey\":\"k\",\"parallelism\":2,\"period\":60,"
            "\"label\":\"one\",\"labels\":[\"one\",\"two\"]");
}

static void a_body_is_text_where_it_can_be(void **state)
{
    static const struct {
        const char *why;
        struct str body;
        const char *redact, *want;
    } rows[] = {
        { "empty", { "", 0 }, "", "{" },
        { "empty, and hidden", { "", 0 }, "body", "{" },
        { "text", { "\xc3\xa9\n", 3 }, "", "{\"body\":\"\xc3\xa9\\n\"" },
        { "bytes", { "\xff\xfe", 2 }, "", "{\"bodyBase64\":\"//4=\"" },
        { "a NUL is text", { "a\0", 2 }, "", "{\"body\":\"a\\u0000\"" },
        { "hidden",
          { "abc", 3 },
          "body",
          "{\"body\":"
          "\"REDACTED:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"" },
        { "hidden bytes are text",
          { "\xff\xfe", 2 },
          "body",
          "{\"body\":"
          "\"REDACTED:b3d510ef04275ca8e698e5b3cbb0ece3949ef9252f0cdc839e9ee347409a2209\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct parcel p = { .body = rows[i].body };
        struct redact hide = redact_of(str_of(rows[i].redact));
        struct buf b = begun();

        render_body(&b, &p, &hide);
        must_be(rows[i].why, &b, rows[i].want);
    }
}

#define HIDDEN "\"REDACTED:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\""

static void headers_are_hidden_where_they_are_named(void **state)
{
    static const struct {
        const char *why, *redact, *json, *want;
    } rows[] = {
        { "none", "", "{\"a\":[\"abc\"]}", "{\"h\":{\"A\":[\"abc\"]}" },
        { "all", "header", "{\"a\":[\"abc\"],\"b\":[\"abc\",\"abc\"]}",
          "{\"h\":{\"A\":[" HIDDEN "],\"B\":[" HIDDEN "," HIDDEN "]}" },
        { "one", "header[A-b]", "{\"a-B\":[\"abc\"],\"c\":[\"d\"]}",
          "{\"h\":{\"A-B\":[" HIDDEN "],\"C\":[\"d\"]}" },
        { "no headers at all", "", "", "{" },
        { "an empty object", "", "{}", "{" },
        { "what is no object is not shown", "", "[1]", "{" },
        { "what cannot be read is not shown", "header", "{\"a\":[\"secret\"", "{" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct redact hide = redact_of(str_of(rows[i].redact));
        struct buf b = begun();

        render_header(&b, "h", str_of(rows[i].json), &hide);
        must_be(rows[i].why, &b, rows[i].want);
    }
}

static void nothing_that_is_hidden_is_in_any_view(void **state)
{
    struct parcel p = full();
    struct dead d = { .seq = 7, .died_ms = 30, .status = 500 };
    struct log_entry line = { .state = QSTASH_CREATED, .at_ms = 10 };
    struct buf b = begun();

    (void)state;
    p.body = S("abc");
    p.redact = S("body,header[X-Secret],header[X-Tenant]");
    render_message(&b, &p);
    render_dead(&b, &p, &d);
    render_log(&b, &line, &p);
    buf_char(&b, '\0');
    assert_null(strstr(b.p, "\"abc\""));
    assert_null(strstr(b.p, "[\"t\"]"));
    assert_null(strstr(b.p, "YWJj")); /* base64 */
    assert_non_null(strstr(b.p, "text/plain"));
    buf_release(&b);
}

static void a_dead_one_says_how_it_died(void **state)
{
    struct parcel p = plain();
    struct dead d = { .seq = 7,
                      .died_ms = 30,
                      .status = 0,
                      .response_header = S("{\"retry-after\":[\"1\"]}"),
                      .response_body = S("\xff") };
    struct buf b = begun();

    (void)state;
    render_dead(&b, &p, &d);
    must_be("dead", &b,
            "{\"dlqId\":\"30-7\",\"messageId\":\"" ID "\",\"url\":\"https://a.test/x\","
            "\"method\":\"POST\",\"maxRetries\":3,\"notBefore\":20,\"createdAt\":10,"
            "\"callerIP\":\"10.0.0.1\",\"callerIp\":\"10.0.0.1\",\"responseStatus\":0,"
            "\"responseHeader\":{\"Retry-After\":[\"1\"]},\"responseBodyBase64\":\"/w==\"");
}

static void a_line_has_every_spelling(void **state)
{
    struct parcel p = full();
    struct log_entry line = { .id = p.id,
                              .at_ms = 40,
                              .state = QSTASH_ERROR,
                              .next_ms = 50,
                              .answered = true,
                              .status = 503,
                              .error = S("no"),
                              .response_header = S("{\"a\":[\"b\"]}"),
                              .response_body = S("busy") };
    struct buf b = begun();

    (void)state;
    render_log(&b, &line, &p);
    must_be("a line", &b,
            "{\"time\":40,\"messageId\":\"" ID
            "\",\"state\":\"ERROR\",\"url\":\"https://a.test/x\","
            "\"error\":\"no\",\"nextDeliveryTime\":50,\"topicName\":\"group\","
            "\"endpointName\":\"first\",\"queueName\":\"q\",\"scheduleId\":\"s\","
            "\"header\":{\"Content-Type\":[\"text/plain\"],\"X-Secret\":[\"abc\",\"d\"]},"
            "\"body\":\"aGVsbG8=\",\"method\":\"POST\",\"timeout\":5000,\"maxRetries\":3,"
            "\"retryDelayExpression\":\"1000 * retried\",\"retryDelayExpr\":\"1000 * retried\","
            "\"callback\":\"https://a.test/\\\"q\\\"\",\"callbackHeaders\":{\"X-Tenant\":[\"t\"]},"
            "\"failureCallback\":\"https://b.test\",\"label\":\"one\",\"labels\":[\"one\",\"two\"],"
            "\"flowControlKey\":\"k\",\"parallelism\":2,\"period\":60,\"callerIP\":\"10.0.0.1\","
            "\"callerIp\":\"10.0.0.1\",\"responseStatus\":503,\"responseBody\":\"YnVzeQ==\","
            "\"responseHeaders\":{\"A\":[\"b\"]},\"responseHeader\":{\"A\":[\"b\"]}");
    b = begun();
    render_log(&b, &(struct log_entry){ .id = p.id, .state = QSTASH_CREATED, .at_ms = 1 }, NULL);
    must_be("its content is gone", &b,
            "{\"time\":1,\"messageId\":\"" ID "\",\"state\":\"CREATED\",\"url\":\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_has_what_was_given_and_no_more),
        TEST(a_message_has_all_that_was_given),
        TEST(a_body_is_text_where_it_can_be),
        TEST(headers_are_hidden_where_they_are_named),
        TEST(nothing_that_is_hidden_is_in_any_view),
        TEST(a_dead_one_says_how_it_died),
        TEST(a_line_has_every_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
