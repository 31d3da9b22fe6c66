#include "domain/key.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

#define ID "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b"

static struct uuid id_of(const char *text)
{
    struct uuid id;

    assert_true(uuid_parse(str_of(text), &id));
    return id;
}

/* --- the header --- */

static void bare_or_quoted_in_either_case_it_is_the_same_key(void **state)
{
    static const char *const rows[] = {
        ID,
        "\"" ID "\"",
        "0190A1B2-C3D4-7E5F-8A6B-7C8D9E0F1A2B",
        "\"0190A1b2-C3d4-7E5f-8A6b-7C8d9E0f1A2b\"",
        " \t" ID "\t ",
        "  \"" ID "\"  ",
        "\"" ID "\";v=1",
        "\"" ID "\";  v=1;w",
        "\"" ID "\";a=\"x;y, \\\"z\\\\\";b=?0;c=:YWJj:;*d=tok/en;e=-1.5;f=@1659578233",
        "\"" ID "\";f=%\"%e3%81%82\"",
        "\"" ID "\";a;a",
        "\"" ID "\";a-b_c.d*1=1 ",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct uuid key = { 0 };

        if (!key_parse(str_of(rows[i]), &key) || !uuid_eq(key, id_of(ID)))
            fail_msg("row %zu: %s", i, rows[i]);
    }
}

static void every_version_of_uuid_is_a_key(void **state)
{
    static const char *const rows[] = {
        "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "c232ab00-9414-11ec-b3c8-9f6bdeced846", "5df41881-3aed-3515-88a7-2f4a814cf09e",
        "919108f7-52d1-4320-9bac-f847db4148a8", "2ed6657d-e927-568b-95e1-2665a8aea6a2",
        "1ec9414c-232a-6b00-b3c8-9f6bdeced846", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct uuid key = { 0 };

        assert_true(key_parse(str_of(rows[i]), &key));
        assert_true(uuid_eq(key, id_of(rows[i])));
    }
}

static void anything_else_is_refused_and_the_output_left_alone(void **state)
{
    static const struct str rows[] = {
        S(""),
        S(" "),
        S("\""),
        S("\"\""),
        S("\"\"\""),
        S("abc-123"),
        S("KG5LxwFBepaKHyUD"),
        S("12345"),
        S("0190a1b2c3d47e5f8a6b7c8d9e0f1a2b"),
        S("{" ID "}"),
        S("urn:uuid:" ID),
        S(ID "0"),
        S("\"" ID),
        S(ID "\""),
        S("'" ID "'"),
        S("\" " ID "\""),
        S("\"" ID " \""),
        S("\"" ID "\"x"),
        S("\"" ID "\" ;v=1"),
        S("\"" ID "\", \"" ID "\""),
        S(ID ", " ID),
        S(ID "," ID),
        S(ID ";v=1"),
        S("\"" ID "\";v=1, \"" ID "\""),
        S("\"" ID "\";v=1,\"" ID "\""),
        S("\"" ID "\";v=\"1\",\"" ID "\""),
        S("\"" ID "\";"),
        S("\"" ID "\";=1"),
        S("\"" ID "\";v="),
        S("\"" ID "\";v=\"x"),
        S("\"" ID "\";v=\"\\"),
        S("\"" ID "\";v=\"\\n\""),
        S("\"" ID "\";v=%"
          "\"x"),
        S("\"" ID "\";V=1"),
        S("\"" ID "\";1=1"),
        S("\"" ID "\";v=1 w"),
        S("\"" ID "\";v=a\"b\""),
        S("\"" ID "\";v\0=1"),
        S("\"" ID "\";v=\0"),
        S("\"" ID "\";v=\"\x7f\""),
        S("\"" ID "\";v=\"\xe3\x81\x82\""),
        S("\"\\0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b\""),
        S("\"\\\"190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b\""),
        S("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2\0"),
        S("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2g"),
    };
    struct uuid key = { { 42 } };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (key_parse(rows[i], &key))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(rows[i]));
    assert_false(key_parse((struct str){ 0 }, &key));
    assert_int_equal(key.b[0], 42);
}

