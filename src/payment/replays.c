/* replays.c - see replays.h.
 *
 * Two tables: all loops fill one under the lock. The other belongs to the executor, which writes it
 * in parts, sorted, so that two nodes on PostgreSQL never wait for each other. Counts that the store
 * rejected are added to the filling table again. `called` is true from the first replay until the
 * tables are swapped, so an idle server has no timer. */
#include "payment/replays.h"

#include "base/limits.h"
#include "observe/log.h"
#include "payment/rows.h"
#include "store/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * LIMIT_REPLAYS, COLUMNS = 6 };

static_assert((SLOTS & (SLOTS - 1)) == 0, "a mask picks the slot");

struct replay_count {
    struct uuid payment, operation;
    enum op_kind kind;
    int64_t times, first_ms, last_ms;
};

struct replay_table {
    struct replay_count counts[LIMIT_REPLAYS];
    uint16_t slots[SLOTS]; /* of counts, plus 1; 0: free */
    size_t used;
    int64_t dropped;
};

struct replays {
    struct env *env;
    struct store *store;
    struct executor *executor;

    pthread_mutex_t lock;
    struct replay_table *filling;
    bool called;

    /* on the executor */
    struct replay_table *writing;
    size_t written;
    struct task call;
    struct timer timer, pause;
    struct unit unit;
    bool armed, busy, pausing, stopping; /* busy: `writing` has rows that are not written */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* --- counting --- */

/* The last bytes of an id are random. */
static size_t table_slot(const struct uuid *operation)
{
    uint32_t h;

    memcpy(&h, operation->b + sizeof(operation->b) - sizeof(h), sizeof(h));
    return h & (SLOTS - 1);
}

/* Finds the entry or adds one with no times. NULL: the table is full. */
static struct replay_count *table_find(struct replay_table *t, const struct uuid *payment,
                                       const struct uuid *operation)
{
    for (size_t i = table_slot(operation);; i = (i + 1) & (SLOTS - 1)) {
        struct replay_count *c = t->slots[i] ? &t->counts[t->slots[i] - 1] : NULL;

        if (c && uuid_eq(c->operation, *operation) && uuid_eq(c->payment, *payment))
            return c;
        if (c)
            continue;
        if (t->used == LIMIT_REPLAYS)
            return NULL;
        c = &t->counts[t->used++];
        t->slots[i] = (uint16_t)t->used;
        *c = (struct replay_count){ .payment = *payment, .operation = *operation };
        return c;
    }
}

static void table_add(struct replay_table *t, const struct replay_count *more)
{
    struct replay_count *c = table_find(t, &more->payment, &more->operation);

    if (!c) {
        t->dropped += more->times;
        return;
    }
    if (!c->times || more->first_ms < c->first_ms)
        c->first_ms = more->first_ms;
    if (more->last_ms > c->last_ms)
        c->last_ms = more->last_ms;
    c->kind = more->kind;
    c->times += more->times;
}

/* True: the executor has to be called for the table. */
static bool replays_count(struct replays *r, const struct replay_count *more)
{
    bool first;

    pthread_mutex_lock(&r->lock);
    table_add(r->filling, more);
    first = !r->called;
    r->called = true;
    pthread_mutex_unlock(&r->lock);
    return first;
}

void replays_add(struct replays *r, struct uuid payment, struct uuid operation, enum op_kind kind)
{
    struct replay_count one = {
        .payment = payment, .operation = operation, .kind = kind, .times = 1
    };

    if (!r)
        return;
    one.first_ms = one.last_ms = env_now_ms(r->env);
    if (replays_count(r, &one))
        executor_post(r->executor, &r->call);
}

/* --- rows --- */

static size_t part_size(const struct replays *r)
{
    size_t left = r->writing->used - r->written;

    return left < LIMIT_REPLAYS_STEP ? left : LIMIT_REPLAYS_STEP;
}

static enum err write_part(struct tx *tx, struct unit *u)
{
    struct replays *r = CONTAINER_OF(u, struct replays, unit);
    const struct replay_count *c = r->writing->counts + r->written;
    size_t n = part_size(r);
    struct val v[LIMIT_REPLAYS_STEP * COLUMNS];

    for (size_t i = 0; i < n; i++) {
        struct val *row = v + i * COLUMNS;

        row[0] = v_uuid(&c[i].payment);
        row[1] = v_uuid(&c[i].operation);
        row[2] = V_TEXT(str_of(op_name(c[i].kind)));
        row[3] = V_INT(c[i].times);
        row[4] = V_INT(c[i].first_ms);
        row[5] = V_INT(c[i].last_ms);
    }
    return tx_bulk(tx, STMT_replays_add, v, n, COLUMNS, NULL, NULL);
}

static int compare_counts(const void *a, const void *b)
{
    const struct replay_count *x = a, *y = b;
    int order = uuid_order(&x->payment, &y->payment);

    return order ? order : uuid_order(&x->operation, &y->operation);
}

/* --- on the executor --- */

static void replays_try_stop(struct replays *r);

static void replays_arm(struct replays *r, int64_t due_ms)
{
    r->armed = due_ms != CLOCK_NEVER;
    executor_arm(r->executor, &r->timer, due_ms);
}

static void replays_recount(struct replays *r)
{
    bool first = false;

    for (size_t i = r->written; i < r->writing->used; i++)
        first |= replays_count(r, &r->writing->counts[i]);
    if (first)
        replays_arm(r, env_now_ms(r->env) + LIMIT_REPLAYS_MS);
}

static void part_written(struct unit *u);

static void post_part(struct replays *r)
{
    static const struct unit_kind kind = { "replays.write", UNIT_BACK, write_part, NULL };

    r->busy = true;
    r->pausing = false;
    r->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = part_written };
    store_post(r->store, &r->unit);
}

