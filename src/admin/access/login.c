/* login.c - the steps of a login:
 *
 *   same site? --> throttled? --> the admin token      --------------------------> one commit:
 *                             \-> the person's row --> scrypt, on its own thread -/  session, audit
 *
 *   (1) An attempt counts as failed from its beginning. A success clears the count, and a failure
 *       on our side is taken back.
 *   (2) The commit stores a session only if the password is still the one that was compared and the
 *       person has not been disabled meanwhile.
 *   (3) Secrets are wiped before the answer is sent.
 *
 * A crash before the commit leaves nothing. After it the session exists, and its unsent cookie is
 * of no use to anybody. */
#include "admin/access/login.h"

#include "auth/operators.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "observe/log.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

enum { SESSION_JSON = 2048, COOKIE_TEXT = 256, DETAIL = 128, SECOND_MS = 1000 };

#define ADMIN_NAME S("admin token")

struct login_attempt { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_login *api;
    struct throttle_try counted;
    struct str name;   /* empty: by the token */
    struct str secret; /* the password, or the token */
    struct hash_job job;

    bool known;
    struct person person;
    char token[SESSION_TOKEN + 1];
    struct session session;
    struct session_before before; /* the session of the request's cookie */
};

/* --- answers --- */

static void session_set_cookie(struct request *r, const struct api_login *api, const char *token,
                               int64_t life_ms)
{
    bool https = api->is_https(api->https_ctx, r);
    char text[COOKIE_TEXT];
    int n = snprintf(text, sizeof(text),
                     SESSION_COOKIE "=%s; Path=" SESSION_PATH "; Max-Age=%lld; HttpOnly; "
                                    "SameSite=Strict%s",
                     token, (long long)(life_ms / SECOND_MS), https ? "; Secure" : "");

    reply_header(r, S("Set-Cookie"), (struct str){ text, (size_t)n });
    OPENSSL_cleanse(text, sizeof(text));
}

static void session_out_user(struct buf *b, const struct session *s)
{
    out_name(b, "user");
    buf_char(b, '{');
    if (uuid_eq(s->user, (struct uuid){ 0 }))
        out_json(b, "id", S("null"));
    else
        out_uuid(b, "id", s->user);
    out_text(b, "name", s->name);
    out_text(b, "role", str_of(operator_role_word(s->viewer)));
    buf_char(b, '}');
}

static void session_answer(struct request *r, const struct api_login *api, const struct session *s)
{
    struct buf b;

    buf_init(&b, SESSION_JSON);
    buf_char(&b, '{');
    session_out_user(&b, s);
    out_text(&b, "csrf", str_of(s->csrf));
    out_time(&b, "expiresAt", s->expires_ms);
    out_text(&b, "mode", str_of(api->mode));
    out_text(&b, "version", str_of(api->version));
    out_bool(&b, "sandbox", api->sandbox);
    out_bool(&b, "testClock", api->test_clock);
    out_time(&b, "now", env_now_ms(api->env));
    buf_char(&b, '}');
    reply_header(r, S("Cache-Control"), S("no-store"));
    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 200, S("application/json"), buf_str(&b));
    buf_release(&b);
}

static void login_wipe(struct login_attempt *a)
{
    OPENSSL_cleanse((void *)a->secret.p, a->secret.n); /* our own copy */
    OPENSSL_cleanse(a->token, sizeof(a->token));
}

/* A 401 must name an accepted scheme; the page ignores the header. */
static void session_reject(struct request *r, enum err e)
{
    if (e == ERR_UNAUTHORIZED)
        reply_header(r, S("WWW-Authenticate"), S("Bearer"));
    reply_problem(r, e, NULL);
}

