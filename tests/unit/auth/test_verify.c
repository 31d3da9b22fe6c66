/* Every row is a token and its verdict: the verdict, so that a hostile token is refused for what is
 * hostile about it and not for a slip of the test. */
#include "auth/verify.h"
#include "base/env.h"
#include "unit/auth/forge.h"

struct fixture {
    struct forge forge;
    struct arena arena;
    struct secret_key *secret;
    struct public_key *rsa, *ec;
    struct key_set *set; /* r1: RSA, e1: EC, both with kid */
};

static struct key_set *set_of(struct fixture *f, const char *json_keys)
{
    struct str text;
    char *json = arena_alloc(&f->arena, strlen(json_keys) + 32, 1);

    sprintf(json, "{\"keys\":[%s]}", json_keys);
    text = str_of(json);
    return key_set_parse(text);
}

static int open_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char keys[20000];
    struct why why;

    forge_init(&f->forge);
    arena_init(&f->arena, 16 << 20);
    f->secret = secret_key_new(S(SECRET), &why);
    f->rsa = public_key_from_pem(str_of(f->forge.rsa_pem), &why);
    f->ec = public_key_from_pem(str_of(f->forge.ec_pem), &why);
    snprintf(keys, sizeof(keys), "%s,%s", jwk_of(&f->arena, f->forge.rsa, ",\"kid\":\"r1\""),
             jwk_of(&f->arena, f->forge.ec, ",\"kid\":\"e1\""));
    f->set = set_of(f, keys);
    assert_non_null(f->secret);
    assert_non_null(f->rsa);
    assert_non_null(f->ec);
    assert_int_equal(f->set->count, 2);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;

    secret_key_free(f->secret);
    public_key_free(f->rsa);
    public_key_free(f->ec);
    key_set_unref(f->set);
    forge_release(&f->forge);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static enum verdict verdict_on(struct fixture *f, const struct verifier *v,
                               const struct key_set *set, struct str token, int64_t now_ms)
{
    struct verified got;

    return verify_token(v, set, &f->arena, token, now_ms, &got);
}

#define CLAIMS "{\"sub\":\"" USER "\",\"exp\":" LATER "}"

static void check_row(size_t i, const char *why, enum verdict got, enum verdict wanted)
{
    if (got != wanted)
        fail_msg("row %zu: %s: got \"%s\", not \"%s\"", i, why, verdict_words(got),
                 verdict_words(wanted));
}

/* --- headers --- */

