/* upstash.c - writes and verifies the JWT of Upstash-Signature, and holds the present keys. */
#include "auth/upstash.h"

#include "auth/base64url.h"
#include "auth/jwt.h"
#include "base/hex.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

enum {
    DIGEST = 32,
    DIGEST_TEXT = 43, /* its base64url, without padding */
    CLAIMS_REST = 320 /* bytes of the claims beside the url; times and jti take half of it */
};

/* {"alg":"HS256","typ":"JWT"} and the dot */
static const char head[] = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.";

const char *upstash_word(enum upstash_verdict v)
{
#define UPSTASH_WORD(name, word) [name] = (word),
    static const char *const words[UPSTASH_VERDICTS] = { UPSTASH_VERDICT_LIST(UPSTASH_WORD) };
#undef UPSTASH_WORD

    return words[v];
}

static bool upstash_hmac(struct str key, struct str text, unsigned char ret_mac[DIGEST])
{
    unsigned int n = 0;

    return HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)text.p, text.n, ret_mac,
                &n) &&
           n == DIGEST;
}

/* base64url of SHA-256, without padding; an empty body has one too. */
static bool body_hash(struct str body, char ret_text[DIGEST_TEXT])
{
    unsigned char digest[DIGEST];
    unsigned int n = 0;

    if (!EVP_Digest(body.n ? body.p : "", body.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        return false;
    base64url_put(ret_text, (struct str){ (const char *)digest, sizeof(digest) });
    return true;
}

/* --- sign --- */

static char *upstash_put(char *p, struct str text)
{
    memcpy(p, text.p, text.n);
    return p + text.n;
}

/* Writes the UTF-8 text with JSON escapes: at most six bytes for each of its bytes. */
static char *put_escaped(char *p, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c < 0x20) {
            p = hex_put(upstash_put(p, S("\\u00")), &c, 1);
            continue;
        }
        if (c == '"' || c == '\\')
            *p++ = '\\';
        *p++ = (char)c;
    }
    return p;
}

static struct str write_claims(struct arena *a, struct str url, struct str body, int64_t now_s,
                               const struct uuid *jti)
{
    char *text = arena_alloc(a, 1, 6 * url.n + CLAIMS_REST), *p = text;
    char hash[DIGEST_TEXT], id[UUID_TEXT + 1];

    if (!text || !str_is_utf8(url) || !body_hash(body, hash))
        return (struct str){ 0 };
    uuid_text(*jti, id);
    p = upstash_put(p, S("{\"iss\":\"Upstash\",\"sub\":\""));
    p = put_escaped(p, url);
    /* nbf 0: a receiver's clock may be behind ours. The hash keeps its padding, as the vendor's. */
    p += snprintf(p, CLAIMS_REST / 2, "\",\"exp\":%lld,\"nbf\":0,\"iat\":%lld,\"jti\":\"jwt_%s",
                  (long long)now_s + UPSTASH_LIFE_S, (long long)now_s, id);
    p = upstash_put(p, S("\",\"body\":\""));
    p = upstash_put(p, (struct str){ hash, sizeof(hash) });
    p = upstash_put(p, S("=\"}"));
    return (struct str){ text, (size_t)(p - text) };
}

struct str upstash_sign(struct arena *a, struct str key, struct str url, struct str body,
                        int64_t now_s, const struct uuid *jti)
{
    struct str claims = write_claims(a, url, body, now_s, jti);
    size_t head_n = sizeof(head) - 1;
    unsigned char mac[DIGEST];
    char *token, *p;

    if (!claims.p)
        return (struct str){ 0 };
    token = arena_alloc(a, 1, head_n + BASE64URL_SIZE(claims.n) + 1 + DIGEST_TEXT);
    if (!token)
        return (struct str){ 0 };
    memcpy(token, head, head_n);
    p = base64url_put(token + head_n, claims);
    if (!upstash_hmac(key, (struct str){ token, (size_t)(p - token) }, mac))
        return (struct str){ 0 };
    *p++ = '.';
    p = base64url_put(p, (struct str){ (const char *)mac, sizeof(mac) });
    return (struct str){ token, (size_t)(p - token) };
}

/* --- verify --- */

/* Tries every key, even after a match. */
static bool any_key_signed(const struct str *keys, size_t count, const struct jwt *t)
{
    unsigned char ours[DIGEST];
    int matches = 0;

    if (t->signature.n != DIGEST)
        return false;
    for (size_t i = 0; i < count && i < UPSTASH_KEYS; i++)
        matches |= keys[i].n && upstash_hmac(keys[i], t->signed_part, ours) &&
                   CRYPTO_memcmp(ours, t->signature.p, DIGEST) == 0;
    OPENSSL_cleanse(ours, sizeof(ours));
    return matches;
}

