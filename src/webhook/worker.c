/* worker.c - see worker.h.
 *
 *   verify --> read --> one commit: lock, look, apply --> 204
 *      |        ^           |--> retryable: rolled back, 503
 *      |        |           '--> terminal: rolled back --> one commit: lock, look, bury --> 489
 *      '--> a reference: its event's bytes, as they are stored here --> none: 503
 *
 * A reference stores nothing. An event that is new here is stored in the commit that applies or
 * buries it, and in no other: were it stored with a 503, Stripe's own door would take it for a
 * duplicate, and nobody would apply it.
 */
#include "webhook/worker.h"

#include "base/limits.h"
#include "event/apply_event.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "webhook/event_state.h"
#include "webhook/receive.h"
#include "webhook/remote/remote_watch.h"
#include "webhook/remote/requeue_local.h"

#include <openssl/crypto.h>
#include <stdio.h>

struct worker_work { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    struct worker *worker;
    bool by_reference;       /* what came only names the event */
    struct takeback_row row; /* of a reference: the event as it is stored */
    struct str body;         /* of the event; empty: by reference, and gone after its retention */
    struct stripe_event event;
    struct standing_new fresh;
    struct message message; /* as the queue would have it */
    char trace[TRACE_TEXT + 1];

    /* of the last unit */
    struct standing standing;
    enum err ran; /* what applying it said */
    bool trouble; /* that was the database */
    struct why why;
};

static void webhook_worker_count(const struct worker *w, struct str result)
{
    metrics_count_as(w->env->metrics, COUNT_WORKER, result, 1);
}

/* --- answers --- */

/* reason: for programs; what exactly is wrong stands in detail. */
static void worker_refuse(struct request *r, struct str reason, const char *detail)
{
    char member[64];

    snprintf(member, sizeof(member), "\"reason\":\"" STR_FMT "\"", STR_ARG(reason));
    reply_header(r, S("Upstash-NonRetryable-Error"), S("true"));
    reply_problem_more(r, ERR_NON_RETRYABLE, detail, S(""), str_of(member));
}

/* One line a second, however many come. */
static void log_signature(struct worker *w, const struct request *r, enum upstash_verdict v)
{
    int64_t now_s = env_now_ms(w->env) / 1000;
    char trace[TRACE_TEXT + 1];

    if (atomic_exchange(&w->logged_s, now_s) == now_s)
        return;
    trace_text(&r->trace, trace);
    LOG(w->env->log, LOG_WARN, "Upstash-Signature verification failed",
        LOG_TEXT("reason", str_of(upstash_word(v))), LOG_TEXT("error_type", S("signature")),
        LOG_TEXT("peer", r->peer_ip), LOG_TEXT("requestId", r->id), LOG_TRACE(str_of(trace)));
}

static void refuse_signature(struct worker *w, struct request *r, enum upstash_verdict v)
{
    char detail[160];

    webhook_worker_count(w, S("refused"));
    log_signature(w, r, v);
    snprintf(detail, sizeof(detail), "%s (%s)", err_words(ERR_SIGNATURE, r->language),
             upstash_word(v));
    worker_refuse(r, S("signature"), detail);
}

static void refuse_body(struct worker *w, struct request *r, const char *why)
{
    char trace[TRACE_TEXT + 1];

    webhook_worker_count(w, S("refused"));
    trace_text(&r->trace, trace);
    LOG(w->env->log, LOG_WARN, "The webhook worker got what is no event",
        LOG_TEXT("error", str_of(why)), LOG_TEXT("error_type", S("payload")),
        LOG_TEXT("requestId", r->id), LOG_TRACE(str_of(trace)));
    worker_refuse(r, S("payload"), why);
}

static void try_later(const struct worker_work *k, enum err e)
{
    if (err_status(e) != 503)
        e = ERR_UNAVAILABLE;
    webhook_worker_count(k->worker, S("retry"));
    reply_problem(k->request, e, k->why.text[0] ? k->why.text : NULL);
}

/* It may be on its way: another node's database, a copy that is being restored. */
static void say_unknown(struct worker_work *k)
{
    why_set(&k->why, "that event is not stored here");
}

static void name_event(const struct worker_work *k)
{
    char id[UUID_TEXT + 1];

    uuid_text(k->standing.message, id);
    reply_header(k->request, S("X-Event-Id"), k->event.id);
    reply_header(k->request, S("X-Message-Id"), str_of(id));
}

static void worker_done(const struct worker_work *k, struct str result)
{
    webhook_worker_count(k->worker, result);
    name_event(k);
    reply_send(k->request, 204, S(""), S(""));
}

static void refuse_event(const struct worker_work *k, const char *why)
{
    webhook_worker_count(k->worker, S("dead"));
    name_event(k);
    worker_refuse(k->request, S("event"), why);
}