static void a1_the_alg_belongs_to_the_key(void **state)
{
    static const struct {
        const char *why, *header;
        enum signer by;
        enum verdict secret, rsa, ec; /* by which key the verifier has */
    } rows[] = {
        { "HS256", "{\"alg\":\"HS256\"}", BY_SECRET, VERDICT_OK, VERDICT_ALG, VERDICT_ALG },
        { "RS256", "{\"alg\":\"RS256\"}", BY_RSA, VERDICT_ALG, VERDICT_OK, VERDICT_ALG },
        { "PS256", "{\"alg\":\"PS256\"}", BY_PSS, VERDICT_ALG, VERDICT_OK, VERDICT_ALG },
        { "ES256", "{\"alg\":\"ES256\"}", BY_EC, VERDICT_ALG, VERDICT_ALG, VERDICT_OK },
        { "an RSA key's PEM is no secret", "{\"alg\":\"HS256\"}", BY_PEM_TEXT, VERDICT_SIGNATURE,
          VERDICT_ALG, VERDICT_ALG },
        { "RS256 is not PS256", "{\"alg\":\"PS256\"}", BY_RSA, VERDICT_ALG, VERDICT_SIGNATURE,
          VERDICT_ALG },
        { "PS256 is not RS256", "{\"alg\":\"RS256\"}", BY_PSS, VERDICT_ALG, VERDICT_SIGNATURE,
          VERDICT_ALG },
        { "a PSS salt of no length", "{\"alg\":\"PS256\"}", BY_PSS0, VERDICT_ALG, VERDICT_SIGNATURE,
          VERDICT_ALG },
        { "ES256 with a DER signature", "{\"alg\":\"ES256\"}", BY_EC_DER, VERDICT_ALG, VERDICT_ALG,
          VERDICT_SIGNATURE },
        { "no signature", "{\"alg\":\"HS256\"}", BY_NOBODY, VERDICT_SIGNATURE, VERDICT_ALG,
          VERDICT_ALG },
        { "no signature", "{\"alg\":\"RS256\"}", BY_NOBODY, VERDICT_ALG, VERDICT_SIGNATURE,
          VERDICT_ALG },
        { "no signature", "{\"alg\":\"ES256\"}", BY_NOBODY, VERDICT_ALG, VERDICT_ALG,
          VERDICT_SIGNATURE },
        { "a one-byte secret of the sender", "{\"alg\":\"HS256\"}", BY_SHORT, VERDICT_SIGNATURE,
          VERDICT_ALG, VERDICT_ALG },
    };
    struct fixture *f = *state;
    struct verifier secret = { .secret = f->secret }, rsa = { .pem = f->rsa },
                    ec = { .pem = f->ec };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str token =
            forge_token(&f->forge, &f->arena, str_of(rows[i].header), S(CLAIMS), rows[i].by);

        check_row(i, rows[i].why, verdict_on(f, &secret, NULL, token, NOW_MS), rows[i].secret);
        check_row(i, rows[i].why, verdict_on(f, &rsa, NULL, token, NOW_MS), rows[i].rsa);
        check_row(i, rows[i].why, verdict_on(f, &ec, NULL, token, NOW_MS), rows[i].ec);
    }
}

