/* worker.c - see worker.h.
 *
 *   verify --> read --> one commit: lock, look, apply --> 204
 *      |        ^           |--> retryable: rolled back, 503
 *      |        |           '--> terminal: rolled back --> one commit: lock, look, bury --> 489
 *      '--> a reference: its event's bytes, as they are stored here --> none: 503
 *
 *   (1) A reference stores nothing.
 *   (2) A new event is stored only in the commit that applies or buries it. If it were stored with
 *       a 503, Stripe's endpoint would take its webhook for a duplicate and never apply it.
 *   (3) A crash before the commit changes nothing: the QStash delivers again. After it, the next
 *       delivery finds the state that was committed.
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
    bool by_reference;            /* the body only names the event */
    struct requeue_local_row row; /* of a reference: the event as it is stored */
    struct str body; /* of the event; empty: by reference, and gone after its retention */
    struct stripe_event event;
    struct new_event fresh;
    struct message message; /* as the queue would have it */
    char trace[TRACE_TEXT + 1];

    /* of the last unit */
    struct event_state state;
    enum err apply_err;   /* of applying the event */
    bool database_failed; /* ... and the database caused it */
    struct why why;
};

static void worker_count(const struct worker *w, struct str result)
{
    metrics_count_as(w->env->metrics, COUNT_WORKER, result, 1);
}

/* --- answers --- */

/* reason: a word for programs; detail: a sentence for people. */
static void reply_non_retryable(struct request *r, struct str reason, const char *detail)
{
    char member[64];

    snprintf(member, sizeof(member), "\"reason\":\"" STR_FMT "\"", STR_ARG(reason));
    reply_header(r, S("Upstash-NonRetryable-Error"), S("true"));
    reply_problem_more(r, ERR_NON_RETRYABLE, detail, S(""), str_of(member));
}

/* At most one line a second. */
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

static void reject_signature(struct worker *w, struct request *r, enum upstash_verdict v)
{
    char detail[160];

    worker_count(w, S("refused"));
    log_signature(w, r, v);
    snprintf(detail, sizeof(detail), "%s (%s)", err_words(ERR_SIGNATURE, r->language),
             upstash_word(v));
    reply_non_retryable(r, S("signature"), detail);
}

static void reject_body(struct worker *w, struct request *r, const char *why)
{
    char trace[TRACE_TEXT + 1];

    worker_count(w, S("refused"));
    trace_text(&r->trace, trace);
    LOG(w->env->log, LOG_WARN, "The webhook worker got what is no event",
        LOG_TEXT("error", str_of(why)), LOG_TEXT("error_type", S("payload")),
        LOG_TEXT("requestId", r->id), LOG_TRACE(str_of(trace)));
    reply_non_retryable(r, S("payload"), why);
}

static void reply_try_later(const struct worker_work *k, enum err e)
{
    if (err_status(e) != 503)
        e = ERR_UNAVAILABLE;
    worker_count(k->worker, S("retry"));
    reply_problem(k->request, e, k->why.text[0] ? k->why.text : NULL);
}

/* The event may be stored later, for example while an older copy of the database is restored. */
static void why_unknown_event(struct worker_work *k)
{
    why_set(&k->why, "that event is not stored here");
}

static void reply_event_headers(const struct worker_work *k)
{
    char id[UUID_TEXT + 1];

    uuid_text(k->state.message, id);
    reply_header(k->request, S("X-Event-Id"), k->event.id);
    reply_header(k->request, S("X-Message-Id"), str_of(id));
}

static void reply_done(const struct worker_work *k, struct str result)
{
    worker_count(k->worker, result);
    reply_event_headers(k);
    reply_send(k->request, 204, S(""), S(""));
}

static void reject_event(const struct worker_work *k, const char *why)
{
    worker_count(k->worker, S("dead"));
    reply_event_headers(k);
    reply_non_retryable(k->request, S("event"), why);
}

static void worker_report_end(const struct worker_work *k, enum job_end end)
{
    const struct job_kind *apply = k->worker->apply;

    apply->ended(k->worker->env, apply->ctx, &k->message, end, k->why.text);
}

/* --- the event's state --- */

