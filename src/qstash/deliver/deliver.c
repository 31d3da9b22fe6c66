/* deliver.c - the job that delivers one message to its destination: one run for each attempt.
 *
 *   enter --> begin (unit) --> call --> settle (unit): delivered, again later, dead, cancelled
 *     |            |--> a limiter has no room: the message waits there, and its job ends
 *     |            '--> cancelled, or already ended: the job ends
 *     '--> not now: the job is put off, and nothing else changes
 *
 * (1) enter asks destinations.h with only what the job's own text says: nothing was read so far.
 * (2) begin commits ACTIVE before the call, so there is no call without a line in the log.
 * (3) Only settle ends an attempt. If the node is killed before it, the attempt is made again with
 *     the same message id and the same count: the destination may see an attempt twice.
 *
 * A run that is put off, cut short by a crash or refused by the database counts as an attempt of
 * the *job*; the message counts its own. So the job's budget is practically endless, and a message
 * ends only by its destination's answers. */
#include "auth/upstash.h"
#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "qstash/admin/keys.h"
#include "qstash/deliver/attempt.h"
#include "qstash/deliver/destinations.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>

enum { AGAIN_MS = 1000 }; /* after a failure on our side */

enum course { COURSE_PUT_OFF, COURSE_WAIT, COURSE_CANCELED, COURSE_GONE, COURSE_CALLED };

struct delivery_job {
    struct job *job;
    struct qstash *q;
    struct job_text text;
    struct stay stay;
    struct unit unit;
    struct arena arena; /* the message, the request and its answer */
    struct begun begun;
    struct call call;
    bool in_flight; /* it is counted in qstash.in_flight */

    enum course course; /* what settle has to do */
    int64_t put_off_ms;
    struct attempt attempt;

    /* set by settle */
    enum settled settled;
    bool is_durable;
};

/* --- the answer --- */

static void delivery_end(struct delivery_job *d, enum course course)
{
    d->course = course;
    job_outside_done(d->job, OK, NULL);
}

/* Only a message with a limiter has something to give back, and that takes a unit of work. */
static void delivery_put_off_until(struct delivery_job *d, int64_t ms)
{
    metrics_count_as(d->q->env->metrics, COUNT_DELIVERY, S("put_off"), 1);
    d->put_off_ms = ms;
    if (d->text.gated)
        delivery_end(d, COURSE_PUT_OFF);
    else
        job_put_off(d->job, ms);
}

static void delivery_put_off_for(struct delivery_job *d, int64_t ms)
{
    delivery_put_off_until(d, env_now_ms(d->q->env) + ms);
}

static void delivery_landed(struct delivery_job *d)
{
    if (d->in_flight)
        atomic_fetch_sub(&d->q->in_flight, 1);
    d->in_flight = false;
}

static void deliver_answered(struct call *c)
{
    struct delivery_job *d = CONTAINER_OF(c, struct delivery_job, call);
    struct qstash *q = d->q;

    delivery_landed(d);
    fault_point(&q->env->faults, "qstash.answered");
    destinations_leave(q->destinations, &d->stay,
                       c->status ? STAY_ANSWERED
                       : c->ours ? STAY_UNUSED
                                 : STAY_SILENT);
    if (c->ours) { /* our own failure is no attempt of the message: the same one is made again */
        delivery_put_off_for(d, AGAIN_MS);
        return;
    }
    attempt_read(c, &d->begun.parcel, d->begun.live.retried, clock_wall_ms(&q->env->clock),
                 &d->attempt);
    d->attempt.callback_id = env_uuid(q->env);
    d->attempt.failure_id = env_uuid(q->env);
    delivery_end(d, COURSE_CALLED);
}

/* --- the call --- */

static enum err delivery_headers(struct delivery_job *d)
{
    struct upstash_pair keys;
    struct stamp stamp = { .wall_ms = clock_wall_ms(&d->q->env->clock),
                           .jti = env_uuid(d->q->env),
                           .retried = d->begun.live.retried };
    struct header *headers;
    enum err e = ERR_UNAVAILABLE; /* there is no key yet */

