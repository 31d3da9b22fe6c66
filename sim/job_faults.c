/* job_faults.c - wraps the real job: it fails, or kills the node, as the event's nature says. */
#include "sim/check.h"
#include "sim/events.h"
#include "sim/node.h"

struct event *sim_client_event_of(struct sim_client *c, struct str key)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(key, str_of(c->events[i].key)))
            return &c->events[i];
    return NULL;
}

enum err sim_kill_node_in_job(struct sim_node *n)
{
    n->job_crash = true;
    disk_die(n->sim->disk);
    return ERR_INTERNAL;
}

static enum err fault_of_event(struct sim_node *n, const struct event *e, const struct message *m,
                               struct why *why)
{
    switch (e->nature) {
    case FAILS: why_set(why, "sabotage"); return ERR_VALIDATION;
    case FAILS_FIRST: return m->attempt <= e->fails ? ERR_UNAVAILABLE : OK;
    case FAILS_ALWAYS: return ERR_TIMEOUT;
    case KILLS: return sim_kill_node_in_job(n);
    case KILLS_ONCE: return m->attempt == 1 ? sim_kill_node_in_job(n) : OK;
    case PLAIN:
    case UNKNOWN_TYPE:
    case UNREADABLE:
    case NATURES: return OK;
    }
    return OK;
}

static enum err faulty_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct sim_node *n = ctx;
    struct event *e = sim_client_event_of(n->sim->client, m->ref);
    enum err failed;

    if (!e) {
        sim_fail(n->sim, "a job for an event that nobody sent");
        return ERR_INTERNAL;
    }
    SIM_TRACE(n->sim, "node %d runs %s, attempt %lld", n->index, e->id, (long long)m->attempt);
    if (m->attempt > SIM_RETRIES + 1)
        sim_fail(n->sim, "%s runs beyond its budget", e->id);
    failed = fault_of_event(n, e, m, why);
    if (failed)
        return failed;
    check_ran(n->sim->check, m);
    return n->real.run(tx, m, n->real.ctx, why);
}

static enum err faulty_run_many(struct tx *tx, const struct message *const *m, size_t count,
                                void *ctx)
{
    struct sim_node *n = ctx;

    for (size_t i = 0; i < count; i++) {
        const struct event *e = sim_client_event_of(n->sim->client, m[i]->ref);

        if (!e || e->nature >= FAILS)
            return ERR_INTERNAL; /* each alone, then */
    }
    SIM_TRACE(n->sim, "node %d runs %zu at once", n->index, count);
    for (size_t i = 0; i < count; i++)
        check_ran(n->sim->check, m[i]);
    return n->real.run_many(tx, m, count, n->real.ctx);
}

static enum err faulty_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct sim_node *n = ctx;

    return n->real.buried(tx, m, n->real.ctx, why);
}

static enum mark mark_of_death(const struct event *e, const struct message *m)
{
    if (e->nature == KILLS)
        return MARK_DEAD_POISON;
    return m->attempt > SIM_RETRIES ? MARK_DEAD_BUDGET : MARK_DEAD_TERMINAL;
}

static void faulty_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                         const char *why)
{
    struct sim_node *n = ctx;
    struct event *e = sim_client_event_of(n->sim->client, m->ref);

    if (e && end == JOB_DEAD)
        sim_mark(n->sim, mark_of_death(e, m));
    if (n->real.ended)
        n->real.ended(env, n->real.ctx, m, end, why);
}

struct job_kind sim_client_job_kind(struct sim_client *c, struct sim_node *n)
{
    struct job_kind k = n->real;

    (void)c;
    k.ctx = n;
    k.run = faulty_run;
    k.run_many = n->real.run_many ? faulty_run_many : NULL;
    k.buried = n->real.buried ? faulty_buried : NULL;
    k.ended = faulty_ended;
    return k;
}