/* Locks the event. A reference stores nothing, since it has no body to store. */
static enum err event_state_of_request(struct tx *tx, struct worker_work *k)
{
    enum err e = k->by_reference ? event_state_read(tx, k->event.id, &k->state)
                                 : event_state_read_or_add(tx, &k->fresh, &k->state);

    if (k->by_reference && e == ERR_NOT_FOUND)
        why_unknown_event(k);
    return e;
}

/* --- events that can never be applied --- */

static bool is_settled(enum event_state_kind s)
{
    return s == EVENT_STATE_DONE || s == EVENT_STATE_QUEUED;
}

static enum err bury_run(struct tx *tx, struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    enum err e = event_state_of_request(tx, k);

    k->message.id = k->state.message;
    if (e || k->state.kind != EVENT_STATE_OPEN)
        return e; /* a dead event keeps its dead letter */
    return event_state_bury(tx, k->worker->apply, &k->message, env_now_ms(k->worker->env),
                            k->why.text);
}

static void worker_buried(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    const struct worker *w = k->worker;

    if (u->err) {
        reply_try_later(k, u->err);
    } else if (is_settled(k->state.kind)) {
        reply_done(k, S("known"));
    } else {
        if (k->state.kind == EVENT_STATE_OPEN) {
            worker_report_end(k, JOB_DEAD);
            if (w->alert)
                w->alert(w->alert_ctx, &k->message, k->why.text);
        }
        reject_event(k, k->why.text);
    }
}

static void worker_bury(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.bury", UNIT_FRONT, bury_run, NULL };

    if (!k->why.text[0])
        why_set(&k->why, "%s: %s", err_code(k->apply_err), err_words(k->apply_err, LANG_EN));
    k->unit =
        (struct unit){ .kind = &kind, .executor = k->request->executor, .done = worker_buried };
    store_post(k->worker->store, &k->unit);
}

/* --- applying --- */

/* Retention deletes the bodies of events that have an outcome. A replay of such an event may be
 * under way at that time, and becomes a dead letter here. */
static enum err reject_empty(struct worker_work *k)
{
    why_set(&k->why, "what was received is not stored any more");
    k->apply_err = ERR_UNPROCESSABLE;
    return k->apply_err;
}

static enum err worker_apply(struct tx *tx, struct worker_work *k)
{
    const struct job_kind *kind = k->worker->apply;

    if (!k->body.n)
        return reject_empty(k);
    k->message.id = k->state.message;
    k->message.added_ms = k->state.received_ms;
    k->apply_err = kind->run(tx, &k->message, kind->ctx, &k->why);
    k->database_failed = k->apply_err && tx_trouble(tx);
    return k->apply_err;
}

static enum err apply_run(struct tx *tx, struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    enum err e;

    k->apply_err = OK;
    k->database_failed = false;
    k->why.text[0] = '\0';
    e = event_state_of_request(tx, k);
    if (!e && k->state.kind == EVENT_STATE_DEAD)
        e = event_state_revive(tx, &k->state);
    if (e || is_settled(k->state.kind) || k->state.kind == EVENT_STATE_GIVEN_UP)
        return e;
    e = worker_apply(tx, k);
    if (e)
        return e;
    return remote_watch_end(tx, k->worker->queue, k->state.message, env_now_ms(k->worker->env));
}

static void reply_applied(struct worker_work *k)
{
    if (k->state.kind == EVENT_STATE_GIVEN_UP) {
        reject_event(k, "its dead letter was deleted here: nobody wants it applied");
    } else if (is_settled(k->state.kind)) {
        reply_done(k, S("known"));
    } else {
        worker_report_end(k, JOB_DONE);
        reply_done(k, S("done"));
    }
}

/* As in the queue: an error of the database is retried, another one ends the event unless its code
 * is retryable. */
