/* standard_webhooks.c - secrets, and HMAC-SHA256 over "<id>.<timestamp>.<body>". */
#include "auth/standard_webhooks.h"

#include "base/limits.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <string.h>

enum { DIGEST = 32, KEY_TEXT_MAX = 88, PREFIX = 6 };

/* --- secrets --- */

struct standard_webhooks_key {
    unsigned char b[SIGNING_KEY_MAX];
    size_t n;
};

/* Canonical base64 only: text that is the same after decoding and encoding. */
static bool standard_webhooks_decode(struct str text, struct standard_webhooks_key *ret_key)
{
    unsigned char raw[KEY_TEXT_MAX + 1], again[KEY_TEXT_MAX + 1];
    size_t padding = 0;
    int n;

    if (!text.n || text.n > KEY_TEXT_MAX || text.n % 4)
        return false;
    while (padding < 2 && text.p[text.n - 1 - padding] == '=')
        padding++;
    n = EVP_DecodeBlock(raw, (const unsigned char *)text.p, (int)text.n);
    if (n < 0 || (size_t)n - padding > SIGNING_KEY_MAX)
        return false;
    ret_key->n = (size_t)n - padding;
    memcpy(ret_key->b, raw, ret_key->n);
    n = EVP_EncodeBlock(again, raw, (int)ret_key->n);
    OPENSSL_cleanse(raw, sizeof(raw));
    return (size_t)n == text.n && CRYPTO_memcmp(again, text.p, text.n) == 0;
}

static bool read_secret(struct str secret, struct standard_webhooks_key *ret_key)
{
    if (!str_starts(secret, S("whsec_")))
        return false;
    return standard_webhooks_decode((struct str){ secret.p + PREFIX, secret.n - PREFIX },
                                    ret_key) &&
           ret_key->n >= SIGNING_KEY_MIN;
}

bool signing_secret_is_sane(struct str secret)
{
    struct standard_webhooks_key key = { .n = 0 };
    bool sane = read_secret(secret, &key);

    OPENSSL_cleanse(&key, sizeof(key));
    return sane;
}

void signing_secret_make(struct rng *r, char secret[SIGNING_SECRET_TEXT + 1])
{
    unsigned char key[SIGNING_KEY_MADE];

    rng_bytes(r, key, sizeof(key));
    memcpy(secret, "whsec_", PREFIX);
    EVP_EncodeBlock((unsigned char *)secret + PREFIX, key, sizeof(key)); /* with its NUL */
    OPENSSL_cleanse(key, sizeof(key));
}

/* --- signatures --- */

static bool standard_webhooks_update(EVP_MAC_CTX *ctx, struct str s)
{
    return !s.n || EVP_MAC_update(ctx, (const unsigned char *)s.p, s.n);
}

static bool signing_digest(const struct standard_webhooks_key *key, struct str id,
                           struct str timestamp, struct str body, unsigned char ret_digest[DIGEST])
{
    char sha256[] = "SHA256";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", sha256, 0),
                            OSSL_PARAM_construct_end() };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    size_t n = 0;
    bool fine = ctx && EVP_MAC_init(ctx, key->b, key->n, params) &&
                standard_webhooks_update(ctx, id) && standard_webhooks_update(ctx, S(".")) &&
                standard_webhooks_update(ctx, timestamp) && standard_webhooks_update(ctx, S(".")) &&
                standard_webhooks_update(ctx, body) && EVP_MAC_final(ctx, ret_digest, &n, DIGEST) &&
                n == DIGEST;

    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(hmac);
    return fine;
}

bool signing_sign(struct str secret, struct str id, struct str timestamp, struct str body,
                  char ret_signature[SIGNING_TEXT + 1])
{
    unsigned char digest[DIGEST], text[SIGNING_TEXT - 3 + 1];
    struct standard_webhooks_key key = { .n = 0 };
    bool fine = read_secret(secret, &key) && signing_digest(&key, id, timestamp, body, digest);

    OPENSSL_cleanse(&key, sizeof(key));
    if (!fine)
        return false;
    EVP_EncodeBlock(text, digest, DIGEST);
    snprintf(ret_signature, SIGNING_TEXT + 1, "v1,%s", (const char *)text);
    return true;
}

/* Compares every signature, even after a match, so that the time taken says nothing. */
static bool any_signature_matches(struct str signatures, const char *ours)
{
    int matches = 0;

    for (int i = 0; signatures.n && i < LIMIT_SIGNATURES; i++) {
        struct str one = str_cut(&signatures, ' ');

        matches |= one.n == SIGNING_TEXT && CRYPTO_memcmp(one.p, ours, SIGNING_TEXT) == 0;
    }
    return matches;
}

bool signing_verify(struct str secret, struct str id, struct str timestamp, struct str signatures,
                    struct str body, int64_t now_s)
{
    char ours[SIGNING_TEXT + 1];
    int64_t at_s;
    bool fine;

    if (!id.n || !str_to_i64(timestamp, &at_s) || at_s < 0 ||
        signatures.n > LIMIT_SIGNATURE_HEADER || !signing_sign(secret, id, timestamp, body, ours))
        return false;
    fine = any_signature_matches(signatures, ours);
    OPENSSL_cleanse(ours, sizeof(ours));
    return fine && now_s - at_s <= SIGNING_TOLERANCE_S && at_s - now_s <= SIGNING_TOLERANCE_S;
}
