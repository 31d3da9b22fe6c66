/* jwt.h - a token's text: its form, its header and its claims, by our rules. Nothing here knows a
 * key, and nothing that is read here is true before a key has verified it. */
#pragma once

#include "auth/auth.h"

/*  X(name, words for the log) - a client hears only 401 */
#define VERDICT_LIST(X)                                                                            \
    X(VERDICT_OK, "fine")                                                                          \
    X(VERDICT_NO_TOKEN, "there is no bearer token")                                                \
    X(VERDICT_TOO_LONG, "the token is too long")                                                   \
    X(VERDICT_FORM, "the token is not three parts of strict base64url")                            \
    X(VERDICT_HEADER, "the header is not a JSON object by our rules")                              \
    X(VERDICT_CRIT, "crit and b64 are not understood here")                                        \
    X(VERDICT_TYP, "typ names another kind of token")                                              \
    X(VERDICT_KID, "kid is not a short text")                                                      \
    X(VERDICT_ALG, "no key here takes this alg")                                                   \
    X(VERDICT_UNKNOWN_KEY, "no known key fits kid and alg")                                        \
    X(VERDICT_AMBIGUOUS, "several keys fit and no kid says which")                                 \
    X(VERDICT_SIGNATURE, "the signature is wrong")                                                 \
    X(VERDICT_CLAIMS, "the claims are not a JSON object by our rules")                             \
    X(VERDICT_NO_EXP, "exp is missing or not a time")                                              \
    X(VERDICT_EXPIRED, "the token has expired")                                                    \
    X(VERDICT_NOT_YET, "nbf or iat lies in the future, or is not a time")                          \
    X(VERDICT_ISSUER, "iss is not ours")                                                           \
    X(VERDICT_AUDIENCE, "aud does not name us")                                                    \
    X(VERDICT_SUBJECT, "sub is not a user's UUID")                                                 \
    X(VERDICT_SCOPE, "the scopes are not texts")                                                   \
    X(VERDICT_SESSION, "the cookie's session is over, or was never one")                           \
    X(VERDICT_NO_MEMORY, "the request needs more memory than it may have")

#define VERDICT_NAME(name, words) name,
enum verdict { VERDICT_LIST(VERDICT_NAME) VERDICTS };
#undef VERDICT_NAME

const char *verdict_words(enum verdict v);

/* Bits, because an RSA key takes two of them. */
enum jwt_alg { JWT_HS256 = 1, JWT_RS256 = 2, JWT_PS256 = 4, JWT_ES256 = 8 };

struct jwt {
    enum jwt_alg alg;
    bool has_kid;
    struct str kid;
    struct str signed_part; /* header and claims as they came, with the dot between them */
    struct str claims;      /* JSON, decoded; not looked at yet */
    struct str signature;   /* bytes */
};

/* The alg of that name; 0: not supported. Case matters, so no spelling of "none" is accepted. */
unsigned jwt_alg_of(struct str name);

/* Reads the form and the header. Texts live in the arena or in the token. */
enum verdict jwt_read(struct arena *a, struct str token, struct jwt *ret_jwt);

struct jwt_rules {
    struct str issuer, audience; /* empty: not required */
};

struct jwt_claims {
    struct principal who;
    int64_t from_ms, until_ms; /* valid while from <= now < until */
};

/* Only for claims whose signature was verified. */
enum verdict jwt_read_claims(struct arena *a, struct str claims, const struct jwt_rules *rules,
                             int64_t now_ms, struct jwt_claims *ret_claims);
