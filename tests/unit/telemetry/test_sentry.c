#include "base/json/json.h"
#include "observe/log.h"
#include "telemetry/sentry_dsn.h"
#include "telemetry/sentry_event.h"
#include "telemetry/sentry_limits.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

#define NOW INT64_C(1760000000000)

static void a_dsn_says_where_and_who(void **state)
{
    static const struct {
        const char *dsn, *url, *auth; /* url NULL: it is refused */
    } rows[] = {
        { "https://pub@o1.ingest.sentry.io/42", "https://o1.ingest.sentry.io/api/42/envelope/",
          "sentry_key=pub" },
        { "https://pub:sec@h/42", "https://h/api/42/envelope/",
          "sentry_key=pub, sentry_secret=sec" },
        { "https://pub:@h/42", "https://h/api/42/envelope/", "sentry_key=pub" },
        { "http://pub@localhost:9000/path/to/007",
          "http://localhost:9000/path/to/api/007/envelope/", "sentry_key=pub" },
        { "https://pub@[::1]:9000/1", "https://[::1]:9000/api/1/envelope/", "sentry_key=pub" },
        { "https://pub@[::1]/1", "https://[::1]/api/1/envelope/", "sentry_key=pub" },
        { "https://h/1", NULL, NULL },             /* no key */
        { "https://@h/1", NULL, NULL },            /* an empty one */
        { "https://pub:sec@h/42abc", NULL, NULL }, /* no number */
        { "https://pub@h/", NULL, NULL },          /* no project */
        { "https://pub@h", NULL, NULL },           /* the same */
        { "https://pub@h/1?x=1", NULL, NULL },
        { "ftp://pub@h/1", NULL, NULL },
        { "pub@h/1", NULL, NULL },
        { "https://pub@/1", NULL, NULL },   /* no host */
        { "https://pub@h:/1", NULL, NULL }, /* no port */
        { "https://pub@h:99999/1", NULL, NULL },
        { "https://pub@h:80x/1", NULL, NULL },
        { "https://pub@[::1/1", NULL, NULL },
        { "https://pub@[::1]x/1", NULL, NULL },
        { "https://pub@[]/1", NULL, NULL },
        { "https://p\r\nX: y@h/1", NULL, NULL }, /* no second header */
        { "https://pub@h/a b/1", NULL, NULL },
        { "https://pub@e@h/1", NULL, NULL },
        { "https:///1", NULL, NULL },
        { "https://", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sentry_dsn dsn;
        char auth[256];
        struct why why = { 0 };
        bool fine = sentry_dsn_parse(str_of(rows[i].dsn), S("ichido/1"), &dsn, &why);

        if (fine != (rows[i].url != NULL))
            fail_msg("%s: %s", rows[i].dsn, why.text);
        if (!fine) {
            assert_true(strlen(why.text) > 20);
            assert_null(strstr(why.text, "pub@"));
            continue;
        }
        snprintf(auth, sizeof(auth), "Sentry sentry_version=7, sentry_client=ichido/1, %s",
                 rows[i].auth);
        assert_string_equal(dsn.url, rows[i].url);
        assert_string_equal(dsn.auth, auth);
    }
}

static void a_dsn_without_an_end_is_refused(void **state)
{
    char dsn[SENTRY_DSN_MAX + 2];
    struct why why;
    struct sentry_dsn parsed;

    (void)state;
    memset(dsn, '1', sizeof(dsn));
    memcpy(dsn, "http://p@h/", 11);
    assert_false(sentry_dsn_parse((struct str){ dsn, sizeof(dsn) }, S("i/1"), &parsed, &why));
    assert_true(sentry_dsn_parse((struct str){ dsn, SENTRY_DSN_MAX }, S("i/1"), &parsed, &why));
    assert_true(strstr(parsed.url, "/envelope/") != NULL);
}

static void limits_are_learned_from_every_answer(void **state)
{
    static const struct {
        int status;
        const char *limits, *retry_after;
        int64_t events_ms, reports_ms;
    } rows[] = {
        { 200, "", "", 0, 0 },
        { 200, "", "60", 0, 0 },
        { 500, "", "60", 0, 0 },
        { 200, "60:error:key", "", 60000, 0 },
        { 200, "60:transaction:key, 2700:default;error;security:organization", "", 2700000, 0 },
        { 200, " 60 : internal : key ", "", 0, 60000 },
        { 429, "5::organization", "9", 5000, 5000 },      /* all; Retry-After does not count */
        { 429, "5:transaction:organization", "9", 0, 0 }, /* nothing of ours */
        { 200, "5:unheard_of:key", "", 0, 0 },
        { 200, "0.5:error:key:reason:namespace:more", "", 500, 0 },
        { 200, "x:error:key", "", 60000, 0 },
        { 200, "-5:error:key", "", 60000, 0 },
        { 200, "1e99:error", "", 86400000, 0 },
        { 200, "10:error,20:error,5:error", "", 20000, 0 }, /* the longest wins */
        { 200, ",,", "", 0, 0 },
        { 429, "", "120", 120000, 120000 },
        { 429, "", "Thu, 09 Oct 2025 08:53:30 GMT", 10000, 10000 }, /* ten seconds from NOW */
        { 429, "", "Thu, 09 Oct 2025 08:00:00 GMT", 0, 0 },         /* it is over */
        { 429, "", "", 60000, 60000 },
        { 429, "", "soon", 60000, 60000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sentry_limits l = { 0 };

        sentry_limits_learn(&l, rows[i].status, str_of(rows[i].limits), str_of(rows[i].retry_after),
                            1000, NOW);
        if ((l.events_until_ms > 1000 ? l.events_until_ms - 1000 : 0) != rows[i].events_ms ||
            (l.reports_until_ms > 1000 ? l.reports_until_ms - 1000 : 0) != rows[i].reports_ms)
            fail_msg("row %zu: %lld %lld", i, (long long)l.events_until_ms,
                     (long long)l.reports_until_ms);
    }
}

static void a_shorter_limit_does_not_shorten_a_longer_one(void **state)
{
    struct sentry_limits l = { 0 };

    (void)state;
    sentry_limits_learn(&l, 200, S("2700:error:key"), S(""), 0, NOW);
    sentry_limits_learn(&l, 429, S(""), S("1"), 1000, NOW);
    assert_int_equal(l.events_until_ms, 2700000);
    assert_int_equal(l.reports_until_ms, 2000);
}

static const struct sentry_about about = { { "test", 4 }, { "0.1", 3 }, { "host", 4 } };

/* The payload of the only item. Its length is as its head says. */
static cJSON *event_of(struct str line, enum err expected)
{
    struct json_value length;
    struct str rest, head;
    const char *path = "length";
    int64_t n = -1;
    cJSON *tree = NULL;
    struct buf b;

    buf_init(&b, 100000);
    assert_int_equal(sentry_event(&b, line, S("0123456789abcdef0123456789abcdef"), &about),
                     expected);
    if (expected) {
        buf_release(&b);
        return NULL;
    }
    rest = buf_str(&b);
    head = str_cut(&rest, '\n');
    assert_int_equal(json_pick(head, &path, 1, &length, NULL), OK);
    assert_true(str_to_i64(length.raw, &n));
    assert_int_equal((size_t)n + 1, rest.n);
    assert_int_equal(rest.p[n], '\n');
    assert_int_equal(json_parse((struct str){ rest.p, (size_t)n }, &tree, NULL), OK);
    buf_release(&b);
    return tree;
}

static const char *at(const cJSON *o, const char *a, const char *b)
{
    o = cJSON_GetObjectItemCaseSensitive(o, a);
    return cJSON_GetStringValue(b ? cJSON_GetObjectItemCaseSensitive(o, b) : o);
}

static void a_line_becomes_an_event(void **state)
{
    CLEANUP(json_freep)
    cJSON *e = event_of(
        S("{\"time\":\"2025-10-09T08:53:20.123Z\",\"level\":\"error\",\"message\":\"Webhook "
          "processing failed\",\"error\":\"no \\\"such\\\" payment\\n\",\"eventType\":\"a.b\","
          "\"attempt\":3,\"traceId\":\"0af7651916cd43dd8448eb211c80319c\","
          "\"spanId\":\"b7ad6b7169203331\"}"),
        OK);
    const cJSON *trace = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "contexts"), "trace");
    const cJSON *value =
        cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(e, "exception"), "values"), 0);

    (void)state;
    assert_string_equal(at(e, "event_id", NULL), "0123456789abcdef0123456789abcdef");
    assert_string_equal(at(e, "timestamp", NULL), "2025-10-09T08:53:20.123Z");
    assert_string_equal(at(e, "level", NULL), "error");
    assert_string_equal(at(e, "platform", NULL), "native");
    assert_string_equal(at(e, "release", NULL), "0.1");
    assert_string_equal(at(e, "environment", NULL), "test");
    assert_string_equal(at(e, "server_name", NULL), "host");
    assert_string_equal(at(e, "tags", "eventType"), "a.b");
    assert_string_equal(at(value, "type", NULL), "Webhook processing failed");
    assert_string_equal(at(value, "value", NULL), "no \"such\" payment\n");
    assert_string_equal(at(trace, "trace_id", NULL), "0af7651916cd43dd8448eb211c80319c");
    assert_string_equal(at(trace, "span_id", NULL), "b7ad6b7169203331");
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(e, "extra"), "attempt")->valueint, 3);
    assert_string_equal(
        cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(e, "fingerprint"), 0)),
        "Webhook processing failed");
}

