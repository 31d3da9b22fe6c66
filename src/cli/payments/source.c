/* source.c - reads payments from SQLite's file where no server has it, from PostgreSQL always, and
 * otherwise by the admin API of the server that has the file (M4). It changes nothing. */
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/command_store.h"
#include "cli/payments/command.h"
#include "server/command_executor.h"
#include "server/payables.h"
#include "timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 6 * 1024 };

struct payments_source {
    struct node *node;
    bool is_local;
    struct command_executor executor; /* local */
    struct admin *admin;              /* remote */
};

/* --- the store itself --- */

struct reading {
    struct arena *arena;
    const struct payment_query *query;
    const struct payment_place *after;
    int limit;
    struct uuid id;
    struct str json;
};

static enum err read_local(struct payments_source *s, enum err (*work)(struct tx *, void *),
                           struct reading *g, struct str *ret_json, struct why *why)
{
    enum err e = command_executor_retry(&s->executor, s->node->store, UNIT_READ, work, g);

    if (e && e != ERR_NOT_FOUND)
        why_set(why, "%s", err_words(e, LANG_EN));
    *ret_json = g->json;
    return e;
}

static enum err work_page(struct tx *tx, void *ctx)
{
    struct reading *g = ctx;

    return payment_find(tx, g->arena, g->query, g->after, g->limit, &g->json);
}

static enum err work_show(struct tx *tx, void *ctx)
{
    struct reading *g = ctx;

    return payment_show(tx, g->arena, &server_payables, g->id, &g->json);
}

static enum err work_timeline(struct tx *tx, void *ctx)
{
    struct reading *g = ctx;

    return timeline_read(tx, g->arena, g->id, &g->json);
}

static enum err work_key(struct tx *tx, void *ctx)
{
    struct reading *g = ctx;

    return payment_key_uses(tx, g->arena, g->id, env_now_ms(tx_env(tx)), &g->json);
}

/* --- the server that has it --- */

static enum err read_remote(struct payments_source *s, struct arena *a, struct str path,
                            struct str *ret_json, struct why *why)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    int status;
    enum err e = admin_ask(s->admin, a, "GET", path, ADMIN_JSON, S(""), &status, ret_json, why);

    if (e || status == 200)
        return e;
    if (status == 404)
        return ERR_NOT_FOUND;
    json_parse(*ret_json, &tree, NULL); /* NULL where it is none */
    admin_problem(status, tree, why);
    return status >= 500 ? ERR_UNAVAILABLE : ERR_VALIDATION;
}

static struct str time_or_none(int64_t ms, char text[TIME_TEXT + 1])
{
    if (!ms)
        return (struct str){ 0 };
    time_text(ms, text);
    return str_of(text);
}

static struct str id_or_none(bool has, struct uuid id, char text[UUID_TEXT + 1])
{
    if (!has)
        return (struct str){ 0 };
    uuid_text(id, text);
    return str_of(text);
}

static void add_query(struct buf *b, const struct payment_query *q)
{
    char user[UUID_TEXT + 1], booking[UUID_TEXT + 1], from[TIME_TEXT + 1], to[TIME_TEXT + 1];

    admin_parameter(b, "q", q->text);
    admin_parameter(b, "status", str_of(q->has_status ? payment_status_name(q->status) : NULL));
    admin_parameter(b, "context", str_of(q->has_context ? payment_context_name(q->context) : NULL));
    admin_parameter(b, "gateway", q->gateway);
    admin_parameter(b, "from", time_or_none(q->from_ms, from));
    admin_parameter(b, "to", time_or_none(q->to_ms, to));
    admin_parameter(b, "userId", id_or_none(q->has_user, q->user, user));
    admin_parameter(b, "bookingId", id_or_none(q->has_booking, q->booking, booking));
}

static enum err page_remote(struct payments_source *s, struct arena *a,
                            const struct payment_query *q, struct str cursor, int limit,
                            struct str *ret_json, struct why *why)
{
    struct buf path;
    enum err e = ERR_NO_MEMORY;

    buf_init(&path, PATH_BYTES);
    buf_fmt(&path, "/api/v1/admin/payments?limit=%d", limit);
    add_query(&path, q);
    admin_parameter(&path, "cursor", cursor);
    if (!path.failed)
        e = read_remote(s, a, buf_str(&path), ret_json, why);
    buf_release(&path);
    return e;
}

/* --- either --- */

enum err payments_source_page(struct payments_source *s, struct arena *a,
                              const struct payment_query *q, struct str cursor, int limit,
                              struct str *ret_json, struct why *why)
{
    struct payment_place after;
    struct reading g = { .arena = a, .query = q, .limit = limit };

    if (!s->is_local)
        return page_remote(s, a, q, cursor, limit, ret_json, why);
    if (cursor.n && payment_place_read(cursor, &after))
        g.after = &after;
    return read_local(s, work_page, &g, ret_json, why);
}

static enum err read_one(struct payments_source *s, struct arena *a, struct uuid id,
                         enum err (*work)(struct tx *, void *), const char *form,
                         struct str *ret_json, struct why *why)
{
    struct reading g = { .arena = a, .id = id };
    char text[UUID_TEXT + 1], path[128];

    if (s->is_local)
        return read_local(s, work, &g, ret_json, why);
    uuid_text(id, text);
    snprintf(path, sizeof(path), "/api/v1/admin/%s/%s%s", form, text,
             work == work_timeline ? "/timeline" : "");
    return read_remote(s, a, str_of(path), ret_json, why);
}

enum err payments_source_show(struct payments_source *s, struct arena *a, struct uuid id,
                              struct str *ret_json, struct why *why)
{
    return read_one(s, a, id, work_show, "payments", ret_json, why);
}

enum err payments_source_timeline(struct payments_source *s, struct arena *a, struct uuid id,
                                  struct str *ret_json, struct why *why)
{
    return read_one(s, a, id, work_timeline, "payments", ret_json, why);
}

enum err payments_source_key(struct payments_source *s, struct arena *a, struct uuid key,
                             struct str *ret_json, struct why *why)
{
    return read_one(s, a, key, work_key, "keys", ret_json, why);
}

/* --- opening --- */

bool payments_source_open(struct node *n, const char *command, struct payments_source **ret_source,
                          struct why *why)
{
    struct payments_source *s = calloc(1, sizeof(*s));
    char owner[ADMIN_OWNER];
    enum err e = s ? command_store_open(n, command, owner, why) : ERR_NO_MEMORY;

    if (!e) {
        s->is_local = true;
        command_executor_init(&s->executor);
    } else if (e == ERR_CONFLICT) {
        e = admin_open(&n->settings, owner, &s->admin, why);
    }
    if (e) {
        free(s);
        return false;
    }
    s->node = n;
    *ret_source = s;
    return true;
}

void payments_source_free(struct payments_source *s)
{
    if (!s)
        return;
    if (s->is_local) {
        node_close_store(s->node);
        command_executor_release(&s->executor);
    }
    admin_free(s->admin);
    free(s);
}
