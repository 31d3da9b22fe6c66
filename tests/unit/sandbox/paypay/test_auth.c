/* test_paypay_auth.c - PayPay's own samples and those that come out of its SDK, and all that must
 * not pass for one. */
#include "sandbox/paypay/auth.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

struct vector {
    const char *name, *key, *secret, *method, *path, *type, *body, *nonce, *hash, *mac;
    int64_t epoch;
};

#define BLOCK_B                                                                                    \
    "{\n    \"merchantPaymentId\": \"TEST_QR_Payment\",\n    \"amount\": {\n        "              \
    "\"amount\":10,\n        \"currency\": \"JPY\"\n    },\n    \"codeType\": \"ORDER_QR\",\n    " \
    "\"isAuthorization\":false,\n    \"redirectUrl\":\"https://about.paypay.ne.jp/\",\n    "       \
    "\"redirectType\":\"WEB_LINK\"\n}"
#define BLOCK_D                                                                                    \
    "{\"merchantPaymentId\":\"ich-0001\",\"amount\":{\"amount\":1200,\"currency\":\"JPY\"},"       \
    "\"codeType\":\"ORDER_QR\",\"orderDescription\":\"抹茶ケーキ\",\"isAuthorization\":true," \
    "\"redirectUrl\":\"https://shop.example/back\",\"redirectType\":\"WEB_LINK\","                 \
    "\"requestedAt\":1760000000}"
#define BLOCK_G                                                                                    \
    "{\"merchantPaymentId\":\"ich-0002\",\"userAuthorizationId\":\"ua-1\",\"amount\":{"            \
    "\"amount\":500,\"currency\":\"JPY\"},\"requestedAt\":1760000000}"
#define SDK_KEY "a_testKey", "dGVzdC1zZWNyZXQ="

static const struct vector vectors[] = {
    { "A", "APIKeyGenerated", "APIKeySecretGenerated", "POST", "/v2/codes",
      "application/json;charset=UTF-8;",
      "{\"sampleRequestBodyKey1\":\"sampleRequestBodyValue1\",\"sampleRequestBodyKey2\":"
      "\"sampleRequestBodyValue2\"}",
      "acd028",
      "1j0FnY4flNp5CtIKa7x9MQ==", "NW1jKIMnzR7tEhMWtcJcaef+nFVBt7jjAGcVuxHhchc=", 1579843452 },
    { "B", "sample_key", "sample_secret", "POST", "/v2/codes", "application/json", BLOCK_B,
      "fedaa4",
      "T9wzkv1tUWIxzIHQUT7iDQ==", "C2a7jD7OjL1DXnZhSYQfRI2Oxfdh43htV7pG8cwgCy4=", 1743138611 },
    { "C", "sample_key", "sample_secret", "GET", "/v2/payments/TEST_merchantPaymentID", "", "",
      "a360e2", "empty", "JbUZwAUKeQ+WDClEjkCGwYG/juFR+Dd5RK5AfL0gK9w=", 1743139337 },
    { "D", SDK_KEY, "POST", "/v2/codes", "application/json", BLOCK_D, "0f1e2d3c",
      "IIcjanJpgEflYQT2PEV/dQ==", "576Dl+HPrLX1GMzxMDDXqod2qhSjDYbgkcBdThoCgYw=", 1760000000 },
    { "E", SDK_KEY, "GET", "/v2/codes/payments/ich-0001", "", "", "0f1e2d3c", "empty",
      "y1xNCEL/QSXU7o1bRxqz+tT5WuB8xaVXUjRl4kBu4gw=", 1760000000 },
    { "F", SDK_KEY, "DELETE", "/v2/payments/ich-0001", "", "", "0f1e2d3c", "empty",
      "i6Q7Q43g+i+27Zqs+dY2l/OcymvprVge+s52KjzC7vM=", 1760000000 },
    { "G", SDK_KEY, "POST", "/v2/payments/preauthorize", "application/json", BLOCK_G, "0f1e2d3c",
      "kcwhCyRlPngJ0Z9pb0S7aw==", "egTDSh39dRYotcwBI5iHhK89NV1fb3IyfhqfEsLehKc=", 1760000000 },
};

