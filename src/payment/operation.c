/* operation.c - the job of one money operation: `op`. It is the same for an operation that was
 * claimed just now and for one that a crash left behind.
 *
 *   claimed --------------> submit --> settle (settle.c)
 *   found in the queue --> read --> submit   within 30 s of its claim, or it is our own
 *                               '-> query    afterwards, and whenever its outcome is unknown (D6)
 *
 *   (1) The operation is stored before the gateway first hears of it.
 *   (2) Every submit for a client carries the same gateway key, so a repeat is harmless while the
 *       gateway keeps the key; after 23 hours nothing is submitted under it.
 *   (3) No transaction is open while the call is under way.
 *
 * A crash leaves the operation and its message. The message is leased again, and the job reads the
 * operation to decide between submitting and querying. */
#include "base/limits.h"
#include "payment/operate.h"
#include "payment/operation_log.h"
#include "payment/operation_run.h"
#include "payment/operation_span.h"
#include "payment/payable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_ARENA = 4 * 1024 * 1024 };

struct op_run *run_new(struct payments *p)
{
    struct op_run *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->p = p;
    r->tries.env = p->runtime.env;
    arena_init(&r->arena, RUN_ARENA);
    return r;
}

void run_free(struct op_run *r)
{
    if (!r)
        return;
    answer_release(r->answer);
    arena_release(&r->arena);
    free(r);
}

/* --- reading an operation that a crash or an unknown outcome left behind --- */

enum err run_read(struct tx *tx, struct op_run *r, struct uuid operation)
{
    enum err e = operation_read(tx, &r->arena, operation, &r->op);

    if (!e)
        e = payment_read(tx, &r->arena, r->op.payment_id, false, &r->payment);
    if (!e && r->op.has_refund)
        e = refund_read(tx, &r->arena, r->op.refund_id, &r->refund);
    if (!e && subject_of(r->p, &r->payment)->load)
        e = subject_of(r->p, &r->payment)->load(tx, r);
    return e;
}

static enum err operation_load(struct tx *tx, struct unit *u)
{
    struct op_run *r = CONTAINER_OF(u, struct op_run, load);
    struct uuid id;

    return uuid_parse(r->job->message->body, &id) ? run_read(tx, r, id) : ERR_VALIDATION;
}

static const struct unit_kind operation_load_kind = { "op.load", UNIT_READ, operation_load, NULL };

/* --- calling --- */

static struct gateway *operation_gateway(const struct op_run *r)
{
    return gateways_named(r->p->gateways, r->payment.gateway);
}

static void declined_canceled(struct gateway_call *c)
{
    struct op_run *r = CONTAINER_OF(c, struct op_run, cancel);

    operate_log_answer(r, c);
    r->intent_is_dead =
        c->answer == GATEWAY_OK && c->fact.kind == FACT_INTENT && c->fact.state == INTENT_CANCELED;
    job_outside_done(r->job, OK, NULL);
}

/* Best effort: if it fails, settle starts an operation of our own that cancels the intent. */
static void cancel_declined_intent(struct op_run *r)
{
    size_t room = r->op.gateway_key.n + sizeof("-cancel");
    char *key = arena_alloc(&r->arena, 1, room);
    struct gateway_call *c = &r->cancel;

    if (!key) {
        job_outside_done(r->job, OK, NULL);
        return;
    }
    snprintf(key, room, STR_FMT "-cancel", STR_ARG(r->op.gateway_key));
    *c = (struct gateway_call){ .ask = GATEWAY_VOID,
                                .key = str_of(key),
                                .payment = r->payment.id,
                                .user = r->payment.user_id,
                                .subject = r->payment.subject_id,
                                .context = r->payment.context,
                                .money = r->payment.money,
                                .intent_id = r->call.fact.intent_id,
                                .reason = S("abandoned"),
                                .budget_ms = LIMIT_DECLINED_MS,
                                .env = r->p->runtime.env,
                                .seen = &r->tries,
                                .arena = &r->arena,
                                .executor = r->p->runtime.executor,
                                .done = declined_canceled };
    memcpy(c->trace, r->trace, sizeof(c->trace));
    operate_log_request(r, c);
    gateways_call(operation_gateway(r), c);
}

/* A gateway may save a failure under a key (Stripe's saved 500). A client that submits again would
 * get it for ever, and each time would put off the query. So after a failed second submit the
 * gateway is queried at once. */
static bool got_saved_failure(const struct op_run *r)
{
    const struct gateway_call *c = &r->call;

    return !r->asked && r->op.has_key && r->op.sends > 0 && c->answer == GATEWAY_UNCERTAIN &&
           c->status >= 500 &&
           (c->ask == GATEWAY_AUTHORIZE || c->ask == GATEWAY_CAPTURE || c->ask == GATEWAY_REFUND ||
            c->ask == GATEWAY_VOID);
}

