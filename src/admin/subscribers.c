/* subscribers.c - adding and removing a subscriber are one commit each, with the audit line. A
 * secret is given or generated, stored, shown once, and wiped from the buffer of the answer. */
#include "admin/subscribers.h"

#include "auth/standard_webhooks.h"
#include "base/limits.h"
#include "base/text.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "outbox/outbox.h"
#include "store/store.h"

#include <openssl/crypto.h>
#include <string.h>

enum { TYPES_MAX = 32, TYPES_TEXT = 1024, SECRET_MAX = 128, LIST_MAX = 1024 * 1024 };

struct subscriber {
    struct uuid id;
    struct str url, types;
    int64_t disabled_ms; /* 0: enabled */
    int64_t created_ms;
};

struct subscribers_call { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_subscribers *api;
    struct subscriber subscriber;
    struct uuid user; /* the operator */
    struct str secret;
    struct subscriber *all; /* the list */
    size_t count;
};

ANSWERS static struct subscribers_call *subscribers_call_new(struct request *r,
                                                             const struct api_subscribers *api,
                                                             const struct unit_kind *kind,
                                                             void (*done)(struct unit *))
{
    struct subscribers_call *c = api_room(r, sizeof(*c));

    if (!c)
        return NULL;
    c->unit = (struct unit){ .kind = kind, .executor = r->executor, .done = done };
    c->request = r;
    c->api = api;
    return c;
}

/* --- as JSON --- */

static void subscriber_out_types(struct buf *out, struct str types)
{
    const char *glue = "";

    buf_char(out, '[');
    while (types.n) {
        buf_add(out, str_of(glue));
        buf_json(out, str_cut(&types, ','));
        glue = ",";
    }
    buf_char(out, ']');
}

static void subscriber_out(struct buf *out, const struct subscriber *s, struct str secret)
{
    char id[UUID_TEXT + 1], created[TIME_TEXT + 1], disabled[TIME_TEXT + 1];

    uuid_text(s->id, id);
    time_text(s->created_ms, created);
    time_text(s->disabled_ms, disabled);
    buf_fmt(out, "{\"id\":\"%s\",\"url\":", id);
    buf_json(out, s->url);
    buf_add(out, S(",\"types\":"));
    subscriber_out_types(out, s->types);
    if (s->disabled_ms)
        buf_fmt(out, ",\"disabledAt\":\"%s\"", disabled);
    else
        buf_add(out, S(",\"disabledAt\":null"));
    buf_fmt(out, ",\"createdAt\":\"%s\"", created);
    if (secret.n) {
        buf_add(out, S(",\"secret\":"));
        buf_json(out, secret);
    }
    buf_char(out, '}');
}

static void subscriber_send_json(struct request *r, int status, struct buf *out)
{
    if (out->failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, status, S("application/json"), buf_str(out));
    if (out->n)
        OPENSSL_cleanse(out->p, out->n); /* it may hold a secret */
    buf_release(out);
}

static enum err subscribers_audit(struct tx *tx, const char *what, const struct subscribers_call *c)
{
    char id[UUID_TEXT + 1];

    uuid_text(c->subscriber.id, id);
    return act_audit(tx, what, str_of(id), c->subscriber.url, c->user);
}

/* --- POST --- */

static enum err subscribers_add(struct tx *tx, struct unit *u)
{
    struct subscribers_call *c = CONTAINER_OF(u, struct subscribers_call, unit);
    const struct subscriber *s = &c->subscriber;
    struct row row;
    enum err e = tx_row(tx, STMT_subscriber_count, NULL, 0, &row);

    if (e)
        return e;
    if (row.col[0].i >= LIMIT_SUBSCRIBERS)
        return ERR_UNPROCESSABLE;
    e = TX_DO(tx, STMT_subscriber_add, 1, V_BLOB(uuid_bytes(&s->id)), V_TEXT(s->url),
              V_TEXT(s->types), V_TEXT(c->secret), V_INT(s->created_ms));
    return e ? e : subscribers_audit(tx, "SUBSCRIBER_ADD", c);
}