static bool passes(const struct vector *v, const char *header, int64_t now_s)
{
    struct paypay_claim c = { str_of(v->method), str_of(v->path), str_of(v->type), str_of(v->body),
                              str_of(header) };
    struct paypay_keys k = { str_of(v->key), str_of(v->secret) };

    return paypay_auth_ok(&c, &k, now_s);
}

static const char *header_of(const struct vector *v, char text[512])
{
    snprintf(text, 512, "hmac OPA-Auth:%s:%s:%s:%lld:%s", v->key, v->mac, v->nonce,
             (long long)v->epoch, v->hash);
    return text;
}

static void every_published_sample_passes_and_no_change_of_it_does(void **state)
{
    char text[512];

    (void)state;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        const struct vector *v = &vectors[i];
        struct vector other = *v;
        char body[600], path[100];

        if (!passes(v, header_of(v, text), v->epoch))
            fail_msg("vector %s", v->name);
        other.method = "PUT";
        assert_false(passes(&other, text, v->epoch));
        other = *v;
        snprintf(path, sizeof(path), "%s/", v->path);
        other.path = path;
        assert_false(passes(&other, text, v->epoch));
        other = *v;
        snprintf(body, sizeof(body), "%s ", v->body);
        other.body = body; /* also where there was none */
        assert_false(passes(&other, text, v->epoch));
        other = *v;
        other.secret = "another secret";
        assert_false(passes(&other, text, v->epoch));
        other = *v;
        other.type = "application/json; charset=utf-8";
        assert_int_equal(passes(&other, text, v->epoch), !v->body[0]);
    }
}

static void the_clock_may_differ_by_two_minutes(void **state)
{
    static const struct {
        int64_t late_s;
        bool passes;
    } rows[] = { { 0, true },     { 120, true },    { 121, false },   { -120, true },
                 { -121, false }, { 86400, false }, { -86400, false } };
    const struct vector *v = &vectors[3];
    char text[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (passes(v, header_of(v, text), v->epoch + rows[i].late_s) != rows[i].passes)
            fail_msg("row %zu", i);
}

static void what_is_no_header_is_refused(void **state)
{
    const struct vector *v = &vectors[4];
    char text[512], wrong[600];
    size_t n;

    (void)state;
    header_of(v, text);
    n = strlen(text);
    assert_false(passes(v, "", v->epoch));
    for (size_t i = 0; i < n; i++) { /* cut anywhere, or with any one byte changed */
        snprintf(wrong, sizeof(wrong), "%.*s", (int)i, text);
        assert_false(passes(v, wrong, v->epoch));
        snprintf(wrong, sizeof(wrong), "%s", text);
        wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
        assert_false(passes(v, wrong, v->epoch));
    }
    snprintf(wrong, sizeof(wrong), "%s:x", text);
    assert_false(passes(v, wrong, v->epoch));
    snprintf(wrong, sizeof(wrong), "%s ", text);
    assert_false(passes(v, wrong, v->epoch));
    snprintf(wrong, sizeof(wrong), " %s", text);
    assert_false(passes(v, wrong, v->epoch));
    assert_false(passes(v, "hmac OPA-Auth:::::", v->epoch));
    assert_false(passes(v, "hmac OPA-Auth:a_testKey:x:y:99999999999999999999:empty", v->epoch));
}

static void nobody_passes_where_no_key_is_set(void **state)
{
    struct vector v = vectors[4];
    char text[512];

    (void)state;
    v.key = "";
    assert_false(passes(&v, header_of(&v, text), v.epoch));
    v = vectors[4];
    v.secret = "";
    assert_false(passes(&v, header_of(&v, text), v.epoch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_published_sample_passes_and_no_change_of_it_does),
        TEST(the_clock_may_differ_by_two_minutes),
        TEST(what_is_no_header_is_refused),
        TEST(nobody_passes_where_no_key_is_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
