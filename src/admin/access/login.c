/* login.c - the way of a login:
 *
 *   from our own page? --> may he try yet? --> the token       ------------------> one commit:
 *                                          \-> his row --> scrypt, on its thread -/  session, audit
 *
 * A try counts as a failure from its beginning; what goes wrong on our side is taken back. The
 * commit takes him only if his password is still the one that was compared and nobody disabled him
 * meanwhile. */
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

struct access_login_attempt { /* one request, in its own arena */
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
    struct session_before before; /* of the cookie that he came with */
};

/* --- answers --- */

static void set_cookie(struct request *r, const struct api_login *api, const char *token,
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

static void add_user(struct buf *b, const struct session *s)
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

static void show_session(struct request *r, const struct api_login *api, const struct session *s)
{
    struct buf b;

    buf_init(&b, SESSION_JSON);
    buf_char(&b, '{');
    add_user(&b, s);
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

static void access_login_wipe(struct access_login_attempt *a)
{
    OPENSSL_cleanse((void *)a->secret.p, a->secret.n); /* our own copy */
    OPENSSL_cleanse(a->token, sizeof(a->token));
}

/* A 401 says by rule what would be taken; the page does not look at it. */
static void no_session(struct request *r, enum err e)
{
    if (e == ERR_UNAUTHORIZED)
        reply_header(r, S("WWW-Authenticate"), S("Bearer"));
    reply_problem(r, e, NULL);
}

static void access_login_refuse(struct access_login_attempt *a, enum login_failure why)
{
    /* Only the name of somebody who is there: any other may be a password in the wrong field. */
    login_failures_add(a->api->failures, a->request, why,
                       a->known ? a->person.name : (struct str){ 0 });
    access_login_wipe(a);
    reply_header(a->request, S("WWW-Authenticate"), S("Bearer"));
    reply_problem(a->request, ERR_CREDENTIALS, NULL);
}

static void access_login_fail(struct access_login_attempt *a, enum err e)
{
    throttle_undo(a->api->throttle, &a->counted);
    access_login_wipe(a);
    reply_problem(a->request, e, NULL);
}

/* --- he is who he says --- */

static enum err access_login_audit(struct tx *tx, const char *what, const struct session *s,
                                   const char *how, struct str address, int64_t now_ms)
{
    char detail[DETAIL];

    snprintf(detail, sizeof(detail), "%s from " STR_FMT, how, STR_ARG(address));
    return TX_DO(tx, STMT_operator_audit, 1, V_INT(now_ms), V_TEXT(str_of(what)), V_TEXT(s->name),
                 V_TEXT(str_of(detail)), V_BLOB(uuid_bytes(&s->user)));
}

/* Its cookie is overwritten by this login's. */
static enum err end_before(struct tx *tx, const struct access_login_attempt *a)
{
    int64_t now_ms = a->session.created_ms;
    char name[LIMIT_OPERATOR_NAME + 1];
    struct session old;
    enum err e = session_replace(tx, &a->before, now_ms, &old);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    snprintf(name, sizeof(name), STR_FMT, STR_ARG(old.name)); /* the row goes with its statement */
    old.name = str_of(name);
    return access_login_audit(tx, "LOGOUT", &old, "by another login", request_client_ip(a->request),
                              now_ms);
}

static enum err access_login_begin(struct tx *tx, struct unit *u)
{
    struct access_login_attempt *a = CONTAINER_OF(u, struct access_login_attempt, unit);
    const struct session *s = &a->session;
    enum err e = OK;

    if (a->name.n)
        e = TX_DO(tx, STMT_operator_came, 1, V_INT(s->created_ms), V_BLOB(uuid_bytes(&s->user)),
                  V_TEXT(a->person.password));
    if (!e)
        e = end_before(tx, a);
    if (!e)
        e = session_add(tx, s);
    return e ? e
             : access_login_audit(tx, "LOGIN", s, a->name.n ? "by password" : "by token",
                                  request_client_ip(a->request), s->created_ms);
}

static void has_begun(struct unit *u)
{
    struct access_login_attempt *a = CONTAINER_OF(u, struct access_login_attempt, unit);
    struct request *r = a->request;

    if (u->err == ERR_STALE) {
        access_login_refuse(a, LOGIN_WRONG_PASSWORD);
        return;
    }
    if (u->err) {
        access_login_fail(a, u->err);
        return;
    }
    throttle_won(a->api->throttle, &a->counted);
    set_cookie(r, a->api, a->token, LIMIT_SESSION_MS);
    access_login_wipe(a);
    show_session(r, a->api, &a->session);
}

static void let_in(struct access_login_attempt *a)
{
    static const struct unit_kind kind = { "login.begin", UNIT_FRONT, access_login_begin, NULL };
    struct uuid user = a->name.n ? a->person.id : (struct uuid){ 0 };

    if (!session_new(auth_sessions(a->api->auth), user, a->token, &a->session) ||
        !session_before(auth_sessions(a->api->auth), a->request, &a->before)) {
        access_login_fail(a, ERR_NO_MEMORY);
        return;
    }
    a->session.name = a->name.n ? a->person.name : ADMIN_NAME;
    a->session.viewer = a->name.n && a->person.viewer;
    request_client_ip(a->request); /* here: the unit runs on another thread */
    a->unit = (struct unit){ .kind = &kind, .executor = a->request->executor, .done = has_begun };
    store_post(a->api->store, &a->unit);
}

/* --- by name and password --- */

static void access_login_compared(struct task *t)
{
    struct access_login_attempt *a = CONTAINER_OF(t, struct access_login_attempt, job.back);

    if (!a->known)
        access_login_refuse(a, LOGIN_UNKNOWN_NAME);
    else if (!a->job.ok)
        access_login_refuse(a, LOGIN_WRONG_PASSWORD);
    else if (a->person.disabled_ms)
        access_login_refuse(a, LOGIN_DISABLED);
    else
        let_in(a);
}

static enum err access_login_look(struct tx *tx, struct unit *u)
{
    struct access_login_attempt *a = CONTAINER_OF(u, struct access_login_attempt, unit);
    enum err e = operator_find(tx, u->arena, a->name, &a->person);

    a->known = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* A name that nobody has takes as long as one that somebody has. */
static void access_login_looked(struct unit *u)
{
    struct access_login_attempt *a = CONTAINER_OF(u, struct access_login_attempt, unit);
    struct str text = a->known ? a->person.password : PASSWORD_OF_NOBODY;

    if (u->err) {
        access_login_fail(a, u->err);
        return;
    }
    a->job = (struct hash_job){ .back.run = access_login_compared,
                                .executor = a->request->executor,
                                .password = a->secret };
    snprintf(a->job.text, sizeof(a->job.text), STR_FMT, STR_ARG(text));
    if (!hasher_check(a->api->hasher, &a->job))
        access_login_fail(a, ERR_OVERLOADED);
}

static void ask_who(struct access_login_attempt *a)
{
    static const struct unit_kind kind = { "login.look", UNIT_READ, access_login_look, NULL };

    a->unit = (struct unit){ .kind = &kind,
                             .executor = a->request->executor,
                             .done = access_login_looked,
                             .arena = &a->request->arena };
    store_post(a->api->store, &a->unit);
}

/* --- what was given --- */

static void access_login_lower(struct str name)
{
    char *p = (char *)name.p; /* our own copy */

    for (size_t i = 0; i < name.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + 'a' - 'A');
}

static bool is_given(const cJSON *body, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);

    return item && !cJSON_IsNull(item);
}

static void read_fields(struct access_login_attempt *a, const cJSON *body, struct json_problems *p,
                        bool *no_memory)
{
    bool by_token = is_given(body, "token");
    struct str name = { 0 }, secret = { 0 };

    if (by_token && (is_given(body, "user") || is_given(body, "password")))
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
    access_login_lower(a->name);
}

static void forget_secret(cJSON *body, const char *name)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);

    if (cJSON_IsString(item))
        OPENSSL_cleanse(item->valuestring, strlen(item->valuestring));
}