static void a1_a_header_says_nothing_that_we_do_not_understand(void **state)
{
    static const struct {
        const char *why, *header;
        enum verdict verdict;
    } rows[] = {
        { "none", "{\"alg\":\"none\"}", VERDICT_ALG },
        { "None", "{\"alg\":\"None\"}", VERDICT_ALG },
        { "NONE", "{\"alg\":\"NONE\"}", VERDICT_ALG },
        { "nOnE", "{\"alg\":\"nOnE\"}", VERDICT_ALG },
        { "an empty alg", "{\"alg\":\"\"}", VERDICT_ALG },
        { "no alg", "{\"typ\":\"JWT\"}", VERDICT_ALG },
        { "null", "{\"alg\":null}", VERDICT_ALG },
        { "a number", "{\"alg\":256}", VERDICT_ALG },
        { "a list", "{\"alg\":[\"HS256\"]}", VERDICT_ALG },
        { "lower case", "{\"alg\":\"hs256\"}", VERDICT_ALG },
        { "a blank behind it", "{\"alg\":\"HS256 \"}", VERDICT_ALG },
        { "an escape in it", "{\"alg\":\"\\u0048S256\"}", VERDICT_ALG },
        { "HS384", "{\"alg\":\"HS384\"}", VERDICT_ALG },
        { "EdDSA", "{\"alg\":\"EdDSA\"}", VERDICT_ALG },
        { "a JWE's alg", "{\"alg\":\"dir\",\"enc\":\"A256GCM\"}", VERDICT_ALG },
        { "alg in another spelling", "{\"Alg\":\"HS256\"}", VERDICT_ALG },
        { "alg twice", "{\"alg\":\"none\",\"alg\":\"HS256\"}", VERDICT_HEADER },
        { "alg twice, once by escape", "{\"alg\":\"none\",\"\\u0061lg\":\"HS256\"}",
          VERDICT_HEADER },
        { "an unknown crit", "{\"alg\":\"HS256\",\"crit\":[\"exp\"],\"exp\":1}", VERDICT_CRIT },
        { "an empty crit", "{\"alg\":\"HS256\",\"crit\":[]}", VERDICT_CRIT },
        { "a null crit", "{\"alg\":\"HS256\",\"crit\":null}", VERDICT_CRIT },
        { "b64 false", "{\"alg\":\"HS256\",\"b64\":false,\"crit\":[\"b64\"]}", VERDICT_CRIT },
        { "b64 false without crit", "{\"alg\":\"HS256\",\"b64\":false}", VERDICT_CRIT },
        { "b64 true", "{\"alg\":\"HS256\",\"b64\":true}", VERDICT_CRIT },
        { "a proof of possession", "{\"alg\":\"HS256\",\"typ\":\"dpop+jwt\"}", VERDICT_TYP },
        { "a logout token", "{\"alg\":\"HS256\",\"typ\":\"logout+jwt\"}", VERDICT_TYP },
        { "a typ that is no text", "{\"alg\":\"HS256\",\"typ\":1}", VERDICT_TYP },
        { "typ JWT", "{\"alg\":\"HS256\",\"typ\":\"JWT\"}", VERDICT_OK },
        { "typ jwt", "{\"alg\":\"HS256\",\"typ\":\"jwt\"}", VERDICT_OK },
        { "typ at+jwt", "{\"alg\":\"HS256\",\"typ\":\"at+JWT\"}", VERDICT_OK },
        { "its long form", "{\"alg\":\"HS256\",\"typ\":\"application/at+jwt\"}", VERDICT_OK },
        { "a kid that is a number", "{\"alg\":\"HS256\",\"kid\":7}", VERDICT_KID },
        { "an empty kid", "{\"alg\":\"HS256\",\"kid\":\"\"}", VERDICT_KID },
        { "a kid is only a word", "{\"alg\":\"HS256\",\"kid\":\"../../dev/null' OR 1=1\"}",
          VERDICT_OK },
        { "a key of its own is not looked at",
          "{\"alg\":\"HS256\",\"jku\":\"http://127.0.0.1/\",\"x5u\":\"file:///\",\"jwk\":{\"kty\":"
          "\"oct\",\"k\":\"aw\"},\"x5c\":[\"x\"]}",
          VERDICT_OK },
        { "not an object", "[\"HS256\"]", VERDICT_ALG },
        { "no JSON", "alg=HS256", VERDICT_HEADER },
        { "something behind it", "{\"alg\":\"HS256\"}{}", VERDICT_HEADER },
        { "bad UTF-8", "{\"alg\":\"HS256\",\"x\":\"\xff\"}", VERDICT_HEADER },
    };
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret, .pem = f->rsa };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str token =
            forge_token(&f->forge, &f->arena, str_of(rows[i].header), S(CLAIMS), BY_SECRET);

        check_row(i, rows[i].why, verdict_on(f, &v, f->set, token, NOW_MS), rows[i].verdict);
        token = forge_token(&f->forge, &f->arena, str_of(rows[i].header), S(CLAIMS), BY_NOBODY);
        if (!verdict_on(f, &v, f->set, token, NOW_MS))
            fail_msg("row %zu: taken without a signature: %s", i, rows[i].why);
    }
}

static void a_long_kid_is_refused(void **state)
{
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret };
    char header[400];

    for (int n = LIMIT_TOKEN_KID; n <= LIMIT_TOKEN_KID + 1; n++) {
        snprintf(header, sizeof(header), "{\"alg\":\"HS256\",\"kid\":\"%0*d\"}", n, 1);
        check_row(
            (size_t)n, "kid",
            verdict_on(f, &v, NULL,
                       forge_token(&f->forge, &f->arena, str_of(header), S(CLAIMS), BY_SECRET),
                       NOW_MS),
            n > LIMIT_TOKEN_KID ? VERDICT_KID : VERDICT_OK);
    }
}

/* --- the form --- */

static struct str with(struct fixture *f, struct str before, const char *more)
{
    char *text = arena_alloc(&f->arena, before.n + strlen(more) + 1, 1);

    memcpy(text, before.p, before.n);
    strcpy(text + before.n, more);
    return str_of(text);
}