static bool is_hash_of(struct str claim, struct str body)
{
    char ours[DIGEST_TEXT];

    if (claim.n == DIGEST_TEXT + 1 && claim.p[DIGEST_TEXT] == '=')
        claim.n--;
    return claim.n == DIGEST_TEXT && body_hash(body, ours) &&
           CRYPTO_memcmp(ours, claim.p, DIGEST_TEXT) == 0;
}

/* Whole seconds: a QStash writes no fraction or exponent. */
static bool read_seconds(const struct json_value *v, int64_t *ret_s)
{
    return v->type == JSON_NUMBER && str_to_i64(v->raw, ret_s);
}

static enum upstash_verdict check_times(const struct json_value *exp, const struct json_value *nbf,
                                        int64_t now_s)
{
    int64_t at_s;

    if (!read_seconds(exp, &at_s))
        return UPSTASH_MALFORMED;
    if (now_s >= at_s)
        return UPSTASH_EXPIRED;
    if (nbf->type == JSON_ABSENT)
        return UPSTASH_OK;
    if (!read_seconds(nbf, &at_s))
        return UPSTASH_MALFORMED;
    return at_s > now_s + LIMIT_TOKEN_LEEWAY_MS / 1000 ? UPSTASH_NOT_YET : UPSTASH_OK;
}

static bool is_text(struct arena *a, const struct json_value *v, struct str wanted)
{
    struct str text;

    return v->type == JSON_STRING && !json_unescape(a, v, &text) && str_eq(text, wanted);
}

static enum upstash_verdict check_claims(struct arena *a, struct str claims, struct str url,
                                         struct str body, int64_t now_s)
{
    enum { ISS, SUB, EXP, NBF, BODY, FIELDS };
    static const char *const paths[FIELDS] = { "iss", "sub", "exp", "nbf", "body" };
    struct json_value v[FIELDS];
    enum upstash_verdict times;

    if (json_pick(claims, paths, FIELDS, v, NULL))
        return UPSTASH_MALFORMED;
    if (!is_text(a, &v[ISS], S("Upstash")))
        return UPSTASH_ISSUER;
    times = check_times(&v[EXP], &v[NBF], now_s);
    if (times)
        return times;
    if (url.n && !is_text(a, &v[SUB], url))
        return UPSTASH_URL;
    return v[BODY].type == JSON_STRING && is_hash_of(v[BODY].raw, body) ? UPSTASH_OK : UPSTASH_BODY;
}

enum upstash_verdict upstash_verify(struct arena *a, const struct str *keys, size_t count,
                                    struct str signature, struct str url, struct str body,
                                    int64_t now_s)
{
    struct jwt t;
    enum verdict v;

    if (!signature.n)
        return UPSTASH_NO_HEADER;
    v = jwt_read(a, signature, &t);
    if (v)
        return v == VERDICT_NO_MEMORY ? UPSTASH_NO_MEMORY : UPSTASH_MALFORMED;
    if (t.alg != JWT_HS256)
        return UPSTASH_MALFORMED;
    if (!any_key_signed(keys, count, &t))
        return UPSTASH_MISMATCH;
    return check_claims(a, t.claims, url, body, now_s);
}

/* --- the present keys --- */

void upstash_keys_init(struct upstash_keys *k)
{
    *k = (struct upstash_keys){ .mutex = PTHREAD_MUTEX_INITIALIZER };
}

void upstash_keys_release(struct upstash_keys *k)
{
    OPENSSL_cleanse(&k->pair, sizeof(k->pair));
}

static void copy_key(char to[UPSTASH_KEY_MAX + 1], struct str key)
{
    memset(to, 0, UPSTASH_KEY_MAX + 1);
    if (key.n)
        memcpy(to, key.p, key.n);
}

bool upstash_keys_set(struct upstash_keys *k, struct str current, struct str next)
{
    if (current.n > UPSTASH_KEY_MAX || next.n > UPSTASH_KEY_MAX)
        return false;
    pthread_mutex_lock(&k->mutex);
    copy_key(k->pair.current, current);
    copy_key(k->pair.next, next);
    pthread_mutex_unlock(&k->mutex);
    return true;
}

void upstash_keys_get(struct upstash_keys *k, struct upstash_pair *ret_pair)
{
    pthread_mutex_lock(&k->mutex);
    *ret_pair = k->pair;
    pthread_mutex_unlock(&k->mutex);
}
