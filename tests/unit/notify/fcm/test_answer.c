/* Every answer that FCM is known to give, and some that it should not. */
#include "base/limits.h"
#include "notify/fcm/answer.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

#define FCM                                                                                        \
    "{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"%s\"}"
#define BAD                                                                                        \
    "{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[{\"field\":"    \
    "\"message.data\",\"description\":\"Invalid value\"}]}"
#define TOKEN_WORDS "The registration token is not a valid FCM registration token"

enum { QUOTA = LIMIT_FCM_QUOTA_MS, TEN = LIMIT_FCM_INTERNAL_MS };

static const char *error_of(char out[2048], int code, const char *words, const char *status,
                            const char *details)
{
    snprintf(out, 2048,
             "{\"error\":{\"code\":%d,\"message\":\"%s\",\"status\":\"%s\",\"details\":[%s]}}",
             code, words, status, details);
    return out;
}

static const char *fcm_of(char out[512], const char *code)
{
    snprintf(out, 512, FCM, code);
    return out;
}

static void an_answer_means_what_the_table_says(void **state)
{
    static const struct {
        int http;
        const char *error_code, *status, *words, *more, *retry_after;
        enum fcm_end end;
        bool alarm;
        int64_t wait_ms;
    } rows[] = {
        { 404, "UNREGISTERED", "NOT_FOUND", "gone", "", "", FCM_GONE, false, -1 },
        { 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", TOKEN_WORDS, "", "", FCM_GONE, false, -1 },
        { 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", TOKEN_WORDS, "," BAD, "", FCM_NEVER, false,
          -1 },
        { 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "message is too big", "", "", FCM_NEVER,
          false, -1 },
        { 400, NULL, "INVALID_ARGUMENT", TOKEN_WORDS, BAD, "", FCM_NEVER, false, -1 },
        { 400, NULL, "INVALID_ARGUMENT", TOKEN_WORDS, "", "", FCM_NEVER, false, -1 },
        { 403, "SENDER_ID_MISMATCH", "PERMISSION_DENIED", "other", "", "", FCM_LATER, true, -1 },
        { 401, "THIRD_PARTY_AUTH_ERROR", "UNAUTHENTICATED", "APNs", "", "", FCM_LATER, true, -1 },
        { 401, NULL, "UNAUTHENTICATED", "expired", "", "", FCM_REFRESH, true, -1 },
        { 403, NULL, "PERMISSION_DENIED", "no", "", "", FCM_LATER, true, -1 },
        { 404, NULL, "NOT_FOUND", "no such project", "", "", FCM_LATER, true, -1 },
        { 429, "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "slow", "", "", FCM_LATER, false, QUOTA },
        { 429, "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "slow", "", "7", FCM_LATER, false, 7000 },
        { 429, NULL, "RESOURCE_EXHAUSTED", "slow", "", "", FCM_LATER, false, QUOTA },
        { 429, NULL, "RESOURCE_EXHAUSTED", "slow", "", "Thu, 09 Oct 2025 08:53:35 GMT", FCM_LATER,
          false, 15000 },
        { 503, "UNAVAILABLE", "UNAVAILABLE", "busy", "", "", FCM_LATER, false, -1 },
        { 503, "UNAVAILABLE", "UNAVAILABLE", "busy", "", "120", FCM_LATER, false, 120000 },
        { 500, "INTERNAL", "INTERNAL", "oops", "", "", FCM_LATER, false, TEN },
        { 500, "INTERNAL", "INTERNAL", "oops", "", "1", FCM_LATER, false, TEN },
        { 500, "INTERNAL", "INTERNAL", "oops", "", "30", FCM_LATER, false, 30000 },
        { 500, "UNSPECIFIED_ERROR", "UNKNOWN", "?", "", "", FCM_LATER, false, -1 },
        { 504, NULL, "DEADLINE_EXCEEDED", "late", "", "", FCM_UNKNOWN, false, -1 },
        { 502, NULL, "SOMETHING_NEW", "bad gateway", "", "", FCM_UNKNOWN, false, -1 },
        { 502, "UNAVAILABLE", "UNAVAILABLE", "busy", "", "", FCM_LATER, false, -1 },
        { 404, "SOMETHING_NEW", "NOT_FOUND", "?", "", "", FCM_LATER, true, -1 },
        { 418, "SOMETHING_NEW", "ALSO_NEW", "?", "", "", FCM_NEVER, false, -1 },
    };
    char body[2048], details[1024], fcm[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fcm_verdict v;

        snprintf(details, sizeof(details), "%s%s",
                 rows[i].error_code ? fcm_of(fcm, rows[i].error_code) : "", rows[i].more);
        error_of(body, rows[i].http, rows[i].words, rows[i].status, details);
        v = fcm_answer(rows[i].http, str_of(rows[i].retry_after), str_of(body), 1760000000000);
        if (v.end != rows[i].end || v.alarm != rows[i].alarm || v.retry_after_ms != rows[i].wait_ms)
            fail_msg("row %zu: %s: end %d, alarm %d, wait %lld", i, body, v.end, v.alarm,
                     (long long)v.retry_after_ms);
    }
}

static void without_json_the_status_decides(void **state)
{
    static const struct {
        int http;
        enum fcm_end end;
        int64_t wait_ms;
    } rows[] = {
        { 200, FCM_SENT, -1 },     { 201, FCM_SENT, -1 },    { 301, FCM_LATER, -1 },
        { 400, FCM_NEVER, -1 },    { 401, FCM_REFRESH, -1 }, { 403, FCM_LATER, -1 },
        { 404, FCM_LATER, -1 },    { 408, FCM_LATER, -1 },   { 413, FCM_NEVER, -1 },
        { 429, FCM_LATER, QUOTA }, { 500, FCM_LATER, TEN },  { 502, FCM_UNKNOWN, -1 },
        { 503, FCM_LATER, -1 },    { 504, FCM_UNKNOWN, -1 }, { 599, FCM_LATER, -1 },
    };
    static const char *const bodies[] = {
        "",
        "<html>The server encountered a temporary error</html>",
        "[]",
        "null",
        "{",
        "{\"error\":\"invalid_token\"}",
        "{\"error\":{\"details\":{}}}",
        "{\"error\":{\"details\":[1,[],{\"@type\":7,\"errorCode\":\"UNREGISTERED\"}],\"status\":[]}"
        "}",
        "{\"error\":{\"details\":[{\"errorCode\":\"UNREGISTERED\"}]}}",
        "\xff\xfe",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < COUNT(bodies); k++) {
            struct fcm_verdict v = fcm_answer(rows[i].http, S(""), str_of(bodies[k]), 0);

            if (v.end != rows[i].end || v.retry_after_ms != rows[i].wait_ms)
                fail_msg("%d %s: end %d, wait %lld", rows[i].http, bodies[k], v.end,
                         (long long)v.retry_after_ms);
        }
}

static void nothing_of_theirs_is_in_the_word(void **state)
{
    char body[2048];
    struct fcm_verdict v;

    (void)state;
    v = fcm_answer(400, S(""), str_of(error_of(body, 400, "device-token-1", "device-token-1", "")),
                   0);
    assert_string_equal(v.code, "INVALID_ARGUMENT");
    v = fcm_answer(418, S(""), str_of(error_of(body, 418, "device-token-1", "device-token-1", "")),
                   0);
    assert_string_equal(v.code, "a refusal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_means_what_the_table_says),
        TEST(without_json_the_status_decides),
        TEST(nothing_of_theirs_is_in_the_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
