/* upstash.h - Upstash-Signature: the JWT with which a QStash says that a delivery is its own.
 * HS256, iss `Upstash`, sub the destination, body the SHA-256 of the body. The HMAC key is the whole
 * text of a signing key, sig_ included. As a queue we sign, as a worker we verify. */
#pragma once

#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/uuid.h"

#include <pthread.h>

enum {
    UPSTASH_LIFE_S = 300,
    UPSTASH_KEY_MAX = LIMIT_SIGNING_KEY,
    UPSTASH_KEYS = 4, /* that one verification tries */
};

/*  X(name, word for the problem, the counter and the log: it derives nothing from a key) */
#define UPSTASH_VERDICT_LIST(X)                                                                    \
    X(UPSTASH_OK, "ok")                                                                            \
    X(UPSTASH_NO_HEADER, "no_header")                                                              \
    X(UPSTASH_MALFORMED, "malformed") /* not a JWT by our rules, or of another kind */             \
    X(UPSTASH_MISMATCH, "mismatch")   /* no key of ours signed it */                               \
    X(UPSTASH_ISSUER, "issuer")                                                                    \
    X(UPSTASH_EXPIRED, "expired")                                                                  \
    X(UPSTASH_NOT_YET, "not_yet")                                                                  \
    X(UPSTASH_URL, "url")   /* it was signed for another address */                                \
    X(UPSTASH_BODY, "body") /* it was signed for another body */                                   \
    X(UPSTASH_NO_MEMORY, "no_memory")

#define UPSTASH_VERDICT_NAME(name, word) name,
enum upstash_verdict { UPSTASH_VERDICT_LIST(UPSTASH_VERDICT_NAME) UPSTASH_VERDICTS };
#undef UPSTASH_VERDICT_NAME

const char *upstash_word(enum upstash_verdict v);

/* The header's value, in the arena, valid for UPSTASH_LIFE_S. .p NULL: no memory, or url is not
 * UTF-8. */
struct str upstash_sign(struct arena *a, struct str key, struct str url, struct str body,
                        int64_t now_s, const struct uuid *jti);

/* Any of the keys may match (at most UPSTASH_KEYS; an empty key matches nothing). Only HS256 without
 * crit is accepted; iss, exp and body are required; nbf may be LIMIT_TOKEN_LEEWAY_MS ahead. url
 * empty: not compared. The body's hash may be padded or not. */
enum upstash_verdict upstash_verify(struct arena *a, const struct str *keys, size_t count,
                                    struct str signature, struct str url, struct str body,
                                    int64_t now_s);

/* --- the present keys: they are rotated at run time, so they are read for each use --- */

struct upstash_pair {
    char current[UPSTASH_KEY_MAX + 1], next[UPSTASH_KEY_MAX + 1]; /* empty: there is none */
};

struct upstash_keys {
    pthread_mutex_t mutex;
    struct upstash_pair pair;
};

void upstash_keys_init(struct upstash_keys *k);
void upstash_keys_release(struct upstash_keys *k); /* wipes them */
/* False: a key is longer than UPSTASH_KEY_MAX, and nothing is changed. */
bool upstash_keys_set(struct upstash_keys *k, struct str current, struct str next);
void upstash_keys_get(struct upstash_keys *k, struct upstash_pair *ret_pair); /* any thread */
