/* job.c - one message under way.
 *
 *   leased --run--> OK -------------------------------> deleted, with its effect, in one commit
 *              |--> retryable err, budget left -retry-> due again later; its lane waits behind it
 *              |--> any other err ----bury------------> dead letter; its lane goes on
 *              |--> STALE: another worker has it -----> dropped; the effect was rolled back
 *              |--> UNCERTAIN ------------------------> dropped: the lease expires, the fence decides
 *              '--> the database failed --------------> parked; the same unit is posted again
 *
 *   leased --outside--> (executor: calls, other units; lease renewed) --settle--> as from run,
 *                  |--> failed: as when run fails                        '--> or put off, in the
 *                  '--> nothing to settle: put off, many at a time           commit of the effect
 *
 *   (1) Parking costs no attempt, since the message did not cause the failure. But if commits of our
 *       other work succeed in between, the LIMIT_PARKS-th parking counts as a failed attempt: one
 *       message must not block its lane for ever.
 *   (2) The outside part is not repeated for a parked message: only settle is.
 *   (3) `release` of the kind is called exactly once for each item.
 *
 * A crash drops the items. Their rows stay leased and counted; they are fetched again when the lease
 * expires, on SQLite at the next start. */
#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "queue/runner.h"

#include <assert.h>
#include <stdlib.h>

static struct item *item_of(struct unit *u)
{
    return CONTAINER_OF(u, struct item, unit);
}

/* --- on a store thread --- */

static enum err item_run(struct tx *tx, struct unit *u)
{
    struct item *it = item_of(u);
    const struct message *m = &it->message;
    const struct job_kind *job = &it->slot->job;

    it->why.text[0] = '\0';
    it->stale = it->trouble = false;
    it->ran = job->run(tx, m, job->ctx, &it->why);
    if (it->ran) {
        it->trouble = tx_trouble(tx);
        return it->ran;
    }
    return queue_finish_rows(it->queue, tx, &m, 1, &it->stale);
}

static enum err item_settle(struct tx *tx, struct unit *u)
{
    struct item *it = item_of(u);
    const struct message *m = &it->message;
    const struct job_kind *job = &it->slot->job;

    it->why.text[0] = '\0';
    it->stale = it->trouble = false;
    it->job.again_ms = 0;
    if (it->job.arena)
        arena_rewind(it->job.arena, it->mark);
    it->ran = job->settle(tx, &it->job, job->ctx, &it->why);
    if (it->ran) {
        it->trouble = tx_trouble(tx);
        return it->ran;
    }
    if (it->job.again_ms > 0)
        return queue_put_off(it->queue, tx, m, it->job.again_ms, &it->stale);
    return queue_finish_rows(it->queue, tx, &m, 1, &it->stale);
}

static enum err items_run(struct tx *tx, struct unit **u, size_t n)
{
    const struct message *m[LIMIT_BULK];
    const struct job_kind *job = &item_of(u[0])->slot->job;
    bool stale;
    enum err e;

    assert(n <= COUNT(m));
    for (size_t i = 0; i < n; i++) {
        struct item *it = item_of(u[i]);

        it->ran = OK;
        it->stale = it->trouble = false;
        u[i]->err = OK;
        m[i] = &it->message;
    }
    e = job->run_many(tx, m, n, job->ctx);
    return e ? e : queue_finish_rows(item_of(u[0])->queue, tx, m, n, &stale);
}

static enum err items_put_off(struct tx *tx, struct unit **u, size_t n)
{
    const struct message *m[LIMIT_BULK];
    int64_t due_ms[LIMIT_BULK];
    bool stale;
    enum err e;

    assert(n <= COUNT(m));
    for (size_t i = 0; i < n; i++) {
        m[i] = &item_of(u[i])->message;
        due_ms[i] = item_of(u[i])->job.again_ms;
        u[i]->err = OK;
    }
    e = queue_put_off_rows(item_of(u[0])->queue, tx, m, due_ms, n, &stale);
    item_of(u[0])->stale = stale && n == 1; /* if one of many is stale, each is run alone */
    return e;
}

static enum err item_put_off(struct tx *tx, struct unit *u)
{
    return items_put_off(tx, &u, 1);
}

static enum err item_retry(struct tx *tx, struct unit *u)
{
    struct item *it = item_of(u);

    return queue_retry(it->queue, tx, &it->message, it->retry_due_ms, str_of(it->why.text));
}

static enum err item_bury(struct tx *tx, struct unit *u)
{
    struct item *it = item_of(u);
    const struct job_kind *job = &it->slot->job;
    enum err e =
        queue_bury(it->queue, tx, &it->message, env_now_ms(it->queue->o.env), str_of(it->why.text));