static void login_reject(struct login_attempt *a, enum login_failure why)
{
    /* Only a known name is recorded: an unknown one may be a password in the wrong field. */
    login_failures_add(a->api->failures, a->request, why,
                       a->known ? a->person.name : (struct str){ 0 });
    login_wipe(a);
    reply_header(a->request, S("WWW-Authenticate"), S("Bearer"));
    reply_problem(a->request, ERR_CREDENTIALS, NULL);
}

static void login_fail(struct login_attempt *a, enum err e)
{
    throttle_undo(a->api->throttle, &a->counted);
    login_wipe(a);
    reply_problem(a->request, e, NULL);
}

/* --- the session is stored --- */

static enum err login_audit(struct tx *tx, const char *what, const struct session *s,
                            const char *how, struct str address, int64_t now_ms)
{
    char detail[DETAIL];

    snprintf(detail, sizeof(detail), "%s from " STR_FMT, how, STR_ARG(address));
    return TX_DO(tx, STMT_operator_audit, 1, V_INT(now_ms), V_TEXT(str_of(what)), V_TEXT(s->name),
                 V_TEXT(str_of(detail)), V_BLOB(uuid_bytes(&s->user)));
}

/* Ends the session of the cookie that this login overwrites. */
static enum err login_end_previous_session(struct tx *tx, const struct login_attempt *a)
{
    int64_t now_ms = a->session.created_ms;
    char name[LIMIT_OPERATOR_NAME + 1];
    struct session old;
    enum err e = session_replace(tx, &a->before, now_ms, &old);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    snprintf(name, sizeof(name), STR_FMT,
             STR_ARG(old.name)); /* the statement's row does not last */
    old.name = str_of(name);
    return login_audit(tx, "LOGOUT", &old, "by another login", request_client_ip(a->request),
                       now_ms);
}

static enum err login_store_session(struct tx *tx, struct unit *u)
{
    struct login_attempt *a = CONTAINER_OF(u, struct login_attempt, unit);
    const struct session *s = &a->session;
    enum err e = OK;

    if (a->name.n)
        e = TX_DO(tx, STMT_operator_came, 1, V_INT(s->created_ms), V_BLOB(uuid_bytes(&s->user)),
                  V_TEXT(a->person.password));
    if (e)
        return e;
    e = login_end_previous_session(tx, a);
    if (e)
        return e;
    e = session_add(tx, s);
    return e ? e
             : login_audit(tx, "LOGIN", s, a->name.n ? "by password" : "by token",
                           request_client_ip(a->request), s->created_ms);
}

static void login_session_stored(struct unit *u)
{
    struct login_attempt *a = CONTAINER_OF(u, struct login_attempt, unit);
    struct request *r = a->request;

    if (u->err == ERR_STALE) {
        login_reject(a, LOGIN_WRONG_PASSWORD);
        return;
    }
    if (u->err) {
        login_fail(a, u->err);
        return;
    }
    throttle_won(a->api->throttle, &a->counted);
    session_set_cookie(r, a->api, a->token, LIMIT_SESSION_MS);
    login_wipe(a);
    session_answer(r, a->api, &a->session);
}

static void login_post_session(struct login_attempt *a)
{
    static const struct unit_kind kind = { "login.begin", UNIT_FRONT, login_store_session, NULL };
    struct uuid user = a->name.n ? a->person.id : (struct uuid){ 0 };

    if (!session_new(auth_sessions(a->api->auth), user, a->token, &a->session) ||
        !session_before(auth_sessions(a->api->auth), a->request, &a->before)) {
        login_fail(a, ERR_NO_MEMORY);
        return;
    }
    a->session.name = a->name.n ? a->person.name : ADMIN_NAME;
    a->session.viewer = a->name.n && a->person.viewer;
    request_client_ip(a->request); /* computed here, as the unit runs on another thread */
    a->unit = (struct unit){ .kind = &kind,
                             .executor = a->request->executor,
                             .done = login_session_stored };
    store_post(a->api->store, &a->unit);
}

/* --- by name and password --- */

