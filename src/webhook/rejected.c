/* rejected.c - how counts get from the loops to the executor, and into rows:
 *
 *   a loop adds --first one--> task --> the timer waits for the minute's end --> one unit of rows
 *
 * `called` is true from the first rejection until the counts are taken for writing. So there is one
 * task for a minute, and an idle endpoint has no timer. */
#include "webhook/rejected.h"

#include "observe/log.h"
#include "observe/metrics.h"

enum { MINUTE_MS = 60 * 1000 };

static const char *rejection_word(enum rejection why)
{
    static const char *const words[REJECTIONS] = {
        [REJECTED_NO_HEADER] = "no_header",
        [REJECTED_MALFORMED] = "malformed",
        [REJECTED_NO_TIMESTAMP] = "no_timestamp",
        [REJECTED_NO_V1] = "no_v1",
        [REJECTED_MISMATCH] = "mismatch",
        [REJECTED_TOO_OLD] = "too_old",
        [REJECTED_FUTURE] = "future",
        [REJECTED_ADDRESS] = "address",
        [REJECTED_EMPTY] = "empty",
    };

    return words[why];
}

/* --- on the request's loop --- */

static void rejected_log(struct rejections *r, const struct request *q, enum rejection why)
{
    int64_t now_s = env_now_ms(r->env) / 1000;
    int64_t last_s = atomic_load(&r->logged_s[why]);
    char trace[TRACE_TEXT + 1];

    if (now_s == last_s || !atomic_compare_exchange_strong(&r->logged_s[why], &last_s, now_s))
        return;
    trace_text(&q->trace, trace);
    LOG(r->env->log, why == REJECTED_ADDRESS ? LOG_WARN : LOG_ERROR, /* 003 */
        why == REJECTED_ADDRESS ? "Webhook from an address that is not allowed"
                                : "Webhook signature verification failed",
        LOG_TEXT("reason", str_of(rejection_word(why))), LOG_TEXT("error_type", S("signature")),
        LOG_NUM("count", atomic_exchange(&r->unlogged[why], 0)), LOG_TEXT("requestId", q->id),
        LOG_TRACE(str_of(trace)), LOG_TEXT("peer", q->peer_ip));
}

void rejections_add(struct rejections *r, const struct request *q, enum rejection why)
{
    metrics_count_as(r->env->metrics, COUNT_WEBHOOK_REJECTED, str_of(rejection_word(why)), 1);
    atomic_fetch_add(&r->unlogged[why], 1);
    rejected_log(r, q, why);
    atomic_fetch_add(&r->unwritten[why], 1);
    if (!atomic_exchange(&r->called, true))
        executor_post(r->executor, &r->call);
}

/* --- the rows --- */

static enum err rejected_write_run(struct tx *tx, struct unit *u)
{
    struct rejections *r = CONTAINER_OF(u, struct rejections, unit);

    for (int i = 0; i < REJECTIONS; i++) {
        enum err e;

        if (!r->counts[i])
            continue;
        e = TX_DO(tx, STMT_audit_add, 1, V_INT(r->minute_ms), V_TEXT(S("WEBHOOK_REJECTED")),
                  V_TEXT(r->provider), V_TEXT(S("failure")), V_INT(r->counts[i]),
                  V_TEXT(str_of(rejection_word((enum rejection)i))));
        if (e)
            return e;
    }
    return OK;
}

/* --- on the executor --- */

static void rejected_continue_stop(struct rejections *r);

static void rejected_arm_timer(struct rejections *r, int64_t due_ms)
{
    r->armed = due_ms != CLOCK_NEVER;
    executor_arm(r->executor, &r->timer, due_ms);
}

static void rejected_restore(struct rejections *r)
{
    for (int i = 0; i < REJECTIONS; i++)
        atomic_fetch_add(&r->unwritten[i], r->counts[i]);
    if (!atomic_exchange(&r->called, true))
        rejected_arm_timer(r, env_now_ms(r->env) + MINUTE_MS);
}

static void rejected_written(struct unit *u)
{
    struct rejections *r = CONTAINER_OF(u, struct rejections, unit);

    r->writing = false;
    if (r->stopping)
        rejected_continue_stop(r);
    else if (u->err && u->err != ERR_UNCERTAIN)
        rejected_restore(r);
}

static void rejected_write(struct rejections *r)
{
    static const struct unit_kind kind = { "webhook.refusals", UNIT_BACK, rejected_write_run,
                                           NULL };

    rejected_arm_timer(r, CLOCK_NEVER);
    atomic_store(&r->called, false);
    for (int i = 0; i < REJECTIONS; i++)
        r->counts[i] = atomic_exchange(&r->unwritten[i], 0);
    r->writing = true;
    r->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = rejected_written };
    store_post(r->store, &r->unit);
}

static void rejected_minute_ended(struct timer *t)
{
    struct rejections *r = CONTAINER_OF(t, struct rejections, timer);

    if (r->writing)
        rejected_arm_timer(r, env_now_ms(r->env) + 1000); /* the last minute is still written */
    else
        rejected_write(r);
}

static void rejected_minute_began(struct task *t)
{
    struct rejections *r = CONTAINER_OF(t, struct rejections, call);
    int64_t now = env_now_ms(r->env);

    r->minute_ms = now - now % MINUTE_MS;
    rejected_arm_timer(r, r->minute_ms + MINUTE_MS);
    if (r->stopping)
        rejected_continue_stop(r);
}

static void rejected_continue_stop(struct rejections *r)
{
    if (r->writing)
        return;
    if (r->armed)
        rejected_write(r);
    else if (!atomic_exchange(&r->called, true))
        r->stopped(r->stopped_ctx);
    /* else the task was posted: it continues the stop */
}

void rejections_stop(struct rejections *r, void (*stopped)(void *ctx), void *ctx)
{
    r->stopping = true;
    r->stopped = stopped;
    r->stopped_ctx = ctx;
    rejected_continue_stop(r);
}

void rejections_init(struct rejections *r, struct env *env, struct store *store,
                     struct executor *executor)
{
    *r = (struct rejections){
        .env = env, .store = store, .executor = executor, .provider = S("stripe")
    };
    r->call.run = rejected_minute_began;
    r->timer = (struct timer){ .fire = rejected_minute_ended, .due_ms = CLOCK_NEVER };
}
