#include "auth/verify.h"
#include "base/env.h"
#include "unit/auth/forge.h"

#include <cjose/cjose.h>

struct fixture {
    struct forge forge;
    struct arena arena;
};

static int open_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    forge_init(&f->forge);
    arena_init(&f->arena, 16 << 20);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;

    forge_release(&f->forge);
    arena_release(&f->arena);
    free(f);
    return 0;
}

/* --- secrets and PEM texts --- */

static void hs256_wants_a_secret_as_long_as_its_hash(void **state)
{
    struct why why = { 0 };
    struct secret_key *k;

    (void)state;
    assert_null(secret_key_new(S("k"), &why));
    assert_null(secret_key_new(S("0123456789abcdef0123456789abcde"), &why));
    assert_null(strstr(why.text, "abcde")); /* the reason never shows it */
    k = secret_key_new(S(SECRET), &why);
    assert_non_null(k);
    secret_key_free(k);
    secret_key_free(NULL);
}

static EVP_PKEY *rsa_with_exponent(unsigned e)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    BIGNUM *bn = BN_new();
    EVP_PKEY *k = NULL;

    BN_set_word(bn, e);
    EVP_PKEY_keygen_init(ctx);
    EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 2048);
    EVP_PKEY_CTX_set1_rsa_keygen_pubexp(ctx, bn);
    EVP_PKEY_keygen(ctx, &k);
    EVP_PKEY_CTX_free(ctx);
    BN_free(bn);
    return k;
}

static void a1_only_strong_keys_are_loaded(void **state)
{
    struct fixture *f = *state;
    EVP_PKEY *ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), *three = rsa_with_exponent(3);
    const struct {
        EVP_PKEY *key;
        unsigned algs;
        const char *why;
    } rows[] = {
        { f->forge.rsa, JWT_RS256 | JWT_PS256, NULL },
        { f->forge.ec, JWT_ES256, NULL },
        { three, JWT_RS256 | JWT_PS256, NULL },
        { f->forge.rsa_small, 0, "an RSA key must have 2048 to 8192 bits" },
        { f->forge.p384, 0, "an EC key must be of the curve P-256" },
        { ed, 0, "it is neither RSA nor EC" },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        char pem[4096];
        struct why why = { 0 };
        struct public_key *k;

        pem_of(rows[i].key, pem, sizeof(pem));
        k = public_key_from_pem(str_of(pem), &why);
        if (rows[i].why ? k || !strstr(why.text, rows[i].why) : !k || k->algs != rows[i].algs)
            fail_msg("row %zu: %s", i, why.text);
        public_key_free(k);
    }
    EVP_PKEY_free(ed);
    EVP_PKEY_free(three);
}