static void a1_a_token_has_one_spelling(void **state)
{
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret };
    struct str good =
        forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"), S(CLAIMS), BY_SECRET);
    struct str two = { good.p, good.n - 44 };
    char *changed = arena_cstr(&f->arena, good);

    assert_int_equal(verdict_on(f, &v, NULL, good, NOW_MS), VERDICT_OK);
    assert_int_equal(verdict_on(f, &v, NULL, with(f, good, "="), NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, with(f, good, "."), NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, with(f, good, ".x.y"), NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, with(f, good, "\n"), NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, two, NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, S(".."), NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, S(""), NOW_MS), VERDICT_FORM);
    assert_int_equal(verdict_on(f, &v, NULL, S("..."), NOW_MS), VERDICT_FORM);
    /* 32 bytes leave two bits in the last character: four spellings for one signature */
    changed[good.n - 1]++;
    assert_int_equal(verdict_on(f, &v, NULL, str_of(changed), NOW_MS), VERDICT_FORM);
}

static void a1_no_byte_of_a_token_can_be_changed(void **state)
{
    static const struct {
        const char *header;
        enum signer by;
    } rows[] = { { "{\"alg\":\"HS256\"}", BY_SECRET },
                 { "{\"alg\":\"RS256\"}", BY_RSA },
                 { "{\"alg\":\"PS256\"}", BY_PSS } };
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret, .pem = f->rsa };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str good =
            forge_token(&f->forge, &f->arena, str_of(rows[i].header), S(CLAIMS), rows[i].by);
        char *text = arena_cstr(&f->arena, good);

        for (size_t at = 0; at < good.n; at++) {
            struct arena_mark mark = arena_mark(&f->arena);

            text[at] ^= 1;
            if (!verdict_on(f, &v, NULL, str_of(text), NOW_MS))
                fail_msg("row %zu: byte %zu", i, at);
            text[at] ^= 1;
            arena_rewind(&f->arena, mark);
        }
        assert_int_equal(verdict_on(f, &v, NULL, str_of(text), NOW_MS), VERDICT_OK);
    }
}

static void a_token_has_a_size_limit(void **state)
{
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret };
    char *claims = arena_alloc(&f->arena, LIMIT_TOKEN, 1);
    struct str token;

    sprintf(claims, "{\"sub\":\"" USER "\",\"exp\":" LATER ",\"x\":\"%0*d\"}", 5900, 1);
    token = forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"), str_of(claims), BY_SECRET);
    assert_true(token.n > 8000 && token.n <= LIMIT_TOKEN);
    assert_int_equal(verdict_on(f, &v, NULL, token, NOW_MS), VERDICT_OK);
    sprintf(claims, "{\"sub\":\"" USER "\",\"exp\":" LATER ",\"x\":\"%0*d\"}", 6200, 1);
    token = forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"), str_of(claims), BY_SECRET);
    assert_int_equal(verdict_on(f, &v, NULL, token, NOW_MS), VERDICT_TOO_LONG);
}

static void es256_wants_r_and_s_in_range(void **state)
{
    struct fixture *f = *state;
    struct verifier v = { .pem = f->ec };
    struct str good = forge_token(&f->forge, &f->arena, S("{\"alg\":\"ES256\"}"), S(CLAIMS), BY_EC);
    size_t head = good.n - 86; /* 64 bytes */
    unsigned char zeros[64] = { 0 }, ones[64];
    char *text = arena_cstr(&f->arena, good);

    memset(ones, 0xff, sizeof(ones));
    assert_int_equal(verdict_on(f, &v, NULL, good, NOW_MS), VERDICT_OK);
    b64(zeros, 64, text + head); /* CVE-2022-21449 */
    assert_int_equal(verdict_on(f, &v, NULL, str_of(text), NOW_MS), VERDICT_SIGNATURE);
    b64(ones, 64, text + head);
    assert_int_equal(verdict_on(f, &v, NULL, str_of(text), NOW_MS), VERDICT_SIGNATURE);
    b64(zeros, 63, text + head);
    assert_int_equal(verdict_on(f, &v, NULL, str_of(text), NOW_MS), VERDICT_SIGNATURE);
}

