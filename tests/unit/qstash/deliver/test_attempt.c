/* What goes out beside the body, and what the answer means. */
#include "auth/standard_webhooks.h"
#include "auth/upstash.h"
#include "base/limits.h"
#include "qstash/deliver/attempt.h"
#include "unit/cm.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct uuid id = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };
static const struct uuid older = { { 9, 9 } };
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

static struct parcel parcel(void)
{
    struct parcel p = { .id = id, .method = S("POST"), .body = S("{\"a\":1}"), .retries = 3 };

    assert_true(parcel_set_url(&p, S("https://a.test/in?x=1")));
    return p;
}

static struct stamp stamp(const char *key)
{
    return (struct stamp){ .key = str_of(key), .wall_ms = INT64_C(1760000000123), .retried = 2 };
}

static void show(const struct header *h, size_t n, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, STR_FMT "\n", STR_ARG(h[i].name));
}

static struct str value_of(const struct header *h, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(h[i].name, str_of(name)))
            return h[i].value;
    return (struct str){ 0 };
}

#define assert_str(s, text)                                                                        \
    do {                                                                                           \
        struct str got_ = (s);                                                                     \
        if (!str_eq(got_, str_of(text)))                                                           \
            fail_msg("got " STR_FMT ", wanted %s", STR_ARG(got_), text);                           \
    } while (0)

/* --- what is sent --- */

static void q10_a_delivery_has_these_headers_and_no_others(void **state)
{
    struct parcel p = parcel();
    struct stamp s = stamp("sig_0123456789abcdefghijklmnop");
    struct header *h;
    char names[1024];
    size_t n;

    (void)state;
    assert_int_equal(attempt_headers(&arena, &p, &s, &h, &n), OK);
    show(h, n, names, sizeof(names));
    assert_string_equal(names, "User-Agent\nUpstash-Message-Id\nUpstash-Retried\n"
                               "Upstash-Signature\nwebhook-id\nwebhook-timestamp\n"
                               "webhook-signature\n");
    assert_str(value_of(h, n, "User-Agent"), "Upstash-QStash");
    assert_str(value_of(h, n, "Upstash-Message-Id"), "msg_0102030405060708090a0b0c0d0e0f10");
    assert_str(value_of(h, n, "Upstash-Retried"), "2");
    assert_str(value_of(h, n, "webhook-id"), "msg_0102030405060708090a0b0c0d0e0f10");
    assert_str(value_of(h, n, "webhook-timestamp"), "1760000000");
}

static void q10_what_there_is_more_of_goes_along(void **state)
{
    struct parcel p = parcel();
    struct stamp s = stamp("sig_0123456789abcdefghijklmnop");
    struct header *h;
    char names[1024];
    size_t n;

    (void)state;
    p.header = S("{\"X-A\":[\"1\",\"2\"],\"X-Empty\":[\"\"],\"User-Agent\":[\"mine\"],"
                 "\"X-Latin\":[\"\303\274\"],\"Content-Type\":[\"text/plain\"]}");
    p.schedule_id = S("scd_1");
    p.topic = S("group");
    p.caller_ip = S("192.0.2.1");
    p.has_webhook_id = true;
    p.webhook_id = older;
    assert_int_equal(attempt_headers(&arena, &p, &s, &h, &n), OK);
    show(h, n, names, sizeof(names));
    assert_string_equal(names, "X-A\nX-A\nX-Empty\nUser-Agent\nX-Latin\nContent-Type\n"
                               "Upstash-Message-Id\nUpstash-Retried\nUpstash-Signature\n"
                               "Upstash-Schedule-Id\nUpstash-Topic-Name\nUpstash-Caller-Ip\n"
                               "webhook-id\nwebhook-timestamp\nwebhook-signature\n");
    assert_str(h[1].value, "2");
    assert_str(h[2].value, "");
    assert_str(value_of(h, n, "User-Agent"), "mine");
    assert_str(value_of(h, n, "X-Latin"), "\374"); /* as it came */
    assert_str(value_of(h, n, "Upstash-Message-Id"), "msg_0102030405060708090a0b0c0d0e0f10");
    assert_str(value_of(h, n, "webhook-id"), "msg_09090000000000000000000000000000");
}

