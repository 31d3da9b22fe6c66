/* groups.c - the calls under /v2/topics. A change reads the list under the group's lock and writes
 * all of it anew: it is short, and its order is the order of its rows. */
#include "qstash/admin/groups.h"

#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/publish/input.h"
#include "queue/lane.h"
#include "store/values.h"

#include <stdio.h>

/* --- the list --- */

static bool is_same(const struct member *a, const struct member *b)
{
    return (b->url.n && str_eq(a->url, b->url)) || (b->name.n && str_eq(a->name, b->name));
}

void members_drop(struct members *m, struct member one)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n; i++)
        if (!is_same(&m->all[i], &one))
            m->all[kept++] = m->all[i];
    m->n = kept;
}

bool members_put(struct members *m, struct member one)
{
    size_t at = 0;

    while (at < m->n && !is_same(&m->all[at], &one))
        at++;
    if (at == LIMIT_QSTASH_ENDPOINTS)
        return false;
    if (at == m->n) {
        m->all[m->n++] = one;
        return true;
    }
    /* its url may be that of one, its name that of another: they become one */
    for (size_t i = m->n; i-- > at + 1;)
        if (is_same(&m->all[i], &one)) {
            for (size_t k = i + 1; k < m->n; k++)
                m->all[k - 1] = m->all[k];
            m->n--;
        }
    m->all[at] = one;
    return true;
}

/* --- rows --- */

struct admin_groups_reading {
    struct arena *arena;
    struct members members;
};

static enum err add_member(void *ctx, const struct row *row)
{
    struct admin_groups_reading *r = ctx;
    struct member *m = &r->members.all[r->members.n];

    if (r->members.n == LIMIT_QSTASH_ENDPOINTS)
        return ERR_INTERNAL;
    m->url = arena_str(r->arena, row->col[0].s);
    m->name = row->col[1].s.n ? arena_str(r->arena, row->col[1].s) : (struct str){ 0 };
    r->members.n++;
    return m->url.p && (m->name.p || !row->col[1].s.n) ? OK : ERR_NO_MEMORY;
}

static enum err read_members(struct tx *tx, struct arena *a, struct str name,
                             struct members *ret_members)
{
    struct admin_groups_reading r = { .arena = a };
    struct val v = V_TEXT(name);
    enum err e;

    r.members.all = arena_alloc(a, LIMIT_QSTASH_ENDPOINTS, sizeof(*r.members.all));
    if (!r.members.all)
        return ERR_NO_MEMORY;
    e = tx_each(tx, STMT_qstash_members, &v, 1, add_member, &r);
    *ret_members = r.members;
    return e;
}

enum err group_members(struct tx *tx, struct arena *a, struct str name, struct member **ret,
                       size_t *ret_n)
{
    struct members m = { 0 };
    enum err e = read_members(tx, a, name, &m);

    *ret = m.all;
    *ret_n = m.n;
    return e || m.n ? e : ERR_NOT_FOUND;
}

static enum err write_members(struct tx *tx, struct str name, const struct members *m)
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

static enum err admin_groups_lock(struct tx *tx, struct str name)
{
    char text[LIMIT_QSTASH_NAME + 16];
    int64_t lane;

    snprintf(text, sizeof(text), "qstash.group:" STR_FMT, STR_ARG(name));
    lane = lane_of(str_of(text));
    return queue_lock_lanes(tx, &lane, 1);
}

static enum err admin_groups_forget(struct tx *tx, struct str name)
{
    enum err e = TX_DO(tx, STMT_qstash_members_remove, -1, V_TEXT(name));

    return e ? e : TX_DO(tx, STMT_qstash_group_remove, -1, V_TEXT(name));
}

/* --- what came in --- */

static struct str text_of(const cJSON *object, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    return cJSON_IsString(item) ? str_of(item->valuestring) : (struct str){ 0 };
}

static bool is_text_or_nothing(const cJSON *object, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    return !item || cJSON_IsNull(item) || cJSON_IsString(item);
}

/* NULL, or why it cannot be a member. To be removed it needs only one of the two. */
static const char *fault_of(const struct visit *v, const cJSON *item, bool removing,
                            struct member *ret_member)
{
    struct member m = { text_of(item, "url"), text_of(item, "name") };

    if (!cJSON_IsObject(item) || !is_text_or_nothing(item, "url") ||
        !is_text_or_nothing(item, "name"))
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

static bool admin_groups_keep(struct arena *a, struct member *m)
{
    if (m->url.n)
        m->url = arena_str(a, m->url);
    if (m->name.n)
        m->name = arena_str(a, m->name);
    return (m->url.p || !m->url.n) && (m->name.p || !m->name.n);
}

/* False: the answer was sent. */
ANSWERS static bool read_list(struct visit *v, const cJSON *list, bool removing)
{
    struct members *m = arena_alloc(&v->r->arena, 1, sizeof(*m));
    int at = 0;

    if (m)
        m->all = arena_alloc(&v->r->arena, LIMIT_QSTASH_ENDPOINTS, sizeof(*m->all));
    v->more = m;
    for (const cJSON *item = list->child; m && m->all && item; item = item->next, at++) {
        struct member *one = &m->all[m->n++];
        const char *fault = fault_of(v, item, removing, one);

        if (fault) {
            visit_error(v, 400, "endpoints[%d] %s", at, fault);
            return false;
        }
        if (!admin_groups_keep(&v->r->arena, one))
            m = NULL;
    }
    if (m && m->all)
        return true;
    visit_err(v, ERR_NO_MEMORY); /* m is gone with the request */
    return false;
}

ANSWERS static bool read_body(struct visit *v, bool removing)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    const cJSON *list;

