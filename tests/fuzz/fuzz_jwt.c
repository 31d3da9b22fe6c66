/* Tokens from strangers. The input is taken three ways: as a whole token, as a header and claims
 * (cut at the first line feed) that are signed with the right secret, and as a JWKS. Nobody gets in
 * without the signature; with it only who says what our rules ask for; and what got in has one
 * spelling. */
#include "auth/base64url.h"
#include "auth/verify.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW_MS INT64_C(1760000000000)

static void promise(int holds)
{
    if (!holds)
        abort();
}

static const struct verifier *verifier(void)
{
    static struct verifier v;
    struct why why;

    if (!v.secret)
        v.secret = secret_key_new(S(SECRET), &why);
    return &v;
}

static bool is_in(struct str token, struct verified *ret)
{
    struct arena a;
    enum verdict v;

    arena_init(&a, LIMIT_REQUEST_ARENA);
    v = verify_token(verifier(), NULL, &a, token, NOW_MS, ret);
    arena_release(&a);
    return v == VERDICT_OK;
}

/* The fuzzer cannot make an HMAC: only our own corpus could get in, and it does not. */
static void nobody_gets_in_without_the_secret(struct str token)
{
    struct verified got;

    promise(!is_in(token, &got));
}

/* What a token that got in must have said, read by the other JSON reader. */
static void its_claims_are_as_asked(struct str claims, const struct verified *got)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *exp, *sub;
    struct uuid user = { 0 };

    promise(json_parse(claims, &tree, NULL) == OK);
    exp = cJSON_GetObjectItemCaseSensitive(tree, "exp");
    sub = cJSON_GetObjectItemCaseSensitive(tree, "sub");
    promise(cJSON_IsNumber(exp) && exp->valuedouble * 1000 > (double)NOW_MS);
    promise(cJSON_IsString(sub) && uuid_parse(str_of(sub->valuestring), &user));
    promise(uuid_eq(user, got->claims.who.user));
    promise(got->claims.from_ms <= NOW_MS && NOW_MS < got->claims.until_ms && !got->key);
}

static void its_header_is_as_asked(struct str header)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *alg;

    promise(json_parse(header, &tree, NULL) == OK);
    alg = cJSON_GetObjectItemCaseSensitive(tree, "alg");
    promise(cJSON_IsString(alg) && !strcmp(alg->valuestring, "HS256"));
    promise(!cJSON_GetObjectItemCaseSensitive(tree, "crit"));
    promise(!cJSON_GetObjectItemCaseSensitive(tree, "b64"));
}

static void signed_texts_keep_the_rules(struct str header, struct str claims)
{
    unsigned char mac[32];
    struct verified got = { 0 };
    struct buf b;

    buf_init(&b, LIMIT_TOKEN);
    base64url_add(&b, header);
    buf_char(&b, '.');
    base64url_add(&b, claims);
    promise(secret_key_sign(verifier()->secret, buf_str(&b), mac));
    buf_char(&b, '.');
    base64url_add(&b, (struct str){ (const char *)mac, sizeof(mac) });
    if (!b.failed && is_in(buf_str(&b), &got)) {
        its_header_is_as_asked(header);
        its_claims_are_as_asked(claims, &got);
        for (size_t i = 0; i < b.n; i++) { /* every other spelling is another token */
            b.p[i] ^= 1;
            promise(!is_in(buf_str(&b), &got));
            b.p[i] ^= 1;
        }
    }
    buf_release(&b);
}

static void base64url_has_one_spelling(struct str text)
{
    struct str bytes;
    struct arena a;
    struct buf b;

    arena_init(&a, LIMIT_REQUEST_ARENA);
    buf_init(&b, 2 * text.n + 16);
    if (!base64url_decode(&a, text, &bytes)) {
        base64url_add(&b, bytes);
        promise(str_eq(buf_str(&b), text));
    }
    buf_release(&b);
    arena_release(&a);
}

static void a_key_set_has_only_strong_keys(struct str json)
{
    struct key_set *s = key_set_parse(json);

    for (size_t i = 0; s && i < s->count; i++) {
        promise(s->keys[i]->print && s->keys[i]->algs && !(s->keys[i]->algs & JWT_HS256));
        promise(s->keys[i]->kid.n <= LIMIT_TOKEN_KID);
    }
    key_set_unref(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { size ? (const char *)data : "", size }, claims = text;
    struct str header = str_cut(&claims, '\n');

    nobody_gets_in_without_the_secret(text);
    base64url_has_one_spelling(text);
    a_key_set_has_only_strong_keys(text);
    if (claims.n)
        signed_texts_keep_the_rules(header, claims);
    return 0;
}
