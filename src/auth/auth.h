/* auth.h - authentication (A1, A2, A3): turns a bearer JWT or a session's cookie into a principal.
 *
 *   (1) The algorithm belongs to the key, never to the token.
 *   (2) A verified token is cached until its exp, or until its key leaves the JWKS.
 *   (3) With a JWKS URL a request with an unknown kid waits for one fetch, shared by all requests and
 *       made at most every 30 s. While the JWKS server is down the known keys work for a day.
 *   (4) A cookie counts only below /api/v1/admin/, and only without an Authorization header.
 *   (5) A person who is only a viewer may use GET and HEAD alone, whatever the path. */
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
    bool service, admin; /* scopes: they may act for any user */
    bool viewer;         /* may read everything as admin does, and change nothing (A3) */
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
/* Called when no request waits. With a JWKS it waits for a fetch under way, for a few seconds at
 * most, and not at all if the client was freed before. NULL is fine. */
void auth_free(struct auth *a);

/* Calls then() once, on r->executor: at once, after a fetch of the JWKS, or after a read of the
 * store. OK and a principal (valid during the call), or UNAUTHORIZED (WWW-Authenticate is set on
 * the reply). FORBIDDEN: a viewer sent a request that would change something. CSRF: a cookie was
 * sent by another page than ours. OVERLOADED: too many requests wait for the fetch. NO_MEMORY: the
 * request's arena is full. With a cookie also the errors of the store. */
typedef void (*auth_then)(struct request *r, void *ctx, enum err e, const struct principal *p);
void auth_check(struct auth *a, struct request *r, auth_then then, void *ctx);

/* True: may see what belongs to other users. */
static inline bool auth_sees_all(const struct principal *p)
{
    return p->service || p->admin || p->viewer;
}

/* True: sees everything, and may act for itself only. */
static inline bool auth_only_looks(const struct principal *p)
{
    return p->viewer && !p->service && !p->admin;
}

/* For login and logout: the sessions, as long as `a` lives, and whether a text is the admin token. */
const struct sessions *auth_sessions(const struct auth *a);
bool auth_is_admin_token(const struct auth *a, struct str token);

/* For ICHIDO_OWNER_MAY: whether `words`, separated by commas, contain the verb. */
bool auth_owner_may(struct str words, struct str verb);

/* For dev mode's banner and for tests: a HS256 token. .p NULL: no memory, or the secret is too
 * short. Empty issuer, audience, scope: the claim is left out. */
struct str auth_make_token(struct arena *a, struct str secret, struct str issuer,
                           struct str audience, struct uuid user, struct str scope, int64_t now_ms,
                           int64_t life_ms);
