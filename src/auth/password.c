/* password.c - scrypt, and the text in which its parameters, salt and hash are stored. */
#include "auth/password.h"

#include "auth/base64url.h"
#include "base/limits.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdio.h>
#include <string.h>

enum {
    SALT = 16,
    HASH = 32,
    /* What a stored text may ask for. Ours is 15, 8, 1; a later one may cost more. */
    LOG_N_MAX = 17,
    R_MAX = 16,
    P_MAX = 4,
    MEMORY_MAX = 320 * 1024 * 1024,
    ARENA = 1024,
};

struct recipe {
    int log_n, r, p;
    unsigned char salt[SALT], hash[HASH];
};

bool password_is_fit(struct str password)
{
    return password.n >= LIMIT_PASSWORD_MIN && password.n <= LIMIT_PASSWORD &&
           str_is_utf8(password);
}

static bool password_derive(struct str password, const struct recipe *w, unsigned char ret[HASH])
{
    uint64_t n = UINT64_C(1) << w->log_n, memory = MEMORY_MAX;
    uint32_t r = (uint32_t)w->r, p = (uint32_t)w->p;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, (void *)password.p, password.n),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)w->salt, SALT),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
        OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
        OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
        OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &memory),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "SCRYPT", NULL);
    EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    bool ok = ctx && EVP_KDF_derive(ctx, ret, HASH, params) == 1;

    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return ok;
}

static char *put_text(char *p, struct str text)
{
    memcpy(p, text.p, text.n);
    return p + text.n;
}

bool password_hash(struct str password, struct rng *rng, char ret_text[PASSWORD_TEXT + 1])
{
    struct recipe w = { .log_n = 15, .r = 8, .p = 1 };
    char *end = ret_text;

    rng_bytes(rng, w.salt, SALT);
    if (!password_derive(password, &w, w.hash))
        return false;
    end = put_text(end, S("scrypt$15$8$1$"));
    end = base64url_put(end, (struct str){ (const char *)w.salt, SALT });
    *end++ = '$';
    end = base64url_put(end, (struct str){ (const char *)w.hash, HASH });
    *end = '\0';
    OPENSSL_cleanse(&w, sizeof(w));
    return true;
}

/* --- parsing --- */

static bool read_number(struct str *rest, int most, int *ret)
{
    int64_t n;

    if (!str_to_i64(str_cut(rest, '$'), &n) || n < 1 || n > most)
        return false;
    *ret = (int)n;
    return true;
}

static bool read_bytes(struct arena *a, struct str text, size_t n, unsigned char *ret)
{
    struct str bytes;

    if (base64url_decode(a, text, &bytes) || bytes.n != n)
        return false;
    memcpy(ret, bytes.p, n);
    return true;
}

static bool read_recipe(struct str text, struct recipe *w)
{
    struct str rest = text, salt;
    struct arena a;
    bool ok;

    arena_init(&a, ARENA);
    ok = text.n <= PASSWORD_TEXT && str_eq(str_cut(&rest, '$'), S("scrypt")) &&
         read_number(&rest, LOG_N_MAX, &w->log_n) && read_number(&rest, R_MAX, &w->r) &&
         read_number(&rest, P_MAX, &w->p);
    salt = str_cut(&rest, '$');
    ok = ok && read_bytes(&a, salt, SALT, w->salt) && read_bytes(&a, rest, HASH, w->hash);
    arena_release(&a);
    return ok;
}

bool password_matches(struct str password, struct str text)
{
    unsigned char got[HASH];
    struct recipe w;
    bool same;

    if (!read_recipe(text, &w) || !password_derive(password, &w, got))
        return false;
    same = CRYPTO_memcmp(got, w.hash, HASH) == 0;
    OPENSSL_cleanse(&w, sizeof(w));
    OPENSSL_cleanse(got, sizeof(got));
    return same;
}
