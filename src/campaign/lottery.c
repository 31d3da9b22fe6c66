/* lottery.c - the arithmetic of a draw. It uses no clock, no other random source and no database: the
 * same seed and entries give the same winners, here and in the script of docs/lottery.md. */
#include "campaign/lottery.h"

#include "base/hex.h"
#include "campaign/campaign.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIGEST = DRAW_HEX / 2, LINE_MAX_BYTES = 64, PICK_TEXT = DRAW_HEX + 48 };

void draw_sha256(struct str bytes, char ret_hex[DRAW_HEX + 1])
{
    unsigned char digest[DIGEST];
    unsigned int n = 0;

    if (!EVP_Digest(bytes.p, bytes.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        abort(); /* only without memory; a wrong digest would falsify the draw */
    *hex_put(ret_hex, digest, DIGEST) = '\0';
}

void draw_commit(const unsigned char seed[DRAW_SEED], char ret_hex[DRAW_HEX + 1])
{
    draw_sha256((struct str){ (const char *)seed, DRAW_SEED }, ret_hex);
}

static void draw_digest_entries(const struct draw_entry *entries, size_t n,
                                char ret_digest[DRAW_HEX + 1])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char digest[DIGEST];
    unsigned int size = 0;
    bool fine = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);

    for (size_t i = 0; fine && i < n; i++) {
        char id[UUID_TEXT + 1], line[LINE_MAX_BYTES];
        int length;

        uuid_text(entries[i].purchase, id);
        length = snprintf(line, sizeof(line), "%lld %s\n", (long long)entries[i].number, id);
        fine = EVP_DigestUpdate(ctx, line, (size_t)length);
    }
    if (!fine || !EVP_DigestFinal_ex(ctx, digest, &size) || size != DIGEST)
        abort();
    EVP_MD_CTX_free(ctx);
    *hex_put(ret_digest, digest, DIGEST) = '\0';
}

/* --- random numbers from the seed --- */

struct draw_rng {
    EVP_MAC *hmac;
    EVP_MAC_CTX *ctx;
    const char *digest;
};

static void draw_rng_init(struct draw_rng *d, const unsigned char seed[DRAW_SEED],
                          const char *digest)
{
    char sha256[] = "SHA256";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", sha256, 0),
                            OSSL_PARAM_construct_end() };

    d->digest = digest;
    d->hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    d->ctx = d->hmac ? EVP_MAC_CTX_new(d->hmac) : NULL;
    if (!d->ctx || !EVP_MAC_init(d->ctx, seed, DRAW_SEED, params))
        abort();
}

static void draw_rng_release(struct draw_rng *d)
{
    EVP_MAC_CTX_free(d->ctx);
    EVP_MAC_free(d->hmac);
}

static uint64_t draw_rng_number(struct draw_rng *d, size_t pick, unsigned try)
{
    unsigned char out[DIGEST];
    char text[PICK_TEXT];
    uint64_t x = 0;
    size_t size = 0;
    int n = snprintf(text, sizeof(text), "%s:%zu:%u", d->digest, pick, try);

    /* A NULL key restarts with the key that was set before. */
    if (!EVP_MAC_init(d->ctx, NULL, 0, NULL) ||
        !EVP_MAC_update(d->ctx, (const unsigned char *)text, (size_t)n) ||
        !EVP_MAC_final(d->ctx, out, &size, sizeof(out)) || size != DIGEST)
        abort();
    for (int i = 0; i < 8; i++)
        x = x << 8 | out[i];
    return x;
}

/* Uniform below n: numbers of the last, incomplete round of n are rejected and drawn again. */
static size_t draw_rng_below(struct draw_rng *d, size_t pick, uint64_t n)
{
    uint64_t odd = (UINT64_MAX % n + 1) % n; /* 2^64 mod n */

    for (unsigned try = 0;; try++) {
        uint64_t x = draw_rng_number(d, pick, try);

        if (x <= UINT64_MAX - odd)
            return (size_t)(x % n);
    }
}

void draw_pick(const unsigned char seed[DRAW_SEED], struct draw_entry *entries, size_t n,
               size_t winners, char ret_digest[DRAW_HEX + 1])
{
    uint16_t left[POSITIONS_MAX];
    struct draw_rng rng;

    static_assert(POSITIONS_MAX <= UINT16_MAX, "an entry's place fits");
    assert(n <= POSITIONS_MAX);
    draw_digest_entries(entries, n, ret_digest);
    for (size_t i = 0; i < n; i++) {
        left[i] = (uint16_t)i;
        entries[i].rank = 0;
    }
    draw_rng_init(&rng, seed, ret_digest);
    for (size_t pick = 1; pick <= winners && n; pick++) {
        size_t at = draw_rng_below(&rng, pick, n);

        entries[left[at]].rank = (int)pick;
        left[at] = left[--n];
    }
    draw_rng_release(&rng);
}