    upstash_keys_get(d->q->keys, &keys);
    stamp.key = str_of(keys.current);
    if (stamp.key.n)
        e = attempt_headers(&d->arena, &d->begun.parcel, &stamp, &headers, &d->call.header_count);
    OPENSSL_cleanse(&keys, sizeof(keys));
    if (!e)
        d->call.headers = headers;
    return e;
}

static void deliver_call(struct delivery_job *d)
{
    const struct parcel *p = &d->begun.parcel;
    enum err e;

    d->call = (struct call){ .method = p->method,
                             .url = p->url,
                             .body = p->body,
                             .timeout_ms = p->timeout_ms ? p->timeout_ms : LIMIT_QSTASH_ATTEMPT_MS,
                             .turn_ms = LIMIT_QSTASH_TURN_MS,
                             .answer_max = LIMIT_QSTASH_ANSWER,
                             .cut_answer = true,
                             .arena = &d->arena,
                             .executor = d->q->executor,
                             .done = deliver_answered };
    e = delivery_headers(d);
    if (e) {
        destinations_leave(d->q->destinations, &d->stay, STAY_UNUSED);
        job_outside_done(d->job, e, e == ERR_UNAVAILABLE ? "there is no key to sign with" : NULL);
        return;
    }
    d->in_flight = true;
    atomic_fetch_add(&d->q->in_flight, 1);
    client_call(d->q->client, &d->call);
}

/* --- begin --- */

static struct delivery_job *delivery_of(struct unit *u)
{
    return CONTAINER_OF(u, struct delivery_job, unit);
}

static enum err begin_gated(struct tx *tx, struct unit *u)
{
    struct delivery_job *d = delivery_of(u);
    struct begun *b = &d->begun;
    enum err e = keys_follow(d->q, tx);

    return e ? e
             : parcel_begin(d->q, tx, &d->arena, d->job->message, &b->parcel, &b->live,
                            &b->verdict);
}

static enum err begin_plain(struct tx *tx, struct unit *u)
{
    struct delivery_job *d = delivery_of(u);
    enum err e = keys_follow(d->q, tx);

    return e ? e : parcels_begin_plain(d->q, tx, &d->begun, 1);
}

static enum err begin_many(struct tx *tx, struct unit **u, size_t n)
{
    struct qstash *q = delivery_of(u[0])->q;
    struct begun b[LIMIT_BULK];
    enum err e = keys_follow(q, tx);

    assert(n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++) {
        b[i] = delivery_of(u[i])->begun;
        u[i]->err = OK;
    }
    if (!e)
        e = parcels_begin_plain(q, tx, b, n);
    for (size_t i = 0; i < n && !e; i++)
        delivery_of(u[i])->begun = b[i];
    return e;
}

static void deliver_begun(struct unit *u)
{
    static const enum course courses[] = {
        [BEGIN_WAIT] = COURSE_WAIT, [BEGIN_CANCELED] = COURSE_CANCELED, [BEGIN_GONE] = COURSE_GONE
    };
    struct delivery_job *d = delivery_of(u);

    if (!u->err && d->begun.verdict == BEGIN_GO) {
        deliver_call(d);
        return;
    }
    destinations_leave(d->q->destinations, &d->stay, STAY_UNUSED);
    if (u->err && err_is_retryable(u->err)) /* the database failed, not the message */
        delivery_put_off_for(d, AGAIN_MS);
    else if (u->err)
        job_outside_done(d->job, u->err, NULL);
    else
        delivery_end(d, courses[d->begun.verdict]);
}

/* --- enter --- */

static void deliver_decided(struct stay *s)
{
    static const struct unit_kind plain = { "qstash.begin", UNIT_BACK, begin_plain, begin_many };
    static const struct unit_kind gated = { "qstash.begin_gated", UNIT_BACK, begin_gated, NULL };
    struct delivery_job *d = CONTAINER_OF(s, struct delivery_job, stay);

    if (s->put_off_ms) {
        delivery_put_off_until(d, s->put_off_ms);
        return;
    }
    d->begun = (struct begun){ .id = d->job->message->id, .arena = &d->arena };
    d->unit = (struct unit){ .kind = d->text.gated ? &gated : &plain,
                             .executor = d->q->executor,
                             .done = deliver_begun,
                             .arena = &d->arena,
                             .bytes = s->bytes };
    store_post(d->q->store, &d->unit);
}