static void subscriber_was_added(struct unit *u)
{
    struct subscribers_call *c = CONTAINER_OF(u, struct subscribers_call, unit);
    struct request *r = c->request;
    struct buf out;

    if (u->err == ERR_UNPROCESSABLE) {
        reply_problem(r, u->err,
                      r->language == LANG_JA ? "登録数が上限に達しています。"
                                             : "There are too many subscribers already.");
        return;
    }
    if (u->err) {
        reply_problem(r, u->err, NULL);
        return;
    }
    buf_init(&out, LIST_MAX);
    subscriber_out(&out, &c->subscriber, c->secret);
    reply_header(r, S("Cache-Control"), S("no-store"));
    subscriber_send_json(r, 201, &out);
}

/* http or https with a host, and no character that would need escaping in a header or a log line.
 * User and password are rejected, since the list would show them. */
static bool subscriber_is_url(struct str url)
{
    struct str rest = url, host;

    for (size_t i = 0; i < url.n; i++)
        if (url.p[i] <= ' ' || url.p[i] > '~' || strchr("\"<>\\^`{|}#", url.p[i]))
            return false;
    if (str_starts(url, S("http://")))
        rest = (struct str){ url.p + 7, url.n - 7 };
    else if (str_starts(url, S("https://")))
        rest = (struct str){ url.p + 8, url.n - 8 };
    else
        return false;
    host = str_cut(&rest, '/');
    host = str_cut(&host, '?');
    return host.n && host.p[0] != ':' && !memchr(host.p, '@', host.n);
}

static void subscriber_read_url(struct subscribers_call *c, const cJSON *body,
                                struct json_problems *p)
{
    struct str url;

    if (!json_get_str(body, "url", true, LIMIT_SUBSCRIBER_URL, &url, p))
        return;
    if (!subscriber_is_url(url))
        json_problem_in(p, "url", "must be an http or https address without user and password",
                        "ユーザー名やパスワードを含まない http または https の URL にしてください");
    c->subscriber.url = arena_str(&c->request->arena, url);
}

/* Joins the types with commas. False: one is unknown or given twice. */
static bool subscriber_join_types(const cJSON *list, char text[TYPES_TEXT], size_t *ret_n)
{
    size_t n = 0;

    for (const cJSON *item = list->child; item; item = item->next) {
        struct str type = cJSON_IsString(item) ? str_of(item->valuestring) : S("");
        bool known = outbox_type_is_known(type) || str_eq(type, S("*"));

        if (!known || outbox_types_have((struct str){ text, n }, type))
            return false;
        if (n + type.n + 1 > TYPES_TEXT)
            return false;
        if (n)
            text[n++] = ',';
        memcpy(text + n, type.p, type.n);
        n += type.n;
    }
    *ret_n = n;
    return true;
}

static void subscriber_read_types(struct subscribers_call *c, const cJSON *body,
                                  struct json_problems *p)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "types");
    char text[TYPES_TEXT];
    size_t n = 0;

    c->subscriber.types = S("*");
    if (!list)
        return;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > TYPES_MAX ||
        !subscriber_join_types(list, text, &n))
        json_problem_in(p, "types",
                        "must be a list of PaymentCreated, PaymentAuthorized, PaymentFailed, "
                        "PaymentCaptured, PaymentRefunded, each at most once; or [\"*\"]",
                        "PaymentCreated、PaymentAuthorized、PaymentFailed、PaymentCaptured、"
                        "PaymentRefunded の重複しないリスト、または [\"*\"] にしてください");
    else if (n)
        c->subscriber.types = arena_str(&c->request->arena, (struct str){ text, n });
}

static void subscriber_read_secret(struct subscribers_call *c, const cJSON *body,
                                   struct json_problems *p)
{
    char made[SIGNING_SECRET_TEXT + 1];
    int before = p->count;
    struct str given;

    if (json_get_str(body, "secret", false, SECRET_MAX, &given, p)) {
        if (signing_secret_is_sane(given))
            c->secret = arena_str(&c->request->arena, given);
        else
            json_problem_in(p, "secret", "must be whsec_ and the base64 of 24 to 64 bytes",
                            "whsec_ と 24〜64 バイトの base64 にしてください");
        return;
    }
    if (p->count > before)
        return;
    signing_secret_make(&c->api->env->rng, made);
    c->secret = arena_str(&c->request->arena, str_of(made));
    OPENSSL_cleanse(made, sizeof(made));
}