static void pause_fired(struct timer *t)
{
    post_part(CONTAINER_OF(t, struct replays, pause));
}

/* Parts are written with pauses: all at once would take a core for a tenth of a second and delay the
 * requests that replay keys. */
static void post_next_part(struct replays *r)
{
    if (r->stopping) {
        post_part(r);
        return;
    }
    r->busy = r->pausing = true;
    executor_arm(r->executor, &r->pause, env_now_ms(r->env) + LIMIT_REPLAYS_PAUSE_MS);
}

/* UNCERTAIN: the part may be stored. Counting it twice would be worse than not at all. */
static void part_written(struct unit *u)
{
    struct replays *r = CONTAINER_OF(u, struct replays, unit);
    bool failed = u->err && u->err != ERR_UNCERTAIN;

    r->busy = false;
    if (!failed)
        r->written += part_size(r);
    if (failed && !r->stopping)
        replays_recount(r);
    else if (!failed && r->written < r->writing->used)
        post_next_part(r);
    if (!r->busy && r->stopping)
        replays_try_stop(r);
}

static void log_dropped(struct replays *r)
{
    if (r->writing->dropped)
        LOG(r->env->log, LOG_WARN, "More keys were replayed than are counted one by one",
            LOG_NUM("replays", r->writing->dropped), LOG_NUM("limit", LIMIT_REPLAYS));
}

static void swap_tables(struct replays *r)
{
    struct replay_table *full;

    r->writing->used = 0;
    r->writing->dropped = 0;
    memset(r->writing->slots, 0, sizeof(r->writing->slots));
    pthread_mutex_lock(&r->lock);
    full = r->filling;
    r->filling = r->writing;
    r->called = false;
    pthread_mutex_unlock(&r->lock);
    r->writing = full;
    r->written = 0;
}

static void write_counts(struct replays *r)
{
    replays_arm(r, CLOCK_NEVER);
    swap_tables(r);
    log_dropped(r);
    qsort(r->writing->counts, r->writing->used, sizeof(struct replay_count), compare_counts);
    if (r->writing->used)
        post_part(r);
}

static void timer_fired(struct timer *t)
{
    struct replays *r = CONTAINER_OF(t, struct replays, timer);

    if (r->busy) /* the store is slow: let it finish */
        replays_arm(r, env_now_ms(r->env) + LIMIT_REPLAYS_MS);
    else
        write_counts(r);
}

static void first_replay(struct task *t)
{
    struct replays *r = CONTAINER_OF(t, struct replays, call);

    replays_arm(r, env_now_ms(r->env) + LIMIT_REPLAYS_MS);
    if (r->stopping)
        replays_try_stop(r);
}

static bool table_is_called(struct replays *r)
{
    bool called;

    pthread_mutex_lock(&r->lock);
    called = r->called;
    pthread_mutex_unlock(&r->lock);
    return called;
}

static void replays_try_stop(struct replays *r)
{
    if (!r->busy && r->armed)
        write_counts(r);
    if (!r->busy && !r->armed && !table_is_called(r) && r->stopped) {
        void (*stopped)(void *) = r->stopped;

        r->stopped = NULL;
        stopped(r->stopped_ctx);
    }
    /* Otherwise a unit of work or the task is under way and calls this function again. */
}

void replays_stop(struct replays *r, void (*stopped)(void *ctx), void *ctx)
{
    if (!r) {
        stopped(ctx);
        return;
    }
    r->stopping = true;
    r->stopped = stopped;
    r->stopped_ctx = ctx;
    if (r->pausing) {
        executor_arm(r->executor, &r->pause, CLOCK_NEVER);
        post_part(r);
    }
    replays_try_stop(r);
}

struct replays *replays_new(struct env *env, struct store *store, struct executor *executor)
{
    struct replays *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    *r = (struct replays){ .env = env, .store = store, .executor = executor };
    pthread_mutex_init(&r->lock, NULL);
    r->filling = calloc(1, sizeof(*r->filling));
    r->writing = calloc(1, sizeof(*r->writing));
    r->call.run = first_replay;
    r->timer = (struct timer){ .fire = timer_fired, .due_ms = CLOCK_NEVER };
    r->pause = (struct timer){ .fire = pause_fired, .due_ms = CLOCK_NEVER };
    if (r->filling && r->writing)
        return r;
    replays_free(r);
    return NULL;
}

void replays_free(struct replays *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r->filling);
    free(r->writing);
    free(r);
}