static void operation_call(struct op_run *r);

static void call_done(struct gateway_call *c)
{
    struct op_run *r = CONTAINER_OF(c, struct op_run, call);

    r->called = true;
    fault_point(&r->p->runtime.env->faults, "op.answered");
    operate_log_answer(r, c);
    if (got_saved_failure(r)) {
        r->asked = true;
        r->op.sent_ms = env_now_ms(r->p->runtime.env); /* absence proves nothing yet (D6) */
        operation_call(r);
        return;
    }
    if (r->op.kind == OP_CREATE && r->payment.context == CONTEXT_BOOKING && !r->asked &&
        c->answer == GATEWAY_DECLINED && c->fact.kind == FACT_INTENT && c->fact.intent_id.n &&
        c->fact.state != INTENT_CANCELED)
        cancel_declined_intent(r);
    else
        job_outside_done(r->job, OK, NULL);
}

/* A session of the gateway's page is no money: it is submitted again with its key instead of being
 * queried. Money that arrives by another session still finds its payment (D18). */
static bool is_checkout(const struct op_run *r)
{
    return r->op.kind == OP_CREATE && r->payment.context == CONTEXT_PARTICIPANT;
}

/* The customer has not paid on the page yet, so there is no intent to cancel: the page itself is
 * closed. That is harmless at any time. */
static bool is_page_void(const struct op_run *r)
{
    return r->op.kind == OP_VOID && !r->op.intent_id.n && !r->payment.gateway_transaction_id.n &&
           r->payment.checkout_session_id.n;
}

static enum gateway_ask operation_ask(const struct op_run *r)
{
    static const enum gateway_ask sends[OP_KINDS] = { GATEWAY_AUTHORIZE, GATEWAY_CAPTURE,
                                                      GATEWAY_REFUND, GATEWAY_VOID };

    if (is_checkout(r))
        return GATEWAY_CHECKOUT;
    if (is_page_void(r))
        return GATEWAY_EXPIRE;
    if (!r->asked)
        return sends[r->op.kind];
    return r->op.kind == OP_REFUND ? GATEWAY_FETCH_REFUND : GATEWAY_FETCH;
}

static struct str void_reason(struct str cause)
{
    if (str_eq(cause, S("client")) || str_eq(cause, S("booking_cancelled")) ||
        str_eq(cause, S("campaign_cancelled")))
        return S("requested_by_customer");
    return str_starts(cause, S("stray")) ? S("duplicate") : S("abandoned");
}

/* A gateway may save a failure under a key for ever (Stripe's saved 500), so each submit of our own
 * operations has a new key: a repeated cancel is harmless, and a refund is submitted again only when
 * the one before surely did not happen. A client's operation always has one key. */
static struct str operation_gateway_key(struct op_run *r)
{
    int64_t number = r->op.kind == OP_VOID ? r->op.sends + r->op.asks : r->op.sends;
    size_t room = r->op.gateway_key.n + 24;
    char *text;

    if ((r->op.has_key && !is_page_void(r)) || !number)
        return r->op.gateway_key;
    text = arena_alloc(&r->arena, 1, room);
    if (!text)
        return r->op.gateway_key;
    snprintf(text, room, STR_FMT "-%lld", STR_ARG(r->op.gateway_key), (long long)number);
    return str_of(text);
}

static struct str operation_intent(const struct op_run *r)
{
    return r->op.intent_id.n ? r->op.intent_id : r->payment.gateway_transaction_id;
}

/* A query continues the search that the query before could not finish. An object submitted since may
 * stand before that place, so after a submit the search starts again. */
static void operation_set_search_start(struct op_run *r)
{
    if (r->asked && r->op.list_after.n && r->op.list_ms > r->op.sent_ms)
        return;
    r->op.list_after = (struct str){ 0 };
    r->op.list_ms = env_now_ms(r->p->runtime.env);
}