static void worker_applied(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);
    bool terminal = k->apply_err && !k->database_failed && !err_is_retryable(k->apply_err);

    if (!u->err) {
        reply_applied(k);
    } else if (terminal) {
        worker_bury(k);
    } else {
        if (k->apply_err && !k->database_failed)
            worker_report_end(k, JOB_RETRIED);
        reply_try_later(k, u->err);
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

/* From Upstash-Retried, in which the remote counts its retries. */
static int64_t request_attempt(const struct request *r)
{
    int64_t retried;
    bool sane = str_to_i64(request_header(r, S("Upstash-Retried"), NULL), &retried) &&
                retried >= 0 && retried < INT32_MAX;

    return sane ? retried + 1 : 1;
}

static void worker_fill(struct worker_work *k, struct request *r, struct worker *w, struct str job)
{
    const struct stripe_event *e = &k->event;

    k->fresh = (struct new_event){ .event = e,
                                   .body = k->body,
                                   .request_id = r->id,
                                   .trace = str_of(k->trace),
                                   .received_ms = env_now_ms(w->env),
                                   .message = env_uuid(w->env) };
    k->message = (struct message){ .kind = APPLY_EVENT_KIND,
                                   .has_lane = e->has_lane,
                                   .lane = e->lane,
                                   .attempt = request_attempt(r),
                                   .added_ms = k->fresh.received_ms,
                                   .began_us = clock_mono_us(&w->env->clock),
                                   .ref = e->id,
                                   .body = job };
}

/* False: the request was answered. */
ANSWERS static bool worker_read_event(struct worker_work *k, struct str *ret_job)
{
    struct request *r = k->request;

    if (stripe_event_read(&r->arena, k->body, &k->event)) {
        reply_try_later(k, ERR_NO_MEMORY);
        return false;
    }
    if (!k->event.readable) {
        reject_body(k->worker, r, k->event.why);
        return false;
    }
    *ret_job = receive_job(&r->arena, &k->event, str_of(k->trace));
    if (!ret_job->p)
        reply_try_later(k, ERR_NO_MEMORY);
    return ret_job->p;
}

static void worker_post_apply(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.apply", UNIT_FRONT, apply_run, NULL };
    struct request *r = k->request;
    struct str job = S("");
    bool gone = k->by_reference && !k->body.n; /* no body is left: only its state is read */

    if (!gone && !worker_read_event(k, &job))
        return;
    worker_fill(k, r, k->worker, job);
    k->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = worker_applied };
    store_post(k->worker->store, &k->unit);
}

/* --- the event of a reference --- */

static enum err read_stored_run(struct tx *tx, struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);

    return requeue_local_find(tx, &k->request->arena, k->event.id, &k->row);
}

static void worker_stored_read(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);

    if (u->err == ERR_NOT_FOUND)
        why_unknown_event(k);
    if (u->err) {
        reply_try_later(k, u->err);
        return;
    }
    k->body = k->row.body;
    worker_post_apply(k);
}

static void worker_read_stored(struct worker_work *k)
{
    static const struct unit_kind kind = { "worker.read", UNIT_READ, read_stored_run, NULL };
    struct request *r = k->request;

    k->by_reference = true;
    k->unit = (struct unit){
        .kind = &kind, .executor = r->executor, .done = worker_stored_read, .arena = &r->arena
    };
    store_post(k->worker->store, &k->unit);
}

static void worker_begin(struct worker_work *k)
{
    struct request *r = k->request;
    enum err e = event_reference_read(&r->arena, r->body, &k->event.id);

    trace_text(&r->trace, k->trace);
    if (!e) {
        worker_read_stored(k);
    } else if (e == ERR_NOT_FOUND) {
        k->body = r->body;
        worker_post_apply(k);
    } else {
        reply_try_later(k, e);
    }
}

static void worker_admit(struct worker_work *k)
{
    enum upstash_verdict v = worker_verify(k->worker, k->request);

    if (v == UPSTASH_NO_MEMORY)
        reply_try_later(k, ERR_NO_MEMORY);
    else if (v)
        reject_signature(k->worker, k->request, v);
    else
        worker_begin(k);
}

/* --- keys that another node may have rotated --- */

static enum err follow_run(struct tx *tx, struct unit *u)
{
    const struct worker_keys *keys = &CONTAINER_OF(u, struct worker_work, unit)->worker->keys;

    return keys->follow(tx, keys->ctx);
}

/* While the keys are unknown, no request is rejected for good: it gets 503. */
static void worker_followed(struct unit *u)
{
    struct worker_work *k = CONTAINER_OF(u, struct worker_work, unit);

    if (u->err)
        reply_try_later(k, u->err);
    else
        worker_admit(k);
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
        worker_admit(k);
}
