/* local.c - the source of dead letters that works on the database: SQLite's file where no server
 * has it, PostgreSQL always. No queue runs here: a retried message waits for a server. Each call is
 * one transaction, so a killed command leaves no half change. */
#include "base/limits.h"
#include "cli/command_store.h"
#include "cli/dlq/command.h"
#include "qstash/qstash.h"
#include "server/command_executor.h"
#include "server/dead_kinds.h"
#include "server/seal_audit.h"

#include <stdlib.h>
#include <unistd.h>

struct dlq_local_local {
    struct dlq_source source;
    struct node *node;
    struct command_executor executor;
    bool wrote;
    struct dead_letters letters;
    struct dead_kind kinds[DEAD_KINDS];
    struct qstash qstash; /* for its dead letters; nothing is delivered here */
};

struct dlq_local_reading {
    struct arena *arena;
    const struct dead_letters *letters;
    const struct dead_filter *filter;
    const struct dead_cursor *cursor;
    int limit;
    struct uuid id;
    struct dead_groups groups;
    struct str json;
};

static enum err dlq_local_run(struct dlq_local_local *l, enum unit_class where,
                              enum err (*work)(struct tx *, void *), void *ctx)
{
    enum err e = command_executor_retry(&l->executor, l->node->store, where, work, ctx);

    l->wrote |= where != UNIT_READ;
    if (e)
        why_set(&l->source.why, "%s", err_words(e, LANG_EN));
    return e;
}

static enum err read_page(struct tx *tx, void *ctx)
{
    struct dlq_local_reading *g = ctx;

    return dead_page(tx, g->arena, g->filter, g->cursor, g->limit, &g->json);
}

static enum err local_page(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                           struct str cursor, int limit, struct str *ret_json)
{
    struct dlq_local_local *l = CONTAINER_OF(s, struct dlq_local_local, source);
    struct dead_cursor from;
    struct dlq_local_reading g = { .arena = a, .filter = f, .limit = limit };
    enum err e;

    if (cursor.n && dead_cursor_read(cursor, &from))
        g.cursor = &from;
    e = dlq_local_run(l, UNIT_READ, read_page, &g);
    *ret_json = g.json;
    return e;
}

static enum err read_one(struct tx *tx, void *ctx)
{
    struct dlq_local_reading *g = ctx;

    return dead_show(tx, g->arena, g->letters, g->id, &g->json);
}

static enum err local_show(struct dlq_source *s, struct arena *a, struct uuid id,
                           struct str *ret_json)
{
    struct dlq_local_local *l = CONTAINER_OF(s, struct dlq_local_local, source);
    struct dlq_local_reading g = { .arena = a, .letters = &l->letters, .id = id };
    enum err e = dlq_local_run(l, UNIT_READ, read_one, &g);

    *ret_json = g.json;
    return e;
}

static enum err dlq_local_step(struct tx *tx, void *ctx)
{
    return dead_act_step(tx, ctx);
}

static struct dead_act act_of(const struct dlq_local_local *l, const struct dlq_options *options,
                              const struct dlq_span *span)
{
    struct dead_act act = { .letters = &l->letters,
                            .verb = options->verb == DLQ_RETRY ? DEAD_RETRY : DEAD_DELETE,
                            .dry_run = span->dry_run,
                            .filter = options->filter,
                            .limit = span->limit,
                            .by = "the command line" };

    if (options->id_count) {
        act.ids = options->ids + span->first_id;
        act.id_count = span->id_count;
    }
    if (span->cursor.n)
        act.has_cursor = dead_cursor_read(span->cursor, &act.cursor);
    return act;
}

static enum err local_act(struct dlq_source *s, struct arena *a, const struct dlq_options *options,
                          const struct dlq_span *span, struct str *ret_json)
{
    struct dlq_local_local *l = CONTAINER_OF(s, struct dlq_local_local, source);
    struct dead_act act = act_of(l, options, span);
    enum err e = dead_act_begin(&act, a);

    if (e)
        return e;
    while (dead_act_took(
        &act, dlq_local_run(l, act.dry_run ? UNIT_READ : UNIT_BACK, dlq_local_step, &act)))
        ;
    if (act.err)
        return act.err;
    *ret_json = dead_act_json(&act, a);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

static enum err read_groups(struct tx *tx, void *ctx)
{
    struct dlq_local_reading *g = ctx;

    return dead_groups_page(tx, g->arena, &g->groups, &g->json);
}

static enum err local_groups(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                             struct str cursor, int limit, struct str *ret_json)
{
    struct dlq_local_local *l = CONTAINER_OF(s, struct dlq_local_local, source);
    struct dlq_local_reading g = {
        .arena = a,
        .groups = { .kind = f->kind, .from_ms = f->from_ms, .to_ms = f->to_ms, .limit = limit }
    };
    enum err e;

    if (cursor.n && !dead_groups_cursor(a, cursor, &g.groups))
        return ERR_INTERNAL;
    e = dlq_local_run(l, UNIT_READ, read_groups, &g);
    *ret_json = g.json;
    return e;
}

static enum err local_edit(struct dlq_source *s, struct arena *a, struct uuid id, struct str text)
{
    struct dlq_local_local *l = CONTAINER_OF(s, struct dlq_local_local, source);
    struct dead_edit edit = { .body = text };
    struct dead_act act = { .letters = &l->letters,
                            .verb = DEAD_RETRY,
                            .ids = &id,
                            .id_count = 1,
                            .by = "the command line",
                            .edit = &edit };
    enum err e = dead_act_begin(&act, a);

    if (e)
        return e;
    while (dead_act_took(&act, dlq_local_run(l, UNIT_BACK, dlq_local_step, &act)))
        ;
    if (act.refused)
        why_set(&l->source.why, "%s", act.refusals[0].why);
    if (act.err || act.refused)
        return act.err ? act.err : ERR_UNPROCESSABLE;
    return act.done ? OK : ERR_NOT_FOUND;
}

static void local_free(struct dlq_source *s)
{
    struct dlq_local_local *l = CONTAINER_OF(s, struct dlq_local_local, source);

    store_hint(l->node->store);
    if (l->wrote)
        node_seal_audit(l->node);
    node_close_store(l->node);
    command_executor_release(&l->executor);
    free(l);
}

/* --- opening --- */

enum err dlq_local_open(struct node *n, struct dlq_source **ret_source, char ret_owner[ADMIN_OWNER],
                        struct why *why)
{
    static const struct dlq_source source = { .page = local_page,
                                              .show = local_show,
                                              .act = local_act,
                                              .groups = local_groups,
                                              .edit = local_edit,
                                              .free = local_free };
    struct dlq_local_local *l;
    enum err e = command_store_open(n, "ichido dlq", ret_owner, why);

    if (e)
        return e;
    l = calloc(1, sizeof(*l));
    if (!l)
        return ERR_NO_MEMORY;
    l->source = source;
    l->source.afterwards = command_store_file(n).n
                               ? "They run when the server is started: ichido serve"
                               : "A running server takes them within seconds";
    l->node = n;
    l->qstash.env = &n->env;
    command_executor_init(&l->executor);
    l->letters = (struct dead_letters){ .env = &n->env,
                                        .kinds = l->kinds,
                                        .kind_count = dead_kinds_fill(l->kinds, &l->qstash) };
    *ret_source = &l->source;
    return OK;
}