/* On the heap and exactly as long as it is, so that ASan sees a step beyond its end. */
static void a_cut_header_is_never_read_beyond_its_end(void **state)
{
    static const char whole[] = "\"" ID "\"; a=\"x\\\"y\"; b=%\"z\";c";

    (void)state;
    for (size_t n = 0; n < sizeof(whole); n++) {
        char *copy = malloc(n ? n : 1);
        struct uuid key;

        memcpy(copy, whole, n);
        (void)key_parse((struct str){ copy, n }, &key);
        free(copy);
    }
}

/* --- its age --- */

static void a_key_lives_for_exactly_24_hours(void **state)
{
    enum { H24 = 24 * 3600 * 1000 };
    static const struct {
        const char *why;
        int64_t claimed_ms, ttl_ms, now_ms;
        bool expired;
    } rows[] = {
        { "at once", 1000, H24, 1000, false },
        { "24 h - 1 s", 1000, H24, 1000 + H24 - 1000, false },
        { "24 h - 1 ms", 1000, H24, 1000 + H24 - 1, false },
        { "24 h", 1000, H24, 1000 + H24, false },
        { "24 h + 1 ms", 1000, H24, 1000 + H24 + 1, true },
        { "24 h + 1 s", 1000, H24, 1000 + H24 + 1000, true },
        { "the clock went back", 1000, H24, 0, false },
        { "another life", 0, 1, 2, true },
        { "no life at all", 5, 0, 5, false },
        { "no life at all, later", 5, 0, 6, true },
        { "for ever", 5, INT64_MAX, INT64_MAX, false },
        { "the last moment", INT64_MAX - 1, 0, INT64_MAX, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (key_expired(rows[i].claimed_ms, rows[i].ttl_ms, rows[i].now_ms) != rows[i].expired)
            fail_msg("%s", rows[i].why);
}

/* --- what was asked for with it; the digests are sha256sum's --- */

static void a_create_is_known_by_booking_amount_currency_and_method(void **state)
{
    static const struct {
        struct money money;
        const char *method, *hash;
    } rows[] = {
        { { 1, "JPY" }, "", "f99817aee08ca3fb08eca194a771e1478cd9993cf3c4f36a5eec592a72539b83" },
        { { 1200, "JPY" }, "", "7b3e858553521ac7ea1fb6efe9fb293e4fbb972122ba65982ff488c64a18daed" },
        { { 99999999, "USD" },
          "pm_card_visa",
          "69ef572a5a0040b3773e37d5548039882b66ac717beee44d31196319d9033869" },
    };
    char hash[KEY_HASH + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(hash, 'x', sizeof(hash));
        key_hash_create(id_of(ID), rows[i].money, S(""), str_of(rows[i].method), hash);
        assert_string_equal(hash, rows[i].hash);
    }
}

static void a_purchase_is_known_by_position_type_and_method(void **state)
{
    static const struct {
        const char *type, *method, *hash;
    } rows[] = {
        { "card", "", "84fa4d4fc1c72bd87538b6cea40043984f27af5650a49e2cc72bda207aad37b0" },
        { "konbini", "", "38ea92899ba931afbc1d110883088d15f9c6fc596ce848d83851c99658750066" },
        { "card", "pm_card_visa",
          "17acd372ef1e6fff29054e813a80674bd1f7c77bacef4db4368b72d83e94d913" },
    };
    char hash[KEY_HASH + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(hash, 'x', sizeof(hash));
        key_hash_purchase(id_of(ID), str_of(rows[i].type), str_of(rows[i].method), hash);
        assert_string_equal(hash, rows[i].hash);
    }
}

static void another_request_is_known_by_payment_and_canonical_body(void **state)
{
    static const struct {
        bool has_amount;
        int64_t amount;
        const char *reason, *hash;
    } rows[] = {
        { false, 0, "", "8f049eafdb1e9f452307d841a3b1abd1b83cdf296e2bd7d36af522235bc4ac06" },
        { false, 500, "", "8f049eafdb1e9f452307d841a3b1abd1b83cdf296e2bd7d36af522235bc4ac06" },
        { true, 500, "", "9a8fb6addf0c608e27ac7280c8f269818465aafc4b93762a75b90f51641b492e" },
        { false, 0, "x", "1704e49c71da0c20a1150f49a2c5df1999996caf1af2118af9e6bbb32cce4135" },
        { true, 500, "お客様の \"都合\"\n",
          "fe820fe8e102dd809381bde2d303b725c290c22d4f0945ba8ff6c79560ef1ddb" },
    };
    char hash[KEY_HASH + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(hash, 'x', sizeof(hash));
        key_hash_other(id_of(ID), rows[i].has_amount, rows[i].amount, str_of(rows[i].reason), hash);
        if (strcmp(hash, rows[i].hash) != 0)
            fail_msg("row %zu: %s", i, hash);
    }
}

static void each_difference_gives_another_hash(void **state)
{
    struct uuid a = id_of(ID), b = id_of("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2c");
    char h[18][KEY_HASH + 1];
    size_t n = 0;

    (void)state;
    key_hash_create(a, (struct money){ 100, "JPY" }, S(""), S(""), h[n++]);
    key_hash_create(b, (struct money){ 100, "JPY" }, S(""), S(""), h[n++]);
    key_hash_create(a, (struct money){ 101, "JPY" }, S(""), S(""), h[n++]);
    key_hash_create(a, (struct money){ 100, "USD" }, S(""), S(""), h[n++]);
    key_hash_create(a, (struct money){ 100, "JPY" }, S(""), S("pm_1"), h[n++]);
    key_hash_create(a, (struct money){ 100, "JPY" }, S(""), S("pm_2"), h[n++]);
    key_hash_other(a, false, 0, S(""), h[n++]);
    key_hash_other(a, true, 0, S(""), h[n++]);
    key_hash_other(a, true, 1, S(""), h[n++]);
    key_hash_other(b, true, 1, S(""), h[n++]);
    key_hash_other(a, true, 1, S("x"), h[n++]);
    key_hash_other(a, false, 0, S("\",\"amount\":1"), h[n++]);
    key_hash_checkout(a, S("https://a"), S(""), h[n++]);
    key_hash_checkout(b, S("https://a"), S(""), h[n++]);
    key_hash_checkout(a, S(""), S("https://a"), h[n++]);
    key_hash_checkout(a, S("https://a:https://b"), S("https://c"), h[n++]);
    key_hash_checkout(a, S("https://a"), S("https://b:https://c"), h[n++]);
    key_hash_checkout(a, S(""), S(""), h[n++]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(h[i], h[k]) == 0)
                fail_msg("%zu and %zu are the same", i, k);
}

static void the_longest_texts_have_a_hash_too(void **state)
{
    static char worst[4096];
    char hash[KEY_HASH + 1];

    (void)state;
    memset(worst, 1, sizeof(worst)); /* each becomes \u0001 */
    key_hash_other(id_of(ID), true, INT64_MIN, (struct str){ worst, sizeof(worst) }, hash);
    assert_int_equal(strlen(hash), KEY_HASH);
    key_hash_create(id_of(ID), (struct money){ INT64_MIN, "JPY" }, S(""),
                    (struct str){ worst, sizeof(worst) }, hash);
    assert_int_equal(strlen(hash), KEY_HASH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bare_or_quoted_in_either_case_it_is_the_same_key),
        TEST(every_version_of_uuid_is_a_key),
        TEST(anything_else_is_refused_and_the_output_left_alone),
        TEST(a_cut_header_is_never_read_beyond_its_end),
        TEST(a_key_lives_for_exactly_24_hours),
        TEST(a_create_is_known_by_booking_amount_currency_and_method),
        TEST(a_purchase_is_known_by_position_type_and_method),
        TEST(another_request_is_known_by_payment_and_canonical_body),
        TEST(each_difference_gives_another_hash),
        TEST(the_longest_texts_have_a_hash_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
