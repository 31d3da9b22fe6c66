/* operators.c - reads the request, has a password hashed on the hasher's thread, then commits the
 * change and its audit line together. A crash before the commit changes nothing. */
#include "admin/access/operators.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <openssl/crypto.h>
#include <string.h>

enum { PAGE_USUAL = 50, LIST_MAX = 256 * 1024 };

struct operators_call { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_operators *api;
    struct uuid user;
    struct operator_by by;
    struct hash_job job;
    struct str password; /* a copy, wiped when hashed; empty: none was given */
    struct person person;
    struct operator_change change;
    const struct unit_kind *kind;
};

struct operators_list_call {
    struct api_answer answer;
    struct uuid after;
    bool has_after;
    int limit;
};

/* --- as JSON --- */

void operator_json(struct buf *b, const struct person *o)
{
    buf_char(b, '{');
    out_uuid(b, "id", o->id);
    out_text(b, "name", o->name);
    out_text(b, "role", str_of(operator_role_word(o->viewer)));
    out_bool(b, "disabled", o->disabled_ms);
    out_time(b, "createdAt", o->created_ms);
    out_time(b, "lastLoginAt", o->last_login_ms);
    buf_char(b, '}');
}

/* --- GET --- */

static bool operator_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct operators_list_call *)ctx)->limit);
}

static bool operator_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct operators_list_call *l = ctx;

    return query_cursor(&r->arena, value, &l->has_after, &l->after);
}

static enum err operators_read_page(struct tx *tx, struct unit *u)
{
    struct operators_list_call *l = CONTAINER_OF(u, struct operators_list_call, answer.unit);
    size_t most = (size_t)l->limit + 1, count = 0; /* one more tells whether another page follows */
    struct person *all = arena_alloc(u->arena, most, sizeof(*all));
    struct buf b;
    enum err e = all ? operators_page(tx, u->arena, l->after, most, all, &count) : ERR_NO_MEMORY;
    bool more = count == most;

    if (e)
        return e;
    buf_init(&b, LIST_MAX);
    buf_add(&b, S("{\"data\":["));
    for (size_t i = 0; i < count - more; i++) {
        buf_add(&b, i ? S(",") : S(""));
        operator_json(&b, &all[i]);
    }
    query_next_cursor(&b, more ? &all[count - 2].id : NULL);
    buf_char(&b, '}');
    l->answer.text = out_done(&b, u->arena);
    return l->answer.text.p ? OK : ERR_NO_MEMORY;
}

void api_operator_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "operator.list", UNIT_READ, operators_read_page, NULL };
    static const struct query_parameter parameters[] = { QUERY_LIMIT(operator_read_limit),
                                                         QUERY_CURSOR(operator_read_cursor) };
    struct operators_list_call *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->limit = PAGE_USUAL;
    if (query_read(r, parameters, COUNT(parameters), l))
        api_answer_post(&l->answer, r, ((struct api_operators *)ctx)->store, &kind,
                        api_answer_show);
}

/* --- hash and commit --- */

ANSWERS static struct operators_call *operators_call_new(struct request *r,
                                                         const struct api_operators *api,
                                                         const struct principal *p,
                                                         const struct unit_kind *kind)
{
    struct operators_call *a = api_room(r, sizeof(*a));

    if (!a)
        return NULL;
    a->request = r;
    a->api = api;
    a->kind = kind;
    a->user = p->user;
    a->by = (struct operator_by){ .user = &a->user, .words = "the admin API" };
    return a;
}

static void operator_answer(struct unit *u)
{
    struct operators_call *a = CONTAINER_OF(u, struct operators_call, unit);
    struct request *r = a->request;
    struct buf b;

    if (u->err) {
        bool ja = r->language == LANG_JA;

        reply_problem(r, u->err,
                      u->err == ERR_CONFLICT ? (ja ? "その名前はすでに使われています。"
                                                   : "Somebody has that name already.")
                      : u->err == ERR_UNPROCESSABLE
                          ? (ja ? "登録数が上限に達しています。" : "There are too many already.")
                          : NULL);
        return;
    }
    buf_init(&b, LIST_MAX);
    operator_json(&b, &a->person);
    reply_send(r, str_eq(r->method, S("POST")) ? 201 : 200, S("application/json"), buf_str(&b));
    buf_release(&b);
}

static void operator_post_commit(struct operators_call *a)
{
    a->unit = (struct unit){ .kind = a->kind,
                             .executor = a->request->executor,
                             .done = operator_answer,
                             .arena = &a->request->arena };
    store_post(a->api->store, &a->unit);
}

static void operator_wipe_password(struct operators_call *a)
{
    if (a->password.n)
        OPENSSL_cleanse((void *)a->password.p, a->password.n);
}

static void operator_password_hashed(struct task *t)
{
    struct operators_call *a = CONTAINER_OF(t, struct operators_call, job.back);

    operator_wipe_password(a);
    if (!a->job.ok) {
        reply_problem(a->request, ERR_NO_MEMORY, NULL);
        return;
    }
    a->person.password = a->change.password = str_of(a->job.text);
    operator_post_commit(a);
}

