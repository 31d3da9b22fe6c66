/* The Authorization header, against PayPay's own published samples (A to C) and what its SDK makes
 * with clock and nonce fixed (D to G). */
#include "gateway/paypay/sign.h"
#include "unit/gateway/fixtures.h"

#define BODY_A                                                                                     \
    "{'sampleRequestBodyKey1':'sampleRequestBodyValue1',"                                          \
    "'sampleRequestBodyKey2':'sampleRequestBodyValue2'}"
#define BODY_B                                                                                     \
    "{\n    'merchantPaymentId': 'TEST_QR_Payment',\n    'amount': {\n        'amount':10,\n"      \
    "        'currency': 'JPY'\n    },\n    'codeType': 'ORDER_QR',\n"                             \
    "    'isAuthorization':false,\n    'redirectUrl':'https://about.paypay.ne.jp/',\n"             \
    "    'redirectType':'WEB_LINK'\n}"
#define BODY_D                                                                                     \
    "{'merchantPaymentId':'ich-0001','amount':{'amount':1200,'currency':'JPY'},"                   \
    "'codeType':'ORDER_QR','orderDescription':'抹茶ケーキ','isAuthorization':true,"           \
    "'redirectUrl':'https://shop.example/back','redirectType':'WEB_LINK',"                         \
    "'requestedAt':1760000000}"
#define BODY_G                                                                                     \
    "{'merchantPaymentId':'ich-0002','userAuthorizationId':'ua-1',"                                \
    "'amount':{'amount':500,'currency':'JPY'},'requestedAt':1760000000}"
#define JSON_TYPE "application/json"
#define SDK "a_testKey", "dGVzdC1zZWNyZXQ="

static void g2_the_header_is_what_paypay_computes(void **state)
{
    static const struct {
        const char *why, *key, *secret, *method, *path, *nonce;
        long long epoch;
        const char *type, *body, *hash, *mac;
    } rows[] = {
        { "A: the docs' sample", "APIKeyGenerated", "APIKeySecretGenerated", "POST", "/v2/codes",
          "acd028", 1579843452, "application/json;charset=UTF-8;", BODY_A,
          "1j0FnY4flNp5CtIKa7x9MQ==", "NW1jKIMnzR7tEhMWtcJcaef+nFVBt7jjAGcVuxHhchc=" },
        { "B: the FAQ's POST", "sample_key", "sample_secret", "POST", "/v2/codes", "fedaa4",
          1743138611, JSON_TYPE, BODY_B,
          "T9wzkv1tUWIxzIHQUT7iDQ==", "C2a7jD7OjL1DXnZhSYQfRI2Oxfdh43htV7pG8cwgCy4=" },
        { "C: the FAQ's GET", "sample_key", "sample_secret", "GET",
          "/v2/payments/TEST_merchantPaymentID", "a360e2", 1743139337, JSON_TYPE, "", "empty",
          "JbUZwAUKeQ+WDClEjkCGwYG/juFR+Dd5RK5AfL0gK9w=" },
        { "D: the SDK's code", SDK, "POST", "/v2/codes", "0f1e2d3c", 1760000000, JSON_TYPE, BODY_D,
          "IIcjanJpgEflYQT2PEV/dQ==", "576Dl+HPrLX1GMzxMDDXqod2qhSjDYbgkcBdThoCgYw=" },
        { "E: the SDK's GET", SDK, "GET", "/v2/codes/payments/ich-0001", "0f1e2d3c", 1760000000,
          JSON_TYPE, "", "empty", "y1xNCEL/QSXU7o1bRxqz+tT5WuB8xaVXUjRl4kBu4gw=" },
        { "F: the SDK's DELETE", SDK, "DELETE", "/v2/payments/ich-0001", "0f1e2d3c", 1760000000,
          JSON_TYPE, "", "empty", "i6Q7Q43g+i+27Zqs+dY2l/OcymvprVge+s52KjzC7vM=" },
        { "G: the SDK's authorization", SDK, "POST", "/v2/payments/preauthorize", "0f1e2d3c",
          1760000000, JSON_TYPE, BODY_G,
          "kcwhCyRlPngJ0Z9pb0S7aw==", "egTDSh39dRYotcwBI5iHhK89NV1fb3IyfhqfEsLehKc=" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *body = json_of(rows[i].body), wanted[512];
        struct paypay_signing s = { str_of(rows[i].key),    str_of(rows[i].secret),
                                    str_of(rows[i].method), str_of(rows[i].path),
                                    str_of(rows[i].type),   str_of(body),
                                    str_of(rows[i].nonce),  rows[i].epoch };
        struct str header;
        struct arena a;

        arena_init(&a, 1 << 16);
        snprintf(wanted, sizeof(wanted), "hmac OPA-Auth:%s:%s:%s:%lld:%s", rows[i].key, rows[i].mac,
                 rows[i].nonce, rows[i].epoch, rows[i].hash);
        assert_int_equal(paypay_sign(&a, &s, &header), OK);
        expect_str(rows[i].why, header, wanted);
        arena_release(&a);
        free(body);
    }
}

static void every_part_of_the_request_is_covered(void **state)
{
    struct paypay_signing s = { S("k"),   S("secret"),    S("POST"),  S("/v2/codes"),
                                S("t/t"), S("{\"a\":1}"), S("n0nce"), 1760000000 };
    struct paypay_signing others[] = { s, s, s, s, s, s, s };
    struct str first, other;
    struct arena a;

    (void)state;
    others[0].api_secret = S("Secret");
    others[1].method = S("PUT");
    others[2].path = S("/v2/codes/");
    others[3].content_type = S("t/u");
    others[4].body = S("{\"a\":2}");
    others[5].nonce = S("n1nce");
    others[6].epoch_s++;
    arena_init(&a, 1 << 16);
    assert_int_equal(paypay_sign(&a, &s, &first), OK);
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(paypay_sign(&a, &others[i], &other), OK);
        first.n = other.n = sizeof("hmac OPA-Auth:k:") - 1 + 44; /* up to the mac's end */
        assert_false(str_eq(first, other));
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(g2_the_header_is_what_paypay_computes),
        TEST(every_part_of_the_request_is_covered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
