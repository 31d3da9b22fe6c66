/* groups.c - the API calls under /v2/topics. A change reads the whole list under the group's lock
 * and writes all of it again: it is short, and the order of its rows is the order of the
 * members. */
#include "qstash/admin/groups.h"

#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/publish/input.h"
#include "queue/lane.h"
#include "store/values.h"

#include <stdio.h>

/* --- the list --- */

static bool member_is_same(const struct member *a, const struct member *b)
{
    return (b->url.n && str_eq(a->url, b->url)) || (b->name.n && str_eq(a->name, b->name));
}

void members_drop(struct members *m, struct member one)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n; i++)
        if (!member_is_same(&m->all[i], &one))
            m->all[kept++] = m->all[i];
    m->n = kept;
}

bool members_put(struct members *m, struct member one)
{
    size_t at = 0;

    while (at < m->n && !member_is_same(&m->all[at], &one))
        at++;
    if (at == LIMIT_QSTASH_ENDPOINTS)
        return false;
    if (at == m->n) {
        m->all[m->n++] = one;
        return true;
    }
    /* its url may belong to one member and its name to another: they become one */
    for (size_t i = m->n; i-- > at + 1;)
        if (member_is_same(&m->all[i], &one)) {
            for (size_t k = i + 1; k < m->n; k++)
                m->all[k - 1] = m->all[k];
            m->n--;
        }
    m->all[at] = one;
    return true;
}

/* --- rows --- */

struct members_reader {
    struct arena *arena;
    struct members members;
};

static enum err members_add_row(void *ctx, const struct row *row)
{
    struct members_reader *r = ctx;
    struct member *m = &r->members.all[r->members.n];

    if (r->members.n == LIMIT_QSTASH_ENDPOINTS)
        return ERR_INTERNAL;
    m->url = arena_str(r->arena, row->col[0].s);
    m->name = row->col[1].s.n ? arena_str(r->arena, row->col[1].s) : (struct str){ 0 };
    r->members.n++;
    return m->url.p && (m->name.p || !row->col[1].s.n) ? OK : ERR_NO_MEMORY;
}

static enum err members_read(struct tx *tx, struct arena *a, struct str name,
                             struct members *ret_members)
{
    struct members_reader r = { .arena = a };
    struct val v = V_TEXT(name);
    enum err e;

    r.members.all = arena_alloc(a, LIMIT_QSTASH_ENDPOINTS, sizeof(*r.members.all));
    if (!r.members.all)
        return ERR_NO_MEMORY;
    e = tx_each(tx, STMT_qstash_members, &v, 1, members_add_row, &r);
    *ret_members = r.members;
    return e;
}

enum err group_members(struct tx *tx, struct arena *a, struct str name, struct member **ret,
                       size_t *ret_n)
{
    struct members m = { 0 };
    enum err e = members_read(tx, a, name, &m);

    *ret = m.all;
    *ret_n = m.n;
    return e || m.n ? e : ERR_NOT_FOUND;
}

static enum err members_write(struct tx *tx, struct str name, const struct members *m)
{
    struct val v[LIMIT_QSTASH_ENDPOINTS * 3];
    enum err e = TX_DO(tx, STMT_qstash_members_remove, -1, V_TEXT(name));

    for (size_t i = 0; i < m->n; i++) {
        v[i * 3] = V_TEXT(name);
        v[i * 3 + 1] = V_TEXT(m->all[i].url);
        v[i * 3 + 2] = v_text(m->all[i].name);
    }
    if (e || !m->n)
        return e;
    return tx_bulk(tx, STMT_qstash_member_add, v, m->n, 3, NULL, NULL);
}

static enum err group_lock(struct tx *tx, struct str name)
{
    char text[LIMIT_QSTASH_NAME + 16];
    int64_t lane;

    snprintf(text, sizeof(text), "qstash.group:" STR_FMT, STR_ARG(name));
    lane = lane_of(str_of(text));
    return queue_lock_lanes(tx, &lane, 1);
}

static enum err group_forget(struct tx *tx, struct str name)
{
    enum err e = TX_DO(tx, STMT_qstash_members_remove, -1, V_TEXT(name));

    return e ? e : TX_DO(tx, STMT_qstash_group_remove, -1, V_TEXT(name));
}

