/* check.c - compares the tables before and after every commit; check.h has the invariants. It reads
 * through a connection of its own (view.c) and uses no code that it checks. */
#include "sim/check.h"

#include "queue/queue.h"
#include "sim/client.h"
#include "sim/node.h"
#include "sim/view.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_RAN = 4096, CHECK_TOOK = 512 };

struct ran {
    struct uuid id;
    int64_t attempt;
};

struct ended_message {
    struct uuid id;
};

struct check {
    struct sim *sim;
    struct view *view;
    struct snapshot last, now;
    struct uuid by; /* the node whose batch it is or was */
    int by_index;
    int64_t began_ms; /* wall time of that batch; its check may come later, behind a crash */
    struct ran ran[CHECK_RAN]; /* jobs whose effect is in the running batch */
    size_t ran_count;
    struct ran took[CHECK_TOOK]; /* and messages that were taken by their id */
    size_t took_count;
    struct ended_message *ended; /* all messages that ended */
    size_t ended_count, ended_size;
};

struct check *check_new(struct sim *s)
{
    struct check *c = calloc(1, sizeof(*c));

    if (!c)
        abort();
    c->sim = s;
    c->view = view_new();
    return c;
}

void check_free(struct check *c)
{
    if (!c)
        return;
    view_free(c->view);
    free(c->last.rows);
    free(c->now.rows);
    free(c->ended);
    free(c);
}

void check_close(struct check *c)
{
    view_close(c->view);
}

void check_begin(struct check *c, const struct sim_node *by)
{
    c->ran_count = c->took_count = 0;
    c->by = by->env.node;
    c->by_index = by->index;
    c->began_ms = c->sim->wall_ms;
}

void check_ran(struct check *c, const struct message *m)
{
    for (size_t i = 0; i < c->ran_count; i++)
        if (uuid_eq(c->ran[i].id, m->id) && c->ran[i].attempt == m->attempt)
            sim_mark(c->sim, MARK_RERUN);
    if (c->ran_count < CHECK_RAN)
        c->ran[c->ran_count++] = (struct ran){ m->id, m->attempt };
}

void check_took(struct check *c, const struct message *m)
{
    if (c->took_count < CHECK_TOOK)
        c->took[c->took_count++] = (struct ran){ m->id, m->attempt };
}

static bool was_taken(const struct check *c, const struct seen_message *m)
{
    for (size_t i = 0; i < c->took_count; i++)
        if (uuid_eq(c->took[i].id, m->id) && c->took[i].attempt == m->attempt)
            return true;
    return false;
}

static bool did_run(const struct check *c, const struct seen_message *m)
{
    for (size_t i = 0; i < c->ran_count; i++)
        if (uuid_eq(c->ran[i].id, m->id) && c->ran[i].attempt == m->attempt)
            return true;
    return false;
}

static const struct seen_message *find(const struct snapshot *s, struct uuid id)
{
    for (size_t i = 0; i < s->n; i++)
        if (uuid_eq(s->rows[i].id, id))
            return &s->rows[i];
    return NULL;
}

static bool has_ended(const struct check *c, struct uuid id)
{
    for (size_t i = 0; i < c->ended_count; i++)
        if (uuid_eq(c->ended[i].id, id))
            return true;
    return false;
}

static void remember_end(struct check *c, struct uuid id)
{
    if (c->ended_count == c->ended_size) {
        c->ended_size = c->ended_size ? c->ended_size * 2 : 64;
        c->ended = realloc(c->ended, c->ended_size * sizeof(*c->ended));
        if (!c->ended)
            abort();
    }
    c->ended[c->ended_count++].id = id;
}

static bool is_held(const struct check *c, const struct seen_message *m)
{
    return m->has_owner && uuid_eq(m->owner, c->by);
}

static bool lives(const struct sim *s, struct uuid node)
{
    for (int i = 0; i < s->node_count; i++)
        if (s->nodes[i]->up && uuid_eq(s->nodes[i]->env.node, node))
            return true;
    return false;
}

/* --- one message, before and after a commit --- */

