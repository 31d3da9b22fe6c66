/* auth.h - who asks (A1, A2, A3): a bearer JWT, or a session's cookie, becomes a principal, or 401.
 *
 *   (1) The algorithm belongs to the key, never to the token.
 *   (2) A token that was verified is remembered, so that the next request costs a look-up; it is
 *       forgotten at its exp, and when its key goes.
 *   (3) With a JWKS url an unknown kid waits for one fetch (shared, not more often than every 30
 *       s); while its server is down the keys that are known go on working, for a day.
 *   (4) The cookie counts below /api/v1/admin/ alone, and only without an Authorization header.
 *   (5) Who is a viewer and nothing more changes nothing: whatever the path, only GET and HEAD of
 *       his come through. */
#pragma once

#include "auth/session.h"
#include "base/env.h"
#include "base/uuid.h"
#include "base/why.h"
#include "http/http.h"

struct auth;
struct client;

struct principal {
    struct uuid user;    /* sub */
    bool service, admin; /* scopes: they may act for anybody */
    bool viewer;         /* may look at everything as admin does, and change nothing (A3) */
    struct str name;     /* of an operator who logged in; else empty */
};

struct auth_options {
    struct env *env;
    struct client *client; /* for the JWKS; may be NULL without one */
    struct str secret;     /* HS256 */
    struct str public_key; /* PEM: RS256 and PS256, or ES256 */
    struct str jwks_url;
    struct str issuer, audience; /* empty: not checked */
    struct str admin_token; /* `Authorization: Bearer <it>` is service and admin, user all zero */
    struct store *store;    /* of sessions; NULL: there are none */
    struct str public_url;  /* how browsers may know us; may be empty */
};

/* Copies what it keeps. NULL: `why` says what is wrong with a key, in one line; nothing secret. */
struct auth *auth_new(const struct auth_options *o, struct why *why);
/* When no request waits any more. With a JWKS it may wait for a fetch that is under way, a few
 * seconds at most, and not at all where the client was freed before. NULL is fine. */
void auth_free(struct auth *a);

/* Calls then() once, on r->executor: at once, after a fetch of the JWKS, or after a look at the
 * store. OK and a principal (valid during the call), or UNAUTHORIZED (WWW-Authenticate is set on
 * the reply); FORBIDDEN: a viewer who would change something; CSRF: a cookie, and not from our
 * page. OVERLOADED or NO_MEMORY, seldom: too many wait for that fetch, or the request's arena is
 * full; of a cookie also what the store said. */
typedef void (*auth_then)(struct request *r, void *ctx, enum err e, const struct principal *p);
void auth_check(struct auth *a, struct request *r, auth_then then, void *ctx);

/* May he see what belongs to others? Nobody asks whether he may change it who is a viewer. */
static inline bool auth_sees_all(const struct principal *p)
{
    return p->service || p->admin || p->viewer;
}

/* Sees all, and may act for nobody but himself. */
static inline bool auth_only_looks(const struct principal *p)
{
    return p->viewer && !p->service && !p->admin;
}

/* For who logs in and out: the sessions, as long as `a` lives, and whether that is the admin token.
 */
const struct sessions *auth_sessions(const struct auth *a);
bool auth_is_admin_token(const struct auth *a, struct str token);

/* What owners may (ICHIDO_OWNER_MAY): whether `words`, separated by commas, have the verb. */
bool auth_owner_may(struct str words, struct str verb);

/* For dev mode's banner and for tests: a HS256 token. .p NULL: no memory, or the secret is too
 * short. Empty issuer, audience, scope: the claim is left out. */
struct str auth_make_token(struct arena *a, struct str secret, struct str issuer,
                           struct str audience, struct uuid user, struct str scope, int64_t now_ms,
                           int64_t life_ms);
