/* sim.c - the world's steps.
 *
 *   (1) At each step the seed picks one of the things that could happen next; between steps it may
 *       cause a fault.
 *   (2) After plan.fault_steps there are no faults any more, and everything that was sent must end
 *       within a bound of steps and virtual time.
 *   (3) At rest, a single node sends its database nothing. */
#include "sim/sim.h"

#include "base/limits.h"
#include "observe/metrics.h"
#include "sim/check.h"
#include "sim/client.h"
#include "sim/node.h"
#include "sim/provider.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SMALL_CACHE_KB = 8,
    JUMP_MS = 30 * 1000,
    MONO_START_US = 1000 * 1000,
    WALL_START_S = 1760000000,
    REST_STEPS = 60 * 1000,   /* to come to rest, at most */
    REST_MS = 120 * 1000,     /* the same in virtual time ... */
    REST_MS_EACH = 60 * 1000, /* ... and in addition for each event that is meant to fail */
    IDLE_MS = 60 * 60 * 1000, /* how long the idle check lasts */
    IDLE_MS_MANY = 60 * 1000, /* the same for two nodes, with one query in LIMIT_POLL_MS ... */
    IDLE_EXTRA = 4,           /* ... and so many more, for recounts */
    IDLE_STRIDE_MS = 60 * 1000,
    SETTLE_MS = 15 * 1000, /* until a node whose lease was taken over has noticed it */
};

uint64_t sim_below(struct sim *s, uint64_t bound)
{
    return rng_below(&s->rng, bound);
}

bool sim_chance(struct sim *s, uint64_t one_in)
{
    if (s->quiet || !one_in || sim_below(s, one_in) != 0)
        return false;
    s->disturbed++;
    return true;
}

void sim_mark(struct sim *s, enum mark m)
{
    s->marks->n[m]++;
}

void sim_fail(struct sim *s, const char *format, ...)
{
    va_list args;

    if (s->failed)
        return;
    s->failed = true;
    va_start(args, format);
    vsnprintf(s->violation, sizeof(s->violation), format, args);
    va_end(args);
    SIM_TRACE(s, "VIOLATION: %s", s->violation);
}

/* --- the plan --- */

static uint64_t some(struct sim *s, uint64_t least, uint64_t most)
{
    return sim_below(s, 2) ? least + sim_below(s, most - least + 1) : 0;
}

static struct plan draw_plan(struct sim *s)
{
    struct plan p = {
        .nodes = 1 + (int)sim_below(s, 2),
        .events = 4 + (int)sim_below(s, 40),
        .lanes = 1 + (int)sim_below(s, 6),
        .fault_steps = 100 + (int)sim_below(s, 600),
        .batch_max = 1 << sim_below(s, 7),
        .cache_kb = sim_below(s, 3) ? 0 : SMALL_CACHE_KB,
        .crash = some(s, 30, 400),
        .crash_batch = some(s, 6, 60),
        .crash_boot = some(s, 2, 5),
        .crash_again = some(s, 3, 9),
        .crash_checkpoint = some(s, 3, 10),
        .sync_fails = some(s, 10, 100),
        .full = some(s, 5, 50),
        .refuse = some(s, 20, 200),
        .clock_jump = some(s, 30, 300),
        .stop = some(s, 50, 500),
        .checkpoint = some(s, 10, 100),
        .ack_lost = some(s, 3, 20),
        .power = 1 + sim_below(s, 3),
        .duplicate = some(s, 2, 8),
        .special = some(s, 2, 8),
        .order = some(s, 1, 6),
        .puts_off = some(s, 2, 6),
        .request_lost = some(s, 3, 20),
        .answer_lost = some(s, 3, 20),
        .unadopted = some(s, 2, 10),
    };

    return p;
}

/* --- time --- */

static void pass(struct sim *s, int64_t ms)
{
    s->wall_ms += ms;
    s->mono_us += ms * 1000;
}

