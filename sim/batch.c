/* batch.c - a simulated node's turn: a task, a timer, or a commit whose border the seed decides. */
#include "base/limits.h"
#include "sim/check.h"
#include "sim/node.h"
#include "store/sqlite/db.h"

#include <string.h>

bool sim_node_can_commit(const struct sim_node *n)
{
    return n->waiting[UNIT_FRONT].n || n->waiting[UNIT_BACK].n;
}

int64_t sim_node_next_timer(const struct sim_node *n)
{
    int64_t next = CLOCK_NEVER;

    for (size_t i = 0; i < n->timers.n; i++) {
        const struct timer *t = n->timers.p[i];

        if (t->due_ms < next)
            next = t->due_ms;
    }
    return next;
}

bool sim_node_can_fire(const struct sim_node *n)
{
    return sim_node_next_timer(n) <= n->sim->wall_ms;
}

/* Tasks come from several threads, so any of them may be the next. */
void sim_node_run_task(struct sim_node *n)
{
    struct task *t = bag_take(&n->tasks, sim_below(n->sim, n->tasks.n));

    t->run(t);
}

void sim_node_fire(struct sim_node *n)
{
    for (size_t i = 0; i < n->timers.n; i++) {
        struct timer *t = n->timers.p[i];

        if (t->due_ms > n->sim->wall_ms)
            continue;
        bag_take(&n->timers, i);
        t->due_ms = CLOCK_NEVER;
        SIM_TRACE(n->sim, "node %d timer", n->index);
        t->fire(t);
        return;
    }
}

void sim_node_take_hint(struct sim_node *n)
{
    n->hinted = false;
    if (sim_chance(n->sim, 3))
        return; /* a hint may be lost */
    SIM_TRACE(n->sim, "node %d is hinted", n->index);
    queue_wake(n->queue);
}

/* One writer takes units as they came; the connections of a pool overtake each other. */
static struct unit *next_unit(struct sim_node *n, enum unit_class where)
{
    size_t at = n->sim->node_count > 1 ? sim_below(n->sim, n->waiting[where].n) : 0;

    return bag_take(&n->waiting[where], at);
}

static void choose(struct sim_node *n, enum unit_class where, size_t most, struct chosen *b)
{
    for (size_t i = 0; i < most && n->waiting[where].n; i++) {
        struct unit *u = next_unit(n, where);

        if (unit_expire(u, &n->env))
            sim_mark(n->sim, MARK_UNIT_TIMEOUT);
        else
            b->units[b->n++] = u;
    }
}

static void choose_batch(struct sim_node *n, struct chosen *b)
{
    uint64_t most = (uint64_t)n->sim->plan.batch_max;

    choose(n, UNIT_FRONT, sim_below(n->sim, most + 1), b);
    b->front = b->n;
    choose(n, UNIT_BACK, sim_below(n->sim, most + 1), b);
    if (b->n > 1)
        sim_mark(n->sim, MARK_BATCH);
    if (b->front && b->front < b->n)
        sim_mark(n->sim, MARK_BATCH_MIXED);
}

static void arm_faults(struct sim *s)
{
    if (sim_chance(s, s->plan.crash_batch))
        disk_die_in(s->disk, 1 + (int64_t)sim_below(s, 30));
    else if (sim_chance(s, s->plan.sync_fails))
        disk_fail_sync_in(s->disk, 1);
    else if (sim_chance(s, s->plan.full))
        disk_full_for(s->disk, 1 + (int64_t)sim_below(s, 8));
}

static void disarm_faults(struct sim *s)
{
    disk_die_in(s->disk, 0);
    disk_fail_sync_in(s->disk, 0);
    disk_full_for(s->disk, 0);
}

/* Two nodes: the database fails while the nodes live on. PostgreSQL's driver would ask what became of
 * the commit; here it never learns that. */
static void lose_database(struct sim_node *n, bool answered)
{
    bool done = sim_database_restart(n);

    if (answered)
        return;
    sim_mark(n->sim, done ? MARK_UNCERTAIN_DONE : MARK_UNCERTAIN_NOT_DONE);
    sim_node_give_up(n, ERR_UNCERTAIN);
}

static void after_broken_disk(struct sim_node *n, enum err e, bool sync_failed)
{
    struct sim *s = n->sim;
    bool answered = e != ERR_UNCERTAIN && e != ERR_INTERNAL;

    if (e == OK && !n->job_crash)
        sim_fail(s, "a commit was told OK though the disk had failed under it");
    if (sync_failed) {
        sim_mark(s, MARK_SYNC_FAILED);
        if (e != ERR_UNCERTAIN)
            sim_fail(s, "a failed fsync was answered with %s", err_code(e));
    }
    if (s->node_count > 1 && !n->job_crash && sim_below(s, 2)) {
        lose_database(n, answered);
        return;
    }
    sim_mark(s, n->job_crash ? MARK_CRASH_IN_JOB : MARK_CRASH_IN_BATCH);
    sim_node_crash(n, n->job_crash ? "in a job" : "in a commit");
}