static void deliver_outside(struct job *j, void *ctx)
{
    struct delivery_job *d = calloc(1, sizeof(*d));

    if (!d) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = d; /* freed by deliver_release() */
    j->arena = &d->arena;
    d->job = j;
    d->q = ctx;
    arena_init(&d->arena, LIMIT_QSTASH_ARENA);
    if (!job_text_read(j->message->body, &d->text) || d->text.bytes < 0) {
        job_outside_done(j, ERR_VALIDATION, "the message does not say where it goes");
        return;
    }
    d->stay = (struct stay){ .bytes = (size_t)d->text.bytes,
                             .fresh = j->message->attempt == 1,
                             .decided = deliver_decided };
    destinations_enter(d->q->destinations, d->text.host, &d->stay);
}

/* --- settle --- */

static void is_durable(void *ctx, int64_t arg)
{
    struct delivery_job *d = ctx;

    (void)arg;
    d->is_durable = true;
}

static enum err deliver_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct delivery_job *d = j->state;
    const struct parcel *p = &d->begun.parcel;
    struct qstash *q = ctx;

    (void)why;
    d->settled = SETTLED_GONE;
    tx_after_commit(tx, is_durable, d, 0);
    switch (d->course) {
    case COURSE_PUT_OFF: j->again_ms = d->put_off_ms; return parcel_yield(q, tx, j->message);
    case COURSE_WAIT: return parcel_park(q, tx, j->message, p, &j->again_ms);
    case COURSE_CANCELED: return parcel_end_canceled(q, tx, j->message, p);
    case COURSE_GONE: return OK;
    case COURSE_CALLED:
        return parcel_settle(q, tx, &d->arena, j->message, p, &d->attempt, &d->settled,
                             &j->again_ms);
    }
    abort();
}

static enum err deliver_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    return parcel_give_up(ctx, tx, m->id, str_of(why));
}

/* --- log lines: of an address only its host, since the rest may hold secrets --- */

static const struct {
    enum log_level level;
    const char *line, *count;
} end_lines[] = {
    [SETTLED_DELIVERED] = { LOG_DEBUG, "A message was delivered", "delivered" },
    [SETTLED_RETRY] = { LOG_INFO, "A delivery failed and will be tried again", "retried" },
    [SETTLED_FAILED] = { LOG_ERROR, "A message became a dead letter", "dead" },
    [SETTLED_CANCELED] = { LOG_DEBUG, "A delivery failed, and its message was cancelled",
                           "canceled" },
};

static void delivery_log(const struct delivery_job *d)
{
    struct env *env = d->q->env;
    char id[MESSAGE_ID_TEXT + 1];

    if (d->course != COURSE_CALLED || d->settled == SETTLED_GONE)
        return;
    metrics_count_as(env->metrics, COUNT_DELIVERY, str_of(end_lines[d->settled].count), 1);
    message_id_text(d->begun.id, id);
    LOG(env->log, end_lines[d->settled].level, end_lines[d->settled].line,
        LOG_TEXT("messageId", str_of(id)), LOG_TEXT("host", d->begun.parcel.host),
        LOG_NUM("retried", d->begun.live.retried), LOG_NUM("status", d->attempt.status),
        d->attempt.error.n ? LOG_TEXT("why", d->attempt.error) : (struct log_field){ 0 });
}

static void deliver_release(struct job *j, void *ctx)
{
    struct delivery_job *d = j->state;

    (void)ctx;
    if (!d)
        return;
    if (d->is_durable)
        delivery_log(d);
    delivery_landed(d); /* the queue may be freed during the call */
    destinations_leave(d->q->destinations, &d->stay, STAY_UNUSED);
    arena_release(&d->arena);
    free(d);
    j->state = NULL;
}

struct job_kind qstash_deliver_kind(struct qstash *q)
{
    return (struct job_kind){
        .name = "qstash.deliver",
        .ctx = q,
        .retry = retry_table[RETRY_NEEDED],
        .outside = deliver_outside,
        .settle = deliver_settle,
        .release = deliver_release,
        .patient = true,
        .buried = deliver_buried,
    };
}