/* --- claims --- */

#define WITH(more) "{\"sub\":\"" USER "\"," more "}"

static void a1_claims_are_checked(void **state)
{
    static const struct {
        const char *why, *claims;
        enum verdict verdict;
    } rows[] = {
        { "a minute left", CLAIMS, VERDICT_OK },
        { "no exp", "{\"sub\":\"" USER "\"}", VERDICT_NO_EXP },
        { "exp null", WITH("\"exp\":null"), VERDICT_NO_EXP },
        { "exp as a text", WITH("\"exp\":\"" LATER "\""), VERDICT_NO_EXP },
        { "exp true", WITH("\"exp\":true"), VERDICT_NO_EXP },
        { "exp below zero", WITH("\"exp\":-1"), VERDICT_NO_EXP },
        { "exp beyond all time", WITH("\"exp\":1e300"), VERDICT_NO_EXP },
        { "exp in milliseconds", WITH("\"exp\":1760000060000"), VERDICT_NO_EXP },
        { "exp twice", WITH("\"exp\":1,\"exp\":" LATER), VERDICT_CLAIMS },
        { "exp a second ago", WITH("\"exp\":1759999999"), VERDICT_EXPIRED },
        { "exp now", WITH("\"exp\":1760000000"), VERDICT_EXPIRED },
        { "exp now, with a fraction", WITH("\"exp\":1760000000.0"), VERDICT_EXPIRED },
        { "exp in half a second", WITH("\"exp\":1760000000.5"), VERDICT_OK },
        { "exp with an exponent", WITH("\"exp\":1.7600001e9"), VERDICT_OK },
        { "exp with a zero before it", WITH("\"exp\":01760000060"), VERDICT_CLAIMS },
        { "nbf now", WITH("\"exp\":" LATER ",\"nbf\":1760000000"), VERDICT_OK },
        { "nbf within the leeway", WITH("\"exp\":" LATER ",\"nbf\":1760000030"), VERDICT_OK },
        { "nbf beyond it", WITH("\"exp\":" LATER ",\"nbf\":1760000030.5"), VERDICT_NOT_YET },
        { "nbf as a text", WITH("\"exp\":" LATER ",\"nbf\":\"1\""), VERDICT_NOT_YET },
        { "nbf null", WITH("\"exp\":" LATER ",\"nbf\":null"), VERDICT_NOT_YET },
        { "iat within the leeway", WITH("\"exp\":" LATER ",\"iat\":1760000030"), VERDICT_OK },
        { "iat beyond it", WITH("\"exp\":" LATER ",\"iat\":1760000031"), VERDICT_NOT_YET },
        { "iat as a text", WITH("\"exp\":" LATER ",\"iat\":\"now\""), VERDICT_NOT_YET },
        { "no sub", "{\"exp\":" LATER "}", VERDICT_SUBJECT },
        { "sub is a name", "{\"sub\":\"taro\",\"exp\":" LATER "}", VERDICT_SUBJECT },
        { "sub is a number", "{\"sub\":1,\"exp\":" LATER "}", VERDICT_SUBJECT },
        { "sub without dashes", "{\"sub\":\"0190d5c27e1a7b3c8d4e5f6071829304\",\"exp\":" LATER "}",
          VERDICT_SUBJECT },
        { "sub in braces", "{\"sub\":\"{" USER "}\",\"exp\":" LATER "}", VERDICT_SUBJECT },
        { "sub with a NUL behind it", "{\"sub\":\"" USER "\\u0000\",\"exp\":" LATER "}",
          VERDICT_CLAIMS },
        { "sub is nobody", "{\"sub\":\"00000000-0000-0000-0000-000000000000\",\"exp\":" LATER "}",
          VERDICT_SUBJECT },
        { "sub twice", "{\"sub\":\"" USER "\",\"sub\":\"" USER "\",\"exp\":" LATER "}",
          VERDICT_CLAIMS },
        { "claims that are a list", "[" CLAIMS "]", VERDICT_NO_EXP },
        { "claims that are no JSON", "exp=1", VERDICT_CLAIMS },
        { "something behind them", CLAIMS " x", VERDICT_CLAIMS },
        { "a scope that is a number", WITH("\"exp\":" LATER ",\"scope\":1"), VERDICT_SCOPE },
        { "scopes of numbers", WITH("\"exp\":" LATER ",\"scp\":[1]"), VERDICT_SCOPE },
    };
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret };

    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(i, rows[i].why,
                  verdict_on(f, &v, NULL,
                             forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"),
                                         str_of(rows[i].claims), BY_SECRET),
                             NOW_MS),
                  rows[i].verdict);
}