    it->ran = OK;
    it->trouble = false;
    if (e || !job->buried || it->plain)
        return e;
    it->ran = job->buried(tx, &it->message, job->ctx, it->why.text);
    it->trouble = it->ran && tx_trouble(tx);
    return it->ran;
}

/* --- on the executor --- */

static void item_unit_done(struct unit *u);

static void item_post(struct item *it)
{
    static const struct unit_kind put_off = { "queue.put_off", UNIT_BACK, item_put_off,
                                              items_put_off };
    static const struct unit_kind retry = { "queue.retry", UNIT_BACK, item_retry, NULL };
    static const struct unit_kind bury = { "queue.bury", UNIT_BACK, item_bury, NULL };
    const struct unit_kind *kinds[] = { [ITEM_RUN] = &it->slot->unit,
                                        [ITEM_PUT_OFF] = &put_off,
                                        [ITEM_RETRY] = &retry,
                                        [ITEM_BURY] = &bury };

    it->ran = OK;
    it->stale = it->trouble = it->parked = false;
    it->unit = (struct unit){ .kind = kinds[it->phase],
                              .executor = it->queue->o.executor,
                              .done = item_unit_done };
    it->queue->posted++;
    store_post(it->queue->o.store, &it->unit);
}

static void item_unlink(struct item *it)
{
    struct queue *q = it->queue;

    assert(q->held > 0 && q->outside >= works_outside(it->slot) && q->away >= it->away);
    if (it->prev)
        it->prev->next = it->next;
    else
        q->items = it->next;
    if (it->next)
        it->next->prev = it->prev;
    q->held--;
    q->outside -= works_outside(it->slot);
    q->away -= it->away;
}

void item_release(struct item *it)
{
    const struct job_kind *job = &it->slot->job;
    struct batch *b = it->batch;

    assert(b->left > 0);
    item_unlink(it);
    if (job->release)
        job->release(&it->job, job->ctx);
    if (--b->left == 0) {
        arena_release(&b->arena);
        free(b);
    }
}

/* Drops the item; the row keeps our lease, which expires. */
static void item_abandon(struct item *it)
{
    queue_expect_expiry(it->queue);
    item_release(it);
}

/* The order of the results of COUNT_JOB in metrics.h. */
enum counted { COUNTED_DONE, COUNTED_RETRIED, COUNTED_DEAD, COUNTED_STALE, COUNTED_PUT_OFF };

static void item_count(const struct item *it, enum counted result)
{
    metrics_count_at(it->queue->o.env->metrics, COUNT_JOB, AT((unsigned char)result), 1);
}

static void item_call_ended(const struct item *it, enum job_end end)
{
    const struct job_kind *job = &it->slot->job;

    if (job->ended)
        job->ended(it->queue->o.env, job->ctx, &it->message, end, it->why.text);
}

static void item_log(const struct item *it, enum log_level level, const char *line)
{
    char id[UUID_TEXT + 1];

    uuid_text(it->message.id, id);
    LOG(it->queue->o.env->log, level, line, LOG_TEXT("messageId", str_of(id)),
        LOG_TEXT("kind", it->message.kind), LOG_TEXT("ref", it->message.ref),
        LOG_NUM("attempt", it->message.attempt), LOG_TEXT("error", str_of(it->why.text)));
}

static void item_enter(struct item *it, enum item_phase phase)
{
    it->phase = phase;
    it->parks = 0;
    item_post(it);
}

static int64_t time_after(int64_t ms, int64_t delay_ms)
{
    int64_t at;

    return __builtin_add_overflow(ms, delay_ms, &at) ? CLOCK_NEVER : at;
}

/* This attempt failed. again: it is retried if the budget allows. */
static void item_failed(struct item *it, enum err e, bool again)
{
    int64_t delay = retry_delay_ms(&it->slot->job.retry, it->message.attempt);

    if (!it->why.text[0])
        why_set(&it->why, "%s: %s", err_code(e), err_words(e, LANG_EN));
    it->retry_due_ms = time_after(now_of(it->queue), delay);
    item_enter(it, again && delay >= 0 ? ITEM_RETRY : ITEM_BURY);
}

static bool item_met_trouble(const struct item *it)
{
    return it->trouble || (!it->ran && is_trouble(it->unit.err));
}