ANSWERS static bool read_attempt(struct access_login_attempt *a)
{
    static const char *const names[] = { "token", "user", "password" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(a->request, &body))
        return false;
    fields_problems(a->request, &problems);
    read_fields(a, body, &problems, &no_memory);
    fields_only(body, names, COUNT(names), &problems);
    forget_secret(body, "token");
    forget_secret(body, "password");
    if (problems.count || no_memory)
        access_login_wipe(a); /* before the answer, which frees the copies */
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
ANSWERS static bool attempt_admit(struct access_login_attempt *a)
{
    struct str name = a->name.n ? a->name : S(" token"); /* a blank: nobody's name */
    int64_t wait_ms = login_wait_ms(a->api, a->request, name, &a->counted);

    if (!wait_ms)
        return true;
    access_login_wipe(a);
    login_too_often(a->request, wait_ms);
    return false;
}

void api_login(struct request *r, void *ctx)
{
    const struct api_login *api = ctx;
    struct access_login_attempt *a;

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
    if (!read_attempt(a) || !attempt_admit(a))
        return;
    if (a->name.n)
        ask_who(a);
    else if (auth_is_admin_token(api->auth, a->secret))
        let_in(a);
    else
        access_login_refuse(a, LOGIN_WRONG_TOKEN);
}

/* --- logout --- */

struct leaving {
    struct unit unit;
    struct request *request;
    const struct api_login *api;
    const struct session *session;
};

static enum err access_login_leave(struct tx *tx, struct unit *u)
{
    struct leaving *l = CONTAINER_OF(u, struct leaving, unit);
    enum err e = session_leave(tx, l->session);

    if (e == ERR_NOT_FOUND) /* another logout was first */
        return OK;
    return e ? e
             : access_login_audit(tx, "LOGOUT", l->session, "logout", request_client_ip(l->request),
                                  env_now_ms(l->api->env));
}

static void has_left(struct unit *u)
{
    struct leaving *l = CONTAINER_OF(u, struct leaving, unit);

    if (u->err) {
        reply_problem(l->request, u->err, NULL);
        return;
    }
    set_cookie(l->request, l->api, "", 0);
    reply_send(l->request, 204, S(""), S(""));
}

static void logout_as(struct request *r, void *ctx, enum err e, const struct session *s)
{
    static const struct unit_kind kind = { "login.leave", UNIT_FRONT, access_login_leave, NULL };
    struct leaving *l;

    if (e == ERR_UNAUTHORIZED)
        set_cookie(r, ctx, "", 0);
    if (e) {
        no_session(r, e);
        return;
    }
    l = api_room(r, sizeof(*l));
    if (!l)
        return;
    request_client_ip(r);
    *l = (struct leaving){ .request = r, .api = ctx, .session = s };
    l->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = has_left };
    store_post(l->api->store, &l->unit);
}

void api_logout(struct request *r, void *ctx)
{
    session_check(auth_sessions(((struct api_login *)ctx)->auth), r, logout_as, ctx);
}

/* --- the session --- */

static void session_as(struct request *r, void *ctx, enum err e, const struct session *s)
{
    if (e)
        no_session(r, e);
    else
        show_session(r, ctx, s);
}

void api_session_get(struct request *r, void *ctx)
{
    session_check(auth_sessions(((struct api_login *)ctx)->auth), r, session_as, ctx);
}