static void a6_the_ids_of_a_provider_stay_here(void **state)
{
    CLEANUP(json_freep)
    cJSON *e =
        event_of(S("{\"level\":\"error\",\"message\":\"m\",\"paymentIntentId\":\"pi_3Abc456789\","
                   "\"gatewayTransactionId\":\"pi_3Abc456789\",\"errorCode\":\"card_declined\","
                   "\"lastError\":\"pi_3Abc456789\",\"errorMessage\":\"No such payment_intent: "
                   "'pi_3Abc456789'\"}"),
                 OK);
    char *text = cJSON_PrintUnformatted(e);
    const cJSON *value =
        cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(e, "exception"), "values"), 0);

    (void)state;
    assert_null(strstr(text, "3Abc456789"));
    assert_null(at(e, "extra", "paymentIntentId"));
    assert_null(at(e, "extra", "gatewayTransactionId"));
    assert_string_equal(at(e, "tags", "errorCode"), "card_declined");
    assert_string_equal(at(e, "extra", "errorMessage"), "No such payment_intent: 'pi_**********'");
    assert_string_equal(at(value, "value", NULL), "No such payment_intent: 'pi_**********'");
    cJSON_free(text);
}

static void what_is_no_line_is_no_event(void **state)
{
    static const char *const rows[] = {
        "", "[]", "{}", "{\"message\":1}", "{\"message\":\"\"}", "{\"message\":\"a\""
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_null(event_of(str_of(rows[i]), ERR_VALIDATION));
}

/* A trace id that is none, a tag that is too long. */
static void an_event_stays_within_sentrys_rules(void **state)
{
    char text[1200] = "{\"message\":\"m\",\"traceId\":\"../../etc\",\"reason\":\"", tag[700] = "";
    cJSON *e;

    (void)state;
    for (int i = 0; i < 220; i++)
        strcat(tag, "領");
    strcat(text, tag);
    strcat(text, "\"}");
    e = event_of(str_of(text), OK);
    assert_null(cJSON_GetObjectItem(e, "contexts"));
    assert_int_equal(strlen(at(e, "tags", "reason")), 600);
    json_freep(&e);
}

static void a_message_of_our_own_is_masked_and_grouped_by_its_fingerprint(void **state)
{
    const struct log_field tags[] = { LOG_TEXT("alert", S("dlq")), LOG_NUM("value", 7),
                                      LOG_TEXT("card", S("4242424242424242")),
                                      LOG_TEXT("cvc", S("123")), LOG_TEXT(NULL, S("x")) };
    struct buf b;
    cJSON *e;

    (void)state;
    buf_init(&b, 10000);
    sentry_own(&b, NOW, "warning", S("the card 4242 4242 4242 4242"), S("alert-dlq"), tags,
               COUNT(tags));
    e = event_of(buf_str(&b), OK);
    assert_string_equal(at(e, "message", NULL), "the card **** **** **** 4242");
    assert_string_equal(at(e, "level", NULL), "warning");
    assert_string_equal(at(e, "timestamp", NULL), "2025-10-09T08:53:20.000Z");
    assert_string_equal(at(e, "tags", "alert"), "dlq");
    assert_string_equal(at(e, "tags", "value"), "7");
    assert_string_equal(at(e, "tags", "card"), "************4242");
    assert_string_equal(at(e, "tags", "cvc"), "***");
    assert_string_equal(
        cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(e, "fingerprint"), 0)),
        "alert-dlq");
    assert_null(cJSON_GetObjectItem(e, "exception"));
    json_freep(&e);
    buf_release(&b);
}

