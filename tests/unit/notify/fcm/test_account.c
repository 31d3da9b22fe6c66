/* The service account: what is taken, what is refused in clear words, and what it signs. */
#include "auth/base64url.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "notify/fcm/account.h"
#include "unit/notify/push_account.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_MS INT64_C(1760000000123)

static struct account_text good;

static int make_good(void **state)
{
    (void)state;
    account_make(&good, "https://oauth2.googleapis.com/token");
    return 0;
}

static int drop_good(void **state)
{
    (void)state;
    EVP_PKEY_free(good.key);
    return 0;
}

static void an_account_is_read_from_its_json(void **state)
{
    struct fcm_account a;
    struct why why = { 0 };

    (void)state;
    if (!fcm_account_open(&a, str_of(good.json), &why))
        fail_msg("%s", why.text);
    assert_true(str_eq(a.email, S("ichido@shop-1.iam.gserviceaccount.com")));
    assert_true(str_eq(a.project, S("shop-1")));
    assert_true(str_eq(a.token_uri, S("https://oauth2.googleapis.com/token")));
    assert_true(str_eq(a.key_id, S("key-1")));
    assert_false(a.is_open);
    fcm_account_close(&a);
    fcm_account_close(&a);
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void an_account_is_read_from_its_file_and_an_open_one_is_noticed(void **state)
{
    static const struct {
        mode_t mode;
        bool is_open;
    } rows[] = { { 0600, false }, { 0400, false }, { 0640, true }, { 0604, true } };
    const char *folder = getenv("TMPDIR");
    struct fcm_account a;
    char path[512];
    struct why why;

    (void)state;
    snprintf(path, sizeof(path), "%s/fcm-XXXXXX", folder ? folder : "/tmp");
    close(mkstemp(path));
    for (size_t i = 0; i < COUNT(rows); i++) {
        chmod(path, 0600);
        put_file(path, good.json, rows[i].mode);
        if (!fcm_account_open(&a, str_of(path), &why))
            fail_msg("%s", why.text);
        assert_int_equal(a.is_open, rows[i].is_open);
        fcm_account_close(&a);
    }
    chmod(path, 0600);
    put_file(path, "not JSON", 0600);
    assert_false(fcm_account_open(&a, str_of(path), &why));
    assert_non_null(strstr(why.text, "not JSON"));
    unlink(path);
    assert_false(fcm_account_open(&a, str_of(path), &why));
    assert_non_null(strstr(why.text, "cannot be read"));
    assert_false(fcm_account_open(&a, str_of(folder ? folder : "/tmp"), &why));
    assert_non_null(strstr(why.text, "not a file"));
}

/* A field of the good one, with another value (NULL: without it). */
static char *changed(const char *name, const char *value)
{
    cJSON *tree = cJSON_Parse(good.json);
    char *text;

    cJSON_DeleteItemFromObject(tree, name);
    if (value)
        cJSON_AddStringToObject(tree, name, value);
    text = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    return text;
}

static void what_is_wrong_is_said_and_nothing_of_it_is_shown(void **state)
{
    char small[4096], ec[4096];
    const struct {
        const char *name, *value, *words;
    } rows[] = {
        { "client_email", NULL, "client_email is missing" },
        { "client_email", "nobody", "client_email" },
        { "project_id", NULL, "project_id is missing" },
        { "project_id", "shop/../other", "project_id" },
        { "token_uri", NULL, "token_uri is missing" },
        { "token_uri", "ftp://example.com/", "token_uri" },
        { "token_uri", "http://oauth2.example.com/token", "no https:// address" },
        { "private_key", NULL, "private_key is missing" },
        { "private_key", "", "private_key is missing" },
        { "private_key", "secret-in-the-wrong-form", "PKCS#8" },
        { "private_key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n", "PKCS#8" },
        { "private_key",
          "-----BEGIN PRIVATE KEY-----\nc2VjcmV0LWJ5dGVz\n-----END PRIVATE KEY-----\n",
          "cannot be read" },
        { "private_key", account_pem(EVP_RSA_gen(1024), small), "size" },
        { "private_key", account_pem(EVP_EC_gen("P-256"), ec), "not an RSA key" },
        { "type", "authorized_user", "service_account" },
    };
    struct fcm_account a;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = changed(rows[i].name, rows[i].value);
        struct why why = { 0 };

        if (fcm_account_open(&a, str_of(text), &why))
            fail_msg("row %zu was taken", i);
        if (!strstr(why.text, rows[i].words) || strstr(why.text, "secret"))
            fail_msg("row %zu: %s", i, why.text);
        cJSON_free(text);
    }
}

static void texts_that_are_no_account_are_refused(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "{", "not JSON" },
        { "{}", "client_email" },
        { "{\"client_email\":\"a@b\",\"client_email\":\"c@d\"}", "not JSON" },
        { "no-such-file.json", "cannot be read" },
        { "/dev/null", "not a file" },
    };
    struct fcm_account a;
    struct why why;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_false(fcm_account_open(&a, str_of(rows[i].text), &why));
        if (!strstr(why.text, rows[i].words))
            fail_msg("row %zu: %s", i, why.text);
    }
}

static bool verifies(struct str text, struct str signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool fine = EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, good.key) == 1 &&
                EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n,
                                 (const unsigned char *)text.p, text.n) == 1;

    EVP_MD_CTX_free(ctx);
    return fine;
}

static void the_signed_word_is_rfc_7523s(void **state)
{
    static const char prefix[] =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    struct str request, whole, head, claims, signature, signed_text, rest;
    struct fcm_account a;
    struct arena arena;
    struct why why;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_true(fcm_account_open(&a, str_of(good.json), &why));
    request = fcm_account_request(&a, &arena, NOW_MS);
    assert_true(str_starts(request, str_of(prefix)));
    whole = (struct str){ request.p + strlen(prefix), request.n - strlen(prefix) };
    rest = whole;
    assert_int_equal(base64url_decode(&arena, str_cut(&rest, '.'), &head), OK);
    assert_int_equal(base64url_decode(&arena, str_cut(&rest, '.'), &claims), OK);
    assert_int_equal(base64url_decode(&arena, rest, &signature), OK);
    assert_true(str_eq(head, S("{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"key-1\"}")));
    assert_true(str_eq(claims, S("{\"iss\":\"ichido@shop-1.iam.gserviceaccount.com\",\"scope\":"
                                 "\"https://www.googleapis.com/auth/firebase.messaging\",\"aud\":"
                                 "\"https://oauth2.googleapis.com/token\",\"iat\":1760000000,"
                                 "\"exp\":1760003600}")));
    signed_text = (struct str){ whole.p, whole.n - rest.n - 1 };
    assert_true(verifies(signed_text, signature));
    fcm_account_close(&a);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_account_is_read_from_its_json),
        TEST(an_account_is_read_from_its_file_and_an_open_one_is_noticed),
        TEST(what_is_wrong_is_said_and_nothing_of_it_is_shown),
        TEST(texts_that_are_no_account_are_refused),
        TEST(the_signed_word_is_rfc_7523s),
    };

    return cmocka_run_group_tests(tests, make_good, drop_good);
}