/* --- the body --- */

static struct str field_text(const cJSON *object, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    return cJSON_IsString(item) ? str_of(item->valuestring) : (struct str){ 0 };
}

static bool field_is_text(const cJSON *object, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    return !item || cJSON_IsNull(item) || cJSON_IsString(item);
}

/* NULL, or why it cannot be a member. For a removal one of the two is enough. */
static const char *member_fault(const struct qstash_request *v, const cJSON *item, bool removing,
                                struct member *ret_member)
{
    struct member m = { field_text(item, "url"), field_text(item, "name") };

    if (!cJSON_IsObject(item) || !field_is_text(item, "url") || !field_is_text(item, "name"))
        return "must be an object with the texts url and name";
    if (m.name.n && !input_name_is_valid(m.name))
        return "has an invalid name: it may have A-Z a-z 0-9 . _ -";
    *ret_member = m;
    if (removing)
        return m.url.n || m.name.n ? NULL : "needs a url or a name";
    if (m.url.n > LIMIT_QSTASH_MEMBER_URL)
        return "has a url that is too long";
    return m.url.n ? input_url_fault(m.url, v->q->allow_private) : "needs a url";
}

static bool member_keep(struct arena *a, struct member *m)
{
    if (m->url.n)
        m->url = arena_str(a, m->url);
    if (m->name.n)
        m->name = arena_str(a, m->name);
    return (m->url.p || !m->url.n) && (m->name.p || !m->name.n);
}

/* False: the answer was sent. */
ANSWERS static bool members_read_list(struct qstash_request *v, const cJSON *list, bool removing)
{
    struct members *m = arena_alloc(&v->r->arena, 1, sizeof(*m));
    int at = 0;

    if (m)
        m->all = arena_alloc(&v->r->arena, LIMIT_QSTASH_ENDPOINTS, sizeof(*m->all));
    v->more = m;
    for (const cJSON *item = list->child; m && m->all && item; item = item->next, at++) {
        struct member *one = &m->all[m->n++];
        const char *fault = member_fault(v, item, removing, one);

        if (fault) {
            qstash_reply_error(v, 400, "endpoints[%d] %s", at, fault);
            return false;
        }
        if (!member_keep(&v->r->arena, one))
            m = NULL;
    }
    if (m && m->all)
        return true;
    qstash_reply_err(v, ERR_NO_MEMORY); /* this may free the request, and m with it */
    return false;
}

ANSWERS static bool members_read_body(struct qstash_request *v, bool removing)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    const cJSON *list;

    if (!qstash_request_name(v, v->param[0], "url group name"))
        return false;
    body = qstash_request_object(v);
    if (!body)
        return false;
    list = cJSON_GetObjectItemCaseSensitive(body, "endpoints");
    if (!cJSON_IsArray(list) || !list->child) {
        qstash_reply_error(v, 400, "endpoints must be an array with at least one endpoint");
        return false;
    }
    if (cJSON_GetArraySize(list) > LIMIT_QSTASH_ENDPOINTS) {
        qstash_reply_error(v, 412, "a url group can have %d endpoints at most",
                           LIMIT_QSTASH_ENDPOINTS);
        return false;
    }
    return members_read_list(v, list, removing);
}

/* --- POST /v2/topics/{}/endpoints --- */

static enum err group_check_limit(struct tx *tx, struct api_call *c)
{
    struct row row;
    enum err e = tx_row(tx, STMT_qstash_group_count, NULL, 0, &row);

    if (e || row.col[0].i < LIMIT_QSTASH_GROUPS)
        return e;
    return api_call_refuse(c, 412, "there are %d url groups already, which is the limit",
                           LIMIT_QSTASH_GROUPS);
}

static enum err group_add(struct tx *tx, struct api_call *c)
{
    const struct members *given = c->v->more;
    struct str name = c->v->param[0];
    int64_t now_ms = env_now_ms(c->v->q->env);
    struct members m = { 0 };
    enum err e = group_lock(tx, name);