static void operation_call(struct op_run *r)
{
    const struct payment *p = &r->payment;
    struct gateway_call *c = &r->call;

    operation_set_search_start(r);
    *c = (struct gateway_call){ .ask = operation_ask(r),
                                .key = r->asked ? (struct str){ 0 } : operation_gateway_key(r),
                                .payment = p->id,
                                .user = p->user_id,
                                .subject = p->subject_id,
                                .context = p->context,
                                .notes = r->extra.notes,
                                .note_count = r->extra.note_count,
                                .capture_now = r->extra.capture_now,
                                .method_type = r->extra.method_type,
                                .konbini_days = LIMIT_KONBINI_DAYS,
                                .success_url = r->extra.success_url,
                                .cancel_url = r->extra.cancel_url,
                                .item = r->extra.item,
                                .session_id = p->checkout_session_id,
                                .email = r->extra.email,
                                .money = p->money,
                                .payment_method = r->op.method,
                                .description = p->description,
                                .return_url = r->p->return_url,
                                .intent_id = operation_intent(r),
                                .action = p->action,
                                .since_ms = r->op.claimed_ms,
                                .until_ms = r->op.sent_ms,
                                .list_after = r->op.list_after,
                                .env = r->p->runtime.env,
                                .span_name = "Payment.callGateway",
                                .seen = &r->tries,
                                .arena = &r->arena,
                                .executor = r->p->runtime.executor,
                                .done = call_done };
    memcpy(c->trace, r->trace, sizeof(c->trace));
    if (r->op.kind == OP_VOID)
        c->reason = void_reason(r->op.cause);
    if (r->op.amount > 0)
        c->money.minor = r->op.amount;
    if (r->op.has_refund) {
        c->refund = r->op.refund_id;
        c->refund_id = r->refund.gateway_refund_id;
        c->reason = r->refund.reason;
    }
    fault_point(&r->p->runtime.env->faults, "op.calling");
    operate_log_request(r, c);
    gateways_call(operation_gateway(r), c);
}

/* Our own operations are submitted until they are done. A cancel may be submitted at any time; a
 * refund only while it surely did not happen (PHASE_SEND), and never again with a key that the
 * gateway may have forgotten. */
static bool may_submit_own(const struct op_run *r, int64_t now_ms)
{
    if (r->op.kind == OP_VOID)
        return true;
    return r->op.phase == PHASE_SEND && now_ms - r->op.sent_ms < LIMIT_KEY_FRESH_MS;
}

/* May the operation be submitted, or is the gateway only queried (D6)? */
static bool may_submit(const struct op_run *r)
{
    int64_t now_ms = env_now_ms(r->p->runtime.env), age_ms = now_ms - r->op.claimed_ms;

    if (!r->op.has_key)
        return may_submit_own(r, now_ms);
    if (is_page_void(r))
        return true;
    if (age_ms >= LIMIT_KEY_FRESH_MS)
        return false;
    return r->fresh || is_checkout(r) || (r->op.phase == PHASE_SEND && age_ms <= LIMIT_RESEND_MS);
}

static void old_session_expired(struct gateway_call *c)
{
    struct op_run *r = CONTAINER_OF(c, struct op_run, cancel);
    bool ended = c->answer == GATEWAY_ABSENT ||
                 (c->answer == GATEWAY_OK && c->fact.session == SESSION_EXPIRED);

    operate_log_answer(r, c);
    if (ended) {
        operation_call(r);
        return;
    }
    r->call = (struct gateway_call){ .answer = GATEWAY_RETRY_LATER, .timed_out = c->timed_out };
    memcpy(r->call.error_code, c->error_code, sizeof(c->error_code));
    if (c->answer == GATEWAY_OK) {
        r->call.answer = GATEWAY_OK;
        r->call.fact = c->fact; /* complete: it was paid */
    }
    r->called = true;
    job_outside_done(r->job, OK, NULL);
}

/* Two sessions of one payment could both be paid, so the old one ends first (D18). Ending it twice is
 * harmless, so each try has a key of its own, past any saved failure. */
static void expire_old_session(struct op_run *r)
{
    long long number = r->op.sends + r->op.asks;
    size_t room = r->op.gateway_key.n + 32;
    char *key = arena_alloc(&r->arena, 1, room);

    if (!key) {
        job_outside_done(r->job, ERR_NO_MEMORY, NULL);
        return;
    }
    snprintf(key, room, STR_FMT "-expire-%lld", STR_ARG(r->op.gateway_key), number);
    r->cancel = (struct gateway_call){ .ask = GATEWAY_EXPIRE,
                                       .key = str_of(key),
                                       .payment = r->payment.id,
                                       .context = r->payment.context,
                                       .session_id = r->extra.old_session,
                                       .env = r->p->runtime.env,
                                       .seen = &r->tries,
                                       .arena = &r->arena,
                                       .executor = r->p->runtime.executor,
                                       .done = old_session_expired };
    memcpy(r->cancel.trace, r->trace, sizeof(r->trace));
    operate_log_request(r, &r->cancel);
    gateways_call(operation_gateway(r), &r->cancel);
}

/* The cancel was planned because no money had come, and the customer has paid since. */
static bool cancel_is_obsolete(const struct op_run *r)
{
    enum payment_status s = r->payment.status;
    bool for_want_of_money =
        str_eq(r->op.cause, S("abandoned")) || str_eq(r->op.cause, S("declined"));

    return r->op.kind == OP_VOID && !r->op.has_key && !r->op.intent_id.n && for_want_of_money &&
           s != PAYMENT_PENDING && s != PAYMENT_FAILED;
}

