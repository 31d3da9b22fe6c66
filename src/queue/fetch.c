/* fetch.c - one fetch: leases the messages that are due and, if it got fewer than it asked for,
 * reads in the same unit when the next one is due.
 *
 *   (1) A fetch asks for at most fetch_room() messages, so that the slots are never exceeded.
 *   (2) After NO_MEMORY it asks for half as many; after each success for twice as many.
 *   (3) Rows that are due but locked by other nodes are tried again after a growing pause.
 *
 * A crash after the commit leaves leases without an owner alive; they expire. */
#include "base/limits.h"
#include "queue/runner.h"

_Static_assert(sizeof(((struct queue *)0)->fetched) / sizeof(struct message) ==
                   LIMIT_STATEMENT_ROWS,
               "a fetch is one statement");

void queue_expect_expiry(struct queue *q)
{
    q->last_expiry_ms = now_of(q) + LIMIT_LEASE_MS + 1;
    q->expiry_ms = least(q->expiry_ms, q->last_expiry_ms);
}

static enum err read_next_due(struct tx *tx, struct uuid me, int64_t *ret_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_message_next_due, &row, V_BLOB(uuid_bytes(&me)));

    *ret_ms = e ? CLOCK_NEVER : row.col[0].i;
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err fetch_run(struct tx *tx, struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, fetch_unit);
    struct env *env = q->o.env;
    struct lease *l = &q->lease;
    enum err e;

    l->owner = env->node;
    l->now_ms = env_now_ms(env);
    e = queue_lease(tx, &q->fetch_arena, l, q->fetched);
    q->fetched_next_ms = DUE_NOW;
    if (!e && l->count < l->max && !l->suspect)
        e = read_next_due(tx, env->node, &q->fetched_next_ms);
    q->contended = !l->count && !l->suspect && q->fetched_next_ms <= l->now_ms;
    return e;
}

/* contended: messages are due, but other nodes have their rows locked at this moment. */
static int64_t next_fetch_ms(struct queue *q)
{
    if (!q->contended) {
        q->contended_ms = 0;
        return q->fetched_next_ms;
    }
    q->contended_ms =
        q->contended_ms ? least(q->contended_ms * 2, LIMIT_CONTENDED_MAX_MS) : LIMIT_CONTENDED_MS;
    return now_of(q) + q->contended_ms;
}

static void fetch_failed(struct queue *q, enum err e)
{
    arena_release(&q->fetch_arena);
    q->lease.count = 0;
    if (e == ERR_NO_MEMORY)
        q->most = q->most > 1 ? q->most / 2 : 1; /* large texts: lease fewer at a time */
    if (e == ERR_UNCERTAIN) /* some may be leased: they are due again when the lease expires */
        queue_expect_expiry(q);
    q->full = false;
    q->next_ms = DUE_NOW;
    queue_note_trouble(q, e);
}

static void fetch_done(struct unit *u)
{
    struct queue *q = CONTAINER_OF(u, struct queue, fetch_unit);

    q->fetching = false;
    if (u->err) {
        fetch_failed(q, u->err);
    } else {
        queue_note_success(q);
        q->most = q->most * 2 < LIMIT_STATEMENT_ROWS ? q->most * 2 : LIMIT_STATEMENT_ROWS;
        q->full = q->lease.count == q->lease.max;
        q->suspect = q->lease.suspect;
        q->next_ms = least(q->next_ms, next_fetch_ms(q));
        if (q->lease.count && !q->held)
            q->renewed_ms = now_of(q);
        q->commits += q->lease.count > 0;
        if (q->lease.count)
            items_take(q);
        else
            arena_release(&q->fetch_arena);
    }
    queue_pump(q);
}

static size_t room_below(size_t limit, size_t n)
{
    return n < limit ? limit - n : 0;
}

/* The kinds of the messages are not known yet: all of them may work outside, or none. */
size_t fetch_room(const struct queue *q)
{
    size_t outside = room_below(LIMIT_OUTSIDE, q->outside),
           inside = room_below(LIMIT_LEASED, held_inside(q));

    if (q->suspect)
        inside = held_inside(q) ? 0 : 1; /* one: those behind it may be suspects too */
    else if (q->full && inside < LIMIT_LEASE_ROOM)
        inside = 0;
    return inside < outside ? inside : outside;
}

static bool kind_is_resumed(const void *ctx, struct str kind)
{
    return works_outside(slot_for(ctx, kind));
}

void fetch_begin(struct queue *q, int64_t now)
{
    static const struct unit_kind kind = { "queue.fetch", UNIT_BACK, fetch_run, NULL };
    int64_t reported;

    reports_plan(&q->reports, CLOCK_NEVER); /* from now on every report is kept */
    reported = reports_take(&q->reports);
    q->next_ms = q->next_ms > now ? q->next_ms : CLOCK_NEVER;
    if (q->expiry_ms <= now)
        q->expiry_ms = q->last_expiry_ms > now ? q->last_expiry_ms : CLOCK_NEVER;
    if (reported > now)
        q->next_ms = least(q->next_ms, reported);
    q->fetching = true;
    q->polled_ms = now;
    q->lease.max = fetch_room(q) < q->most ? fetch_room(q) : q->most;
    q->lease.idle = !held_inside(q); /* only a fetch adds such items, so it stays true */
    q->lease.is_resumed = kind_is_resumed;
    q->lease.is_resumed_ctx = q;
    q->fetch_unit = (struct unit){
        .kind = &kind, .executor = q->o.executor, .done = fetch_done, .arena = &q->fetch_arena
    };
    store_post(q->o.store, &q->fetch_unit);
}
