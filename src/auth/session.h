/* session.h - a person who logged in, for as long as he is (A3).
 *
 *   (1) The token is in the cookie of its owner and nowhere else; the store has its SHA-256.
 *   (2) Each request reads the session from the store: a logout, another role, a person who was
 *       disabled count at once, on every node. It ends 8 hours after it was used last (what the
 *       page asks while nobody touches it is no use of it: X-Ichido-Poll), and after 7 days.
 *   (3) Who was let in by the admin token is out when that token is changed: its hash is part of
 *       what the session is stored under.
 *   (4) A browser sends a cookie whoever wrote the page that asks. So whatever changes something
 *       must say csrf, which only our own page can read, and come from our own origin. */
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
/* In the caller's transaction; takes away old ones, a few at a time. */
enum err session_add(struct tx *tx, const struct session *s);
/* NOT_FOUND: it was gone already. */
enum err session_leave(struct tx *tx, const struct session *s);

/* The session whose cookie is about to be overwritten: nobody could end it any more. */
struct session_before {
    bool any;
    unsigned char person[SESSION_HASH], admin[SESSION_HASH]; /* it is stored under one of them */
};

/* What the request's cookie says, on its loop. False: no memory. */
bool session_before(const struct sessions *s, const struct request *r, struct session_before *ret);
/* In the transaction of the login at now_ms: ends it. NOT_FOUND: there is none that lives. Its user
 * and name are set, the name until the next statement. */
enum err session_replace(struct tx *tx, const struct session_before *b, int64_t now_ms,
                         struct session *ret);

/* --- a request --- */

/* False where its headers say that another site's page sent it. What is no browser says nothing. */
bool session_same_site(const struct sessions *s, const struct request *r);
/* The token in the cookie. Empty: there is none, or several, or it cannot be one. */
struct str session_token(const struct request *r);

/* Calls then() once, on r->executor, with the cookie's session (it lives as long as the request).
 * UNAUTHORIZED: there is none. CSRF: the request would change something and its page is not ours.
 * Else what the store said. */
typedef void (*session_then)(struct request *r, void *ctx, enum err e, const struct session *s);
void session_check(const struct sessions *s, struct request *r, session_then then, void *ctx);
