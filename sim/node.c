/* node.c - how a simulated node lives and dies.
 *
 * One node stands for Ichido on SQLite: the database lives and dies with it, and a crash leaves
 * what the disk kept. Two nodes stand for Ichido on PostgreSQL: each has a connection of its own to
 * one database, which survives a node, and whose own restart the nodes survive. */
#include "sim/node.h"

#include "observe/log.h"
#include "observe/metrics.h"
#include "sim/check.h"
#include "sim/client.h"
#include "sim/provider.h"
#include "store/sqlite/db.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* --- the executor: tasks and timers wait in bags --- */

static struct sim_node *node_of_executor(struct executor *h)
{
    return CONTAINER_OF(h, struct sim_node, executor);
}

static void node_post_task(struct executor *h, struct task *t)
{
    struct sim_node *n = node_of_executor(h);

    if (bag_has(&n->tasks, t))
        sim_fail(n->sim, "a task was posted twice");
    bag_add(&n->tasks, t);
}

static void node_arm_timer(struct executor *h, struct timer *t, int64_t due_ms)
{
    struct sim_node *n = node_of_executor(h);

    bag_drop(&n->timers, t);
    t->due_ms = due_ms;
    if (due_ms != CLOCK_NEVER)
        bag_add(&n->timers, t);
}

static const struct executor_ops node_executor_ops = { .post = node_post_task,
                                                       .arm = node_arm_timer };

/* --- the store: units wait in bags until the seed makes a batch of them --- */

static struct sim_node *node_of_store(struct store *s)
{
    return CONTAINER_OF(s, struct sim_node, store);
}

static void node_post_unit(struct store *s, struct unit *u)
{
    struct sim_node *n = node_of_store(s);

    n->posted++;
    bag_add(&n->waiting[u->kind->where], u);
}

static void hint_others(struct store *s)
{
    struct sim_node *n = node_of_store(s);

    for (int i = 0; i < n->sim->node_count; i++)
        if (n->sim->nodes[i] != n)
            n->sim->nodes[i]->hinted = true;
}

static void node_store_free(struct store *s)
{
    (void)s;
}

static struct store_health node_store_health(struct store *s)
{
    struct sim_node *n = node_of_store(s);

    return (struct store_health){ .writable = true,
                                  .commits = n->commits,
                                  .many_nodes = n->sim->node_count > 1 };
}

static const struct store_ops store_ops = {
    .post = node_post_unit,
    .hint = hint_others,
    .free = node_store_free,
    .health = node_store_health,
};

/* --- life --- */

static int64_t virtual_wall(const struct clock *c)
{
    const struct sim *s = CONTAINER_OF(c, struct sim_node, env.clock)->sim;

    return s->wall_ms + s->calendar_ms;
}

static int64_t virtual_mono(const struct clock *c)
{
    return CONTAINER_OF(c, struct sim_node, env.clock)->sim->mono_us;
}

static void make_env(struct sim_node *n)
{
    struct log *log = n->env.log;
    struct metrics *metrics = n->env.metrics;

    n->sim->calendar_ms = 0; /* a machine that starts reads the right time */
    n->env = (struct env){
        .clock = { .wall_ms = virtual_wall, .mono_us = virtual_mono },
        .log = log,
        .metrics = metrics,
    };
    rng_init_seeded(&n->env.rng, rng_u64(&n->sim->rng));
    n->env.node = env_uuid(&n->env);
}

struct sim_node *sim_node_new(struct sim *s, int index)
{
    struct sim_node *n = calloc(1, sizeof(*n));

    if (!n)
        abort();
    n->sim = s;
    n->index = index;
    n->env.log = log_new(&n->env.clock, -1, LOG_ERROR, false);
    n->env.metrics = metrics_new();
    n->executor.ops = &node_executor_ops;
    return n;
}

void sim_node_give_up(struct sim_node *n, enum err e)
{
    for (size_t i = 0; n->running && i < n->running->n; i++)
        if (!bag_has(&n->tasks, &n->running->units[i]->back)) /* told by an earlier commit of it */
            unit_complete(n->running->units[i], e);
    n->running = NULL;
}

/* As a crash does: nothing is finished and no verdict is returned. */
static void forget_all(struct sim_node *n)
{
    n->tasks.n = n->timers.n = 0;
    for (int i = 0; i <= UNIT_READ; i++)
        n->waiting[i].n = 0;
    n->running = NULL;
    n->hinted = n->stopping = n->stopped = n->job_crash = n->counted = n->up = false;
    queue_free(n->queue);
    n->queue = NULL;
    sim_client_node_died(n->sim->client, n);
}

void sim_node_free(struct sim_node *n)
{
    if (!n)
        return;
    forget_all(n);
    sqlite_db_abandon(n->db);
    log_free(n->env.log);
    metrics_free(n->env.metrics);
    free(n->tasks.p);
    free(n->timers.p);
    for (int i = 0; i <= UNIT_READ; i++)
        free(n->waiting[i].p);
    free(n);
}