static void operator_hash_and_commit(struct operators_call *a)
{
    if (!a->password.n) {
        operator_post_commit(a);
        return;
    }
    a->job = (struct hash_job){ .back.run = operator_password_hashed,
                                .executor = a->request->executor,
                                .password = a->password };
    if (!hasher_make(a->api->hasher, &a->job)) {
        operator_wipe_password(a);
        reply_problem(a->request, ERR_OVERLOADED, NULL);
    }
}

/* --- fields --- */

static void operator_read_name(struct operators_call *a, const cJSON *body, struct json_problems *p,
                               bool *no_memory)
{
    struct str name;

    if (!json_get_str(body, "name", true, LIMIT_OPERATOR_NAME, &name, p))
        return;
    if (!operator_name_is_fit(name))
        json_problem_in(p, "name",
                        "must be small letters, digits, dots, hyphens and underscores, and begin "
                        "with a letter or a digit",
                        "英小文字、数字、ピリオド、ハイフン、アンダースコアで、先頭は英小文字か数字"
                        "にしてください");
    a->person.name = fields_keep(a->request, name, no_memory);
}

static void operator_read_role(struct operators_call *a, const cJSON *body, bool required,
                               struct json_problems *p)
{
    struct str role;

    if (!json_get_str(body, "role", required, LIMIT_OPERATOR_NAME, &role, p))
        return;
    if (!operator_role(role, &a->person.viewer))
        json_problem_in(p, "role", "must be viewer or operator",
                        "viewer または operator を指定してください");
    a->change.has_role = true;
    a->change.viewer = a->person.viewer;
}

static void operator_read_password(struct operators_call *a, const cJSON *body, bool required,
                                   struct json_problems *p, bool *no_memory)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, "password");
    struct str password;

    if (!json_get_str(body, "password", required, LIMIT_PASSWORD, &password, p))
        return;
    if (!password_is_fit(password))
        json_problem_in(p, "password", "must have 12 to 256 bytes", "12〜256 バイトにしてください");
    else
        a->password = fields_keep(a->request, password, no_memory);
    OPENSSL_cleanse(item->valuestring, password.n);
}

static void operator_read_disabled(struct operators_call *a, const cJSON *body,
                                   struct json_problems *p)
{
    a->change.has_disabled = json_get_bool(body, "disabled", false, &a->change.disabled, p);
}

/* --- POST --- */

ANSWERS static bool operator_read_person(struct operators_call *a)
{
    static const char *const names[] = { "name", "role", "password" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(a->request, &body))
        return false;
    fields_problems(a->request, &problems);
    operator_read_name(a, body, &problems, &no_memory);
    operator_read_role(a, body, true, &problems);
    operator_read_password(a, body, true, &problems, &no_memory);
    fields_only(body, names, COUNT(names), &problems);
    if (problems.count || no_memory)
        operator_wipe_password(a);
    return !fields_failed(a->request, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

static enum err operators_run_add(struct tx *tx, struct unit *u)
{
    struct operators_call *a = CONTAINER_OF(u, struct operators_call, unit);

    return operator_add(tx, &a->person, &a->by);
}

void api_operator_add(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "operator.add", UNIT_FRONT, operators_run_add, NULL };
    struct operators_call *a = operators_call_new(r, ctx, p, &kind);

    if (!a || !operator_read_person(a))
        return;
    a->person.id = env_uuid(a->api->env);
    a->person.created_ms = env_now_ms(a->api->env);
    operator_hash_and_commit(a);
}

/* --- PATCH --- */

ANSWERS static bool operator_read_change(struct operators_call *a)
{
    static const char *const names[] = { "role", "password", "disabled" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(a->request, &body))
        return false;
    fields_problems(a->request, &problems);
    operator_read_role(a, body, false, &problems);
    operator_read_password(a, body, false, &problems, &no_memory);
    operator_read_disabled(a, body, &problems);
    fields_only(body, names, COUNT(names), &problems);
    if (!problems.count && !a->change.has_role && !a->change.has_disabled && !a->password.n)
        json_problem_in(&problems, "body", "must have role, password or disabled",
                        "role、password、disabled のいずれかを指定してください");
    if (problems.count || no_memory)
        operator_wipe_password(a);
    return !fields_failed(a->request, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

static enum err operators_run_change(struct tx *tx, struct unit *u)
{
    struct operators_call *a = CONTAINER_OF(u, struct operators_call, unit);

    return operator_change(tx, u->arena, a->person.id, &a->change, &a->by, env_now_ms(a->api->env),
                           &a->person);
}

void api_operator_change(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "operator.change", UNIT_FRONT, operators_run_change,
                                           NULL };
    struct uuid id;
    struct operators_call *a;

    if (!fields_path_id(r, &id))
        return;
    a = operators_call_new(r, ctx, p, &kind);
    if (!a || !operator_read_change(a))
        return;
    a->person.id = id;
    operator_hash_and_commit(a);
}
