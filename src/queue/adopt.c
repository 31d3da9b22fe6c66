/* adopt.c - a message that was leased where it was added, or taken by its id, comes back and is
 * gone on with as if it had been fetched.
 *
 * Between its commit and its adoption such a lease is in nobody's hands: the runner does not renew
 * it, and a fetch takes our own leases for no news (message_next_due). If it is never adopted (no
 * memory, a request that died), somebody must look when it has run out, and alone on the database
 * there is only us. So commits count what was given, adoptions count what came, and where the two
 * differ one lease's time later, there is one fetch. Where nothing is lost, nothing is asked. */
#include "base/limits.h"
#include "queue/runner.h"

#include <stdlib.h>
#include <string.h>

/* --- on any thread --- */

static struct str adopt_keep(char **at, struct str s)
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
    copy.kind = adopt_keep(&at, m->kind);
    copy.ref = adopt_keep(&at, m->ref);
    copy.body = adopt_keep(&at, m->body);
    copy.last_error = adopt_keep(&at, m->last_error);
    b->left = 1;
    item_init(&b->items[0], q, b, &copy);
    b->items[0].job.state = state;
    return &b->items[0];
}

/* Nobody can be told but the kind itself; the lease runs out, and adoptions_watch() sees to it. */
static void adopt_refuse(struct queue *q, const struct message *m, void *state)
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
        adopt_refuse(q, m, state);
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

/* All of them, linked; the first that came is the first. */
static struct item *take_all(struct queue *q)
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
    for (struct item *it = take_all(q), *next; it; it = next) {
        next = it->next;
        if (!q->held)
            q->renewed_ms = now_of(q); /* its lease is young */
        item_link(it);
        item_begin(it);
    }
}

void adoptions_drop(struct queue *q)
{
    for (struct item *it = take_all(q), *next; it; it = next) {
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

/* Called when somebody began to be watched, and when a watch is over. */
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
        q->watch_ms = CLOCK_NEVER; /* the next one that is given says so */
    else {
        atomic_store(&r->watched, true);
        watch_from(q, now, given);
    }
}
