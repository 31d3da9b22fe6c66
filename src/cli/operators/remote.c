/* remote.c - the source of operators that calls the admin API of the server that has the SQLite
 * file. */
#include "auth/operators.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "cli/operators/command.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_BYTES = 512 };

#define OPERATORS "/api/v1/admin/operators"

struct operators_remote_remote {
    struct operators_source source;
    struct admin *admin;
};

static enum err operators_remote_call(struct operators_remote_remote *m, struct arena *a,
                                      const char *method, struct str path, struct str body,
                                      struct str *ret_json)
{
    CLEANUP(json_freep) cJSON *problem = NULL;
    int status;
    enum err e =
        admin_ask(m->admin, a, method, path, ADMIN_JSON, body, &status, ret_json, &m->source.why);

    if (e || status == 200 || status == 201)
        return e;
    if (status == 404)
        return ERR_NOT_FOUND;
    if (status == 409)
        return ERR_CONFLICT;
    json_parse(*ret_json, &problem, NULL); /* NULL where it is none */
    admin_problem(status, problem, &m->source.why);
    return status >= 500 ? ERR_UNAVAILABLE : ERR_VALIDATION;
}

static enum err remote_page(struct operators_source *s, struct arena *a, struct str cursor,
                            struct str *ret_json)
{
    struct operators_remote_remote *m = CONTAINER_OF(s, struct operators_remote_remote, source);
    struct buf path;
    enum err e = ERR_NO_MEMORY;

    buf_init(&path, PATH_BYTES);
    buf_fmt(&path, OPERATORS "?limit=%d", LIMIT_PAGE);
    admin_parameter(&path, "cursor", cursor);
    if (!path.failed)
        e = operators_remote_call(m, a, "GET", buf_str(&path), S(""), ret_json);
    buf_release(&path);
    return e;
}

static void add_body(struct buf *b, const struct operators_order *o, bool with_name)
{
    buf_char(b, '{');
    if (with_name)
        out_text(b, "name", o->name);
    if (o->has_role)
        out_text(b, "role", str_of(operator_role_word(o->viewer)));
    if (o->password.n)
        out_text(b, "password", o->password);
    if (o->has_disabled)
        out_bool(b, "disabled", o->disabled);
    buf_char(b, '}');
}

static enum err operators_remote_send(struct operators_remote_remote *m, struct arena *a,
                                      const char *method, struct str path,
                                      const struct operators_order *o, struct str *ret_json)
{
    struct buf body;
    enum err e = ERR_NO_MEMORY;

    buf_init(&body, LIMIT_OPERATOR_BODY);
    add_body(&body, o, str_eq(str_of(method), S("POST")));
    if (!body.failed)
        e = operators_remote_call(m, a, method, path, buf_str(&body), ret_json);
    if (body.n)
        OPENSSL_cleanse(body.p, body.n);
    buf_release(&body);
    return e;
}

static enum err remote_add(struct operators_source *s, struct arena *a,
                           const struct operators_order *o, struct str *ret_json)
{
    return operators_remote_send(CONTAINER_OF(s, struct operators_remote_remote, source), a, "POST",
                                 S(OPERATORS), o, ret_json);
}

/* Searches one page for the name. OK with an empty id: it is not on this page, and *cursor is the
 * next page. */
static enum err find_in_page(struct operators_source *s, struct arena *a, struct str name,
                             struct str *cursor, struct str *ret_id)
{
    CLEANUP(json_freep) cJSON *page = NULL;
    const cJSON *person;
    struct str json;
    enum err e = remote_page(s, a, *cursor, &json);

    if (!e)
        e = json_parse(json, &page, NULL);
    if (e)
        return e;
    cJSON_ArrayForEach(person, cJSON_GetObjectItemCaseSensitive(page, "data"))
    {
        if (str_eq(answer_text(person, "name"), name))
            *ret_id = arena_str(a, answer_text(person, "id"));
    }
    *cursor = arena_str(a, answer_text(page, "nextCursor"));
    return OK;
}

static enum err remote_change(struct operators_source *s, struct arena *a,
                              const struct operators_order *o, struct str *ret_json)
{
    struct str id = { 0 }, cursor = { 0 };
    char path[PATH_BYTES];
    enum err e;

    do
        e = find_in_page(s, a, o->name, &cursor, &id);
    while (!e && !id.n && cursor.n);
    if (e)
        return e;
    if (!id.n)
        return ERR_NOT_FOUND;
    snprintf(path, sizeof(path), OPERATORS "/" STR_FMT, STR_ARG(id));
    return operators_remote_send(CONTAINER_OF(s, struct operators_remote_remote, source), a,
                                 "PATCH", str_of(path), o, ret_json);
}

static void remote_free(struct operators_source *s)
{
    struct operators_remote_remote *m = CONTAINER_OF(s, struct operators_remote_remote, source);

    admin_free(m->admin);
    free(m);
}

enum err operators_remote_open(struct node *n, const char *address,
                               struct operators_source **ret_source, struct why *why)
{
    static const struct operators_source source = {
        .page = remote_page, .add = remote_add, .change = remote_change, .free = remote_free
    };
    struct operators_remote_remote *m = calloc(1, sizeof(*m));
    enum err e = m ? admin_open(&n->settings, address, &m->admin, why) : ERR_NO_MEMORY;

    if (e) {
        free(m);
        return e;
    }
    m->source = source;
    *ret_source = &m->source;
    return OK;
}
