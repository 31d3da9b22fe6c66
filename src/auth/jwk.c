/* jwk.c - JSON Web Keys, and the minimum requirements of a public key from any source.
 *
 * A set may hold keys for other purposes and programs: those that we cannot use are skipped, and the
 * rest is used. A key that has private members is compromised, and is skipped too. */
#include "auth/base64url.h"
#include "auth/keys.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- requirements of a public key --- */

static bool is_odd_number(EVP_PKEY *pkey, const char *name, int least_bits, int most_bits)
{
    BIGNUM *n = NULL;
    bool fine = EVP_PKEY_get_bn_param(pkey, name, &n) && BN_is_odd(n) &&
                BN_num_bits(n) >= least_bits && BN_num_bits(n) <= most_bits;

    BN_free(n);
    return fine;
}

static const char *rsa_fault(EVP_PKEY *pkey)
{
    if (!is_odd_number(pkey, OSSL_PKEY_PARAM_RSA_N, LIMIT_RSA_BITS_MIN, LIMIT_RSA_BITS_MAX))
        return "an RSA key must have 2048 to 8192 bits";
    return is_odd_number(pkey, OSSL_PKEY_PARAM_RSA_E, 2, 33) ? NULL : "its exponent is not sane";
}

static const char *ec_fault(EVP_PKEY *pkey)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(pkey, NULL);
    char group[64] = "";
    bool on_curve = ctx && EVP_PKEY_public_check(ctx) == 1;

    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_get_utf8_string_param(pkey, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group), NULL);
    if (strcmp(group, "prime256v1") != 0)
        return "an EC key must be of the curve P-256";
    return on_curve ? NULL : "its point is not on the curve";
}

static const char *key_fault(EVP_PKEY *pkey, unsigned *algs)
{
    const char *fault = "it is neither RSA nor EC";

    if (EVP_PKEY_is_a(pkey, "RSA")) {
        *algs &= JWT_RS256 | JWT_PS256;
        fault = rsa_fault(pkey);
    } else if (EVP_PKEY_is_a(pkey, "EC")) {
        *algs &= JWT_ES256;
        fault = ec_fault(pkey);
    } else {
        *algs = 0;
    }
    ERR_clear_error();
    if (!fault && !*algs)
        fault = "its alg does not fit its type";
    return fault;
}

/* A hash of bytes, algs and kid, by which a key is recognized after another fetch. 0: no memory. */
static uint64_t key_print(EVP_PKEY *pkey, unsigned algs, struct str kid)
{
    unsigned char *der = NULL, digest[EVP_MAX_MD_SIZE], a = (unsigned char)algs;
    int n = i2d_PUBKEY(pkey, &der);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    uint64_t print = 0;

    if (n > 0 && md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) && EVP_DigestUpdate(md, &a, 1) &&
        EVP_DigestUpdate(md, der, (size_t)n) && EVP_DigestUpdate(md, kid.p, kid.n) &&
        EVP_DigestFinal_ex(md, digest, NULL)) {
        memcpy(&print, digest, sizeof(print));
        print |= 1;
    }
    EVP_MD_CTX_free(md);
    OPENSSL_free(der);
    return print;
}

struct public_key *public_key_wrap(EVP_PKEY *pkey, unsigned algs, struct str kid,
                                   const char **ret_why)
{
    const char *fault = key_fault(pkey, &algs);
    struct public_key *k = fault ? NULL : calloc(1, sizeof(*k) + kid.n + 1);

    if (k) {
        char *copy = (char *)(k + 1);

        if (kid.n)
            memcpy(copy, kid.p, kid.n);
        *k = (struct public_key){ algs, key_print(pkey, algs, kid), { copy, kid.n }, pkey };
    }
    if (k && k->print)
        return k;
    *ret_why = fault ? fault : "it needs more memory than there is";
    free(k);
    EVP_PKEY_free(pkey);
    return NULL;
}

/* --- from JSON to numbers --- */

/* The member as a text; .p NULL: it is absent, or is not a text. */
static struct str jwk_text(const cJSON *jwk, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(jwk, name);

    return cJSON_IsString(member) ? str_of(member->valuestring) : (struct str){ 0 };
}

static struct str jwk_number(struct arena *a, const cJSON *jwk, const char *name)
{
    struct str text = jwk_text(jwk, name), bytes = { 0 };

    if (!text.n || base64url_decode(a, text, &bytes))
        return (struct str){ 0 };
    return bytes;
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *bld)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(bld);
    EVP_PKEY *pkey = NULL;

    if (!ctx || !params || EVP_PKEY_fromdata_init(ctx) <= 0 ||
        EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) <= 0)
        pkey = NULL;
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(ctx);
    ERR_clear_error();
    return pkey;
}

static EVP_PKEY *rsa_of(struct arena *a, const cJSON *jwk)
{
    struct str n = jwk_number(a, jwk, "n"), e = jwk_number(a, jwk, "e");
    OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;
    BIGNUM *bn_n = NULL, *bn_e = NULL;

    if (n.n && e.n && n.n <= LIMIT_RSA_BITS_MAX / 8 + 1 && e.n <= 8) {
        bn_n = BN_bin2bn((const unsigned char *)n.p, (int)n.n, NULL);
        bn_e = BN_bin2bn((const unsigned char *)e.p, (int)e.n, NULL);
    }
    if (bld && bn_n && bn_e && OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_N, bn_n) &&
        OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_E, bn_e))
        pkey = from_params("RSA", bld);
    OSSL_PARAM_BLD_free(bld);
    BN_free(bn_n);
    BN_free(bn_e);
    return pkey;
}