static void operation_go_on(struct op_run *r)
{
    bool no_intent = r->op.kind != OP_CREATE && !operation_intent(r).n && !is_page_void(r);

    if (r->op.phase == PHASE_DONE || no_intent || cancel_is_obsolete(r)) {
        job_outside_done(r->job, OK, NULL); /* settle sees that there is nothing to do */
        return;
    }
    r->asked = !may_submit(r);
    if (is_checkout(r) && r->asked)
        job_outside_done(r->job, OK, NULL); /* too late: settle releases its key */
    else if (is_checkout(r) && r->extra.old_session.n)
        expire_old_session(r);
    else
        operation_call(r);
}

static void operation_resume(struct op_run *r)
{
    resume_span_begin(r);
    operate_log_resumed(r);
    operation_go_on(r);
}

static void operation_loaded(struct unit *u)
{
    struct op_run *r = CONTAINER_OF(u, struct op_run, load);

    r->loaded = !u->err;
    if (u->err)
        job_outside_done(r->job, u->err == ERR_NOT_FOUND ? ERR_VALIDATION : u->err,
                         "the operation could not be read");
    else
        operation_resume(r);
}

static void operation_outside(struct job *j, void *ctx)
{
    struct payments *p = ctx;
    struct op_run *r = j->state;

    if (!r)
        r = j->state = run_new(p);
    if (!r) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    r->job = j;
    j->arena = &r->arena;
    if (r->loaded) {
        operation_go_on(r);
        return;
    }
    r->load = (struct unit){ .kind = &operation_load_kind,
                             .executor = p->runtime.executor,
                             .done = operation_loaded,
                             .arena = &r->arena };
    store_post(p->runtime.store, &r->load);
}

static void operation_release(struct job *j, void *ctx)
{
    (void)ctx;
    if (j->state)
        resume_span_end(j->state, "it was not settled");
    run_free(j->state);
    j->state = NULL;
}

struct job_kind operation_kind(struct payments *p)
{
    return (struct job_kind){
        .name = "op",
        .ctx = p,
        /* Every query and every retry of the client costs an attempt. An unknown outcome is queried
         * for as long as it takes: a dead letter would lock its payment and its key for ever. */
        .retry = retry_table[RETRY_OPERATION],
        .outside = operation_outside,
        .settle = operation_settle,
        .release = operation_release,
    };
}

/* --- our own --- */

enum err operation_start_own(struct tx *tx, struct payments *p, const struct payment *payment,
                             enum op_kind kind, int64_t amount, struct str cause)
{
    return operation_start_on(tx, p, payment, (struct str){ 0 }, kind, amount, cause);
}

enum err operation_start_on(struct tx *tx, struct payments *p, const struct payment *payment,
                            struct str intent_id, enum op_kind kind, int64_t amount,
                            struct str cause)
{
    struct env *env = tx_env(tx);
    int64_t now_ms = env_now_ms(env);
    struct operation op = { .id = env_uuid(env),
                            .payment_id = payment->id,
                            .message_id = env_uuid(env),
                            .kind = kind,
                            .cause = cause,
                            .amount = kind == OP_REFUND ? amount : -1,
                            .intent_id = intent_id,
                            .claimed_ms = now_ms };
    struct queue_new m = { .id = op.message_id, .kind = S("op"), .due_ms = now_ms };
    struct refund refund = { .id = env_uuid(env),
                             .payment_id = payment->id,
                             .amount = amount,
                             .status = REFUND_PENDING,
                             .reason = cause,
                             .automatic = str_starts(cause, S("stray")),
                             .created_ms = now_ms };
    char key[GATEWAY_KEY + 1], id[UUID_TEXT + 1], payment_id[UUID_TEXT + 1];
    enum err e;

    gateway_key(payment->id, op.id, key);
    op.gateway_key = str_of(key);
    if (kind == OP_REFUND) {
        op.has_refund = true;
        op.refund_id = refund.id;
        e = refund_add(tx, &refund);
        if (e)
            return e;
    }
    e = operation_add(tx, &op);
    if (e)
        return e;
    uuid_text(op.id, id);
    uuid_text(payment->id, payment_id);
    m.body = str_of(id);
    m.ref = str_of(payment_id);
    return queue_add(p->runtime.queue, tx, now_ms, &m, 1);
}

void gateway_key(struct uuid payment, struct uuid operation, char ret_key[GATEWAY_KEY + 1])
{
    char p[UUID_TEXT + 1], o[UUID_TEXT + 1];

    uuid_text(payment, p);
    uuid_text(operation, o);
    snprintf(ret_key, GATEWAY_KEY + 1, "ichido-%s-%s", p, o);
}