static void check_lease(struct check *c, const struct seen_message *was,
                        const struct seen_message *is)
{
    struct sim *s = c->sim;

    if (is->attempt != was->attempt + 1)
        sim_fail(s, "message %lld: attempt went from %lld to %lld", (long long)is->seq,
                 (long long)was->attempt, (long long)is->attempt);
    /* One more than it may run, for its burial; each accident may cost another burial. */
    if (is->attempt > SIM_RETRIES + 2 + s->disturbed)
        sim_fail(s, "message %lld has attempt %lld", (long long)is->seq, (long long)is->attempt);
    /* Its own holder may give it back, due at once, and take it again in one batch. */
    if (was->due_ms > c->began_ms && !is_held(c, was) && !(was_taken(c, is) && !was->has_owner))
        sim_fail(s, "message %lld (attempt %lld) was leased %lld ms before it was due",
                 (long long)is->seq, (long long)is->attempt,
                 (long long)(was->due_ms - c->began_ms));
    if (!is_held(c, is))
        sim_fail(s, "message %lld was leased by node %d for another", (long long)is->seq,
                 c->by_index);
    if (was->has_owner && !uuid_eq(was->owner, is->owner))
        sim_mark(s, lives(s, was->owner) ? MARK_LEASE_LATE : MARK_LEASE_AGAIN);
    else if (was->has_owner)
        sim_mark(s, MARK_LEASE_LATE);
}

static void check_kept(struct check *c, const struct seen_message *was,
                       const struct seen_message *is)
{
    struct sim *s = c->sim;
    bool same_owner =
        was->has_owner == is->has_owner && (!is->has_owner || uuid_eq(was->owner, is->owner));

    if (was->seq != is->seq || was->has_lane != is->has_lane || was->lane != is->lane)
        sim_fail(s, "message %lld changed its place", (long long)was->seq);
    if (was->attempt != is->attempt) {
        check_lease(c, was, is);
        return;
    }
    if (same_owner && was->due_ms == is->due_ms)
        return;
    if (same_owner && is_held(c, was) && is->due_ms < was->due_ms)
        sim_fail(s, "node %d cut its own lease of message %lld short", c->by_index,
                 (long long)was->seq);
    if (same_owner && is_held(c, was))
        sim_mark(s, MARK_RENEWED);
    else if (!is->has_owner && is_held(c, was))
        sim_mark(s, MARK_RETRIED);
    else if (s->node_count > 1 ||
             !was->has_owner) /* alone, a new life frees the old one's leases */
        sim_fail(s, "message %lld was moved by node %d, which does not hold it",
                 (long long)was->seq, c->by_index);
}

static void check_ended(struct check *c, const struct seen_message *m)
{
    struct sim *s = c->sim;
    char outcome[32];
    bool dead;

    view_message_outcome(c->view, m->id, outcome, &dead);
    if (!dead && !outcome[0])
        sim_fail(s, "message %lld vanished without an outcome", (long long)m->seq);
    if (!dead && (!is_held(c, m) || !did_run(c, m)))
        sim_fail(s, "message %lld was finished by node %d without its lease", (long long)m->seq,
                 c->by_index);
    if (dead && outcome[0] && strcmp(outcome, "dead") != 0)
        sim_fail(s, "message %lld is dead and %s", (long long)m->seq, outcome);
    if (dead && m->has_lane)
        sim_mark(s, MARK_LANE_FREED);
    for (size_t i = 0; i < c->now.n && m->has_lane; i++)
        if (c->now.rows[i].has_lane && c->now.rows[i].lane == m->lane &&
            c->now.rows[i].seq < m->seq)
            sim_fail(s, "message %lld ended before %lld of its lane", (long long)m->seq,
                     (long long)c->now.rows[i].seq);
    remember_end(c, m->id);
}

static void check_new_message(struct check *c, const struct seen_message *m)
{
    if (has_ended(c, m->id))
        sim_fail(c->sim, "message %lld had ended and came back", (long long)m->seq);
    if (m->attempt > 1)
        sim_fail(c->sim, "message %lld is new and has attempt %lld", (long long)m->seq,
                 (long long)m->attempt);
}

/* --- all of them --- */