static EVP_PKEY *ec_of(struct arena *a, const cJSON *jwk)
{
    struct str x = jwk_number(a, jwk, "x"), y = jwk_number(a, jwk, "y");
    unsigned char point[65] = { 4 }; /* uncompressed */
    OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;

    if (bld && str_eq(jwk_text(jwk, "crv"), S("P-256")) && x.n == 32 && y.n == 32) {
        memcpy(point + 1, x.p, 32);
        memcpy(point + 33, y.p, 32);
        if (OSSL_PARAM_BLD_push_utf8_string(bld, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
            OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)))
            pkey = from_params("EC", bld);
    }
    OSSL_PARAM_BLD_free(bld);
    return pkey;
}

/* --- one key --- */

static bool is_private(const cJSON *jwk)
{
    static const char *const members[] = { "d", "p", "q", "dp", "dq", "qi", "oth", "k" };

    for (size_t i = 0; i < COUNT(members); i++)
        if (cJSON_GetObjectItemCaseSensitive(jwk, members[i]))
            return true;
    return false;
}

static bool may_verify(const cJSON *jwk)
{
    const cJSON *use = cJSON_GetObjectItemCaseSensitive(jwk, "use");
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(jwk, "key_ops"), *op;
    bool listed = false;

    if (use && !str_eq(jwk_text(jwk, "use"), S("sig")))
        return false;
    if (!ops)
        return true;
    cJSON_ArrayForEach(op, ops) listed |= cJSON_IsString(op) && !strcmp(op->valuestring, "verify");
    return cJSON_IsArray(ops) && listed;
}

/* A key that names an alg may be used with that one only. */
static unsigned jwk_algs(const cJSON *jwk)
{
    if (!cJSON_GetObjectItemCaseSensitive(jwk, "alg"))
        return JWT_RS256 | JWT_PS256 | JWT_ES256;
    return jwt_alg_of(jwk_text(jwk, "alg")) & ~(unsigned)JWT_HS256;
}

static const char *jwk_unfit(const cJSON *jwk)
{
    const cJSON *kid = cJSON_GetObjectItemCaseSensitive(jwk, "kid");

    if (!cJSON_IsObject(jwk))
        return "it is not an object";
    if (is_private(jwk))
        return "it shows private parts";
    if (!may_verify(jwk))
        return "use or key_ops say that it does not verify";
    if (kid && (!jwk_text(jwk, "kid").n || jwk_text(jwk, "kid").n > LIMIT_TOKEN_KID))
        return "its kid is not a short text";
    return jwk_algs(jwk) ? NULL : "its alg is none of ours";
}

struct public_key *public_key_from_jwk(const cJSON *jwk, const char **ret_why)
{
    struct str kty = jwk_text(jwk, "kty");
    EVP_PKEY *pkey = NULL;
    struct arena a;

    *ret_why = jwk_unfit(jwk);
    if (*ret_why)
        return NULL;
    arena_init(&a, LIMIT_JWKS_BYTES);
    if (str_eq(kty, S("RSA")))
        pkey = rsa_of(&a, jwk);
    else if (str_eq(kty, S("EC")))
        pkey = ec_of(&a, jwk);
    arena_release(&a);
    *ret_why = "its kty, crv or numbers are none of ours";
    return pkey ? public_key_wrap(pkey, jwk_algs(jwk), jwk_text(jwk, "kid"), ret_why) : NULL;
}

/* --- the set --- */

static void key_set_add(struct key_set *s, const cJSON *jwk)
{
    const char *why = "there are too many keys";
    struct public_key *k = NULL;

    if (s->count < LIMIT_JWKS_KEYS)
        k = public_key_from_jwk(jwk, &why);
    if (k) {
        s->keys[s->count++] = k;
        return;
    }
    if (!s->skipped++)
        s->skipped_why = why;
}

struct key_set *key_set_parse(struct str json)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *keys, *one;
    struct key_set *s;

    if (json.n > LIMIT_JWKS_BYTES || json_parse(json, &tree, NULL))
        return NULL;
    keys = cJSON_GetObjectItemCaseSensitive(tree, "keys");
    if (!cJSON_IsArray(keys))
        return NULL;
    s = calloc(1, sizeof(*s) + LIMIT_JWKS_KEYS * sizeof(struct public_key *));
    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    cJSON_ArrayForEach(one, keys) key_set_add(s, one);
    return s;
}

struct key_set *key_set_ref(struct key_set *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void key_set_unref(struct key_set *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    for (size_t i = 0; i < s->count; i++)
        public_key_free(s->keys[i]);
    free(s);
}

bool key_set_has(const struct key_set *s, uint64_t print)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->keys[i]->print == print)
            return true;
    return false;
}

size_t key_set_find(const struct key_set *s, const struct jwt *t, const struct public_key **ret_key)
{
    size_t found = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct public_key *k = s->keys[i];

        if (!(k->algs & t->alg) || (t->has_kid && !str_eq(k->kid, t->kid)))
            continue;
        *ret_key = k;
        found++;
    }
    return found;
}