static void a1_iss_and_aud_are_exact(void **state)
{
#define ISS "\"iss\":\"https://id.example\""
#define AUD "\"aud\":\"ichido\""
#define TIMES "\"exp\":" LATER ","
    static const struct {
        const char *why, *claims;
        enum verdict verdict;
    } rows[] = {
        { "both", WITH(TIMES ISS "," AUD), VERDICT_OK },
        { "a list with us", WITH(TIMES ISS ",\"aud\":[\"other\",\"ichido\"]"), VERDICT_OK },
        { "written with an escape", WITH(TIMES ISS ",\"aud\":\"\\u0069chido\""), VERDICT_OK },
        { "no iss", WITH(TIMES AUD), VERDICT_ISSUER },
        { "a slash more", WITH(TIMES "\"iss\":\"https://id.example/\"," AUD), VERDICT_ISSUER },
        { "another case", WITH(TIMES "\"iss\":\"https://ID.example\"," AUD), VERDICT_ISSUER },
        { "iss as a list", WITH(TIMES "\"iss\":[\"https://id.example\"]," AUD), VERDICT_ISSUER },
        { "iss twice, the last one right", WITH(TIMES "\"iss\":\"x\"," ISS "," AUD),
          VERDICT_CLAIMS },
        { "no aud", WITH(TIMES ISS), VERDICT_AUDIENCE },
        { "another's", WITH(TIMES ISS ",\"aud\":\"other\""), VERDICT_AUDIENCE },
        { "ours as a part", WITH(TIMES ISS ",\"aud\":\"ichido2\""), VERDICT_AUDIENCE },
        { "an empty list", WITH(TIMES ISS ",\"aud\":[]"), VERDICT_AUDIENCE },
        { "a list with a number", WITH(TIMES ISS ",\"aud\":[\"ichido\",1]"), VERDICT_AUDIENCE },
        { "an object", WITH(TIMES ISS ",\"aud\":{\"ichido\":1}"), VERDICT_AUDIENCE },
        { "null", WITH(TIMES ISS ",\"aud\":null"), VERDICT_AUDIENCE },
    };
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret, .rules = { S("https://id.example"), S("ichido") } };

    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(i, rows[i].why,
                  verdict_on(f, &v, NULL,
                             forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"),
                                         str_of(rows[i].claims), BY_SECRET),
                             NOW_MS),
                  rows[i].verdict);
}

static void a2_scopes_come_in_several_forms(void **state)
{
    static const struct {
        const char *claims;
        bool service, admin;
    } rows[] = {
        { WITH("\"exp\":" LATER), false, false },
        { WITH("\"exp\":" LATER ",\"scope\":\"service\""), true, false },
        { WITH("\"exp\":" LATER ",\"scope\":\"openid admin\""), false, true },
        { WITH("\"exp\":" LATER ",\"scope\":\"admin  service\""), true, true },
        { WITH("\"exp\":" LATER ",\"scp\":[\"service\"]"), true, false },
        { WITH("\"exp\":" LATER ",\"scopes\":[\"x\",\"admin\"]"), false, true },
        { WITH("\"exp\":" LATER ",\"scp\":[],\"scope\":null"), false, false },
        { WITH("\"exp\":" LATER ",\"scope\":\"Admin SERVICE admins service:x\""), false, false },
        { WITH("\"exp\":" LATER ",\"roles\":[\"admin\"],\"admin\":true"), false, false },
    };
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret };
    struct uuid user;

    assert_true(uuid_parse(S(USER), &user));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct verified got = { 0 };
        struct str token = forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\"}"),
                                       str_of(rows[i].claims), BY_SECRET);

        assert_int_equal(verify_token(&v, NULL, &f->arena, token, NOW_MS, &got), VERDICT_OK);
        assert_true(uuid_eq(got.claims.who.user, user));
        if (got.claims.who.service != rows[i].service || got.claims.who.admin != rows[i].admin)
            fail_msg("row %zu", i);
        assert_int_equal(got.claims.until_ms, NOW_MS + 60000);
    }
}

