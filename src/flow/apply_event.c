#include "flow/apply_event.h"

#include "base/json.h"
#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_BODY_MAX = 8 * 1024, JOB_ARENA = 64 * 1024, RETRY_MAX_MS = 24 * 3600 * 1000 };

/* --- the types we apply, sorted --- */

static const char *const known[] = {
    "charge.captured",
    "charge.dispute.closed",
    "charge.dispute.created",
    "charge.dispute.funds_reinstated",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.updated",
    "charge.expired",
    "charge.failed",
    "charge.pending",
    "charge.refund.updated",
    "charge.refunded",
    "charge.succeeded",
    "charge.updated",
    "checkout.session.async_payment_failed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.completed",
    "checkout.session.expired",
    "payment_intent.amount_capturable_updated",
    "payment_intent.canceled",
    "payment_intent.created",
    "payment_intent.partially_funded",
    "payment_intent.payment_failed",
    "payment_intent.processing",
    "payment_intent.requires_action",
    "payment_intent.succeeded",
    "refund.created",
    "refund.failed",
    "refund.updated",
};

static int compare_type(const void *type, const void *entry)
{
    return str_cmp(*(const struct str *)type, str_of(*(const char *const *)entry));
}

bool event_type_is_known(struct str type)
{
    return bsearch(&type, known, COUNT(known), sizeof(known[0]), compare_type);
}

/* --- the message's body --- */

enum { AT_TYPE, AT_LIVEMODE, AT_OBJECT, AT_INTENT, AT_PAYMENT, AT_TRACE, AT_COUNT };
static const char *const paths[AT_COUNT] = {
    "type", "live", "object", "intent", "payment", "trace"
};

static void add_text(struct buf *b, const char *name, struct str text)
{
    if (!text.n)
        return;
    buf_fmt(b, ",\"%s\":", name);
    buf_json(b, text);
}

struct str event_job_write(struct arena *a, const struct event_job *j)
{
    struct str copy = { 0 };
    struct buf b;

    buf_init(&b, JOB_BODY_MAX);
    buf_add(&b, S("{\"type\":"));
    buf_json(&b, j->type);
    if (j->livemode >= 0)
        buf_add(&b, j->livemode ? S(",\"live\":true") : S(",\"live\":false"));
    add_text(&b, paths[AT_OBJECT], j->object_id);
    add_text(&b, paths[AT_INTENT], j->intent_id);
    add_text(&b, paths[AT_PAYMENT], j->payment_id);
    add_text(&b, paths[AT_TRACE], j->trace);
    buf_char(&b, '}');
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

static enum err take_text(struct arena *a, const struct json_value *v, struct str *ret_text)
{
    *ret_text = (struct str){ 0 };
    if (v->type == JSON_ABSENT)
        return OK;
    if (v->type != JSON_STRING)
        return ERR_VALIDATION;
    *ret_text = v->raw;
    return v->has_escape ? json_unescape(a, v, ret_text) : OK;
}

enum err event_job_read(struct arena *a, struct str body, struct event_job *ret_job)
{
    struct json_value v[AT_COUNT];
    struct event_job j = { .livemode = -1 };
    enum err e = json_pick(body, paths, AT_COUNT, v, NULL);

    if (e)
        return e;
    if (v[AT_LIVEMODE].type == JSON_BOOL)
        j.livemode = str_eq(v[AT_LIVEMODE].raw, S("true"));
    e = take_text(a, &v[AT_TYPE], &j.type);
    if (!e && !j.type.n)
        e = ERR_VALIDATION;
    if (!e)
        e = take_text(a, &v[AT_OBJECT], &j.object_id);
    if (!e)
        e = take_text(a, &v[AT_INTENT], &j.intent_id);
    if (!e)
        e = take_text(a, &v[AT_PAYMENT], &j.payment_id);
    if (!e)
        e = take_text(a, &v[AT_TRACE], &j.trace);
    if (!e)
        *ret_job = j;
    return e;
}

/* --- the effect --- */

static struct str outcome_of(const struct apply_event *a, const struct event_job *j)
{
    if (j->livemode >= 0 && (j->livemode == 1) != a->expect_livemode)
        return S("wrong_mode");
    return event_type_is_known(j->type) ? S("processed") : S("ignored");
}

enum { OUTCOME_COLUMNS = 4 };

static void outcome_row(struct val *v, const struct message *m, struct str outcome, int64_t now_ms)
{
    v[0] = V_BLOB(uuid_bytes(&m->id));
    v[1] = V_TEXT(outcome);
    v[2] = V_NULL;
    v[3] = V_INT(now_ms);
}

static enum err count_row(void *ctx, const struct row *row)
{
    (void)row;
    (*(size_t *)ctx)++;
    return OK;
}

/* The fence lets a message have one effect only; should it ever fail, this is the second wall. */
static enum err write_outcomes(struct tx *tx, const struct val *v, size_t n)
{
    size_t written = 0;
    enum err e = tx_bulk(tx, STMT_webhook_outcome_add, v, n, OUTCOME_COLUMNS, count_row, &written);

