/* forge.h - makes tokens, good and bad, with OpenSSL alone: nothing of src/auth/ helps. */
#pragma once

#include "base/arena.h"
#include "base/limits.h"
#include "unit/cm.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))
#define SECRET "0123456789abcdef0123456789abcdef"
#define USER "0190d5c2-7e1a-7b3c-8d4e-5f6071829304"
#define NOW_S 1760000000
#define NOW_MS (INT64_C(1000) * NOW_S)
#define LATER "1760000060"

enum signer {
    BY_SECRET,
    BY_RSA,
    BY_PSS,
    BY_EC,
    BY_EC_DER,
    BY_PEM_TEXT,
    BY_NOBODY,
    BY_SHORT,
    BY_PSS0
};

struct forge {
    EVP_PKEY *rsa, *rsa_small, *ec, *p384;
    char rsa_pem[2048], ec_pem[2048];
};

static inline void pem_of(EVP_PKEY *k, char *out, size_t size)
{
    BIO *bio = BIO_new(BIO_s_mem());
    int n;

    PEM_write_bio_PUBKEY(bio, k);
    n = BIO_read(bio, out, (int)size - 1);
    assert_true(n > 0);
    out[n] = '\0';
    BIO_free(bio);
}

static inline void forge_init(struct forge *f)
{
    *f = (struct forge){ .rsa = EVP_RSA_gen(2048),
                         .rsa_small = EVP_RSA_gen(1024),
                         .ec = EVP_EC_gen("P-256"),
                         .p384 = EVP_EC_gen("P-384") };
    pem_of(f->rsa, f->rsa_pem, sizeof(f->rsa_pem));
    pem_of(f->ec, f->ec_pem, sizeof(f->ec_pem));
}

static inline void forge_release(struct forge *f)
{
    EVP_PKEY_free(f->rsa);
    EVP_PKEY_free(f->rsa_small);
    EVP_PKEY_free(f->ec);
    EVP_PKEY_free(f->p384);
}

/* base64url by OpenSSL's base64. */
static inline size_t b64(const void *bytes, size_t n, char *out)
{
    size_t m = (size_t)EVP_EncodeBlock((unsigned char *)out, bytes, (int)n);

    while (m && out[m - 1] == '=')
        m--;
    for (size_t i = 0; i < m; i++)
        out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
    out[m] = '\0';
    return m;
}

static inline size_t raw_of_der(const unsigned char *der, size_t n, unsigned char *out)
{
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &der, (long)n);

    BN_bn2binpad(ECDSA_SIG_get0_r(s), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(s), out + 32, 32);
    ECDSA_SIG_free(s);
    return 64;
}

static inline size_t sign_with(EVP_PKEY *k, enum signer by, const char *text, unsigned char *out)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *ctx;
    unsigned char der[1024];
    size_t n = sizeof(der);

    assert_int_equal(EVP_DigestSignInit(md, &ctx, EVP_sha256(), NULL, k), 1);
    if (by == BY_PSS || by == BY_PSS0) {
        EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING);
        EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, by == BY_PSS ? RSA_PSS_SALTLEN_DIGEST : 0);
    }
    assert_int_equal(EVP_DigestSign(md, der, &n, (const unsigned char *)text, strlen(text)), 1);
    EVP_MD_CTX_free(md);
    if (by == BY_EC)
        return raw_of_der(der, n, out);
    memcpy(out, der, n);
    return n;
}

static inline size_t sign_by(struct forge *f, enum signer by, const char *text, unsigned char *out)
{
    const char *key = by == BY_PEM_TEXT ? f->rsa_pem : by == BY_SHORT ? "k" : SECRET;
    unsigned n = 0;

    switch (by) {
    case BY_SECRET:
    case BY_PEM_TEXT:
    case BY_SHORT:
        HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), out,
             &n);
        return n;
    case BY_RSA:
    case BY_PSS:
    case BY_PSS0: return sign_with(f->rsa, by, text, out);
    case BY_EC:
    case BY_EC_DER: return sign_with(f->ec, by, text, out);
    case BY_NOBODY: return 0;
    }
    abort();
}

static inline struct str forge_token(struct forge *f, struct arena *a, struct str header,
                                     struct str claims, enum signer by)
{
    char *text = arena_alloc(a, 2 * (header.n + claims.n) + 4096, 1);
    unsigned char signature[1024];
    size_t n = b64(header.p, header.n, text), m;

    text[n++] = '.';
    n += b64(claims.p, claims.n, text + n);
    m = sign_by(f, by, text, signature);
    text[n++] = '.';
    n += b64(signature, m, text + n);
    return (struct str){ text, n };
}

/* --- as a JWK --- */

static inline void bn_member(EVP_PKEY *k, const char *param, const char *name, int width, char *out)
{
    unsigned char bytes[1024];
    char text[2048];
    BIGNUM *n = NULL;

    EVP_PKEY_get_bn_param(k, param, &n);
    if (!width)
        width = BN_num_bytes(n);
    BN_bn2binpad(n, bytes, width);
    BN_free(n);
    b64(bytes, (size_t)width, text);
    sprintf(out, "\"%s\":\"%s\"", name, text);
}

/* {"kty":...,more} */
static inline const char *jwk_of(struct arena *a, EVP_PKEY *k, const char *more)
{
    char one[2100], two[2100], *out = arena_alloc(a, 8192, 1);

    if (EVP_PKEY_is_a(k, "RSA")) {
        bn_member(k, OSSL_PKEY_PARAM_RSA_N, "n", 0, one);
        bn_member(k, OSSL_PKEY_PARAM_RSA_E, "e", 0, two);
        snprintf(out, 8192, "{\"kty\":\"RSA\",%s,%s%s}", one, two, more);
    } else {
        bn_member(k, OSSL_PKEY_PARAM_EC_PUB_X, "x", 32, one);
        bn_member(k, OSSL_PKEY_PARAM_EC_PUB_Y, "y", 32, two);
        snprintf(out, 8192, "{\"kty\":\"EC\",\"crv\":\"P-256\",%s,%s%s}", one, two, more);
    }
    return out;
}