static void worker_tell(const struct worker_work *k, enum job_end end)
{
    const struct job_kind *apply = k->worker->apply;

    apply->ended(k->worker->env, apply->ctx, &k->message, end, k->why.text);
}

/* --- where it stands --- */

/* Who only names an event brings nothing that could be stored. */
static enum err worker_find(struct tx *tx, struct worker_work *k)
{
    enum err e = k->by_reference ? standing_read(tx, k->event.id, &k->standing)
                                 : standing_read_or_add(tx, &k->fresh, &k->standing);

    if (k->by_reference && e == ERR_NOT_FOUND)
        say_unknown(k);
    return e;
}

/* --- what can never be applied --- */

static bool is_decided(enum standing_kind s)
{
    return s == STANDING_DONE || s == STANDING_QUEUED;
}

static enum err bury_run(struct tx *tx, struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    enum err e = worker_find(tx, k);

    k->message.id = k->standing.message;
    if (e || k->standing.kind != STANDING_OPEN)
        return e; /* a dead one stays the letter that it is */
    return standing_bury(tx, k->worker->apply, &k->message, env_now_ms(k->worker->env),
                         k->why.text);
}

static void worker_buried(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    const struct worker *w = k->worker;

    if (u->err) {
        try_later(k, u->err);
    } else if (is_decided(k->standing.kind)) {
        worker_done(k, S("known"));
    } else {
        if (k->standing.kind == STANDING_OPEN) {
            worker_tell(k, JOB_DEAD);
            if (w->alert)
                w->alert(w->alert_ctx, &k->message, k->why.text);
        }
        refuse_event(k, k->why.text);
    }
}

static void worker_bury(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.bury", UNIT_FRONT, bury_run, NULL };

    if (!k->why.text[0])
        why_set(&k->why, "%s: %s", err_code(k->ran), err_words(k->ran, LANG_EN));
    k->unit =
        (struct unit){ .kind = &kind, .executor = k->request->executor, .done = worker_buried };
    store_post(k->worker->store, &k->unit);
}

/* --- applying --- */

/* Retention empties what is decided. But a replay of it may be under way then, and die. */
static enum err refuse_empty(struct worker_work *k)
{
    why_set(&k->why, "what was received is not stored any more");
    k->ran = ERR_UNPROCESSABLE;
    return k->ran;
}

static enum err worker_apply(struct tx *tx, struct worker_work *k)
{
    const struct job_kind *kind = k->worker->apply;

    if (!k->body.n)
        return refuse_empty(k);
    k->message.id = k->standing.message;
    k->message.added_ms = k->standing.received_ms;
    k->ran = kind->run(tx, &k->message, kind->ctx, &k->why);
    k->trouble = k->ran && tx_trouble(tx);
    return k->ran;
}

static enum err apply_run(struct tx *tx, struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    enum err e;

    k->ran = OK;
    k->trouble = false;
    k->why.text[0] = '\0';
    e = worker_find(tx, k);
    if (!e && k->standing.kind == STANDING_DEAD)
        e = standing_revive(tx, &k->standing);
    if (e || is_decided(k->standing.kind) || k->standing.kind == STANDING_GIVEN_UP)
        return e;
    e = worker_apply(tx, k);
    if (e)
        return e;
    return watch_end(tx, k->worker->queue, k->standing.message, env_now_ms(k->worker->env));
}

static void after_success(struct worker_work *k)
{
    if (k->standing.kind == STANDING_GIVEN_UP) {
        refuse_event(k, "its dead letter was deleted here: nobody wants it applied");
    } else if (is_decided(k->standing.kind)) {
        worker_done(k, S("known"));
    } else {
        worker_tell(k, JOB_DONE);
        worker_done(k, S("done"));
    }
}

/* As in the queue: what the database did is not the event's fault, and else its err decides. */
static void worker_applied(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    bool terminal = k->ran && !k->trouble && !err_is_retryable(k->ran);

    if (!u->err) {
        after_success(k);
    } else if (terminal) {
        worker_bury(k);
    } else {
        if (k->ran && !k->trouble)
            worker_tell(k, JOB_RETRIED);
        try_later(k, u->err);
    }
}

/* --- the request --- */

static enum upstash_verdict worker_verify(const struct worker *w, struct request *r)
{
    struct upstash_pair pair;
    struct str keys[2] = { w->keys.current, w->keys.next };
    enum upstash_verdict v;
    size_t n = 0;
    struct str signature = request_header(r, S("Upstash-Signature"), &n);

    if (w->keys.own) {
        upstash_keys_get(w->keys.own, &pair);
        keys[0] = str_of(pair.current);
        keys[1] = str_of(pair.next);
    }
    v = n > 1 ? UPSTASH_MALFORMED
              : upstash_verify(&r->arena, keys, COUNT(keys), signature, w->url, r->body,
                               clock_wall_ms(&w->env->clock) / 1000);
    OPENSSL_cleanse(&pair, sizeof(pair));
    return v;
}

