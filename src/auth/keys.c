/* keys.c - the HMAC key of HS256, public keys from PEM, and the verification of signatures. */
#include "auth/keys.h"

#include "base/limits.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

enum { MAC = 32, ES256_HALF = 32 };

static const unsigned char *bytes_of(struct str s)
{
    return (const unsigned char *)s.p;
}

/* --- HS256 --- */

struct secret_key {
    EVP_MAC_CTX *keyed; /* HMAC-SHA256 with its key set: duplicated for each check */
};

static EVP_MAC_CTX *keyed_new(struct str secret)
{
    char sha256[] = "SHA256";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", sha256, 0),
                            OSSL_PARAM_construct_end() };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;

    EVP_MAC_free(hmac); /* the context keeps its own */
    if (ctx && EVP_MAC_init(ctx, bytes_of(secret), secret.n, params))
        return ctx;
    EVP_MAC_CTX_free(ctx);
    return NULL;
}

struct secret_key *secret_key_new(struct str secret, struct why *why)
{
    struct secret_key *k;

    if (secret.n < LIMIT_JWT_SECRET_MIN) {
        why_set(why, "the secret has fewer than %d bytes: too easy to guess", LIMIT_JWT_SECRET_MIN);
        return NULL;
    }
    k = calloc(1, sizeof(*k));
    if (k)
        k->keyed = keyed_new(secret);
    if (k && k->keyed)
        return k;
    why_set(why, "the secret could not be loaded");
    secret_key_free(k);
    return NULL;
}

void secret_key_free(struct secret_key *k)
{
    if (k)
        EVP_MAC_CTX_free(k->keyed);
    free(k);
}

bool secret_key_sign(const struct secret_key *k, struct str text, unsigned char ret_mac[MAC])
{
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_dup(k->keyed);
    size_t n = 0;
    bool fine = ctx && EVP_MAC_update(ctx, bytes_of(text), text.n) &&
                EVP_MAC_final(ctx, ret_mac, &n, MAC) && n == MAC;

    EVP_MAC_CTX_free(ctx);
    return fine;
}

bool secret_key_verifies(const struct secret_key *k, struct str text, struct str signature)
{
    unsigned char ours[MAC];
    bool same = signature.n == MAC && secret_key_sign(k, text, ours) &&
                CRYPTO_memcmp(ours, signature.p, MAC) == 0;

    OPENSSL_cleanse(ours, sizeof(ours));
    return same;
}

/* --- public keys --- */

static int no_passphrase(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1; /* without this callback OpenSSL asks on the terminal */
}

static EVP_PKEY *read_pem(struct str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *pkey = bio ? PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return pkey;
}

struct public_key *public_key_from_pem(struct str pem, struct why *why)
{
    const char *reason = "it is not a PEM text of a public key";
    EVP_PKEY *pkey = pem.n <= LIMIT_SETTING ? read_pem(pem) : NULL;
    struct public_key *k = NULL;

    if (pkey)
        k = public_key_wrap(pkey, JWT_RS256 | JWT_PS256 | JWT_ES256, S(""), &reason);
    if (!k)
        why_set(why, "the public key is of no use: %s", reason);
    return k;
}

void public_key_free(struct public_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->pkey);
    free(k);
}

/* --- verifying --- */

/* OpenSSL needs DER. A token has r and s, 32 bytes each; no other form is accepted. */
static int ecdsa_der(struct str raw, unsigned char **ret_der)
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r, *s;
    int n = -1;

    if (sig && raw.n == 2 * (size_t)ES256_HALF) {
        r = BN_bin2bn(bytes_of(raw), ES256_HALF, NULL);
        s = BN_bin2bn(bytes_of(raw) + ES256_HALF, ES256_HALF, NULL);
        if (r && s && ECDSA_SIG_set0(sig, r, s)) {
            n = i2d_ECDSA_SIG(sig, ret_der);
        } else {
            BN_free(r);
            BN_free(s);
        }
    }
    ECDSA_SIG_free(sig);
    return n;
}

static bool set_padding(EVP_PKEY_CTX *ctx, enum jwt_alg alg)
{
    if (alg == JWT_RS256)
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) > 0;
    if (alg == JWT_PS256) /* the salt is as long as the hash (RFC 7518) */
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) > 0 &&
               EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) > 0 &&
               EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, EVP_sha256()) > 0;
    return true;
}

static bool key_verifies(EVP_PKEY *pkey, enum jwt_alg alg, struct str text,
                         const unsigned char *sig, size_t sig_n)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *ctx = NULL;
    bool fine = md && EVP_DigestVerifyInit(md, &ctx, EVP_sha256(), NULL, pkey) == 1 &&
                set_padding(ctx, alg) &&
                EVP_DigestVerify(md, sig, sig_n, bytes_of(text), text.n) == 1;

    EVP_MD_CTX_free(md);
    ERR_clear_error(); /* TLS on this thread reads the same list of errors */
    return fine;
}

bool public_key_verifies(const struct public_key *k, enum jwt_alg alg, struct str text,
                         struct str signature)
{
    unsigned char *der = NULL;
    bool fine;
    int n;

    if (!(k->algs & alg))
        return false;
    if (alg != JWT_ES256)
        return signature.n == (size_t)EVP_PKEY_get_size(k->pkey) &&
               key_verifies(k->pkey, alg, text, bytes_of(signature), signature.n);
    n = ecdsa_der(signature, &der);
    fine = n > 0 && key_verifies(k->pkey, alg, text, der, (size_t)n);
    OPENSSL_free(der);
    return fine;
}