    if (e)
        return e;
    return written == n ? OK : ERR_CONFLICT;
}

static enum err apply(struct tx *tx, const struct message *m, void *ctx, char why[256])
{
    struct env *env = tx_env(tx);
    struct val row[OUTCOME_COLUMNS];
    struct event_job j;
    struct arena a;
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = event_job_read(&a, m->body, &j);
    if (e) {
        snprintf(why, 256, "the message's body cannot be read");
    } else if ((e = fault_point_at(&env->faults, "apply", j.type))) {
        snprintf(why, 256, "fault point apply:%.*s", (int)(j.type.n < 100 ? j.type.n : 100),
                 j.type.p);
    } else {
        outcome_row(row, m, outcome_of(ctx, &j), env_now_ms(env));
        e = write_outcomes(tx, row, 1);
    }
    arena_release(&a);
    return e;
}

static int by_id(const void *a, const void *b)
{
    const struct message *x = *(const struct message *const *)a;
    const struct message *y = *(const struct message *const *)b;

    return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

/* PostgreSQL: two nodes may have the same messages after a lease ran out. Rows go in in one order,
 * or they might wait for each other. */
static void sort_by_id(const struct message **sorted, const struct message *const *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sorted[i] = m[i];
    qsort(sorted, n, sizeof(void *), by_id);
}

static enum err apply_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    const struct message *sorted[LIMIT_BULK];
    struct val v[LIMIT_BULK * OUTCOME_COLUMNS];
    struct env *env = tx_env(tx);
    int64_t now_ms = env_now_ms(env);
    struct arena a;
    enum err e = OK;

    assert(n <= LIMIT_BULK);
    if (env->faults.count)
        return ERR_VALIDATION; /* faults are counted: each message passes them once, alone */
    sort_by_id(sorted, m, n);
    arena_init(&a, JOB_ARENA);
    for (size_t i = 0; i < n && !e; i++) {
        struct event_job j;

        e = event_job_read(&a, sorted[i]->body, &j);
        if (!e)
            outcome_row(v + i * OUTCOME_COLUMNS, sorted[i], outcome_of(ctx, &j), now_ms);
    }
    arena_release(&a); /* outcomes are static words */
    return e ? e : write_outcomes(tx, v, n);
}

static enum err buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct val v[] = { V_BLOB(uuid_bytes(&m->id)), V_TEXT(S("dead")), V_NULL,
                       V_INT(env_now_ms(tx_env(tx))) };

    (void)ctx;
    if (why[0] && str_is_utf8(str_of(why)))
        v[2] = V_TEXT(str_of(why));
    return write_outcomes(tx, v, 1);
}

/* --- what is told of it --- */

static void tell_done(struct env *env, const struct message *m, const struct event_job *j,
                      struct str outcome)
{
    int64_t took_ms = env_now_ms(env) - m->added_ms; /* below 0 where clocks differ */
    char id[UUID_TEXT + 1];

    metrics_count_as(env->metrics, COUNT_EVENT_OUTCOME, outcome, 1);
    metrics_time(env->metrics, TIME_END_TO_END, took_ms > 0 ? took_ms * 1000 : 0);
    if (str_eq(outcome, S("processed")))
        return;
    uuid_text(m->id, id);
    LOG(env->log, LOG_INFO,
        str_eq(outcome, S("ignored")) ? "Unhandled event type" : "Event of the wrong mode",
        LOG_TEXT("eventId", m->ref), LOG_TEXT("eventType", j->type),
        LOG_TEXT("messageId", str_of(id)), LOG_TEXT("trace", j->trace));
}

static void tell_failed(struct env *env, const struct message *m, const struct event_job *j,
                        enum job_end end, const char *why)
{
    char id[UUID_TEXT + 1];

    if (end == JOB_DEAD)
        metrics_count_as(env->metrics, COUNT_EVENT_OUTCOME, S("dead"), 1);
    uuid_text(m->id, id);
    LOG(env->log, end == JOB_DEAD ? LOG_ERROR : LOG_WARN, "Webhook processing failed",
        LOG_TEXT("eventId", m->ref), LOG_TEXT("eventType", j->type), LOG_TEXT("error", str_of(why)),
        LOG_NUM("attempt", m->attempt), LOG_TEXT("messageId", str_of(id)),
        LOG_TEXT("trace", j->trace));
}

static void ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why)
{
    struct event_job j = { .livemode = -1 };
    struct arena a;

    arena_init(&a, JOB_ARENA);
    if (event_job_read(&a, m->body, &j) || end != JOB_DONE)
        tell_failed(env, m, &j, end, why);
    else
        tell_done(env, m, &j, outcome_of(ctx, &j));
    arena_release(&a);
}

struct job_kind apply_event_kind(struct apply_event *a, int retries, int64_t first_ms)
{
    return (struct job_kind){
        .name = "stripe.event",
        .run = apply,
        .ctx = a,
        .retry = { .retries = retries, .first_ms = first_ms, .max_ms = RETRY_MAX_MS, .factor = 2 },
        .run_many = apply_many,
        .buried = buried,
        .ended = ended,
    };
}