static void what_is_no_pem_is_refused(void **state)
{
    static const char *const rows[] = {
        "x",
        "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    };
    struct why why;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_null(public_key_from_pem(str_of(rows[i]), &why));
}

/* --- JWKs --- */

static void a1_a_key_that_is_not_for_us_is_passed_over(void **state)
{
    struct fixture *f = *state;
    struct arena *a = &f->arena;
    EVP_PKEY *rsa = f->forge.rsa, *ec = f->forge.ec;
    char flipped[8192], padded[8192];
    const struct {
        const char *why, *jwk;
        unsigned algs; /* 0: passed over */
    } rows[] = {
        { "RSA", jwk_of(a, rsa, ""), JWT_RS256 | JWT_PS256 },
        { "EC", jwk_of(a, ec, ""), JWT_ES256 },
        { "alg pins", jwk_of(a, rsa, ",\"alg\":\"RS256\""), JWT_RS256 },
        { "alg pins", jwk_of(a, rsa, ",\"alg\":\"PS256\""), JWT_PS256 },
        { "alg pins", jwk_of(a, ec, ",\"alg\":\"ES256\""), JWT_ES256 },
        { "use sig", jwk_of(a, rsa, ",\"use\":\"sig\""), JWT_RS256 | JWT_PS256 },
        { "key_ops verify", jwk_of(a, rsa, ",\"key_ops\":[\"verify\"]"), JWT_RS256 | JWT_PS256 },
        { "x5c and others do not matter", jwk_of(a, rsa, ",\"x5c\":[\"x\"],\"x5t\":\"y\",\"z\":1"),
          JWT_RS256 | JWT_PS256 },
        { "for encryption", jwk_of(a, rsa, ",\"use\":\"enc\""), 0 },
        { "use null", jwk_of(a, rsa, ",\"use\":null"), 0 },
        { "only signs", jwk_of(a, rsa, ",\"key_ops\":[\"sign\"]"), 0 },
        { "no key_ops", jwk_of(a, rsa, ",\"key_ops\":[]"), 0 },
        { "key_ops as a text", jwk_of(a, rsa, ",\"key_ops\":\"verify\""), 0 },
        { "private", jwk_of(a, rsa, ",\"d\":\"AQAB\""), 0 },
        { "private", jwk_of(a, ec, ",\"d\":\"AQAB\""), 0 },
        { "another alg", jwk_of(a, rsa, ",\"alg\":\"RS512\""), 0 },
        { "an HMAC alg", jwk_of(a, rsa, ",\"alg\":\"HS256\""), 0 },
        { "alg of another type", jwk_of(a, rsa, ",\"alg\":\"ES256\""), 0 },
        { "alg of another type", jwk_of(a, ec, ",\"alg\":\"RS256\""), 0 },
        { "alg null", jwk_of(a, ec, ",\"alg\":null"), 0 },
        { "kid is a number", jwk_of(a, rsa, ",\"kid\":1"), 0 },
        { "kid is empty", jwk_of(a, rsa, ",\"kid\":\"\""), 0 },
        { "1024 bits", jwk_of(a, f->forge.rsa_small, ""), 0 },
        { "a secret", "{\"kty\":\"oct\",\"k\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}",
          0 },
        { "OKP", "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}", 0 },
        { "no kty", "{\"n\":\"AAAA\",\"e\":\"AQAB\"}", 0 },
        { "no numbers", "{\"kty\":\"RSA\"}", 0 },
        { "no exponent", "{\"kty\":\"RSA\",\"n\":\"AQAB\"}", 0 },
        { "not on the curve",
          "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
          "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}",
          0 },
        { "the point at infinity",
          "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
          "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
          0 },
        { "another curve", "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AAAA\",\"y\":\"AAAA\"}", 0 },
        { "an even modulus", flipped, 0 },
        { "padding", padded, 0 },
        { "not an object", "7", 0 },
    };
    char *at;

    strcpy(flipped, jwk_of(a, rsa, ""));
    at = strstr(flipped, "\",\"e\"");
    at[-1] = 'A'; /* it holds the two lowest bits */
    strcpy(padded, jwk_of(a, rsa, ""));
    at = strstr(padded, "\",\"e\"");
    memmove(at + 2, at, strlen(at) + 1);
    memcpy(at, "==", 2);
    for (size_t i = 0; i < COUNT(rows); i++) {
        cJSON *jwk = cJSON_Parse(rows[i].jwk);
        const char *why = NULL;
        struct public_key *k = public_key_from_jwk(jwk, &why);

        if (rows[i].algs ? !k || k->algs != rows[i].algs : k != NULL || !why)
            fail_msg("row %zu: %s", i, rows[i].why);
        public_key_free(k);
        cJSON_Delete(jwk);
    }
}

static void one_bad_key_does_not_spoil_the_set(void **state)
{
    struct fixture *f = *state;
    struct key_set *s;
    char text[20000];
    const struct public_key *k;

    snprintf(text, sizeof(text), "{\"keys\":[null,%s,{\"kty\":\"oct\"},%s],\"more\":1}",
             jwk_of(&f->arena, f->forge.rsa_small, ",\"kid\":\"weak\""),
             jwk_of(&f->arena, f->forge.rsa, ",\"kid\":\"r\""));
    s = key_set_parse(str_of(text));
    assert_int_equal(s->count, 1);
    assert_int_equal(s->skipped, 3);
    assert_string_equal(s->skipped_why, "it is not an object");
    assert_int_equal(
        key_set_find(s, &(struct jwt){ .alg = JWT_PS256, .has_kid = true, .kid = S("r") }, &k), 1);
    assert_true(key_set_has(s, k->print));
    assert_false(key_set_has(s, k->print + 2));
    key_set_unref(s);
}

static void what_is_no_set_is_refused(void **state)
{
    static const char *const rows[] = {
        "", "{}", "[]", "{\"keys\":{}}", "{\"keys\":[]", "{\"keys\":[],\"keys\":[]}", "<html>",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_null(key_set_parse(str_of(rows[i])));
}

static void a_set_has_a_limit(void **state)
{
    struct fixture *f = *state;
    const char *one = jwk_of(&f->arena, f->forge.ec, "");
    char *text = arena_alloc(&f->arena, 1 << 20, 1);
    struct key_set *s;
    size_t n = (size_t)sprintf(text, "{\"keys\":[%s", one);

    for (int i = 0; i < LIMIT_JWKS_KEYS; i++)
        n += (size_t)sprintf(text + n, ",%s", one);
    strcpy(text + n, "]}");
    s = key_set_parse(str_of(text));
    assert_int_equal(s->count, LIMIT_JWKS_KEYS);
    assert_int_equal(s->skipped, 1);
    key_set_unref(s);
    sprintf(text, "{\"keys\":[],\"x\":\"%0*d\"}", LIMIT_JWKS_BYTES, 1);
    assert_null(key_set_parse(str_of(text)));
}

static void a_print_is_of_the_key_its_kid_and_its_algs(void **state)
{
    struct fixture *f = *state;
    const char *const more[] = { "", ",\"kid\":\"a\"", ",\"kid\":\"b\"",
                                 ",\"kid\":\"a\",\"alg\":\"RS256\"", ",\"kid\":\"a\",\"z\":1" };
    uint64_t prints[COUNT(more)];

    for (size_t i = 0; i < COUNT(more); i++) {
        cJSON *jwk = cJSON_Parse(jwk_of(&f->arena, f->forge.rsa, more[i]));
        const char *why;
        struct public_key *k = public_key_from_jwk(jwk, &why);

        prints[i] = k->print;
        public_key_free(k);
        cJSON_Delete(jwk);
    }
    assert_int_equal(prints[1], prints[4]);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(prints[i] != prints[j]);
}

/* --- the same by another library --- */

static struct str signed_by_cjose(struct arena *a, cjose_jwk_t *key, const char *alg,
                                  const char *claims)
{
    cjose_header_t *h = cjose_header_new(NULL);
    const char *text;
    struct str token;
    cjose_jws_t *jws;

    cjose_header_set(h, CJOSE_HDR_ALG, alg, NULL);
    cjose_header_set(h, CJOSE_HDR_KID, "c1", NULL);
    jws = cjose_jws_sign(key, h, (const uint8_t *)claims, strlen(claims), NULL);
    assert_non_null(jws);
    assert_true(cjose_jws_export(jws, &text, NULL));
    token = arena_str(a, str_of(text));
    cjose_jws_release(jws);
    cjose_header_release(h);
    return token;
}

static void a1_tokens_of_cjose_verify_with_its_keys(void **state)
{
    static const char claims[] = "{\"sub\":\"" USER "\",\"exp\":" LATER "}";
    static const char *const algs[] = { "RS256", "PS256", "ES256" };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(algs); i++) {
        cjose_jwk_t *key = strcmp(algs[i], "ES256")
                               ? cjose_jwk_create_RSA_random(2048, NULL, 0, NULL)
                               : cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, NULL);
        struct verifier v = { 0 };
        struct verified got;
        struct key_set *set;
        char json[8192], *text;
        struct str token;

        cjose_jwk_set_kid(key, "c1", 2, NULL);
        text = cjose_jwk_to_json(key, false, NULL);
        snprintf(json, sizeof(json), "{\"keys\":[%s]}", text);
        set = key_set_parse(str_of(json));
        token = signed_by_cjose(&f->arena, key, algs[i], claims);
        if (verify_token(&v, set, &f->arena, token, NOW_MS, &got))
            fail_msg("%s", algs[i]);
        key_set_unref(set);
        free(text);
        cjose_jwk_release(key);
    }
}

