/* local.c - the source of operators that works on the database: SQLite's file where no server has
 * it, PostgreSQL always. Each change is one transaction. */
#include "admin/access/operators.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "cli/command_store.h"
#include "cli/operators/command.h"
#include "server/command_executor.h"
#include "server/seal_audit.h"

#include <stdlib.h>

enum { LIST_MAX = 1024 * 1024 };

struct operators_local_local {
    struct operators_source source;
    struct node *node;
    struct command_executor executor;
    bool wrote;
};

struct operators_local_work {
    struct operators_local_local *local;
    struct arena *arena;
    const struct operators_order *order;
    struct person person;
    char password[PASSWORD_TEXT + 1];
    struct str json;
};

static const struct operator_by by = { .words = "the command line" };

static enum err operators_local_show(struct operators_local_work *w)
{
    struct buf b;

    buf_init(&b, LIST_MAX);
    operator_json(&b, &w->person);
    w->json = out_done(&b, w->arena);
    return w->json.p ? OK : ERR_NO_MEMORY;
}

/* --- all of them --- */

static enum err read_all(struct tx *tx, void *ctx)
{
    struct operators_local_work *w = ctx;
    struct person *all = arena_alloc(w->arena, LIMIT_OPERATORS, sizeof(*all));
    size_t count = 0;
    struct buf b;
    enum err e =
        all ? operators_page(tx, w->arena, (struct uuid){ 0 }, LIMIT_OPERATORS, all, &count)
            : ERR_NO_MEMORY;

    if (e)
        return e;
    buf_init(&b, LIST_MAX);
    buf_add(&b, S("{\"data\":["));
    for (size_t i = 0; i < count; i++) {
        buf_add(&b, i ? S(",") : S(""));
        operator_json(&b, &all[i]);
    }
    buf_add(&b, S("],\"nextCursor\":null}"));
    w->json = out_done(&b, w->arena);
    return w->json.p ? OK : ERR_NO_MEMORY;
}

static enum err local_page(struct operators_source *s, struct arena *a, struct str cursor,
                           struct str *ret_json)
{
    struct operators_local_local *l = CONTAINER_OF(s, struct operators_local_local, source);
    struct operators_local_work w = { .local = l, .arena = a };
    enum err e = command_executor_run(&l->executor, l->node->store, UNIT_READ, read_all, &w);

    (void)cursor; /* one page has them all */
    *ret_json = w.json;
    return e;
}

/* --- one of them --- */

/* Hashes before the transaction, because hashing takes a while. */
static bool operators_local_hash(struct operators_local_work *w)
{
    return !w->order->password.n ||
           password_hash(w->order->password, &w->local->node->env.rng, w->password);
}

static enum err operators_local_add(struct tx *tx, void *ctx)
{
    struct operators_local_work *w = ctx;
    enum err e = operator_add(tx, &w->person, &by);

    return e ? e : operators_local_show(w);
}

static enum err local_add(struct operators_source *s, struct arena *a,
                          const struct operators_order *o, struct str *ret_json)
{
    struct operators_local_local *l = CONTAINER_OF(s, struct operators_local_local, source);
    struct operators_local_work w = { .local = l, .arena = a, .order = o };
    enum err e;

    if (!operators_local_hash(&w))
        return ERR_NO_MEMORY;
    w.person = (struct person){ .id = env_uuid(&l->node->env),
                                .name = o->name,
                                .viewer = o->viewer,
                                .password = str_of(w.password),
                                .created_ms = env_now_ms(&l->node->env) };
    e = command_executor_run(&l->executor, l->node->store, UNIT_FRONT, operators_local_add, &w);
    l->wrote |= !e;
    *ret_json = w.json;
    return e;
}

static enum err operators_local_change(struct tx *tx, void *ctx)
{
    struct operators_local_work *w = ctx;
    const struct operators_order *o = w->order;
    struct operator_change c = { .has_role = o->has_role,
                                 .viewer = o->viewer,
                                 .has_disabled = o->has_disabled,
                                 .disabled = o->disabled,
                                 .password = str_of(w->password) };
    enum err e = operator_find(tx, w->arena, o->name, &w->person);

    if (!e)
        e = operator_change(tx, w->arena, w->person.id, &c, &by, env_now_ms(&w->local->node->env),
                            &w->person);
    return e ? e : operators_local_show(w);
}

static enum err local_change(struct operators_source *s, struct arena *a,
                             const struct operators_order *o, struct str *ret_json)
{
    struct operators_local_local *l = CONTAINER_OF(s, struct operators_local_local, source);
    struct operators_local_work w = { .local = l, .arena = a, .order = o };
    enum err e = operators_local_hash(&w)
                     ? command_executor_run(&l->executor, l->node->store, UNIT_FRONT,
                                            operators_local_change, &w)
                     : ERR_NO_MEMORY;

    l->wrote |= !e;
    *ret_json = w.json;
    return e;
}

static void local_free(struct operators_source *s)
{
    struct operators_local_local *l = CONTAINER_OF(s, struct operators_local_local, source);

    if (l->wrote)
        node_seal_audit(l->node);
    node_close_store(l->node);
    command_executor_release(&l->executor);
    free(l);
}

/* --- opening --- */

enum err operators_local_open(struct node *n, struct operators_source **ret_source,
                              char ret_owner[ADMIN_OWNER], struct why *why)
{
    static const struct operators_source source = {
        .page = local_page, .add = local_add, .change = local_change, .free = local_free
    };
    struct operators_local_local *l;
    enum err e = command_store_open(n, "ichido operators", ret_owner, why);

    if (e)
        return e;
    l = calloc(1, sizeof(*l));
    if (!l)
        return ERR_NO_MEMORY;
    l->source = source;
    l->node = n;
    command_executor_init(&l->executor);
    *ret_source = &l->source;
    return OK;
}