static void a_report_says_what_was_dropped(void **state)
{
    int64_t dropped[SENTRY_REASON_COUNT] = { [SENTRY_LIMITED] = 3, [SENTRY_SAME] = 7 };
    struct buf b;

    (void)state;
    buf_init(&b, 10000);
    sentry_report(&b, dropped, NOW);
    buf_char(&b, '\0');
    assert_non_null(strstr(b.p,
                           "{\"timestamp\":\"2025-10-09T08:53:20.000Z\",\"discarded_events\":["
                           "{\"reason\":\"ratelimit_backoff\",\"category\":\"error\","
                           "\"quantity\":3},{\"reason\":\"before_send\",\"category\":\"error\","
                           "\"quantity\":7}]}\n"));
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dsn_says_where_and_who),
        TEST(a_dsn_without_an_end_is_refused),
        TEST(limits_are_learned_from_every_answer),
        TEST(a_shorter_limit_does_not_shorten_a_longer_one),
        TEST(a_line_becomes_an_event),
        TEST(a6_the_ids_of_a_provider_stay_here),
        TEST(what_is_no_line_is_no_event),
        TEST(an_event_stays_within_sentrys_rules),
        TEST(a_message_of_our_own_is_masked_and_grouped_by_its_fingerprint),
        TEST(a_report_says_what_was_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
