/* verify.h - selects the key of a token and verifies it. It uses no clock, cache or network: the same
 * keys, token and time give the same verdict. */
#pragma once

#include "auth/keys.h"

struct verifier {
    struct secret_key *secret; /* NULL: HS256 is not accepted */
    struct public_key *pem;    /* NULL: none; it has no kid, so it fits any */
    struct jwt_rules rules;
};

struct verified {
    struct jwt_claims claims;
    uint64_t key; /* the print of a key of the JWKS; 0: a key of the settings */
};

/* jwks: NULL if there is none. UNKNOWN_KEY: a newer JWKS may have the key. */
enum verdict verify_token(const struct verifier *v, const struct key_set *jwks, struct arena *a,
                          struct str token, int64_t now_ms, struct verified *ret_verified);
