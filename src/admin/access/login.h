/* login.h - who logs in to the operator's view, and out of it (A3).
 *
 *   POST /api/v1/admin/login     a name and password, or the admin token --> a session's cookie
 *   POST /api/v1/admin/logout    the session is gone, on every node
 *   GET  /api/v1/admin/session   whose it is, and its csrf
 *   POST /api/v1/admin/session/password   his own password, for who knows the one of now
 *
 * Whatever is wrong with what was given, the answer is the same 401, and takes as long. */
#pragma once

#include "admin/access/login_failures.h"
#include "auth/auth.h"
#include "auth/hasher.h"
#include "auth/throttle.h"

struct api_login {
    struct env *env;
    struct store *store;
    struct auth *auth;
    struct hasher *hasher;
    struct throttle *throttle;
    struct login_failures *failures;
    /* Did it come to us, or to a proxy that we trust, by TLS? */
    bool (*is_https)(void *ctx, const struct request *r);
    void *https_ctx;

    /* what the page shows */
    const char *mode, *version;
    bool sandbox, test_clock;
};

/* ctx is a struct api_login. */
void api_login(struct request *r, void *ctx);
void api_logout(struct request *r, void *ctx);
void api_session_get(struct request *r, void *ctx);
void api_session_password(struct request *r, void *ctx); /* own_password.c */

/* Counts a try as failed, until throttle_won() or throttle_undo(). 0: the try may go on; else the
 * time to wait, for login_too_often(). It answers nothing: the caller wipes its secrets first. */
int64_t login_wait_ms(const struct api_login *api, struct request *r, struct str name,
                      struct throttle_try *ret_try);
void login_too_often(struct request *r, int64_t wait_ms); /* 429 with Retry-After */