static void q10_the_signature_is_for_this_address_and_this_body(void **state)
{
    struct parcel p = parcel();
    struct stamp s = stamp("sig_0123456789abcdefghijklmnop");
    struct str keys[] = { s.key }, signature;
    struct header *h;
    size_t n;

    (void)state;
    assert_int_equal(attempt_headers(&arena, &p, &s, &h, &n), OK);
    signature = value_of(h, n, "Upstash-Signature");
    assert_int_equal(upstash_verify(&arena, keys, 1, signature, p.url, p.body, 1760000000),
                     UPSTASH_OK);
    assert_int_equal(
        upstash_verify(&arena, keys, 1, signature, S("https://a.test/in"), p.body, 1760000000),
        UPSTASH_URL);
    assert_int_equal(upstash_verify(&arena, keys, 1, signature, p.url, S("{}"), 1760000000),
                     UPSTASH_BODY);
    p.body = (struct str){ 0 };
    assert_int_equal(attempt_headers(&arena, &p, &s, &h, &n), OK);
    signature = value_of(h, n, "Upstash-Signature");
    assert_int_equal(upstash_verify(&arena, keys, 1, signature, p.url, S(""), 1760000000),
                     UPSTASH_OK);
}

/* A library takes whsec_ and the base64 of the whole key, and makes an HMAC with those bytes. */
static void q10_standard_webhooks_are_signed_with_the_keys_own_bytes_however_many(void **state)
{
    static const size_t sizes[] = { 16, 23, 24, 25, 64, 65, LIMIT_SIGNING_KEY };
    struct parcel p = parcel();

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char key[LIMIT_SIGNING_KEY + 1] = "", text[128], base64[64] = "v1,";
        struct stamp s;
        unsigned char mac[32];
        unsigned int mac_n = 0;
        struct header *h;
        size_t n;

        for (size_t k = 0; k < sizes[i]; k++)
            key[k] = (char)('a' + k % 26);
        s = stamp(key);
        assert_int_equal(attempt_headers(&arena, &p, &s, &h, &n), OK);
        snprintf(text, sizeof(text), STR_FMT "." STR_FMT "." STR_FMT,
                 STR_ARG(value_of(h, n, "webhook-id")),
                 STR_ARG(value_of(h, n, "webhook-timestamp")), STR_ARG(p.body));
        assert_non_null(HMAC(EVP_sha256(), key, (int)sizes[i], (unsigned char *)text, strlen(text),
                             mac, &mac_n));
        EVP_EncodeBlock((unsigned char *)base64 + 3, mac, 32);
        assert_str(value_of(h, n, "webhook-signature"), base64);
    }
}

static void headers_that_cannot_be_read_are_no_headers(void **state)
{
    struct parcel p = parcel();
    struct stamp s = stamp("sig_0123456789abcdefghijklmnop");
    struct header *h;
    size_t n;

    (void)state;
    p.header = S("{\"X\":");
    assert_int_equal(attempt_headers(&arena, &p, &s, &h, &n), ERR_INTERNAL);
    arena_release(&arena);
    arena_init(&arena, 64);
    p = parcel();
    assert_int_not_equal(attempt_headers(&arena, &p, &s, &h, &n), OK);
}

/* --- what the answer means --- */

static struct call answer(int status, struct header *h, size_t n)
{
    return (struct call){ .result = status ? CALL_ANSWERED : CALL_UNCERTAIN,
                          .status = status,
                          .answer_headers = h,
                          .answer_header_count = n,
                          .answer = S("said"),
                          .arena = &arena,
                          .why = "Timeout was reached" };
}

static void q3_the_status_and_one_header_decide(void **state)
{
    static const struct {
        int status;
        const char *header;
        bool delivered, fatal;
    } rows[] = {
        { 200, NULL, true, false },     { 204, NULL, true, false },    { 299, NULL, true, false },
        { 199, NULL, false, false },    { 301, NULL, false, false },   { 404, NULL, false, false },
        { 489, NULL, false, false },    { 489, "true", false, true },  { 489, "True", false, true },
        { 489, "false", false, false }, { 500, "true", false, false }, { 200, "true", true, false },
        { 0, NULL, false, false },
    };
    struct parcel p = parcel();

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct header h = { S("upstash-nonretryable-error"), str_of(rows[i].header) };
        struct call c = answer(rows[i].status, &h, rows[i].header ? 1 : 0);
        struct attempt at;

        attempt_read(&c, &p, 0, 0, &at);
        if (at.status != rows[i].status || at.delivered != rows[i].delivered ||
            at.fatal != rows[i].fatal)
            fail_msg("row %zu", i);
        assert_str(at.error, rows[i].status ? "" : "Timeout was reached");
    }
}