static void login_password_compared(struct task *t)
{
    struct login_attempt *a = CONTAINER_OF(t, struct login_attempt, job.back);

    if (!a->known)
        login_reject(a, LOGIN_UNKNOWN_NAME);
    else if (!a->job.ok)
        login_reject(a, LOGIN_WRONG_PASSWORD);
    else if (a->person.disabled_ms)
        login_reject(a, LOGIN_DISABLED);
    else
        login_post_session(a);
}

static enum err login_find_person(struct tx *tx, struct unit *u)
{
    struct login_attempt *a = CONTAINER_OF(u, struct login_attempt, unit);
    enum err e = operator_find(tx, u->arena, a->name, &a->person);

    a->known = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* An unknown name is hashed against a fixed text, so that it takes as long as a known one. */
static void login_person_found(struct unit *u)
{
    struct login_attempt *a = CONTAINER_OF(u, struct login_attempt, unit);
    struct str text = a->known ? a->person.password : PASSWORD_OF_NOBODY;

    if (u->err) {
        login_fail(a, u->err);
        return;
    }
    a->job = (struct hash_job){ .back.run = login_password_compared,
                                .executor = a->request->executor,
                                .password = a->secret };
    snprintf(a->job.text, sizeof(a->job.text), STR_FMT, STR_ARG(text));
    if (!hasher_check(a->api->hasher, &a->job))
        login_fail(a, ERR_OVERLOADED);
}

static void login_post_find(struct login_attempt *a)
{
    static const struct unit_kind kind = { "login.look", UNIT_READ, login_find_person, NULL };

    a->unit = (struct unit){ .kind = &kind,
                             .executor = a->request->executor,
                             .done = login_person_found,
                             .arena = &a->request->arena };
    store_post(a->api->store, &a->unit);
}

/* --- the request --- */

static void login_lower_name(struct str name)
{
    char *p = (char *)name.p; /* our own copy */

    for (size_t i = 0; i < name.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + 'a' - 'A');
}

static bool login_has_field(const cJSON *body, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);

    return item && !cJSON_IsNull(item);
}

static void login_read_fields(struct login_attempt *a, const cJSON *body, struct json_problems *p,
                              bool *no_memory)
{
    bool by_token = login_has_field(body, "token");
    struct str name = { 0 }, secret = { 0 };

    if (by_token && (login_has_field(body, "user") || login_has_field(body, "password")))
        json_problem_in(p, "token", "must stand alone, without user and password",
                        "user や password と同時には指定できません");
    if (by_token) {
        json_get_str(body, "token", true, LIMIT_TOKEN, &secret, p);
    } else {
        json_get_str(body, "user", true, LIMIT_OPERATOR_NAME, &name, p);
        json_get_str(body, "password", true, LIMIT_PASSWORD, &secret, p);
    }
    if (p->count)
        return;
    if (name.n)
        a->name = fields_keep(a->request, name, no_memory);
    a->secret = fields_keep(a->request, secret, no_memory);
    login_lower_name(a->name);
}

static void login_wipe_field(cJSON *body, const char *name)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);

    if (cJSON_IsString(item))
        OPENSSL_cleanse(item->valuestring, strlen(item->valuestring));
}