static void a1_our_tokens_are_cjoses(void **state)
{
    struct fixture *f = *state;
    cjose_jwk_t *key = cjose_jwk_create_oct_spec((const uint8_t *)SECRET, strlen(SECRET), NULL);
    struct uuid user;
    struct str token;
    cjose_jws_t *jws;

    uuid_parse(S(USER), &user);
    token = auth_make_token(&f->arena, S(SECRET), S(""), S(""), user, S(""), NOW_MS, 1000);
    jws = cjose_jws_import(token.p, token.n, NULL);
    assert_non_null(jws);
    assert_true(cjose_jws_verify(jws, key, NULL));
    cjose_jws_release(jws);
    cjose_jwk_release(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hs256_wants_a_secret_as_long_as_its_hash),
        TEST(a1_only_strong_keys_are_loaded),
        TEST(what_is_no_pem_is_refused),
        TEST(a1_a_key_that_is_not_for_us_is_passed_over),
        TEST(one_bad_key_does_not_spoil_the_set),
        TEST(what_is_no_set_is_refused),
        TEST(a_set_has_a_limit),
        TEST(a_print_is_of_the_key_its_kid_and_its_algs),
        TEST(a1_tokens_of_cjose_verify_with_its_keys),
        TEST(a1_our_tokens_are_cjoses),
    };

    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
