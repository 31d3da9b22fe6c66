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
    int64_t disabled_ms; /* 0: it is not */
    int64_t created_ms;
};

struct subscribers_act { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_subscribers *api;
    struct subscriber subscriber;
    struct uuid user; /* who asks */
    struct str secret;
    struct subscriber *all; /* the list */
    size_t count;
};

ANSWERS static struct subscribers_act *subscriber_act_new(struct request *r,
                                                          const struct api_subscribers *api,
                                                          const struct unit_kind *kind,
                                                          void (*done)(struct unit *))
{
    struct subscribers_act *a = api_room(r, sizeof(*a));

    if (!a)
        return NULL;
    a->unit = (struct unit){ .kind = kind, .executor = r->executor, .done = done };
    a->request = r;
    a->api = api;
    return a;
}

/* --- as JSON --- */

static void subscriber_add_types(struct buf *out, struct str types)
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

static void add_subscriber(struct buf *out, const struct subscriber *s, struct str secret)
{
    char id[UUID_TEXT + 1], created[TIME_TEXT + 1], disabled[TIME_TEXT + 1];

    uuid_text(s->id, id);
    time_text(s->created_ms, created);
    time_text(s->disabled_ms, disabled);
    buf_fmt(out, "{\"id\":\"%s\",\"url\":", id);
    buf_json(out, s->url);
    buf_add(out, S(",\"types\":"));
    subscriber_add_types(out, s->types);
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

static enum err subscribers_audit(struct tx *tx, const char *what, const struct subscribers_act *a)
{
    char id[UUID_TEXT + 1];

    uuid_text(a->subscriber.id, id);
    return act_audit(tx, what, str_of(id), a->subscriber.url, a->user);
}

/* --- POST --- */

static enum err subscribers_add(struct tx *tx, struct unit *u)
{
    struct subscribers_act *a = CONTAINER_OF(u, struct subscribers_act, unit);
    const struct subscriber *s = &a->subscriber;
    struct row row;
    enum err e = tx_row(tx, STMT_subscriber_count, NULL, 0, &row);

    if (!e && row.col[0].i >= LIMIT_SUBSCRIBERS)
        e = ERR_UNPROCESSABLE;
    if (!e)
        e = TX_DO(tx, STMT_subscriber_add, 1, V_BLOB(uuid_bytes(&s->id)), V_TEXT(s->url),
                  V_TEXT(s->types), V_TEXT(a->secret), V_INT(s->created_ms));
    return e ? e : subscribers_audit(tx, "SUBSCRIBER_ADD", a);
}

static void subscriber_was_added(struct unit *u)
{
    struct subscribers_act *a = CONTAINER_OF(u, struct subscribers_act, unit);
    struct request *r = a->request;
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
    add_subscriber(&out, &a->subscriber, a->secret);
    reply_header(r, S("Cache-Control"), S("no-store"));
    subscriber_send_json(r, 201, &out);
}

/* http or https, a host, and nothing that a header or a log line could choke on. No user and
 * password: they would be shown in the list. */
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

static void subscriber_read_url(struct subscribers_act *a, const cJSON *body,
                                struct json_problems *p)
{
    struct str url;

    if (!json_get_str(body, "url", true, LIMIT_SUBSCRIBER_URL, &url, p))
        return;
    if (!subscriber_is_url(url))
        json_problem_in(p, "url", "must be an http or https address without user and password",
                        "ユーザー名やパスワードを含まない http または https の URL にしてください");
    a->subscriber.url = arena_str(&a->request->arena, url);
}

/* Known types, each once, with commas between them. False: something else is in the list. */
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

static void subscriber_read_types(struct subscribers_act *a, const cJSON *body,
                                  struct json_problems *p)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(body, "types");
    char text[TYPES_TEXT];
    size_t n = 0;

    a->subscriber.types = S("*");
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
        a->subscriber.types = arena_str(&a->request->arena, (struct str){ text, n });
}

static void subscriber_read_secret(struct subscribers_act *a, const cJSON *body,
                                   struct json_problems *p)
{
    char made[SIGNING_SECRET_TEXT + 1];
    int before = p->count;
    struct str given;

    if (json_get_str(body, "secret", false, SECRET_MAX, &given, p)) {
        if (signing_secret_is_sane(given))
            a->secret = arena_str(&a->request->arena, given);
        else
            json_problem_in(p, "secret", "must be whsec_ and the base64 of 24 to 64 bytes",
                            "whsec_ と 24〜64 バイトの base64 にしてください");
        return;
    }
    if (p->count > before)
        return;
    signing_secret_make(&a->api->env->rng, made);
    a->secret = arena_str(&a->request->arena, str_of(made));
    OPENSSL_cleanse(made, sizeof(made));
}

