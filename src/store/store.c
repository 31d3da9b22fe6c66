#include "store/driver.h"

#include <assert.h>
#include <stdlib.h>

enum err store_open(const struct store_options *o, struct env *env, struct store **ret_store,
                    struct why *why)
{
    if (str_starts(o->url, S("sqlite:")))
        return sqlite_store_open(o, env, ret_store, why);
    if (str_starts(o->url, S("postgres://")) || str_starts(o->url, S("postgresql://")))
        return postgres_store_open(o, env, ret_store, why);
    return why_err(why, ERR_VALIDATION, "ICHIDO_DB must begin with sqlite: or postgres://");
}

void store_post(struct store *s, struct unit *u)
{
    assert(u->kind && u->executor && u->done);
    u->posted_ms = clock_mono_ms(&s->env->clock);
    if (u->arena)
        u->mark = arena_mark(u->arena);
    s->ops->post(s, u);
}

void store_hint(struct store *s)
{
    s->ops->hint(s);
}

void store_free(struct store *s)
{
    if (s)
        s->ops->free(s);
}

struct store_health store_health(struct store *s)
{
    return s->ops->health(s);
}

void unit_begin(struct unit *u)
{
    if (u->arena)
        arena_rewind(u->arena, u->mark);
    u->err = OK;
}

static void unit_run_done(struct task *t)
{
    struct unit *u = CONTAINER_OF(t, struct unit, back);

    u->done(u);
}

void unit_complete(struct unit *u, enum err verdict)
{
    u->err = verdict;
    u->back = (struct task){ .run = unit_run_done };
    executor_post(u->executor, &u->back);
}

bool unit_expire(struct unit *u, struct env *env)
{
    if (clock_mono_ms(&env->clock) - u->posted_ms <= env_patient_ms(env, LIMIT_STORE_WAIT_MS))
        return false;
    unit_complete(u, ERR_TIMEOUT);
    return true;
}