ANSWERS static bool login_read_body(struct login_attempt *a)
{
    static const char *const names[] = { "token", "user", "password" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(a->request, &body))
        return false;
    fields_problems(a->request, &problems);
    login_read_fields(a, body, &problems, &no_memory);
    fields_only(body, names, COUNT(names), &problems);
    login_wipe_field(body, "token");
    login_wipe_field(body, "password");
    if (problems.count || no_memory)
        login_wipe(a); /* before the answer, which frees the copies */
    return !fields_failed(a->request, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

int64_t login_wait_ms(const struct api_login *api, struct request *r, struct str name,
                      struct throttle_try *ret_try)
{
    int64_t wait_ms =
        throttle_begin(api->throttle, request_client_ip(r), name, env_now_ms(api->env), ret_try);

    if (wait_ms)
        login_failures_add(api->failures, r, LOGIN_TOO_OFTEN, (struct str){ 0 });
    return wait_ms;
}

void login_too_often(struct request *r, int64_t wait_ms)
{
    char seconds[24];

    snprintf(seconds, sizeof(seconds), "%lld", (long long)((wait_ms + SECOND_MS - 1) / SECOND_MS));
    reply_header(r, S("Retry-After"), str_of(seconds));
    reply_problem(r, ERR_RATE_LIMITED, NULL);
}

/* False: 429 was answered. */
ANSWERS static bool login_admit(struct login_attempt *a)
{
    struct str name = a->name.n ? a->name : S(" token"); /* no name begins with a blank */
    int64_t wait_ms = login_wait_ms(a->api, a->request, name, &a->counted);

    if (!wait_ms)
        return true;
    login_wipe(a);
    login_too_often(a->request, wait_ms);
    return false;
}

void api_login(struct request *r, void *ctx)
{
    const struct api_login *api = ctx;
    struct login_attempt *a;

    if (!session_same_site(auth_sessions(api->auth), r)) {
        login_failures_add(api->failures, r, LOGIN_OTHER_SITE, (struct str){ 0 });
        reply_problem(r, ERR_CSRF, NULL);
        return;
    }
    a = api_room(r, sizeof(*a));
    if (!a)
        return;
    a->request = r;
    a->api = api;
    if (!login_read_body(a) || !login_admit(a))
        return;
    if (a->name.n)
        login_post_find(a);
    else if (auth_is_admin_token(api->auth, a->secret))
        login_post_session(a);
    else
        login_reject(a, LOGIN_WRONG_TOKEN);
}

/* --- logout --- */

struct logout_call {
    struct unit unit;
    struct request *request;
    const struct api_login *api;
    const struct session *session;
};

static enum err logout_end_session(struct tx *tx, struct unit *u)
{
    struct logout_call *l = CONTAINER_OF(u, struct logout_call, unit);
    enum err e = session_leave(tx, l->session);

    if (e == ERR_NOT_FOUND) /* another logout ended the session first */
        return OK;
    return e ? e
             : login_audit(tx, "LOGOUT", l->session, "logout", request_client_ip(l->request),
                           env_now_ms(l->api->env));
}

static void logout_answer(struct unit *u)
{
    struct logout_call *l = CONTAINER_OF(u, struct logout_call, unit);

    if (u->err) {
        reply_problem(l->request, u->err, NULL);
        return;
    }
    session_set_cookie(l->request, l->api, "", 0);
    reply_send(l->request, 204, S(""), S(""));
}

static void logout_checked(struct request *r, void *ctx, enum err e, const struct session *s)
{
    static const struct unit_kind kind = { "login.leave", UNIT_FRONT, logout_end_session, NULL };
    struct logout_call *l;

    if (e == ERR_UNAUTHORIZED)
        session_set_cookie(r, ctx, "", 0);
    if (e) {
        session_reject(r, e);
        return;
    }
    l = api_room(r, sizeof(*l));
    if (!l)
        return;
    request_client_ip(r);
    *l = (struct logout_call){ .request = r, .api = ctx, .session = s };
    l->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = logout_answer };
    store_post(l->api->store, &l->unit);
}

void api_logout(struct request *r, void *ctx)
{
    session_check(auth_sessions(((struct api_login *)ctx)->auth), r, logout_checked, ctx);
}

/* --- the session --- */

static void session_get_checked(struct request *r, void *ctx, enum err e, const struct session *s)
{
    if (e)
        session_reject(r, e);
    else
        session_answer(r, ctx, s);
}

void api_session_get(struct request *r, void *ctx)
{
    session_check(auth_sessions(((struct api_login *)ctx)->auth), r, session_get_checked, ctx);
}