static bool has_started(const struct chosen *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->units[i]->kind->name, "queue.start") == 0 && !b->units[i]->err)
            return true;
    return false;
}

/* Alone on its database a runner frees the leases of its earlier lives at once (M8), and knows
 * exactly how many messages live (W3 rests on it). */
static void check_alone(struct sim_node *n, const struct chosen *b)
{
    bool started = has_started(b);

    if (n->sim->node_count > 1)
        return;
    if (started && check_other_lease(n->sim->check, n->env.node))
        sim_fail(n->sim, "a lease of an earlier life was not freed at the start");
    n->counted |= started;
    if (n->counted && queue_live(n->queue) != (int64_t)check_live(n->sim->check))
        sim_fail(n->sim, "the runner thinks that %lld messages live; there are %zu",
                 (long long)queue_live(n->queue), check_live(n->sim->check));
}

static bool any_is_fine(const struct chosen *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (!b->units[i]->err)
            return true;
    return false;
}

/* A batch may become several commits (a unit that broke it gets one of its own), and its result is
 * that of the worst. So the units' own verdicts are checked. */
static void after_commit(struct sim_node *n, enum err e, bool was_full)
{
    struct sim *s = n->sim;
    bool changed = check_commit(s->check);

    n->commits++;
    if (e == ERR_STORE_FULL && was_full)
        sim_mark(s, MARK_DISK_FULL);
    else if (e)
        sim_fail(s, "a batch failed with %s: %s", err_code(e), sqlite_db_error(n->db));
    if (changed && !any_is_fine(n->running))
        sim_fail(s, "a batch that failed with %s left something behind", err_code(e));
    check_alone(n, n->running);
    for (int i = 0; changed && i < s->node_count; i++)
        if (!s->nodes[i]->up)
            sim_mark(s, MARK_ONE_DOWN);
}

void sim_node_commit(struct sim_node *n)
{
    struct sim *s = n->sim;
    struct disk_counts before = disk_counts(s->disk), after;
    struct chosen b = { .n = 0 };
    enum err e;

    choose_batch(n, &b);
    if (!b.n)
        return;
    for (size_t i = 0; i < b.n; i++)
        SIM_TRACE(s, "  with %s", b.units[i]->kind->name);
    arm_faults(s);
    check_begin(s->check, n);
    n->running = &b;
    e = sqlite_db_run(n->db, b.units, b.n);
    after = disk_counts(s->disk);
    SIM_TRACE(s, "node %d commit of %zu + %zu: %s", n->index, b.front, b.n - b.front, err_code(e));
    if (disk_is_dead(s->disk))
        after_broken_disk(n, e, after.sync_failed > before.sync_failed);
    else
        after_commit(n, e, after.full > before.full);
    n->running = NULL;
    disarm_faults(s);
}

void sim_node_read(struct sim_node *n)
{
    struct unit *u = bag_take(&n->waiting[UNIT_READ], sim_below(n->sim, n->waiting[UNIT_READ].n));

    SIM_TRACE(n->sim, "node %d reads", n->index);
    sqlite_db_read(n->db, u);
}

void sim_node_refuse(struct sim_node *n)
{
    enum unit_class where = n->waiting[UNIT_FRONT].n ? UNIT_FRONT : UNIT_BACK;
    enum err e = sim_below(n->sim, 2) ? ERR_UNAVAILABLE : ERR_OVERLOADED;

    SIM_TRACE(n->sim, "node %d refuses a unit: %s", n->index, err_code(e));
    sim_mark(n->sim, MARK_UNIT_FAILED);
    unit_complete(next_unit(n, where), e);
}

void sim_node_checkpoint(struct sim_node *n)
{
    struct sim *s = n->sim;
    enum err e;

    if (sim_chance(s, s->plan.crash_checkpoint))
        disk_die_in(s->disk, 1 + (int64_t)sim_below(s, 30));
    e = sqlite_db_checkpoint(n->db);
    SIM_TRACE(s, "node %d checkpoint: %s", n->index, err_code(e));
    if (disk_is_dead(s->disk)) {
        sim_mark(s, MARK_CRASH_CHECKPOINT);
        sim_node_crash(n, "in a checkpoint");
    } else if (e == OK) {
        sim_mark(s, MARK_CHECKPOINT);
    } else {
        sim_fail(s, "a checkpoint failed with %s", err_code(e));
    }
    disarm_faults(s);
}