static bool open_database(struct sim_node *n)
{
    struct sqlite_options o = { .path = "ichido.db",
                                .vfs = disk_vfs(n->sim->disk),
                                .cache_kb = n->sim->plan.cache_kb };
    struct why why = { 0 };

    if (sqlite_db_open(&o, &n->env, &n->db, &why) == OK && sqlite_db_migrate(n->db, &why) == OK)
        return true;
    sqlite_db_abandon(n->db);
    n->db = NULL;
    if (!disk_is_dead(n->sim->disk))
        sim_fail(n->sim, "node %d cannot open its database: %s", n->index, why.text);
    return false;
}

static void start_runner(struct sim_node *n)
{
    struct queue_options o = {
        .store = &n->store,
        .executor = &n->executor,
        .env = &n->env,
        .kinds = n->kinds,
        .kind_count = COUNT(n->kinds),
    };

    n->real = apply_event_kind(&n->apply, SIM_RETRIES, SIM_RETRY_FIRST_MS);
    n->kinds[0] = sim_client_job_kind(n->sim->client, n);
    n->kinds[1] = provider_job_kind(n);
    n->queue = queue_new_runner(&o);
    assert(n->queue);
    queue_start(n->queue);
}

void sim_node_boot(struct sim_node *n)
{
    struct sim *s = n->sim;

    n->born++;
    make_env(n);
    n->store = (struct store){ .ops = &store_ops, .env = &n->env };
    if (n->born > 1 && sim_chance(s, s->plan.crash_boot))
        disk_die_in(s->disk, 1 + (int64_t)sim_below(s, 3));
    SIM_TRACE(s, "node %d starts, life %lld", n->index, (long long)n->born);
    if (!open_database(n)) {
        sim_mark(s, MARK_CRASH_BOOT);
        sim_node_crash(n, "while it started");
        return;
    }
    disk_die_in(s->disk, 0);
    check_commit(s->check);
    n->up = true;
    if (n->born > 1)
        sim_mark(s, MARK_RESTART);
    start_runner(n);
    if (sim_chance(s, s->plan.crash_again))
        sim_node_crash(n, "right behind its start");
}

/* --- death --- */

static void disk_goes_down(struct sim *s)
{
    check_close(s->check);
    if (s->plan.power && sim_below(s, s->plan.power) == 0) {
        SIM_TRACE(s, "power cut");
        sim_mark(s, MARK_CRASH_POWER);
        disk_crash(s->disk);
    } else {
        sim_mark(s, MARK_CRASH_PROCESS);
        disk_process_crash(s->disk);
    }
}

static void mark_what_is_lost(struct sim_node *n)
{
    if (n->waiting[UNIT_FRONT].n || n->waiting[UNIT_BACK].n)
        sim_mark(n->sim, MARK_CRASH_WAITING);
    if (n->tasks.n)
        sim_mark(n->sim, MARK_CRASH_UNANSWERED);
    if (provider_has_calls_of(n->sim->provider, n))
        sim_mark(n->sim, MARK_CRASH_OUTSIDE);
    if (provider_has_unsettled(n->sim->provider, n))
        sim_mark(n->sim, MARK_CRASH_UNSETTLED);
    if (check_holds_lease(n->sim->check, n->env.node))
        sim_mark(n->sim, MARK_CRASH_LEASED);
}

void sim_node_crash(struct sim_node *n, const char *why)
{
    struct sim *s = n->sim;

    SIM_TRACE(s, "node %d crashes %s", n->index, why);
    s->disturbed++;
    mark_what_is_lost(n);
    forget_all(n);
    if (s->node_count > 1)
        disk_die(s->disk); /* closing must not finish what the node could not */
    sqlite_db_abandon(n->db);
    n->db = NULL;
    if (s->node_count > 1) {
        disk_forget_unsynced(s->disk); /* the server rolls back the transactions of a lost client */
        check_commit(s->check);
    } else {
        disk_goes_down(s);
    }
    check_after_crash(s->check);
}

static void has_stopped(void *ctx)
{
    struct sim_node *n = ctx;

    n->stopped = true;
    if (provider_has_calls_of(n->sim->provider, n))
        sim_fail(n->sim, "node %d has stopped with a call under way", n->index);
    SIM_TRACE(n->sim, "node %d has stopped", n->index);
    sim_mark(n->sim, MARK_STOP);
}

void sim_node_stop(struct sim_node *n)
{
    SIM_TRACE(n->sim, "node %d is told to stop", n->index);
    n->stopping = true;
    queue_stop(n->queue, has_stopped, n);
}

/* The rest of a graceful end, once the runner is at rest. Requests that the client still waits for
 * are dropped, as if their answers had been lost. */
void sim_node_leave(struct sim_node *n)
{
    forget_all(n);
    check_close(n->sim->check);
    sqlite_db_close(n->db);
    n->db = NULL;
}

bool sim_database_restart(struct sim_node *n)
{
    struct sim *s = n->sim;

    SIM_TRACE(s, "the shared database restarts");
    sim_mark(s, MARK_DATABASE_RESTART);
    for (int i = 0; i < s->node_count; i++) {
        sqlite_db_abandon(s->nodes[i]->db);
        s->nodes[i]->db = NULL;
    }
    disk_goes_down(s);
    for (int i = 0; i < s->node_count; i++)
        if (s->nodes[i]->up)
            open_database(s->nodes[i]);
    check_after_crash(s->check);
    return check_commit(s->check);
}