static void check_lanes(struct check *c)
{
    const struct snapshot *s = &c->now;

    for (size_t i = 0; i < s->n; i++) {
        bool first = true;

        for (size_t k = 0; k < i && s->rows[i].has_lane && first; k++)
            first = !s->rows[k].has_lane || s->rows[k].lane != s->rows[i].lane;
        if (s->rows[i].ready != first)
            sim_fail(c->sim, "message %lld is %sready", (long long)s->rows[i].seq,
                     first ? "the first of its lane and not " : "not the first of its lane and ");
    }
}

static void check_counts(struct check *c)
{
    struct seen_counts n = c->now.counts;
    int64_t ends = n.outcomes - n.dead_outcomes + n.dead_letters;

    if (n.events != ends + (int64_t)c->now.n)
        sim_fail(c->sim, "%lld events, but %lld outcomes (%lld dead), %lld dead letters, %zu live",
                 (long long)n.events, (long long)n.outcomes, (long long)n.dead_outcomes,
                 (long long)n.dead_letters, c->now.n);
}

static bool is_same_message(const struct seen_message *a, const struct seen_message *b)
{
    return a->seq == b->seq && uuid_eq(a->id, b->id) && a->ready == b->ready &&
           a->due_ms == b->due_ms && a->attempt == b->attempt && a->has_owner == b->has_owner &&
           uuid_eq(a->owner, b->owner);
}

static bool is_same(const struct snapshot *a, const struct snapshot *b)
{
    if (a->n != b->n || memcmp(&a->counts, &b->counts, sizeof(a->counts)) != 0)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!is_same_message(&a->rows[i], &b->rows[i]))
            return false;
    return true;
}

static bool take_snapshot(struct check *c)
{
    struct sim *s = c->sim;
    struct snapshot old = c->last;

    if (!view_open(c->view, disk_vfs(s->disk))) {
        sim_fail(s, "the database cannot be read");
        return false;
    }
    c->last = c->now;
    c->now = old;
    if (!view_snapshot(c->view, &c->now))
        sim_fail(s, "the tables cannot be read");
    return !is_same(&c->last, &c->now);
}

bool check_commit(struct check *c)
{
    bool changed = take_snapshot(c);

    if (!changed)
        return false;
    for (size_t i = 0; i < c->last.n; i++) {
        const struct seen_message *is = find(&c->now, c->last.rows[i].id);

        if (is)
            check_kept(c, &c->last.rows[i], is);
        else
            check_ended(c, &c->last.rows[i]);
    }
    for (size_t i = 0; i < c->now.n; i++)
        if (!find(&c->last, c->now.rows[i].id))
            check_new_message(c, &c->now.rows[i]);
    check_lanes(c);
    check_counts(c);
    return true;
}

/* --- crashes and the end --- */

void check_after_crash(struct check *c)
{
    if (!view_open(c->view, disk_vfs(c->sim->disk)) || !view_is_sound(c->view))
        sim_fail(c->sim, "the database is damaged");
    sim_client_check_acked(c->sim->client);
}

bool check_find_event(struct check *c, struct str event_id, struct uuid *ret_message)
{
    return view_open(c->view, disk_vfs(c->sim->disk)) &&
           view_event(c->view, event_id, ret_message) == 1;
}

bool check_is_stored(struct check *c, struct str event_id)
{
    struct uuid message;

    return check_find_event(c, event_id, &message);
}

bool check_holds_lease(const struct check *c, struct uuid node)
{
    for (size_t i = 0; i < c->now.n; i++)
        if (c->now.rows[i].has_owner && uuid_eq(c->now.rows[i].owner, node))
            return true;
    return false;
}

bool check_other_lease(const struct check *c, struct uuid node)
{
    for (size_t i = 0; i < c->now.n; i++)
        if (c->now.rows[i].has_owner && !uuid_eq(c->now.rows[i].owner, node) &&
            c->now.rows[i].due_ms > c->sim->wall_ms)
            return true;
    return false;
}

size_t check_live(const struct check *c)
{
    return c->now.n;
}

bool check_outcome(struct check *c, struct str event_id, char ret_outcome[32], bool *ret_dead)
{
    return view_open(c->view, disk_vfs(c->sim->disk)) &&
           view_outcome(c->view, event_id, ret_outcome, ret_dead);
}

void check_hash(struct check *c)
{
    if (view_open(c->view, disk_vfs(c->sim->disk)))
        view_hash(c->view, &c->sim->trace);
}
