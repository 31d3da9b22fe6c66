/* login.h - login to the admin page, logout, and the session (A3).
 *
 *   POST /api/v1/admin/login     a name and password, or the admin token --> a session's cookie
 *   POST /api/v1/admin/logout    the session is gone, on every node
 *   GET  /api/v1/admin/session   the person, the role and the CSRF token
 *   POST /api/v1/admin/session/password   changes the person's own password
 *
 * Whatever is wrong with the credentials, the answer is the same 401 and takes the same time. */
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
    /* Whether the request arrived over TLS, here or at a trusted proxy. */
    bool (*is_https)(void *ctx, const struct request *r);
    void *https_ctx;

    /* shown by the page */
    const char *mode, *version;
    bool sandbox, test_clock;
};

/* ctx is a struct api_login. */
void api_login(struct request *r, void *ctx);
void api_logout(struct request *r, void *ctx);
void api_session_get(struct request *r, void *ctx);
void api_session_password(struct request *r, void *ctx); /* own_password.c */

/* Counts the attempt as failed until throttle_won() or throttle_undo() is called for it. 0: the
 * attempt may proceed; else the time to wait, for login_too_often(). The caller answers, after
 * wiping its secrets. */
int64_t login_wait_ms(const struct api_login *api, struct request *r, struct str name,
                      struct throttle_try *ret_try);
void login_too_often(struct request *r, int64_t wait_ms); /* 429 with Retry-After */
