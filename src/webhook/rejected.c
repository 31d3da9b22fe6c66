/* rejected.c - counts go from the loops to the executor like this:
 *
 *   a loop adds --first one--> task --> the timer waits for the minute's end --> one unit of rows
 *
 * `called` is true from the first refusal until its counts are taken, so that whoever adds behind
 * that calls again, and an idle door has no timer. */
#include "webhook/rejected.h"

#include "observe/log.h"
#include "observe/metrics.h"

enum { MINUTE_MS = 60 * 1000 };

static const char *refusal_word(enum refusal why)
{
    static const char *const words[REFUSALS] = {
        [REFUSED_NO_HEADER] = "no_header",
        [REFUSED_MALFORMED] = "malformed",
        [REFUSED_NO_TIMESTAMP] = "no_timestamp",
        [REFUSED_NO_V1] = "no_v1",
        [REFUSED_MISMATCH] = "mismatch",
        [REFUSED_TOO_OLD] = "too_old",
        [REFUSED_FUTURE] = "future",
        [REFUSED_ADDRESS] = "address",
        [REFUSED_EMPTY] = "empty",
    };

    return words[why];
}

/* --- on the request's loop --- */

static void log_at_most_once_a_second(struct refusals *r, const struct request *q, enum refusal why)
{
    int64_t now_s = env_now_ms(r->env) / 1000;
    int64_t last_s = atomic_load(&r->logged_s[why]);
    char trace[TRACE_TEXT + 1];

    if (now_s == last_s || !atomic_compare_exchange_strong(&r->logged_s[why], &last_s, now_s))
        return;
    trace_text(&q->trace, trace);
    LOG(r->env->log, why == REFUSED_ADDRESS ? LOG_WARN : LOG_ERROR, /* 003 */
        why == REFUSED_ADDRESS ? "Webhook from an address that is not allowed"
                               : "Webhook signature verification failed",
        LOG_TEXT("reason", str_of(refusal_word(why))), LOG_TEXT("error_type", S("signature")),
        LOG_NUM("count", atomic_exchange(&r->unlogged[why], 0)), LOG_TEXT("requestId", q->id),
        LOG_TRACE(str_of(trace)), LOG_TEXT("peer", q->peer_ip));
}

void refusals_add(struct refusals *r, const struct request *q, enum refusal why)
{
    metrics_count_as(r->env->metrics, COUNT_WEBHOOK_REJECTED, str_of(refusal_word(why)), 1);
    atomic_fetch_add(&r->unlogged[why], 1);
    log_at_most_once_a_second(r, q, why);
    atomic_fetch_add(&r->unwritten[why], 1);
    if (!atomic_exchange(&r->called, true))
        executor_post(r->executor, &r->call);
}

/* --- the rows --- */

static enum err write_rows(struct tx *tx, struct unit *u)
{
    struct refusals *r = CONTAINER_OF(u, struct refusals, unit);

    for (int i = 0; i < REFUSALS; i++) {
        enum err e;

        if (!r->counts[i])
            continue;
        e = TX_DO(tx, STMT_audit_add, 1, V_INT(r->minute_ms), V_TEXT(S("WEBHOOK_REJECTED")),
                  V_TEXT(r->provider), V_TEXT(S("failure")), V_INT(r->counts[i]),
                  V_TEXT(str_of(refusal_word((enum refusal)i))));
        if (e)
            return e;
    }
    return OK;
}

/* --- on the executor --- */

static void go_on_stopping(struct refusals *r);

static void rejected_arm(struct refusals *r, int64_t due_ms)
{
    r->armed = due_ms != CLOCK_NEVER;
    executor_arm(r->executor, &r->timer, due_ms);
}

static void put_back(struct refusals *r)
{
    for (int i = 0; i < REFUSALS; i++)
        atomic_fetch_add(&r->unwritten[i], r->counts[i]);
    if (!atomic_exchange(&r->called, true))
        rejected_arm(r, env_now_ms(r->env) + MINUTE_MS);
}

static void rejected_written(struct unit *u)
{
    struct refusals *r = CONTAINER_OF(u, struct refusals, unit);

    r->writing = false;
    if (r->stopping)
        go_on_stopping(r);
    else if (u->err && u->err != ERR_UNCERTAIN)
        put_back(r);
}

static void write_counts(struct refusals *r)
{
    static const struct unit_kind kind = { "webhook.refusals", UNIT_BACK, write_rows, NULL };

    rejected_arm(r, CLOCK_NEVER);
    atomic_store(&r->called, false);
    for (int i = 0; i < REFUSALS; i++)
        r->counts[i] = atomic_exchange(&r->unwritten[i], 0);
    r->writing = true;
    r->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = rejected_written };
    store_post(r->store, &r->unit);
}

static void minute_is_over(struct timer *t)
{
    struct refusals *r = CONTAINER_OF(t, struct refusals, timer);

    if (r->writing)
        rejected_arm(r, env_now_ms(r->env) + 1000); /* a database that slow; let it finish */
    else
        write_counts(r);
}

static void first_of_a_minute(struct task *t)
{
    struct refusals *r = CONTAINER_OF(t, struct refusals, call);
    int64_t now = env_now_ms(r->env);

    r->minute_ms = now - now % MINUTE_MS;
    rejected_arm(r, r->minute_ms + MINUTE_MS);
    if (r->stopping)
        go_on_stopping(r);
}

static void go_on_stopping(struct refusals *r)
{
    if (r->writing)
        return;
    if (r->armed)
        write_counts(r);
    else if (!atomic_exchange(&r->called, true))
        r->stopped(r->stopped_ctx);
    /* else the task is on its way */
}

void refusals_stop(struct refusals *r, void (*stopped)(void *ctx), void *ctx)
{
    r->stopping = true;
    r->stopped = stopped;
    r->stopped_ctx = ctx;
    go_on_stopping(r);
}

void refusals_init(struct refusals *r, struct env *env, struct store *store,
                   struct executor *executor)
{
    *r = (struct refusals){
        .env = env, .store = store, .executor = executor, .provider = S("stripe")
    };
    r->call.run = first_of_a_minute;
    r->timer = (struct timer){ .fire = minute_is_over, .due_ms = CLOCK_NEVER };
}