    if (!e)
        e = members_read(tx, c->unit.arena, name, &m);
    if (!e && !m.n)
        e = group_check_limit(tx, c);
    if (e)
        return e;
    for (size_t i = 0; i < given->n; i++)
        if (!members_put(&m, given->all[i]))
            return api_call_refuse(c, 412, "a url group can have %d endpoints at most",
                                   LIMIT_QSTASH_ENDPOINTS);
    e = TX_DO(tx, STMT_qstash_group_put, 1, V_TEXT(name), V_INT(now_ms), V_INT(now_ms));
    return e ? e : members_write(tx, name, &m);
}

void qstash_group_add(struct qstash_request *v)
{
    if (members_read_body(v, false))
        api_call_write(v, group_add);
}

/* --- DELETE --- */

/* Removing what is not there succeeds: the SDK repeats a call whose answer was lost. */
static enum err group_remove(struct tx *tx, struct api_call *c)
{
    const struct members *given = c->v->more;
    struct str name = c->v->param[0];
    int64_t now_ms = env_now_ms(c->v->q->env);
    struct members m = { 0 };
    size_t before;
    enum err e = group_lock(tx, name);

    if (!e)
        e = members_read(tx, c->unit.arena, name, &m);
    if (e)
        return e;
    before = m.n;
    for (size_t i = 0; i < given->n; i++)
        members_drop(&m, given->all[i]);
    if (m.n == before)
        return OK;
    if (!m.n)
        return group_forget(tx, name);
    e = TX_DO(tx, STMT_qstash_group_put, 1, V_TEXT(name), V_INT(now_ms), V_INT(now_ms));
    return e ? e : members_write(tx, name, &m);
}

void qstash_group_remove(struct qstash_request *v)
{
    if (members_read_body(v, true))
        api_call_write(v, group_remove);
}

static enum err group_delete(struct tx *tx, struct api_call *c)
{
    enum err e = group_lock(tx, c->v->param[0]);

    return e ? e : group_forget(tx, c->v->param[0]);
}

void qstash_group_delete(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "url group name"))
        api_call_write(v, group_delete);
}

/* --- GET --- */

struct group_writer {
    struct buf *out;
    char last[LIMIT_QSTASH_NAME + 1]; /* the group that is open; empty: none yet */
};

static void group_writer_open(struct group_writer *s, const struct val *c)
{
    bool first = !s->last[0];

    snprintf(s->last, sizeof(s->last), STR_FMT, STR_ARG(c[0].s));
    buf_add(s->out, first ? S("") : S("]},"));
    buf_add(s->out, S("{\"name\":"));
    buf_json(s->out, c[0].s);
    buf_fmt(s->out, ",\"createdAt\":%lld,\"updatedAt\":%lld,\"endpoints\":[", (long long)c[1].i,
            (long long)c[2].i);
}

/* A row for each member; the members of a group follow each other. */
static enum err group_writer_row(void *ctx, const struct row *row)
{
    const struct val *c = row->col;
    struct group_writer *s = ctx;

    if (str_eq(c[0].s, str_of(s->last)))
        buf_char(s->out, ',');
    else
        group_writer_open(s, c);
    buf_char(s->out, '{');
    if (c[4].s.n) {
        buf_add(s->out, S("\"name\":"));
        buf_json(s->out, c[4].s);
        buf_char(s->out, ',');
    }
    buf_add(s->out, S("\"url\":"));
    buf_json(s->out, c[3].s);
    buf_char(s->out, '}');
    return OK;
}

static enum err groups_list(struct tx *tx, struct api_call *c)
{
    struct group_writer s = { .out = &c->out };
    enum err e;

    buf_char(&c->out, '[');
    e = tx_each(tx, STMT_qstash_groups_all, NULL, 0, group_writer_row, &s);
    buf_add(&c->out, s.last[0] ? S("]}]") : S("]"));
    return e;
}

void qstash_group_list(struct qstash_request *v)
{
    api_call_read(v, groups_list);
}

static enum err groups_get(struct tx *tx, struct api_call *c)
{
    struct group_writer s = { .out = &c->out };
    struct val name = V_TEXT(c->v->param[0]);
    enum err e = tx_each(tx, STMT_qstash_group_show, &name, 1, group_writer_row, &s);

    if (!e && !s.last[0])
        return api_call_refuse(c, 404, "url group not found: " STR_FMT, STR_ARG(name.s));
    buf_add(&c->out, S("]}"));
    return e;
}

void qstash_group_get(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "url group name"))
        api_call_read(v, groups_get);
}
