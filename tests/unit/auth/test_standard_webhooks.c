/* Standard Webhooks, by the project's own vector and by those of its npm package. */
#include "auth/standard_webhooks.h"
#include "unit/cm.h"

#include <string.h>

#define SECRET "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define ID "msg_01JA2Z9F0K4N5P6Q7R8S9T0V1W"
#define BODY                                                                                       \
    "{\"type\":\"payment.succeeded\",\"timestamp\":\"2025-10-09T08:53:20.000Z\",\"data\":{"        \
    "\"id\":\"pay_1\",\"amount\":1200,\"currency\":\"JPY\",\"note\":\"抹茶\"}}"
#define GOOD "v1,3fDBAnSCypPCTfZcXmNO+01KqN9KEghTECqOnaNFKLA="
#define AT 1760000000

static void the_known_vectors_hold(void **state)
{
    static const struct {
        const char *secret, *id, *at, *body, *signature;
    } rows[] = {
        { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
          "{\"test\": 2432232314}", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" },
        { SECRET, ID, "1760000000", BODY, GOOD },
        { SECRET, ID, "1760000000", "", "v1,yj6pyP1DphvkGM6CzO/rUd24rAJTAo4rPnOudfQcGhs=" },
        { "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=", ID, "1760000000", BODY,
          "v1,4gXGq1i47vmgvMMcNQWrQwY8KQdKRWSdOCirN7ynvHE=" },
    };
    char got[SIGNING_TEXT + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(signing_sign(str_of(rows[i].secret), str_of(rows[i].id), str_of(rows[i].at),
                                 str_of(rows[i].body), got));
        assert_string_equal(got, rows[i].signature);
    }
}

static void a_signature_is_checked_with_its_age(void **state)
{
    static const struct {
        const char *why, *id, *at, *signatures, *body;
        int64_t now_s;
        bool fine;
    } rows[] = {
        { "as it was signed", ID, "1760000000", GOOD, BODY, AT, true },
        { "five minutes old", ID, "1760000000", GOOD, BODY, AT + 300, true },
        { "older", ID, "1760000000", GOOD, BODY, AT + 301, false },
        { "five minutes ahead", ID, "1760000000", GOOD, BODY, AT - 300, true },
        { "further ahead", ID, "1760000000", GOOD, BODY, AT - 301, false },
        { "one of several", ID, "1760000000", "v1a,AAAA v1,bad " GOOD, BODY, AT, true },
        { "another body", ID, "1760000000", GOOD, BODY " ", AT, false },
        { "another id", ID "x", "1760000000", GOOD, BODY, AT, false },
        { "another time", ID, "1760000001", GOOD, BODY, AT, false },
        { "a tail behind the time", ID, "1760000000abc", GOOD, BODY, AT, false },
        { "no id", "", "1760000000", GOOD, BODY, AT, false },
        { "no signature", ID, "1760000000", "", BODY, AT, false },
        { "without its version", ID, "1760000000",
          "3fDBAnSCypPCTfZcXmNO+01KqN9KEghTECqOnaNFKLA=", BODY, AT, false },
        { "cut off", ID, "1760000000", "v1,3fDBAnSCypPCTfZcXmNO+01KqN9KEghTECqOnaNFKLA", BODY, AT,
          false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (signing_verify(S(SECRET), str_of(rows[i].id), str_of(rows[i].at),
                           str_of(rows[i].signatures), str_of(rows[i].body),
                           rows[i].now_s) != rows[i].fine)
            fail_msg("%s", rows[i].why);
}

static void a_secret_is_what_the_standard_says(void **state)
{
    static const struct {
        const char *why, *secret;
        bool sane;
    } rows[] = {
        { "32 bytes", SECRET, true },
        { "24 bytes", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true },
        { "64 bytes",
          "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFi"
          "Y2RlZg==",
          true },
        { "66 bytes",
          "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFi"
          "Y2RlZmFi",
          false },
        { "too short", "whsec_MDEyMzQ1Njc4OWFiY2Q=", false },
        { "no prefix", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", false },
        { "not base64", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNk*WY=", false },
        { "no padding", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY", false },
        { "stray bits", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWZ=", false },
        { "padding inside", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlh==Nk", false },
        { "only padding", "whsec_====", false },
        { "nothing", "", false },
        { "only the prefix", "whsec_", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (signing_secret_is_sane(str_of(rows[i].secret)) != rows[i].sane)
            fail_msg("%s", rows[i].why);
}

static void a_made_secret_is_sane_and_new(void **state)
{
    char one[SIGNING_SECRET_TEXT + 1], two[SIGNING_SECRET_TEXT + 1];
    struct rng r;

    (void)state;
    rng_init_kernel(&r);
    signing_secret_make(&r, one);
    signing_secret_make(&r, two);
    assert_int_equal(strlen(one), SIGNING_SECRET_TEXT);
    assert_true(signing_secret_is_sane(str_of(one)));
    assert_string_not_equal(one, two);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(the_known_vectors_hold),
        TEST(a_signature_is_checked_with_its_age),
        TEST(a_secret_is_what_the_standard_says),
        TEST(a_made_secret_is_sane_and_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