static int64_t next_timer(struct sim *s)
{
    int64_t next = CLOCK_NEVER;

    for (int i = 0; i < s->node_count; i++) {
        int64_t due = s->nodes[i]->up ? sim_node_next_timer(s->nodes[i]) : CLOCK_NEVER;

        next = due < next ? due : next;
    }
    return next;
}

static void let_time_pass(struct sim *s)
{
    int64_t next = next_timer(s), ms = 1 + (int64_t)sim_below(s, 40);
    uint64_t mood = sim_below(s, 8);

    if (s->quiet)
        ms = next == CLOCK_NEVER ? IDLE_STRIDE_MS : next > s->wall_ms ? next - s->wall_ms : 1;
    else if (mood == 0)
        ms = (int64_t)sim_below(s, LIMIT_LEASE_MS + 2000);
    else if (mood < 4 && next != CLOCK_NEVER && next > s->wall_ms)
        ms = next - s->wall_ms;
    pass(s, ms);
    SIM_TRACE(s, "%lld ms pass", (long long)ms);
}

/* Forward, wall time jumps: leases and retry times are suddenly nearer. Backward, only the calendar
 * is set. */
static void jump_clock(struct sim *s)
{
    int64_t ms = (int64_t)sim_below(s, JUMP_MS);

    if (sim_below(s, 2)) {
        sim_mark(s, MARK_CLOCK_FORWARD);
        s->wall_ms += ms;
        s->calendar_ms = 0;
        for (int i = 0; i < s->node_count; i++) /* before a jump back could hide it */
            (void)env_now_ms(&s->nodes[i]->env);
    } else {
        sim_mark(s, MARK_CLOCK_BACK);
        s->calendar_ms -= ms;
        ms = -ms;
    }
    SIM_TRACE(s, "the clock jumps by %lld ms", (long long)ms);
}

/* --- what could happen next --- */

enum sim_move {
    MOVE_TASK,
    MOVE_COMMIT,
    MOVE_READ,
    MOVE_TIMER,
    MOVE_HINT,
    MOVE_BOOT,
    MOVE_SEND,
    MOVE_PROVIDER,
    MOVE_TIME,
    MOVES
};

static const uint64_t weights[MOVES] = {
    [MOVE_TASK] = 8, [MOVE_COMMIT] = 6, [MOVE_READ] = 4,     [MOVE_TIMER] = 6, [MOVE_HINT] = 2,
    [MOVE_BOOT] = 2, [MOVE_SEND] = 6,   [MOVE_PROVIDER] = 4, [MOVE_TIME] = 2,
};

struct choice {
    enum sim_move move;
    struct sim_node *node;
};

struct choices {
    struct choice all[(SIM_NODES + 1) * MOVES];
    size_t n;
    uint64_t weight;
};

static void offer(struct choices *c, bool can, enum sim_move m, struct sim_node *n)
{
    if (!can)
        return;
    c->all[c->n++] = (struct choice){ m, n };
    c->weight += weights[m];
}

static void offer_node(struct choices *c, struct sim_node *n)
{
    offer(c, !n->up && !n->gone, MOVE_BOOT, n);
    if (!n->up)
        return;
    offer(c, n->tasks.n > 0, MOVE_TASK, n);
    offer(c, sim_node_can_commit(n), MOVE_COMMIT, n);
    offer(c, n->waiting[UNIT_READ].n > 0, MOVE_READ, n);
    offer(c, sim_node_can_fire(n), MOVE_TIMER, n);
    offer(c, n->hinted, MOVE_HINT, n);
}

static struct choice pick(struct sim *s, const struct choices *c)
{
    uint64_t at = sim_below(s, c->weight);
    size_t i = 0;

    while (at >= weights[c->all[i].move])
        at -= weights[c->all[i++].move];
    return c->all[i];
}