ANSWERS static bool read_subscriber(struct subscribers_act *a)
{
    static const char *const names[] = { "url", "types", "secret" }, *const nullable[] = {
        "secret"
    };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct request *r = a->request;
    struct json_problems problems;

    if (!fields_body(r, &body))
        return false;
    json_drop_nulls(body, nullable, COUNT(nullable));
    fields_problems(r, &problems);
    subscriber_read_url(a, body, &problems);
    subscriber_read_types(a, body, &problems);
    subscriber_read_secret(a, body, &problems);
    fields_only(body, names, COUNT(names), &problems);
    if (fields_refused(r, &problems))
        return false;
    if (a->subscriber.url.p && a->subscriber.types.p && a->secret.p)
        return true;
    reply_problem(r, ERR_NO_MEMORY, NULL);
    return false;
}

void api_subscriber_add(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "subscriber.add", UNIT_FRONT, subscribers_add, NULL };
    struct subscribers_act *a = subscriber_act_new(r, ctx, &kind, subscriber_was_added);

    if (!a || !read_subscriber(a))
        return;
    a->user = p->user;
    a->subscriber.id = env_uuid(a->api->env);
    a->subscriber.created_ms = env_now_ms(a->api->env);
    store_post(a->api->store, &a->unit);
}

/* --- GET --- */

static enum err subscriber_add_row(void *ctx, const struct row *row)
{
    struct subscribers_act *a = ctx;
    struct subscriber *s = &a->all[a->count];

    if (a->count == LIMIT_SUBSCRIBERS)
        return OK;
    if (!uuid_of_bytes(row->col[0].s, &s->id))
        return ERR_INTERNAL;
    s->url = arena_str(a->unit.arena, row->col[1].s);
    s->types = arena_str(a->unit.arena, row->col[2].s);
    s->disabled_ms = row->col[3].type == VAL_INT ? row->col[3].i : 0;
    s->created_ms = row->col[4].i;
    a->count++;
    return s->url.p && s->types.p ? OK : ERR_NO_MEMORY;
}

static enum err subscribers_list(struct tx *tx, struct unit *u)
{
    struct subscribers_act *a = CONTAINER_OF(u, struct subscribers_act, unit);
    struct val limit = V_INT(LIMIT_SUBSCRIBERS);

    a->count = 0;
    a->all = arena_alloc(u->arena, LIMIT_SUBSCRIBERS, sizeof(*a->all));
    return a->all ? tx_each(tx, STMT_subscribers_all, &limit, 1, subscriber_add_row, a)
                  : ERR_NO_MEMORY;
}

static void subscriber_was_listed(struct unit *u)
{
    struct subscribers_act *a = CONTAINER_OF(u, struct subscribers_act, unit);
    struct buf out;

    if (u->err) {
        reply_problem(a->request, u->err, NULL);
        return;
    }
    buf_init(&out, LIST_MAX);
    buf_add(&out, S("{\"data\":["));
    for (size_t i = 0; i < a->count; i++) {
        buf_add(&out, i ? S(",") : S(""));
        add_subscriber(&out, &a->all[i], S(""));
    }
    buf_add(&out, S("]}"));
    subscriber_send_json(a->request, 200, &out);
}

void api_subscriber_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "subscriber.list", UNIT_READ, subscribers_list, NULL };
    struct subscribers_act *a = subscriber_act_new(r, ctx, &kind, subscriber_was_listed);

    (void)p;
    if (!a)
        return;
    a->unit.arena = &r->arena;
    store_post(a->api->store, &a->unit);
}

/* --- DELETE --- */

static enum err subscribers_forget(struct tx *tx, struct unit *u)
{
    struct subscribers_act *a = CONTAINER_OF(u, struct subscribers_act, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_subscriber_remove, &row, V_BLOB(uuid_bytes(&a->subscriber.id)));

    return e ? e : subscribers_audit(tx, "SUBSCRIBER_REMOVE", a);
}

static void subscriber_was_forgotten(struct unit *u)
{
    struct subscribers_act *a = CONTAINER_OF(u, struct subscribers_act, unit);

    if (u->err)
        reply_problem(a->request, u->err, NULL);
    else
        reply_send(a->request, 204, S(""), S(""));
}

void api_subscriber_remove(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "subscriber.remove", UNIT_FRONT, subscribers_forget,
                                           NULL };
    struct uuid id;
    struct subscribers_act *a;

    if (!fields_path_id(r, &id))
        return;
    a = subscriber_act_new(r, ctx, &kind, subscriber_was_forgotten);
    if (!a)
        return;
    a->user = p->user;
    a->subscriber.id = id;
    store_post(a->api->store, &a->unit);
}