/* The remote counts its tries, and says which this is. */
static int64_t attempt_of(const struct request *r)
{
    int64_t retried;
    bool sane = str_to_i64(request_header(r, S("Upstash-Retried"), NULL), &retried) &&
                retried >= 0 && retried < INT32_MAX;

    return sane ? retried + 1 : 1;
}

static void worker_fill(struct worker_work *k, struct request *r, struct worker *w, struct str job)
{
    const struct stripe_event *e = &k->event;

    k->fresh = (struct standing_new){ .event = e,
                                      .body = k->body,
                                      .request_id = r->id,
                                      .trace = str_of(k->trace),
                                      .received_ms = env_now_ms(w->env),
                                      .message = env_uuid(w->env) };
    k->message = (struct message){ .kind = APPLY_EVENT_KIND,
                                   .has_lane = e->has_lane,
                                   .lane = e->lane,
                                   .attempt = attempt_of(r),
                                   .added_ms = k->fresh.received_ms,
                                   .began_us = clock_mono_us(&w->env->clock),
                                   .ref = e->id,
                                   .body = job };
}

/* False: it was answered. */
ANSWERS static bool read_event(struct worker_work *k, struct str *ret_job)
{
    struct request *r = k->request;

    if (stripe_event_read(&r->arena, k->body, &k->event)) {
        try_later(k, ERR_NO_MEMORY);
        return false;
    }
    if (!k->event.readable) {
        refuse_body(k->worker, r, k->event.why);
        return false;
    }
    *ret_job = receive_job(&r->arena, &k->event, str_of(k->trace));
    if (!ret_job->p)
        try_later(k, ERR_NO_MEMORY);
    return ret_job->p;
}

static void work_on(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.apply", UNIT_FRONT, apply_run, NULL };
    struct request *r = k->request;
    struct str job = S("");
    bool gone = k->by_reference && !k->body.n; /* where it stands is all that can be told */

    if (!gone && !read_event(k, &job))
        return;
    worker_fill(k, r, k->worker, job);
    k->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = worker_applied };
    store_post(k->worker->store, &k->unit);
}

/* --- by reference --- */

static enum err stored_run(struct tx *tx, struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);

    return takeback_find(tx, &k->request->arena, k->event.id, &k->row);
}

static void was_read(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);

    if (u->err == ERR_NOT_FOUND)
        say_unknown(k);
    if (u->err) {
        try_later(k, u->err);
        return;
    }
    k->body = k->row.body;
    work_on(k);
}

static void read_stored(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.read", UNIT_READ, stored_run, NULL };
    struct request *r = k->request;

    k->by_reference = true;
    k->unit = (struct unit){
        .kind = &kind, .executor = r->executor, .done = was_read, .arena = &r->arena
    };
    store_post(k->worker->store, &k->unit);
}

static void worker_begin(struct worker_work *k)
{
    struct request *r = k->request;
    enum err e = event_reference_read(&r->arena, r->body, &k->event.id);

    trace_text(&r->trace, k->trace);
    if (!e) {
        read_stored(k);
    } else if (e == ERR_NOT_FOUND) {
        k->body = r->body;
        work_on(k);
    } else {
        try_later(k, e);
    }
}

static void worker_judge(struct worker_work *k)
{
    enum upstash_verdict v = worker_verify(k->worker, k->request);

    if (v == UPSTASH_NO_MEMORY)
        try_later(k, ERR_NO_MEMORY);
    else if (v)
        refuse_signature(k->worker, k->request, v);
    else
        worker_begin(k);
}

/* --- the keys, where they may have been rotated elsewhere --- */

static enum err follow_run(struct tx *tx, struct unit *u)
{
    const struct worker_keys *keys = &CONTAINER_OF(u, struct worker_work, unit)->worker->keys;

    return keys->follow(tx, keys->ctx);
}

/* Without the keys nobody can be refused for good. */
static void worker_followed(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);

    if (u->err)
        try_later(k, u->err);
    else
        worker_judge(k);
}

static void worker_follow(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.keys", UNIT_FRONT, follow_run, NULL };

    k->unit =
        (struct unit){ .kind = &kind, .executor = k->request->executor, .done = worker_followed };
    store_post(k->worker->store, &k->unit);
}

void worker_handle(struct request *r, void *worker)
{
    struct worker *w = worker;
    struct worker_work *k = arena_alloc(&r->arena, 1, sizeof(*k));

    if (!k) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    k->request = r;
    k->worker = w;
    if (w->keys.own && !w->keys.are_fresh(w->keys.ctx))
        worker_follow(k);
    else
        worker_judge(k);
}