static void make_move(struct sim *s, struct choice c)
{
    switch (c.move) {
    case MOVE_TASK: sim_node_run_task(c.node); return;
    case MOVE_COMMIT: sim_node_commit(c.node); return;
    case MOVE_READ: sim_node_read(c.node); return;
    case MOVE_TIMER: sim_node_fire(c.node); return;
    case MOVE_HINT: sim_node_take_hint(c.node); return;
    case MOVE_BOOT: sim_node_boot(c.node); return;
    case MOVE_SEND: sim_client_send(s->client); return;
    case MOVE_PROVIDER: provider_answer(s->provider); return;
    case MOVE_TIME:
    case MOVES: let_time_pass(s); return;
    }
}

/* --- what may go wrong between two steps --- */

static struct sim_node *any_up(struct sim *s)
{
    int first = (int)sim_below(s, (uint64_t)s->node_count);

    for (int i = 0; i < s->node_count; i++) {
        struct sim_node *n = s->nodes[(first + i) % s->node_count];

        if (n->up)
            return n;
    }
    return NULL;
}

static void let_something_go_wrong(struct sim *s)
{
    struct sim_node *n = any_up(s);

    if (sim_chance(s, s->plan.clock_jump))
        jump_clock(s);
    if (!n)
        return;
    if (sim_chance(s, s->plan.checkpoint))
        sim_node_checkpoint(n);
    if (n->up && s->node_count > 1 && sim_node_can_commit(n) && sim_chance(s, s->plan.refuse))
        sim_node_refuse(n);
    if (n->up && !n->stopping && sim_chance(s, s->plan.stop))
        sim_node_stop(n);
    if (n->up && sim_chance(s, s->plan.crash))
        sim_node_crash(n, "between two steps");
}

static bool is_at_rest(const struct sim_node *n)
{
    return !n->tasks.n && !sim_node_can_commit(n) && !n->waiting[UNIT_READ].n;
}

static void let_stopped_leave(struct sim *s)
{
    for (int i = 0; i < s->node_count; i++)
        if (s->nodes[i]->stopped && is_at_rest(s->nodes[i]))
            sim_node_leave(s->nodes[i]);
}

static void step(struct sim *s)
{
    struct choices c = { .n = 0 };

    s->steps++;
    let_something_go_wrong(s);
    let_stopped_leave(s);
    for (int i = 0; i < s->node_count; i++)
        offer_node(&c, s->nodes[i]);
    offer(&c, sim_client_can_send(s->client), MOVE_SEND, NULL);
    offer(&c, provider_can_answer(s->provider), MOVE_PROVIDER, NULL);
    offer(&c, !s->quiet || !c.n, MOVE_TIME, NULL); /* in quiet, time waits for work */
    make_move(s, pick(s, &c));
}

/* --- coming to rest --- */

static bool all_is_done(struct sim *s)
{
    for (int i = 0; i < s->node_count; i++) {
        const struct sim_node *n = s->nodes[i];

        if (!n->gone && (!n->up || n->stopping || !is_at_rest(n)))
            return false;
    }
    return sim_client_is_done(s->client) && !provider_is_awaited(s->provider) &&
           check_live(s->check) == 0;
}

/* The last fault: one of two nodes never starts again. The other must find its leases and the work
 * that only it knew of. */
static void lose_one(struct sim *s)
{
    struct sim_node *n = s->nodes[sim_below(s, (uint64_t)s->node_count)];

    if (s->node_count == 1 || sim_below(s, 2))
        return;
    sim_mark(s, MARK_GONE);
    if (n->up)
        sim_node_crash(n, "for good");
    n->gone = true;
    for (int i = 0; i < s->node_count; i++)
        s->nodes[i]->hinted = false; /* hints that it sent are lost too */
}

