/* verify.h - which key a token must be verified with, and whether it is. No time of its own, no
 * cache, no network: given the same keys, token and time, the verdict is the same. */
#pragma once

#include "auth/keys.h"

struct verifier {
    struct secret_key *secret; /* NULL: HS256 is not spoken */
    struct public_key *pem;    /* NULL: none; fits whatever kid, it has none itself */
    struct jwt_rules rules;
};

struct verified {
    struct jwt_claims claims;
    uint64_t key; /* the print of a key that may go; 0: of one that stays */
};

/* jwks: NULL, where there is none. UNKNOWN_KEY: a newer jwks might know the key. */
enum verdict verify_token(const struct verifier *v, const struct key_set *jwks, struct arena *a,
                          struct str token, int64_t now_ms, struct verified *ret_verified);
