/* unknown_watch.c - the job "payment.unknown": one message, put off again and again.
 *
 *   due --> count the operations --> mark those that take too long --> commit --> log them
 *                                    look at the alerts ---------------^
 *
 *   (1) An operation is logged only after its mark is durable: at most once an hour.
 *   (2) A crash between the commit and the log loses the line until the next hour; the alert
 *       unknown_outcome is a row and is not lost. */
#include "ops/unknown_watch.h"

#include "base/limits.h"
#include "observe/log.h"
#include "observe/mask.h"
#include "ops/alert.h"
#include "store/values.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_ARENA = 256 * 1024 };

/* --- logging --- */

struct unknown_operation {
    struct uuid id, payment;
    struct str kind, cause, gateway, error;
    int64_t age_ms, asks, sends;
};

struct unknown_check {
    struct arena arena;
    struct env *env;
    struct unknown_state state;
    int64_t now_ms;
    struct unknown_operation operations[LIMIT_UNKNOWN_TOLD];
    size_t count;
    struct alert_tellings tellings;
};

/* Masks the ids of the gateway's objects (A6). */
static struct str unknown_masked_text(struct arena *a, struct str text)
{
    char *copy = arena_alloc(a, text.n + 1, 1);

    if (!copy)
        return (struct str){ 0 };
    if (text.n)
        memcpy(copy, text.p, text.n);
    mask_ids(copy, text.n);
    return (struct str){ copy, text.n };
}

static enum err unknown_check_add(void *ctx, const struct row *row)
{
    struct unknown_check *l = ctx;
    struct unknown_operation *t = &l->operations[l->count];
    const struct val *c = row->col;

    if (l->count == LIMIT_UNKNOWN_TOLD || !uuid_of_bytes(c[UNKNOWN_ID].s, &t->id) ||
        !uuid_of_bytes(c[UNKNOWN_PAYMENT].s, &t->payment))
        return ERR_INTERNAL;
    t->kind = arena_str(&l->arena, c[UNKNOWN_KIND].s);
    t->cause = arena_str(&l->arena, c[UNKNOWN_CAUSE].s);
    t->gateway = arena_str(&l->arena, c[UNKNOWN_GATEWAY].s);
    t->error = unknown_masked_text(&l->arena, c[UNKNOWN_RESULT].s);
    t->age_ms = l->now_ms - c[UNKNOWN_CLAIMED].i;
    t->asks = c[UNKNOWN_ASKS].i;
    t->sends = c[UNKNOWN_SENDS].i;
    l->count++;
    return OK;
}

/* Rows are changed in the order of their ids, as everywhere, to avoid deadlocks. */
static enum err unknown_check_mark(struct tx *tx, struct unknown_check *l)
{
    struct val v[2 * LIMIT_UNKNOWN_TOLD];

    qsort(l->operations, l->count, sizeof(l->operations[0]), uuid_order);
    for (size_t i = 0; i < l->count; i++) {
        v[2 * i] = V_INT(l->now_ms);
        v[2 * i + 1] = v_uuid(&l->operations[i].id);
    }
    return tx_bulk(tx, STMT_unknown_told, v, l->count, 2, NULL, NULL);
}

/* Runs after the commit of the mark, so no operation is logged twice within the hour. */
static void unknown_check_log(void *ctx, int64_t arg)
{
    struct unknown_check *l = ctx;

    (void)arg;
    for (size_t i = 0; i < l->count; i++) {
        const struct unknown_operation *t = &l->operations[i];
        char id[UUID_TEXT + 1], payment[UUID_TEXT + 1];

        uuid_text(t->id, id);
        uuid_text(t->payment, payment);
        LOG(l->env->log, LOG_ERROR, "PaymentOutcomeUnknown", LOG_TEXT("paymentId", str_of(payment)),
            LOG_TEXT("operation", t->kind), LOG_TEXT("operationId", str_of(id)),
            LOG_TEXT("cause", t->cause), LOG_NUM("ageMs", t->age_ms), LOG_NUM("asks", t->asks),
            LOG_NUM("sends", t->sends), LOG_TEXT("gateway", t->gateway),
            LOG_TEXT("lastError", t->error), LOG_NUM("unknown", l->state.count),
            LOG_TEXT("alert", S("unknown_outcome"))); /* Sentry gets the alert, once */
    }
}

/* --- the job --- */

static void unknown_watch_outside(struct job *j, void *ctx)
{
    struct unknown_check *l = calloc(1, sizeof(*l));

    (void)ctx;
    if (!l) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = l;
    l->env = j->env;
    arena_init(&l->arena, CHECK_ARENA);
    j->arena = &l->arena;
    job_outside_done(j, OK, NULL);
}

static enum err unknown_check_read(struct tx *tx, const struct unknown_watch *w,
                                   struct unknown_check *l, int64_t now_ms)
{
    struct val v[] = { V_INT(now_ms - LIMIT_UNKNOWN_AGAIN_MS), V_INT(now_ms - w->alert_ms),
                       V_INT(LIMIT_UNKNOWN_TOLD) };
    enum err e = unknown_read_state(tx, now_ms, &l->state);

    l->now_ms = now_ms;
    l->count = 0;
    if (e || l->state.oldest_ms < w->alert_ms)
        return e;
    e = tx_each(tx, STMT_unknown_untold, v, COUNT(v), unknown_check_add, l);
    if (e)
        return e;
    e = unknown_check_mark(tx, l);
    if (!e && l->count)
        tx_after_commit(tx, unknown_check_log, l, 0);
    return e;
}

/* True: the next check is an hour away, so that an idle server does nothing (Q11); unknown_hasten()
 * moves it forward when something goes wrong. Not with several nodes, since another one may call
 * that during this check. */
static bool unknown_check_is_quiet(const struct unknown_watch *w, const struct unknown_check *l)
{
    return !l->state.count && !l->tellings.stands &&
           !store_health(w->payments->runtime.store).many_nodes;
}

static enum err unknown_watch_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct unknown_watch *w = ctx;
    struct unknown_check *l = j->state;
    int64_t now_ms = env_now_ms(j->env);
    enum err e = unknown_check_read(tx, w, l, now_ms);

    (void)why;
    l->tellings.stands = false;
    if (!e && w->alerts)
        e = alert_look(tx, w->alerts, &l->arena, now_ms, &l->tellings);
    j->again_ms =
        now_ms + (unknown_check_is_quiet(w, l) ? LIMIT_QUIET_LOOK_MS : LIMIT_UNKNOWN_LOOK_MS);
    return e;
}

static void unknown_watch_release(struct job *j, void *ctx)
{
    struct unknown_check *l = j->state;

    (void)ctx;
    if (!l)
        return;
    arena_release(&l->arena);
    free(l);
    j->state = NULL;
}

struct job_kind unknown_kind(struct unknown_watch *w)
{
    return (struct job_kind){
        .name = "payment.unknown",
        .ctx = w,
        .retry = retry_table[RETRY_NEEDED],
        .outside = unknown_watch_outside,
        .settle = unknown_watch_settle,
        .release = unknown_watch_release,
        .patient = true,
    };
}

enum err unknown_start(struct tx *tx, struct unknown_watch *w, int64_t now_ms)
{
    struct queue_new first = { .id = unknown_watch_id,
                               .kind = S("payment.unknown"),
                               .due_ms = now_ms + LIMIT_UNKNOWN_LOOK_MS };
    enum err e = queue_stand(w->payments->runtime.queue, tx, now_ms, &first);

    return e ? e : unknown_hasten(tx, w->payments, now_ms);
}
