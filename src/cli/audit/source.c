/* source.c - reads the audit log from SQLite's file where no server has it, from PostgreSQL always,
 * and otherwise by the admin API of the server that has the file (M4). It changes nothing. */
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/audit/command.h"
#include "cli/command_store.h"
#include "server/command_executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_MAX_BYTES = 8 * 1024 };

struct audit_source {
    struct node *node;
    struct admin *admin; /* NULL: this command has the database */
    struct command_executor executor;
};

/* --- the store --- */

struct audit_source_reading {
    struct arena *arena;
    const struct audit_options *options;
    int limit;
    const char *from;
    struct str text;
    struct audit_export part;
};

static enum err read_page(struct tx *tx, struct audit_source_reading *g)
{
    struct audit_cursor at;
    bool has = audit_cursor_read(str_of(g->from), &at);

    return audit_page(tx, g->arena, &g->options->filter, has ? &at : NULL, g->limit, &g->text);
}

static enum err audit_source_verify(struct tx *tx, struct audit_source_reading *g)
{
    struct audit_place at = { 0 };

    audit_place_read(str_of(g->from), &at);
    return audit_verify_step(tx, g->arena, &at, &g->options->expect, &g->text);
}

static enum err audit_source_export(struct tx *tx, struct audit_source_reading *g)
{
    struct audit_export_place at = { 0 };
    enum err e;

    audit_export_read(str_of(g->from), &at);
    e = audit_export(tx, g->arena, g->options->format, &at, &g->part);
    g->text = g->part.text;
    return e;
}

static enum err audit_source_run(struct tx *tx, void *ctx)
{
    struct audit_source_reading *g = ctx;

    switch (g->options->verb) {
    case AUDIT_DO_LIST: return read_page(tx, g);
    case AUDIT_DO_VERIFY: return audit_source_verify(tx, g);
    case AUDIT_DO_EXPORT: return audit_source_export(tx, g);
    }
    return ERR_INTERNAL;
}

static enum err read_store(struct audit_source *s, struct audit_source_reading *g, struct why *why)
{
    enum err e =
        command_executor_retry(&s->executor, s->node->store, UNIT_READ, audit_source_run, g);

    if (e)
        why_set(why, "%s", err_words(e, LANG_EN));
    return e;
}

/* --- the server --- */

static void add_time(struct buf *b, const char *name, int64_t ms)
{
    char text[TIME_TEXT + 1];

    if (!ms)
        return;
    time_text(ms, text);
    admin_parameter(b, name, str_of(text));
}

static void add_id(struct buf *b, const char *name, bool has, struct uuid id)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    admin_parameter(b, name, has ? str_of(text) : (struct str){ 0 });
}

static void add_filter(struct buf *b, const struct audit_filter *f, int limit)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", limit);
    admin_parameter(b, "limit", str_of(text));
    admin_parameter(b, "operation", f->operation);
    admin_parameter(b, "subject", f->subject);
    admin_parameter(b, "result", f->result);
    add_id(b, "paymentId", f->has_payment, f->payment);
    add_id(b, "userId", f->has_user, f->user);
    add_time(b, "from", f->from_ms);
    add_time(b, "to", f->to_ms);
}

static void add_path(struct buf *b, const struct audit_options *options, int limit)
{
    buf_add(b, S("/api/v1/admin/audit"));
    switch (options->verb) {
    case AUDIT_DO_LIST: add_filter(b, &options->filter, limit); return;
    case AUDIT_DO_VERIFY:
        buf_add(b, S("/verify"));
        admin_parameter(b, "expect", options->expect_text);
        return;
    case AUDIT_DO_EXPORT:
        buf_add(b, S("/export"));
        admin_parameter(b, "format", options->format == AUDIT_CSV ? S("csv") : S("jsonl"));
        return;
    }
}

static enum err audit_source_call(struct audit_source *s, struct arena *a, struct str path,
                                  struct str *ret_text, struct why *why)
{
    CLEANUP(json_freep) cJSON *problem = NULL;
    int status;
    enum err e = admin_ask(s->admin, a, "GET", path, ADMIN_JSON, S(""), &status, ret_text, why);

    if (e || status == 200)
        return e;
    json_parse(*ret_text, &problem, NULL); /* NULL where it is none */
    admin_problem(status, problem, why);
    return status >= 500 ? ERR_UNAVAILABLE : ERR_VALIDATION;
}

static enum err read_server(struct audit_source *s, struct audit_source_reading *g, struct why *why)
{
    struct buf path;
    enum err e = ERR_NO_MEMORY;

    buf_init(&path, PATH_MAX_BYTES);
    add_path(&path, g->options, g->limit);
    admin_parameter(&path, "cursor", str_of(g->from));
    if (!path.failed)
        e = audit_source_call(s, g->arena, buf_str(&path), &g->text, why);
    buf_release(&path);
    return e;
}

/* --- either --- */

/* Lists and steps have the next cursor in their JSON; an export has it beside its text. */
static enum err find_next(const struct audit_source *s, const struct audit_source_reading *g,
                          char next[AUDIT_NEXT], struct why *why)
{
    CLEANUP(json_freep) cJSON *tree = NULL;

    if (g->options->verb == AUDIT_DO_EXPORT) {
        next[0] = '\0';
        if (s->admin)
            admin_header(s->admin, "X-Next-Cursor", next, AUDIT_NEXT);
        else if (!g->part.is_last)
            audit_export_text(&g->part.next, next);
        return OK;
    }
    if (json_parse(g->text, &tree, NULL))
        return why_err(why, ERR_INTERNAL, "the answer is not what was expected");
    snprintf(next, AUDIT_NEXT, "%s", answer_words(tree, "nextCursor"));
    return OK;
}

enum err audit_source_read(struct audit_source *s, struct arena *a,
                           const struct audit_options *options, int limit, char next[AUDIT_NEXT],
                           struct str *ret_text, struct why *why)
{
    struct audit_source_reading g = {
        .arena = a, .options = options, .limit = limit, .from = next
    };
    enum err e = s->admin ? read_server(s, &g, why) : read_store(s, &g, why);

    if (e)
        return e;
    *ret_text = g.text;
    return find_next(s, &g, next, why);
}

/* --- opening --- */

static enum err open_either(struct audit_source *s, struct why *why)
{
    struct node *n = s->node;
    char owner[ADMIN_OWNER];
    enum err e = command_store_open(n, "ichido audit", owner, why);

    if (e != ERR_CONFLICT)
        return e;
    return admin_open(&n->settings, owner, &s->admin, why);
}

enum err audit_source_open(struct node *n, struct audit_source **ret_source, struct why *why)
{
    struct audit_source *s = calloc(1, sizeof(*s));
    enum err e;

    if (!s)
        return ERR_NO_MEMORY;
    s->node = n;
    command_executor_init(&s->executor);
    e = open_either(s, why);
    if (e)
        audit_source_free(s);
    else
        *ret_source = s;
    return e;
}

void audit_source_free(struct audit_source *s)
{
    if (!s)
        return;
    if (s->node->store)
        node_close_store(s->node);
    admin_free(s->admin);
    command_executor_release(&s->executor);
    free(s);
}