static void come_to_rest(struct sim *s)
{
    int64_t until =
        s->mono_us / 1000 + REST_MS + (int64_t)REST_MS_EACH * sim_client_special(s->client);
    int64_t most = s->steps + REST_STEPS;
    bool lost = false;

    s->quiet = true;
    SIM_TRACE(s, "no more faults");
    while (!s->failed && !all_is_done(s)) {
        step(s);
        if (!lost && sim_client_is_done(s->client)) {
            lost = true;
            lose_one(s);
        }
        if (s->steps > most || s->mono_us / 1000 > until)
            sim_fail(s, "not at rest after %lld steps, %zu messages are left", (long long)s->steps,
                     check_live(s->check));
    }
}

static void live_until(struct sim *s, int64_t wall_ms)
{
    while (!s->failed && s->wall_ms < wall_ms)
        step(s);
}

/* An idle node sends its database nothing; with other nodes, one query in LIMIT_POLL_MS (Q11). */
static void stay_idle(struct sim *s)
{
    bool many = s->node_count > 1;
    int64_t ms = many ? IDLE_MS_MANY : IDLE_MS, posted[SIM_NODES] = { 0 };

    live_until(s, s->wall_ms + SETTLE_MS);
    for (int i = 0; i < s->node_count; i++)
        posted[i] = s->nodes[i]->posted;
    live_until(s, s->wall_ms + ms);
    for (int i = 0; i < s->node_count; i++) {
        int64_t asked = s->nodes[i]->posted - posted[i];

        if (asked > (many ? IDLE_EXTRA + ms / LIMIT_POLL_MS : 0))
            sim_fail(s, "idle node %d posted %lld units in %lld ms", i, (long long)asked,
                     (long long)ms);
    }
}

/* --- a whole seed --- */

static void open_world(struct sim *s)
{
    s->plan = draw_plan(s);
    s->node_count = s->plan.nodes;
    s->wall_ms = (int64_t)WALL_START_S * 1000;
    s->mono_us = MONO_START_US;
    s->disk = disk_new(&s->rng);
    s->check = check_new(s);
    s->client = sim_client_new(s);
    s->provider = provider_new(s);
    for (int i = 0; i < s->node_count; i++) {
        s->nodes[i] = sim_node_new(s, i);
        sim_node_boot(s->nodes[i]);
    }
}

static void close_world(struct sim *s)
{
    struct disk_counts n = disk_counts(s->disk);

    s->marks->n[MARK_WRITE_KEPT] += n.kept;
    s->marks->n[MARK_WRITE_DROPPED] += n.dropped;
    s->marks->n[MARK_WRITE_TORN] += n.torn;
    for (int i = 0; i < s->node_count; i++) {
        s->marks->n[MARK_STALE] += metrics_read(s->nodes[i]->env.metrics, COUNT_JOB, S("stale"));
        sim_node_free(s->nodes[i]);
    }
    sim_client_free(s->client);
    provider_free(s->provider);
    check_free(s->check);
    disk_free(s->disk);
}

static int64_t commits_of(const struct sim *s)
{
    int64_t n = 0;

    for (int i = 0; i < s->node_count; i++)
        n += s->nodes[i]->commits;
    return n;
}

struct sim_result sim_run(uint64_t seed, bool print, struct marks *marks)
{
    struct sim s = { .seed = seed, .marks = marks };
    struct sim_result r;

    sim_trace_init(&s.trace, print);
    rng_init_seeded(&s.rng, seed * 0x9e3779b97f4a7c15U + 1);
    open_world(&s);
    while (!s.failed && s.steps < s.plan.fault_steps)
        step(&s);
    if (!s.failed)
        come_to_rest(&s);
    if (!s.failed)
        sim_client_check_ends(s.client);
    if (!s.failed)
        stay_idle(&s);
    if (!s.failed)
        provider_check_end(s.provider);
    check_hash(s.check);
    r = (struct sim_result){ !s.failed, s.trace.hash, s.steps, commits_of(&s) };
    if (s.failed) {
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, s.violation);
        sim_trace_dump(&s.trace);
    }
    close_world(&s);
    return r;
}