/* False: it was parked LIMIT_PARKS times while the database worked for our other units. */
static bool item_park(struct item *it)
{
    struct queue *q = it->queue;
    bool works = it->parks && q->commits != it->parked_commit;

    if (works && it->parks == LIMIT_PARKS)
        return false;
    if (works || !it->parks)
        it->parks++;
    if (!works)
        queue_note_trouble(q, it->unit.err);
    it->parked = true;
    it->parked_commit = q->commits;
    it->parked_until_ms =
        now_of(q) + least(LIMIT_TROUBLE_MS << (it->parks - 1), LIMIT_TROUBLE_MAX_MS);
    if (q->stopping)
        item_release(it);
    return true;
}

/* The retry or burial itself could not be stored. If it is not parked, the lease expires, and in the
 * end the budget is spent. */
static void item_park_or_abandon(struct item *it)
{
    if (!item_met_trouble(it) || !item_park(it))
        item_abandon(it);
}

static void item_succeeded(struct item *it)
{
    bool put_off = it->job.again_ms > 0;

    item_count(it, put_off ? COUNTED_PUT_OFF : COUNTED_DONE);
    item_call_ended(it, put_off ? JOB_PUT_OFF : JOB_DONE);
    item_release(it);
}

static void after_run(struct item *it)
{
    enum err e = it->unit.err;

    if (!e) {
        item_succeeded(it);
    } else if (item_met_trouble(it)) {
        if (!item_park(it))
            item_failed(it, e, true);
    } else {
        e = it->ran ? it->ran : e; /* ran is OK if a statement of the job failed at the commit */
        item_failed(it, e, err_is_retryable(e));
    }
}

static void after_put_off(struct item *it)
{
    if (it->unit.err)
        item_park_or_abandon(it);
    else
        item_succeeded(it);
}

static void after_retry(struct item *it)
{
    if (it->unit.err) {
        item_park_or_abandon(it);
        return;
    }
    item_count(it, COUNTED_RETRIED);
    item_log(it, LOG_WARN, "A message failed and will be tried again");
    item_call_ended(it, JOB_RETRIED);
    item_release(it);
}

static void item_bury_again(struct item *it)
{
    if (it->plain) {
        item_park_or_abandon(it);
    } else if (!item_met_trouble(it) || !item_park(it)) {
        it->plain = true; /* a failing hook of the kind must not prevent the burial */
        item_enter(it, ITEM_BURY);
    }
}

static void after_bury(struct item *it)
{
    struct queue *q = it->queue;

    if (it->unit.err) {
        item_bury_again(it);
        return;
    }
    item_count(it, COUNTED_DEAD);
    if (q->o.alert)
        q->o.alert(q->o.alert_ctx, &it->message, it->why.text);
    else
        item_log(it, LOG_ERROR, "A message became a dead letter");
    item_call_ended(it, JOB_DEAD);
    item_release(it);
}

static void item_unit_done(struct unit *u)
{
    static void (*const after[])(struct item *) = { [ITEM_RUN] = after_run,
                                                    [ITEM_PUT_OFF] = after_put_off,
                                                    [ITEM_RETRY] = after_retry,
                                                    [ITEM_BURY] = after_bury };
    struct item *it = item_of(u);
    struct queue *q = it->queue;

    q->posted--;
    q->moved_since_count = true;
    q->commits += !u->err;
    if (!item_met_trouble(it))
        queue_note_success(q);
    if (it->stale || (u->err == ERR_STALE && it->phase != ITEM_RUN)) {
        item_count(it, COUNTED_STALE);
        item_release(it);
    } else if (u->err == ERR_UNCERTAIN && !it->ran) {
        item_abandon(it);
    } else {
        after[it->phase](it);
    }
    queue_pump(q);
}

/* Its budget is spent by attempts that neither finished nor failed: they crashed or lost the lease.
 */
static void item_budget_spent(struct item *it)
{
    why_set(&it->why, "given up: the server died or lost its lease in %lld attempts%s" STR_FMT,
            (long long)it->message.attempt - 1, it->message.last_error.n ? "; last error: " : "",
            STR_ARG(it->message.last_error));
    item_enter(it, ITEM_BURY);
}

static void item_begin_outside(struct item *it)
{
    const struct job_kind *job = &it->slot->job;

    it->away = true;
    it->queue->away++;
    job->outside(&it->job, job->ctx);
}

static struct item *item_end_outside(struct job *j)
{
    struct item *it = CONTAINER_OF(j, struct item, job);

    assert(it->away);
    it->away = false;
    it->queue->away--;
    return it;
}

void job_put_off(struct job *j, int64_t due_ms)
{
    struct item *it = item_end_outside(j);

    assert(due_ms > 0);
    j->again_ms = due_ms;
    item_enter(it, ITEM_PUT_OFF);
}

