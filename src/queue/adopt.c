/* adopt.c - adoption: a message that was leased when it was added (queue_add_leased), or was leased
 * by its id (queue_take), is handed to the runner and goes on as if it had been fetched.
 *
 * Between its commit and its adoption the runner does not know such a lease: it does not renew it,
 * and message_next_due skips leases of this node. If the adoption never comes (out of memory, a
 * request that ended), only a fetch after the lease's expiry finds the message, and on SQLite no
 * other node makes one. So commits count `given`, adoptions count `adopted`, and if the two differ
 * one lease time later, one fetch follows. If every lease was adopted, the database is not asked.
 *
 * A crash loses the list of adoptions; the leases expire and the messages are fetched. */
#include "base/limits.h"
#include "queue/runner.h"

#include <stdlib.h>
#include <string.h>

/* --- on any thread --- */

static struct str copy_text(char **at, struct str s)
{
    struct str kept = { *at, s.n };

    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return kept;
}

static struct item *adoption_new(struct queue *q, const struct message *m, void *state)
{
    size_t texts = m->kind.n + m->ref.n + m->body.n + m->last_error.n;
    struct batch *b = calloc(1, sizeof(*b) + sizeof(b->items[0]) + texts);
    struct message copy = *m;
    char *at;

    if (!b)
        return NULL;
    at = (char *)&b->items[1];
    copy.kind = copy_text(&at, m->kind);
    copy.ref = copy_text(&at, m->ref);
    copy.body = copy_text(&at, m->body);
    copy.last_error = copy_text(&at, m->last_error);
    b->left = 1;
    item_init(&b->items[0], q, b, &copy);
    b->items[0].job.state = state;
    return &b->items[0];
}

/* Releases the state only; the lease expires, and adoptions_watch() then causes a fetch. */
static void adoption_reject(struct queue *q, const struct message *m, void *state)
{
    struct job j = { .message = m, .env = q->o.env, .state = state };
    const struct job_kind *job = &slot_for(q, m->kind)->job;

    if (job->release)
        job->release(&j, job->ctx);
}

void queue_adopt(struct queue *q, const struct message *m, void *state)
{
    struct item *it = adoption_new(q, m, state), *last;

    if (!it) {
        adoption_reject(q, m, state);
        return;
    }
    last = atomic_load(&q->adoptions);
    do
        it->next = last;
    while (!atomic_compare_exchange_weak(&q->adoptions, &last, it));
    atomic_fetch_add(&q->reports.adopted, 1);
    reports_wake(&q->reports);
}

/* --- on the executor --- */

/* Takes the whole list and reverses it, so that the first adoption is first. */
static struct item *adoptions_take(struct queue *q)
{
    struct item *it = atomic_exchange(&q->adoptions, NULL), *first = NULL;

    while (it) {
        struct item *next = it->next;

        it->next = first;
        first = it;
        it = next;
    }
    return first;
}

void adoptions_begin(struct queue *q)
{
    for (struct item *it = adoptions_take(q), *next; it; it = next) {
        next = it->next;
        if (!q->held)
            q->renewed_ms = now_of(q); /* its lease has just begun */
        item_link(it);
        item_begin(it);
    }
}

void adoptions_drop(struct queue *q)
{
    for (struct item *it = adoptions_take(q), *next; it; it = next) {
        next = it->next;
        item_link(it);
        item_release(it);
    }
}

static void watch_from(struct queue *q, int64_t now, int64_t given)
{
    q->watched_given = given;
    q->watch_ms = now + LIMIT_LEASE_MS + 1;
}

/* Called when a lease was given while no watch was running, and when a watch ends. */
void adoptions_watch(struct queue *q, int64_t now)
{
    struct reports *r = &q->reports;
    int64_t given = atomic_load(&r->given);

    if (q->watch_ms != CLOCK_NEVER && given != atomic_load(&r->adopted))
        q->next_ms = DUE_NOW;
    if (given == q->watched_given) {
        atomic_store(&r->watched, false);
        given = atomic_load(&r->given);
    }
    if (given == q->watched_given)
        q->watch_ms = CLOCK_NEVER; /* the next given lease starts a new watch */
    else {
        atomic_store(&r->watched, true);
        watch_from(q, now, given);
    }
}
