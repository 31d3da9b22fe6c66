/* signature.c - `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>...]`, verified over "<t>.<body>".
 *
 *   (1) Every signature is compared with every secret, so the time taken says nothing about which
 *       of them matched (W1).
 *   (2) An empty secret matches no signature.
 *   (3) The age is checked last: a bad signature is reported as one, however old it is. */
#include "webhook/signature.h"

#include "base/hex.h"
#include "base/limits.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST = 32 };

struct stripe_keys {
    size_t count;
    EVP_MAC_CTX *keyed[LIMIT_SECRETS]; /* HMAC-SHA256 with its key set: duplicated for each check */
};

/* The well-formed elements of the header. */
struct signature_claim {
    struct str t; /* its digits: they are part of what was signed */
    int64_t t_s;
    unsigned char v1[LIMIT_SIGNATURES][DIGEST];
    size_t v1_count;
};

const char *signature_reason(enum signature_verdict v)
{
    static const char *const words[SIGNATURE_VERDICTS] = {
        [SIGNATURE_OK] = "ok",
        [SIGNATURE_NO_HEADER] = "no_header",
        [SIGNATURE_MALFORMED] = "malformed",
        [SIGNATURE_NO_TIMESTAMP] = "no_timestamp",
        [SIGNATURE_NO_V1] = "no_v1",
        [SIGNATURE_MISMATCH] = "mismatch",
        [SIGNATURE_TOO_OLD] = "too_old",
        [SIGNATURE_FUTURE] = "future",
        [SIGNATURE_EMPTY] = "empty",
    };

    return words[v];
}

/* --- keys --- */

static EVP_MAC_CTX *keyed_new(EVP_MAC *hmac, struct str secret)
{
    char sha256[] = "SHA256";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", sha256, 0),
                            OSSL_PARAM_construct_end() };
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);

    if (ctx && EVP_MAC_init(ctx, (const unsigned char *)secret.p, secret.n, params))
        return ctx;
    EVP_MAC_CTX_free(ctx);
    return NULL;
}

struct stripe_keys *stripe_keys_new(const struct str *secrets, size_t n)
{
    struct stripe_keys *k = calloc(1, sizeof(*k));
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    bool fine = k && hmac;

    for (size_t i = 0; fine && i < n && k->count < LIMIT_SECRETS; i++) {
        if (!secrets[i].n)
            continue; /* anyone can sign with an empty key */
        k->keyed[k->count] = keyed_new(hmac, secrets[i]);
        fine = k->keyed[k->count++];
    }
    EVP_MAC_free(hmac);
    if (fine)
        return k;
    stripe_keys_free(k);
    return NULL;
}

void stripe_keys_free(struct stripe_keys *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->count; i++)
        EVP_MAC_CTX_free(k->keyed[i]);
    free(k);
}

/* --- the header --- */

static bool parse_hex(struct str hex, unsigned char ret_digest[DIGEST])
{
    if (hex.n != (size_t)DIGEST * 2)
        return false;
    for (size_t i = 0; i < DIGEST; i++) {
        int high = hex_value_lower(hex.p[i * 2]), low = hex_value_lower(hex.p[i * 2 + 1]);

        if (high < 0 || low < 0)
            return false;
        ret_digest[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static void take_timestamp(struct signature_claim *c, struct str value)
{
    int64_t t;

    if (str_to_i64(value, &t) && t >= 0) {
        c->t = value;
        c->t_s = t;
    }
}

static enum signature_verdict signature_parse(struct str header, struct signature_claim *ret_claim)
{
    struct signature_claim c = { .v1_count = 0 };

    if (header.n > LIMIT_SIGNATURE_HEADER)
        return SIGNATURE_MALFORMED;
    while (header.n) {
        struct str value = str_cut(&header, ','), key = str_cut(&value, '=');
        unsigned char digest[DIGEST];

        if (str_eq(key, S("t")))
            take_timestamp(&c, value);
        if (!str_eq(key, S("v1")) || !parse_hex(value, digest))
            continue;
        if (c.v1_count == LIMIT_SIGNATURES)
            return SIGNATURE_MALFORMED;
        memcpy(c.v1[c.v1_count++], digest, DIGEST);
    }
    *ret_claim = c;
    if (!c.t.n)
        return SIGNATURE_NO_TIMESTAMP;
    return c.v1_count ? SIGNATURE_OK : SIGNATURE_NO_V1;
}

/* --- the check --- */

static bool digest_with(EVP_MAC_CTX *keyed, struct str t, struct str body,
                        unsigned char ret_digest[DIGEST])
{
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_dup(keyed);
    size_t n = 0;
    bool fine = ctx && EVP_MAC_update(ctx, (const unsigned char *)t.p, t.n) &&
                EVP_MAC_update(ctx, (const unsigned char *)".", 1) &&
                EVP_MAC_update(ctx, (const unsigned char *)body.p, body.n) &&
                EVP_MAC_final(ctx, ret_digest, &n, DIGEST) && n == DIGEST;

    EVP_MAC_CTX_free(ctx);
    return fine;
}

/* Compares every pair, even after a match. */
static bool any_matches(const struct stripe_keys *k, const struct signature_claim *c,
                        struct str body)
{
    unsigned char ours[DIGEST];
    int matches = 0;

    for (size_t i = 0; i < k->count; i++) {
        if (!digest_with(k->keyed[i], c->t, body, ours))
            continue;
        for (size_t j = 0; j < c->v1_count; j++)
            matches |= CRYPTO_memcmp(ours, c->v1[j], DIGEST) == 0;
    }
    OPENSSL_cleanse(ours, sizeof(ours));
    return matches;
}

enum signature_verdict stripe_verify(const struct stripe_keys *k, struct str header,
                                     struct str body, int64_t now_s)
{
    struct signature_claim c;
    enum signature_verdict v;

    if (!header.n)
        return SIGNATURE_NO_HEADER;
    if (!body.n)
        return SIGNATURE_EMPTY;
    v = signature_parse(header, &c);
    if (v)
        return v;
    if (!any_matches(k, &c, body))
        return SIGNATURE_MISMATCH;
    if (now_s - c.t_s > SIGNATURE_TOLERANCE_S)
        return SIGNATURE_TOO_OLD;
    return now_s - c.t_s < -SIGNATURE_TOLERANCE_S ? SIGNATURE_FUTURE : SIGNATURE_OK;
}
