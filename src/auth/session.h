/* session.h - the session of a person who logged in (A3).
 *
 *   (1) The token is only in the cookie of its owner; the store has its SHA-256.
 *   (2) Each request reads the session from the store, so a logout, another role or a disabled person
 *       counts at once on every node. It ends 8 hours after its last use, and after 7 days. Requests
 *       that the page repeats by itself are no use (X-Ichido-Poll).
 *   (3) A session made with the admin token ends when that token is changed: the token's hash is part
 *       of the key under which the session is stored.
 *   (4) A browser sends the cookie for any page. So a request that changes something must have the
 *       csrf value, which only our own page can read, and our own origin. */
#pragma once

#include "base/uuid.h"
#include "http/http.h"
#include "store/store.h"

enum { SESSION_TOKEN = 43, SESSION_CSRF = 43, SESSION_HASH = 32 };

#define SESSION_COOKIE "ichido_session"
#define SESSION_PATH "/api/v1/admin"

struct session {
    unsigned char hash[SESSION_HASH]; /* what it is stored under */
    char csrf[SESSION_CSRF + 1];
    struct uuid user; /* all zero: by the admin token */
    struct str name;
    bool viewer; /* else an operator */
    int64_t created_ms, seen_ms, expires_ms;
};

struct sessions {
    struct env *env;
    struct store *store;        /* NULL: there are no sessions */
    struct str public_url;      /* how browsers may know us, besides the Host they send; or empty */
    const unsigned char *admin; /* SHA-256 of the admin token; NULL: there is none */
};

/* --- beginning and ending --- */

/* All but its name and role, which the caller sets. False: no memory. */
bool session_new(const struct sessions *s, struct uuid user, char ret_token[SESSION_TOKEN + 1],
                 struct session *ret);
/* In the caller's transaction; also deletes a few old sessions. */
enum err session_add(struct tx *tx, const struct session *s);
/* NOT_FOUND: it was gone already. */
enum err session_leave(struct tx *tx, const struct session *s);

/* The session whose cookie a login overwrites: it is ended, since no cookie could end it later. */
struct session_before {
    bool any;
    unsigned char person[SESSION_HASH], admin[SESSION_HASH]; /* it is stored under one of them */
};

/* Reads the request's cookie, on its loop. False: no memory. */
bool session_before(const struct sessions *s, const struct request *r, struct session_before *ret);
/* In the transaction of the login at now_ms: ends it. NOT_FOUND: there is none that lives. Its user
 * and name are set, the name until the next statement. */
enum err session_replace(struct tx *tx, const struct session_before *b, int64_t now_ms,
                         struct session *ret);

/* --- a request --- */

/* False if the headers show that a page of another site sent it. Clients that are not browsers send
 * no such headers. */
bool session_same_site(const struct sessions *s, const struct request *r);
/* The token in the cookie. Empty: there is none, or several, or it is malformed. */
struct str session_token(const struct request *r);

/* Calls then() once, on r->executor, with the cookie's session (it lives as long as the request).
 * UNAUTHORIZED: there is none. CSRF: the request would change something and its page is not ours.
 * Else what the store said. */
typedef void (*session_then)(struct request *r, void *ctx, enum err e, const struct session *s);
void session_check(const struct sessions *s, struct request *r, session_then then, void *ctx);
