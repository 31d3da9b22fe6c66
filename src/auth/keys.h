/* keys.h - keys that verify tokens. A secret and a public key are two types, and neither can be
 * made from the other's text: an RSA key's PEM never becomes an HMAC key. Each key says which algs
 * it takes; the token has no say. All of them are immutable, so any thread may use them. */
#pragma once

#include "auth/jwt.h"
#include "base/why.h"

#include <cjson/cJSON.h>
#include <openssl/types.h>

/* --- HS256 --- */

struct secret_key;

/* NULL: `why` says the reason, without secrets. */
struct secret_key *secret_key_new(struct str secret, struct why *why);
void secret_key_free(struct secret_key *k);
bool secret_key_verifies(const struct secret_key *k, struct str text, struct str signature);
bool secret_key_sign(const struct secret_key *k, struct str text, unsigned char ret_mac[32]);

/* --- RS256, PS256, ES256 --- */

struct public_key {
    unsigned algs;  /* of enum jwt_alg */
    uint64_t print; /* a hash of key, kid and algs; never 0 */
    struct str kid; /* of a JWK; empty: none */
    EVP_PKEY *pkey;
};

/* Takes ownership of pkey. algs: those it may be used for, of which its type leaves some. NULL:
 * *ret_why (a static text) says why the key is not accepted. */
struct public_key *public_key_wrap(EVP_PKEY *pkey, unsigned algs, struct str kid,
                                   const char **ret_why);
struct public_key *public_key_from_pem(struct str pem, struct why *why);
/* NULL: *ret_why (a static text) says why this key is skipped. */
struct public_key *public_key_from_jwk(const cJSON *jwk, const char **ret_why);
void public_key_free(struct public_key *k);
bool public_key_verifies(const struct public_key *k, enum jwt_alg alg, struct str text,
                         struct str signature);

/* --- the keys of a JWKS, shared by reference count --- */

struct key_set {
    _Atomic int refs;
    uint64_t generation; /* set when it is installed */
    size_t count, skipped;
    const char *skipped_why; /* of the first one that was passed over */
    struct public_key *keys[];
};

/* NULL: the text is not a JWKS. Keys that we cannot use are skipped and are no error. */
struct key_set *key_set_parse(struct str json);
struct key_set *key_set_ref(struct key_set *s);
void key_set_unref(struct key_set *s); /* the last one frees it */
bool key_set_has(const struct key_set *s, uint64_t print);
/* How many keys fit the token's alg and kid; *ret_key is the last of them. */
size_t key_set_find(const struct key_set *s, const struct jwt *t,
                    const struct public_key **ret_key);