static void q3_who_says_when_the_next_try_is(void **state)
{
    static const struct {
        const char *why, *name, *value, *expression;
        int64_t retried, ms;
    } rows[] = {
        { "the default backoff", NULL, NULL, "", 0, 12182 },
        { "the default backoff, later", NULL, NULL, "", 2, 1808042 },
        { "an expression", NULL, NULL, "1000 * (1 + retried)", 0, 1000 },
        { "an expression, later", NULL, NULL, "1000 * (1 + retried)", 2, 3000 },
        { "an expression that is no number", NULL, NULL, "1 / retried", 0, 12182 },
        { "the receiver wins", "Retry-After", "7", "1000", 0, 7000 },
        { "at once", "Retry-After", "0", "1000", 0, 0 },
        { "as a date", "Retry-After", "Thu, 09 Oct 2025 08:53:50 GMT", "", 0, 30000 },
        { "as a duration", "X-RateLimit-Reset-Requests", "6m5s", "", 0, 365000 },
        { "its relatives", "x-ratelimit-reset-tokens", "20ms", "", 0, 20 },
        { "more than a day is not heard", "Retry-After", "86401", "1000", 0, 1000 },
        { "nor is what nobody understands", "Retry-After", "soon", "", 0, 12182 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct header h = { str_of(rows[i].name), str_of(rows[i].value) };
        struct call c = answer(503, &h, rows[i].name ? 1 : 0);
        struct parcel p = parcel();
        struct attempt at;

        p.retry_delay = str_of(rows[i].expression);
        attempt_read(&c, &p, rows[i].retried, INT64_C(1760000000000), &at);
        if (at.next_delay_ms < rows[i].ms - 1 || at.next_delay_ms > rows[i].ms + 1)
            fail_msg("%s: %lld", rows[i].why, (long long)at.next_delay_ms);
    }
}

static void an_answers_headers_are_kept_as_text_and_as_many_as_fit(void **state)
{
    static char large[LIMIT_QSTASH_ANSWER_HEADER];
    struct header h[] = { { S("content-type"), S("text/plain") },
                          { S("x-q"), S("say \"\374\"") },
                          { S("CONTENT-TYPE"), S("second") },
                          { S("bad name"), S("x") } };
    struct header many[100];
    struct parcel p = parcel();
    struct call c = answer(200, h, COUNT(h));
    struct attempt at;

    (void)state;
    attempt_read(&c, &p, 0, 0, &at);
    assert_str(at.response_header, "{\"Content-Type\":[\"text/plain\",\"second\"],"
                                   "\"X-Q\":[\"say \\\"\303\274\\\"\"]}");
    assert_str(at.response_body, "said");
    memset(large, 'v', sizeof(large));
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = (struct header){ S("Set-Cookie"), { large, 1000 } };
    c = answer(200, many, COUNT(many));
    attempt_read(&c, &p, 0, 0, &at);
    assert_in_range(at.response_header.n, 9000, LIMIT_QSTASH_ANSWER_HEADER);
    many[0].value.n = sizeof(large);
    c = answer(200, many, 1);
    attempt_read(&c, &p, 0, 0, &at);
    assert_true(at.delivered);
    assert_int_equal(at.response_header.n, 0);
    c = answer(0, NULL, 0);
    attempt_read(&c, &p, 0, 0, &at);
    assert_int_equal(at.response_header.n, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(q10_a_delivery_has_these_headers_and_no_others),
        T(q10_what_there_is_more_of_goes_along),
        T(q10_the_signature_is_for_this_address_and_this_body),
        T(q10_standard_webhooks_are_signed_with_the_keys_own_bytes_however_many),
        T(headers_that_cannot_be_read_are_no_headers),
        T(q3_the_status_and_one_header_decide),
        T(q3_who_says_when_the_next_try_is),
        T(an_answers_headers_are_kept_as_text_and_as_many_as_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