void job_outside_done(struct job *j, enum err e, const char *why)
{
    struct item *it = item_end_outside(j);

    if (!e) {
        if (j->arena)
            it->mark = arena_mark(j->arena);
        item_enter(it, ITEM_RUN);
        return;
    }
    why_set(&it->why, "%s", why ? why : "");
    item_failed(it, e, err_is_retryable(e));
}

void job_without_outside(struct job *j, void *ctx)
{
    (void)ctx;
    job_outside_done(j, OK, NULL);
}

void item_begin(struct item *it)
{
    it->message.began_us = clock_mono_us(&it->queue->o.env->clock);
    if (!retry_may_run(&it->slot->job.retry, it->message.attempt)) {
        item_budget_spent(it);
    } else if (it->slot->unknown) {
        why_set(&it->why, "no worker here knows the kind " STR_FMT, STR_ARG(it->message.kind));
        item_failed(it, ERR_UNAVAILABLE, true); /* a node of a newer version may know the kind */
    } else if (works_outside(it->slot)) {
        item_begin_outside(it);
    } else {
        item_post(it);
    }
}

const struct slot *slot_for(const struct queue *q, struct str kind)
{
    for (size_t i = 0; i < q->o.kind_count; i++)
        if (str_eq(kind, str_of(q->slots[i].job.name)))
            return &q->slots[i];
    return &q->unknown;
}

void item_init(struct item *it, struct queue *q, struct batch *b, const struct message *m)
{
    it->queue = q;
    it->batch = b;
    it->message = *m;
    it->slot = slot_for(q, m->kind);
    it->job = (struct job){ .message = &it->message, .env = q->o.env };
}

void item_link(struct item *it)
{
    struct queue *q = it->queue;

    it->prev = NULL;
    it->next = q->items;
    if (it->next)
        it->next->prev = it;
    q->items = it;
    q->held++;
    q->outside += works_outside(it->slot);
}

void items_take(struct queue *q)
{
    size_t n = q->lease.count;
    struct batch *b = calloc(1, sizeof(*b) + n * sizeof(b->items[0]));

    assert(n);
    if (!b) { /* out of memory: the leases expire */
        queue_note_trouble(q, ERR_NO_MEMORY);
        queue_expect_expiry(q);
        arena_release(&q->fetch_arena);
        return;
    }
    b->arena = q->fetch_arena;
    b->left = n;
    arena_init(&q->fetch_arena, LIMIT_LEASE_ARENA);
    for (size_t i = 0; i < n; i++) {
        item_init(&b->items[i], q, b, &q->fetched[i]);
        item_link(&b->items[i]);
    }
    for (size_t i = 0; i < n; i++)
        item_begin(&b->items[i]);
} // NOLINT(clang-analyzer-unix.Malloc): the items hold the batch, the last one frees it

int64_t items_unpark_at(const struct queue *q)
{
    int64_t at = CLOCK_NEVER;

    for (const struct item *it = q->items; it; it = it->next)
        if (it->parked)
            at = least(at, it->parked_until_ms);
    return at;
}

void items_unpark(struct queue *q, int64_t now)
{
    for (struct item *it = q->items; it; it = it->next)
        if (it->parked && now >= it->parked_until_ms)
            item_post(it);
}

void items_drop(struct queue *q, bool only_parked)
{
    for (struct item *it = q->items, *next; it; it = next) {
        next = it->next;
        if (it->parked || !only_parked)
            item_release(it);
    }
}

static struct unit_kind unit_kind_of(const struct job_kind *job)
{
    enum unit_class settles = job->patient ? UNIT_BACK : UNIT_FRONT;

    assert(job->outside ? !!job->settle : !!job->run);
    if (job->outside)
        return (struct unit_kind){ job->name, settles, item_settle, NULL };
    return (struct unit_kind){ job->name, UNIT_BACK, item_run, job->run_many ? items_run : NULL };
}

bool slots_init(struct queue *q)
{
    q->unknown =
        (struct slot){ .job = { .name = "unknown", .retry = retry_table[RETRY_UNKNOWN_KIND] },
                       .unknown = true };
    q->slots = calloc(q->o.kind_count ? q->o.kind_count : 1, sizeof(*q->slots));
    if (!q->slots)
        return false;
    for (size_t i = 0; i < q->o.kind_count; i++) {
        const struct job_kind *job = &q->o.kinds[i];

        q->slots[i] = (struct slot){ .job = *job, .unit = unit_kind_of(job) };
    }
    return true;
}