/* --- which key --- */

static void a1_the_kid_names_the_key(void **state)
{
    struct fixture *f = *state;
    struct key_set *one = set_of(f, jwk_of(&f->arena, f->forge.rsa, ",\"kid\":\"r1\""));
    struct key_set *two, *none = set_of(f, "");
    char keys[20000];
    EVP_PKEY *other = EVP_RSA_gen(2048);
    struct verifier bare = { 0 }, pem = { .pem = f->rsa }, ec = { .pem = f->ec };
    struct str no_kid =
        forge_token(&f->forge, &f->arena, S("{\"alg\":\"RS256\"}"), S(CLAIMS), BY_RSA);
    struct str r1 = forge_token(&f->forge, &f->arena, S("{\"alg\":\"RS256\",\"kid\":\"r1\"}"),
                                S(CLAIMS), BY_RSA);
    struct str e1 = forge_token(&f->forge, &f->arena, S("{\"alg\":\"RS256\",\"kid\":\"e1\"}"),
                                S(CLAIMS), BY_RSA);
    struct str x = forge_token(&f->forge, &f->arena, S("{\"alg\":\"RS256\",\"kid\":\"x\"}"),
                               S(CLAIMS), BY_RSA);
    struct str lie = forge_token(&f->forge, &f->arena, S("{\"alg\":\"RS256\",\"kid\":\"r1\"}"),
                                 S(CLAIMS), BY_PSS);
    struct verified got = { 0 };

    snprintf(keys, sizeof(keys), "%s,%s", jwk_of(&f->arena, f->forge.rsa, ",\"kid\":\"r1\""),
             jwk_of(&f->arena, other, ",\"kid\":\"r2\""));
    two = set_of(f, keys);

    assert_int_equal(verify_token(&bare, f->set, &f->arena, r1, NOW_MS, &got), VERDICT_OK);
    assert_int_equal(got.key, f->set->keys[0]->print);
    assert_int_equal(verdict_on(f, &bare, f->set, no_kid, NOW_MS), VERDICT_OK); /* one fits */
    assert_int_equal(verdict_on(f, &bare, two, no_kid, NOW_MS), VERDICT_AMBIGUOUS);
    assert_int_equal(verdict_on(f, &bare, two, r1, NOW_MS), VERDICT_OK);
    assert_int_equal(verdict_on(f, &bare, f->set, x, NOW_MS), VERDICT_UNKNOWN_KEY);
    assert_int_equal(verdict_on(f, &bare, f->set, e1, NOW_MS), VERDICT_UNKNOWN_KEY); /* EC's */
    assert_int_equal(verdict_on(f, &bare, f->set, lie, NOW_MS), VERDICT_SIGNATURE);
    assert_int_equal(verdict_on(f, &bare, none, r1, NOW_MS), VERDICT_UNKNOWN_KEY);
    assert_int_equal(verdict_on(f, &bare, NULL, r1, NOW_MS), VERDICT_ALG);

    /* a PEM has no kid: it steps in where the set has none by it, and stays when the set goes */
    assert_int_equal(verify_token(&pem, none, &f->arena, x, NOW_MS, &got), VERDICT_OK);
    assert_int_equal(got.key, 0);
    assert_int_equal(verdict_on(f, &pem, one, no_kid, NOW_MS), VERDICT_AMBIGUOUS);
    assert_int_equal(verdict_on(f, &ec, none, x, NOW_MS), VERDICT_UNKNOWN_KEY);
    key_set_unref(one);
    key_set_unref(two);
    key_set_unref(none);
    EVP_PKEY_free(other);
}