ANSWERS static bool subscriber_read_body(struct subscribers_call *c)
{
    static const char *const names[] = { "url", "types", "secret" }, *const nullable[] = {
        "secret"
    };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct request *r = c->request;
    struct json_problems problems;

    if (!fields_body(r, &body))
        return false;
    json_drop_nulls(body, nullable, COUNT(nullable));
    fields_problems(r, &problems);
    subscriber_read_url(c, body, &problems);
    subscriber_read_types(c, body, &problems);
    subscriber_read_secret(c, body, &problems);
    fields_only(body, names, COUNT(names), &problems);
    if (fields_refused(r, &problems))
        return false;
    if (c->subscriber.url.p && c->subscriber.types.p && c->secret.p)
        return true;
    reply_problem(r, ERR_NO_MEMORY, NULL);
    return false;
}

void api_subscriber_add(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "subscriber.add", UNIT_FRONT, subscribers_add, NULL };
    struct subscribers_call *c = subscribers_call_new(r, ctx, &kind, subscriber_was_added);

    if (!c || !subscriber_read_body(c))
        return;
    c->user = p->user;
    c->subscriber.id = env_uuid(c->api->env);
    c->subscriber.created_ms = env_now_ms(c->api->env);
    store_post(c->api->store, &c->unit);
}

/* --- GET --- */

static enum err subscriber_add_row(void *ctx, const struct row *row)
{
    struct subscribers_call *c = ctx;
    struct subscriber *s = &c->all[c->count];

    if (c->count == LIMIT_SUBSCRIBERS)
        return OK;
    if (!uuid_of_bytes(row->col[0].s, &s->id))
        return ERR_INTERNAL;
    s->url = arena_str(c->unit.arena, row->col[1].s);
    s->types = arena_str(c->unit.arena, row->col[2].s);
    s->disabled_ms = row->col[3].type == VAL_INT ? row->col[3].i : 0;
    s->created_ms = row->col[4].i;
    c->count++;
    return s->url.p && s->types.p ? OK : ERR_NO_MEMORY;
}

static enum err subscribers_list(struct tx *tx, struct unit *u)
{
    struct subscribers_call *c = CONTAINER_OF(u, struct subscribers_call, unit);
    struct val limit = V_INT(LIMIT_SUBSCRIBERS);

    c->count = 0;
    c->all = arena_alloc(u->arena, LIMIT_SUBSCRIBERS, sizeof(*c->all));
    return c->all ? tx_each(tx, STMT_subscribers_all, &limit, 1, subscriber_add_row, c)
                  : ERR_NO_MEMORY;
}

static void subscriber_was_listed(struct unit *u)
{
    struct subscribers_call *c = CONTAINER_OF(u, struct subscribers_call, unit);
    struct buf out;

    if (u->err) {
        reply_problem(c->request, u->err, NULL);
        return;
    }
    buf_init(&out, LIST_MAX);
    buf_add(&out, S("{\"data\":["));
    for (size_t i = 0; i < c->count; i++) {
        buf_add(&out, i ? S(",") : S(""));
        subscriber_out(&out, &c->all[i], S(""));
    }
    buf_add(&out, S("]}"));
    subscriber_send_json(c->request, 200, &out);
}

void api_subscriber_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "subscriber.list", UNIT_READ, subscribers_list, NULL };
    struct subscribers_call *c = subscribers_call_new(r, ctx, &kind, subscriber_was_listed);

    (void)p;
    if (!c)
        return;
    c->unit.arena = &r->arena;
    store_post(c->api->store, &c->unit);
}

/* --- DELETE --- */

static enum err subscribers_remove(struct tx *tx, struct unit *u)
{
    struct subscribers_call *c = CONTAINER_OF(u, struct subscribers_call, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_subscriber_remove, &row, V_BLOB(uuid_bytes(&c->subscriber.id)));

    return e ? e : subscribers_audit(tx, "SUBSCRIBER_REMOVE", c);
}

static void subscriber_was_removed(struct unit *u)
{
    struct subscribers_call *c = CONTAINER_OF(u, struct subscribers_call, unit);

    if (u->err)
        reply_problem(c->request, u->err, NULL);
    else
        reply_send(c->request, 204, S(""), S(""));
}

void api_subscriber_remove(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "subscriber.remove", UNIT_FRONT, subscribers_remove,
                                           NULL };
    struct uuid id;
    struct subscribers_call *c;

    if (!fields_path_id(r, &id))
        return;
    c = subscribers_call_new(r, ctx, &kind, subscriber_was_removed);
    if (!c)
        return;
    c->user = p->user;
    c->subscriber.id = id;
    store_post(c->api->store, &c->unit);
}