    if (!visit_name(v, v->param[0], "url group name"))
        return false;
    body = visit_object(v);
    if (!body)
        return false;
    list = cJSON_GetObjectItemCaseSensitive(body, "endpoints");
    if (!cJSON_IsArray(list) || !list->child) {
        visit_error(v, 400, "endpoints must be an array with at least one endpoint");
        return false;
    }
    if (cJSON_GetArraySize(list) > LIMIT_QSTASH_ENDPOINTS) {
        visit_error(v, 412, "a url group can have %d endpoints at most", LIMIT_QSTASH_ENDPOINTS);
        return false;
    }
    return read_list(v, list, removing);
}

/* --- POST /v2/topics/{}/endpoints --- */

static enum err check_room(struct tx *tx, struct call *c)
{
    struct row row;
    enum err e = tx_row(tx, STMT_qstash_group_count, NULL, 0, &row);

    if (e || row.col[0].i < LIMIT_QSTASH_GROUPS)
        return e;
    return call_refuse(c, 412, "there are %d url groups already, which is the limit",
                       LIMIT_QSTASH_GROUPS);
}

static enum err admin_groups_add(struct tx *tx, struct call *c)
{
    const struct members *given = c->v->more;
    struct str name = c->v->param[0];
    int64_t now_ms = env_now_ms(c->v->q->env);
    struct members m = { 0 };
    enum err e = admin_groups_lock(tx, name);

    if (!e)
        e = read_members(tx, c->unit.arena, name, &m);
    if (!e && !m.n)
        e = check_room(tx, c);
    if (e)
        return e;
    for (size_t i = 0; i < given->n; i++)
        if (!members_put(&m, given->all[i]))
            return call_refuse(c, 412, "a url group can have %d endpoints at most",
                               LIMIT_QSTASH_ENDPOINTS);
    e = TX_DO(tx, STMT_qstash_group_put, 1, V_TEXT(name), V_INT(now_ms), V_INT(now_ms));
    return e ? e : write_members(tx, name, &m);
}

void qstash_group_add(struct visit *v)
{
    if (read_body(v, false))
        call_write(v, admin_groups_add);
}

/* --- DELETE --- */

/* Asked for again it is as well: the SDK repeats a call whose answer was lost. */
static enum err admin_groups_drop(struct tx *tx, struct call *c)
{
    const struct members *given = c->v->more;
    struct str name = c->v->param[0];
    int64_t now_ms = env_now_ms(c->v->q->env);
    struct members m = { 0 };
    size_t before;
    enum err e = admin_groups_lock(tx, name);

    if (!e)
        e = read_members(tx, c->unit.arena, name, &m);
    if (e)
        return e;
    before = m.n;
    for (size_t i = 0; i < given->n; i++)
        members_drop(&m, given->all[i]);
    if (m.n == before)
        return OK;
    if (!m.n)
        return admin_groups_forget(tx, name);
    e = TX_DO(tx, STMT_qstash_group_put, 1, V_TEXT(name), V_INT(now_ms), V_INT(now_ms));
    return e ? e : write_members(tx, name, &m);
}

void qstash_group_remove(struct visit *v)
{
    if (read_body(v, true))
        call_write(v, admin_groups_drop);
}

static enum err delete_group(struct tx *tx, struct call *c)
{
    enum err e = admin_groups_lock(tx, c->v->param[0]);

    return e ? e : admin_groups_forget(tx, c->v->param[0]);
}

void qstash_group_delete(struct visit *v)
{
    if (visit_name(v, v->param[0], "url group name"))
        call_write(v, delete_group);
}

/* --- GET --- */

struct showing {
    struct buf *out;
    char last[LIMIT_QSTASH_NAME + 1]; /* the group that is open; empty: none yet */
};

static void open_group(struct showing *s, const struct val *c)
{
    bool first = !s->last[0];

    snprintf(s->last, sizeof(s->last), STR_FMT, STR_ARG(c[0].s));
    buf_add(s->out, first ? S("") : S("]},"));
    buf_add(s->out, S("{\"name\":"));
    buf_json(s->out, c[0].s);
    buf_fmt(s->out, ",\"createdAt\":%lld,\"updatedAt\":%lld,\"endpoints\":[", (long long)c[1].i,
            (long long)c[2].i);
}

/* A row for each member, those of a group in a row. */
static enum err admin_groups_show(void *ctx, const struct row *row)
{
    const struct val *c = row->col;
    struct showing *s = ctx;

    if (str_eq(c[0].s, str_of(s->last)))
        buf_char(s->out, ',');
    else
        open_group(s, c);
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

static enum err admin_groups_list(struct tx *tx, struct call *c)
{
    struct showing s = { .out = &c->out };
    enum err e;

    buf_char(&c->out, '[');
    e = tx_each(tx, STMT_qstash_groups_all, NULL, 0, admin_groups_show, &s);
    buf_add(&c->out, s.last[0] ? S("]}]") : S("]"));
    return e;
}

void qstash_group_list(struct visit *v)
{
    call_read(v, admin_groups_list);
}

static enum err admin_groups_get(struct tx *tx, struct call *c)
{
    struct showing s = { .out = &c->out };
    struct val name = V_TEXT(c->v->param[0]);
    enum err e = tx_each(tx, STMT_qstash_group_show, &name, 1, admin_groups_show, &s);

    if (!e && !s.last[0])
        return call_refuse(c, 404, "url group not found: " STR_FMT, STR_ARG(name.s));
    buf_add(&c->out, S("]}"));
    return e;
}

void qstash_group_get(struct visit *v)
{
    if (visit_name(v, v->param[0], "url group name"))
        call_read(v, admin_groups_get);
}