static void a_wrong_guess_at_the_pem_asks_the_set(void **state)
{
    struct fixture *f = *state;
    EVP_PKEY *other = EVP_RSA_gen(2048);
    char pem[2048];
    struct why why;
    struct verifier v = { 0 };
    struct key_set *none = set_of(f, "");
    struct str x = forge_token(&f->forge, &f->arena, S("{\"alg\":\"RS256\",\"kid\":\"x\"}"),
                               S(CLAIMS), BY_RSA);

    pem_of(other, pem, sizeof(pem));
    v.pem = public_key_from_pem(str_of(pem), &why);
    assert_int_equal(verdict_on(f, &v, none, x, NOW_MS), VERDICT_UNKNOWN_KEY);
    assert_int_equal(verdict_on(f, &v, NULL, x, NOW_MS), VERDICT_SIGNATURE);
    public_key_free(v.pem);
    key_set_unref(none);
    EVP_PKEY_free(other);
}

static void a_full_arena_is_no_verdict_on_the_token(void **state)
{
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret, .rules = { S("i"), S("a") } };
    struct str token =
        forge_token(&f->forge, &f->arena, S("{\"alg\":\"HS256\",\"kid\":\"k\"}"),
                    S(WITH("\"exp\":" LATER ",\"iss\":\"i\",\"aud\":[\"a\"]")), BY_SECRET);
    struct verified got;
    struct arena a;

    arena_init(&a, 8);
    assert_int_equal(verify_token(&v, NULL, &a, token, NOW_MS, &got), VERDICT_NO_MEMORY);
    arena_release(&a);
    arena_init(&a, 1 << 20);
    assert_int_equal(verify_token(&v, NULL, &a, token, NOW_MS, &got), VERDICT_OK);
    arena_release(&a);
}

static void a_made_token_is_a_good_one(void **state)
{
    struct fixture *f = *state;
    struct verifier v = { .secret = f->secret, .rules = { S("me \"quoted\""), S("ichido") } };
    struct verified got = { 0 };
    struct uuid user;
    struct str token;

    uuid_parse(S(USER), &user);
    token = auth_make_token(&f->arena, S(SECRET), S("me \"quoted\""), S("ichido"), user,
                            S("service"), NOW_MS, 24 * 3600 * 1000);
    assert_non_null(token.p);
    assert_int_equal(verify_token(&v, NULL, &f->arena, token, NOW_MS, &got), VERDICT_OK);
    assert_true(got.claims.who.service && !got.claims.who.admin);
    assert_int_equal(got.claims.until_ms, NOW_MS + 24 * 3600 * 1000);
    assert_int_equal(verdict_on(f, &v, NULL, token, NOW_MS + 24 * 3600 * 1000), VERDICT_EXPIRED);
    assert_null(auth_make_token(&f->arena, S("short"), S(""), S(""), user, S(""), NOW_MS, 1).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a1_the_alg_belongs_to_the_key),
        TEST(a1_a_header_says_nothing_that_we_do_not_understand),
        TEST(a_long_kid_is_refused),
        TEST(a1_a_token_has_one_spelling),
        TEST(a1_no_byte_of_a_token_can_be_changed),
        TEST(a_token_has_a_size_limit),
        TEST(es256_wants_r_and_s_in_range),
        TEST(a1_claims_are_checked),
        TEST(a1_iss_and_aud_are_exact),
        TEST(a2_scopes_come_in_several_forms),
        TEST(a1_the_kid_names_the_key),
        TEST(a_wrong_guess_at_the_pem_asks_the_set),
        TEST(a_full_arena_is_no_verdict_on_the_token),
        TEST(a_made_token_is_a_good_one),
    };

    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
