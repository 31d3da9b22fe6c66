/* own_password.c - a person of any role changes their own password (A3):
 *
 *   session --> throttled? --> the person's row --> scrypt of the current --> scrypt of the new one
 *                                                                               |
 *                    one commit: the password, the end of other sessions, audit <'
 *
 * The operator who created a person knows the first password; this makes it the person's own. The
 * current password is required, since a browser left open proves nothing. Guesses are throttled
 * together with those at the login. A crash before the commit changes nothing. */
#include "admin/access/login.h"
#include "auth/operators.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"

#include <openssl/crypto.h>
#include <stdio.h>

struct own_password_call { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_login *api;
    const struct session *session;
    struct throttle_try counted;
    struct str current, password; /* copies, wiped when hashed */
    struct hash_job job;
    struct person person;
    struct str was;
};

static void own_password_wipe(struct own_password_call *c)
{
    OPENSSL_cleanse((void *)c->current.p, c->current.n);
    OPENSSL_cleanse((void *)c->password.p, c->password.n);
}

static void own_password_fail(struct own_password_call *c, enum err e)
{
    throttle_undo(c->api->throttle, &c->counted);
    own_password_wipe(c);
    reply_problem(c->request, e, NULL);
}

/* Answers 400 and not 401: the session is valid, and the page takes a 401 for a logout. */
static void own_password_reject(struct own_password_call *c)
{
    login_failures_add(c->api->failures, c->request, LOGIN_WRONG_PASSWORD, c->session->name);
    own_password_wipe(c);
    fields_refuse(c->request, "current", "is not the password of now",
                  "現在のパスワードと一致しません");
}

/* --- the commit --- */

static enum err own_password_store(struct tx *tx, struct unit *u)
{
    struct own_password_call *c = CONTAINER_OF(u, struct own_password_call, unit);
    struct operator_own own = { .id = c->session->user,
                                .was = c->was,
                                .password = str_of(c->job.text),
                                .session = { (const char *)c->session->hash, SESSION_HASH } };

    return operator_own_password(tx, u->arena, &own, env_now_ms(c->api->env));
}

static void own_password_stored(struct unit *u)
{
    struct own_password_call *c = CONTAINER_OF(u, struct own_password_call, unit);

    if (u->err == ERR_STALE) {
        own_password_reject(c);
        return;
    }
    if (u->err) {
        own_password_fail(c, u->err);
        return;
    }
    throttle_won(c->api->throttle, &c->counted);
    reply_send(c->request, 204, S(""), S(""));
}

static void own_password_post(struct own_password_call *c, const struct unit_kind *kind,
                              void (*done)(struct unit *))
{
    c->unit = (struct unit){
        .kind = kind, .executor = c->request->executor, .done = done, .arena = &c->request->arena
    };
    store_post(c->api->store, &c->unit);
}

/* --- two hashes, on the hasher's threads --- */

static void own_password_hashed(struct task *t)
{
    static const struct unit_kind kind = { "password.own", UNIT_FRONT, own_password_store, NULL };
    struct own_password_call *c = CONTAINER_OF(t, struct own_password_call, job.back);

    own_password_wipe(c);
    if (c->job.ok)
        own_password_post(c, &kind, own_password_stored);
    else
        own_password_fail(c, ERR_NO_MEMORY);
}

static void own_password_compared(struct task *t)
{
    struct own_password_call *c = CONTAINER_OF(t, struct own_password_call, job.back);

    if (!c->job.ok) {
        own_password_reject(c);
        return;
    }
    c->job = (struct hash_job){ .back.run = own_password_hashed,
                                .executor = c->request->executor,
                                .password = c->password };
    if (!hasher_make(c->api->hasher, &c->job))
        own_password_fail(c, ERR_OVERLOADED);
}

static enum err own_password_find_person(struct tx *tx, struct unit *u)
{
    struct own_password_call *c = CONTAINER_OF(u, struct own_password_call, unit);

    return operator_find(tx, u->arena, c->session->name, &c->person);
}

static void own_password_person_found(struct unit *u)
{
    struct own_password_call *c = CONTAINER_OF(u, struct own_password_call, unit);

    if (u->err) {
        own_password_fail(c, u->err);
        return;
    }
    c->was = c->person.password;
    c->job = (struct hash_job){ .back.run = own_password_compared,
                                .executor = c->request->executor,
                                .password = c->current };
    snprintf(c->job.text, sizeof(c->job.text), STR_FMT, STR_ARG(c->was));
    if (!hasher_check(c->api->hasher, &c->job))
        own_password_fail(c, ERR_OVERLOADED);
}

/* --- the request --- */

static struct str own_password_take_field(struct own_password_call *c, cJSON *body,
                                          const char *name, struct json_problems *p,
                                          bool *no_memory)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);
    struct str text, copy = { 0 };

    if (!json_get_str(body, name, true, LIMIT_PASSWORD, &text, p))
        return copy;
    copy = fields_keep(c->request, text, no_memory);
    OPENSSL_cleanse(item->valuestring, text.n);
    return copy;
}

ANSWERS static bool own_password_read_body(struct own_password_call *c)
{
    static const char *const names[] = { "current", "new" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(c->request, &body))
        return false;
    fields_problems(c->request, &problems);
    c->current = own_password_take_field(c, body, "current", &problems, &no_memory);
    c->password = own_password_take_field(c, body, "new", &problems, &no_memory);
    if (c->password.n && !password_is_fit(c->password))
        json_problem_in(&problems, "new", "must have 12 to 256 bytes",
                        "12〜256 バイトにしてください");
    else if (c->password.n && str_eq(c->password, c->current))
        json_problem_in(&problems, "new", "must be another one", "別のものにしてください");
    fields_only(body, names, COUNT(names), &problems);
    if (problems.count || no_memory)
        own_password_wipe(c); /* before the answer, which frees the copies */
    return !fields_failed(c->request, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

/* False: 429 was answered. */
ANSWERS static bool own_password_admit(struct own_password_call *c)
{
    int64_t wait_ms = login_wait_ms(c->api, c->request, c->session->name, &c->counted);

    if (!wait_ms)
        return true;
    own_password_wipe(c);
    login_too_often(c->request, wait_ms);
    return false;
}

static void own_password_session_checked(struct request *r, void *ctx, enum err e,
                                         const struct session *s)
{
    static const struct unit_kind kind = { "password.look", UNIT_READ, own_password_find_person,
                                           NULL };
    struct own_password_call *c;

    if (e == ERR_UNAUTHORIZED)
        reply_header(r, S("WWW-Authenticate"), S("Bearer"));
    if (!e && uuid_eq(s->user, (struct uuid){ 0 })) /* the admin token is no person */
        e = ERR_FORBIDDEN;
    if (e) {
        reply_problem(r, e, NULL);
        return;
    }
    c = api_room(r, sizeof(*c));
    if (!c)
        return;
    c->request = r;
    c->api = ctx;
    c->session = s;
    if (own_password_read_body(c) && own_password_admit(c))
        own_password_post(c, &kind, own_password_person_found);
}

void api_session_password(struct request *r, void *ctx)
{
    session_check(auth_sessions(((struct api_login *)ctx)->auth), r, own_password_session_checked,
                  ctx);
}
