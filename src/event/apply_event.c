/* apply_event.c - the job that applies an event to its payment.
 *
 *   message --> wrong mode, unknown type: outcome only
 *          |--> edited by an operator: refetch, the gateway says what is so
 *          '--> the payment, by its id, its intent or its charge
 *                 |--> none: foreign, or refetch to learn whose it is
 *                 '--> under its lock: apply the fact, or refetch if it may not be the last word
 *
 *   (1) An event changes only the payment to which its intent belongs. Metadata can be edited by
 *       anybody with access to the gateway account, so the intent's own row wins over it (D18).
 *   (2) The effect, the outcome and the end of the message are one commit. A crash before it leaves
 *       the message; the job runs again from the start.
 *   (3) Exactly one message writes an event's outcome: this one, or the refetch that it adds.
 *   (4) A bulk has the same effect as its events alone. If any event of it fails, the store runs
 *       each of them alone. */
#include "event/apply_event.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "event/fee_job.h"
#include "event/outcome.h"
#include "event/refetch.h"
#include "gateway/fact.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "payment/transition.h"
#include "queue/message_span.h"
#include "store/tx_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOB_ARENA = 2 * EVENT_JOB_MAX,
    UNHANDLED_MAX = 300,
};

/* --- the effect --- */

struct event_run {
    struct tx *tx;
    const struct apply_event *a;
    const struct message *m;
    struct event_job job;
    struct fact fact;
    struct taking taking;
    struct payment payment;
    bool found;                 /* payment is the one that the event is about */
    bool foreign;               /* looked up for the bulk: no payment of ours has this intent */
    struct str outcome, detail; /* outcome empty: the refetch will write it */
    char trace[TRACE_TEXT + 1]; /* of this run */
    struct why *why;
};

static enum err event_reject(struct event_run *s, const char *why)
{
    return why_err(s->why, ERR_VALIDATION, "%s", why);
}

static enum err event_read_payment(struct event_run *s, struct uuid id)
{
    return payment_read(s->tx, s->taking.arena, id, true, &s->payment);
}

/* Old disputes and charges may name no intent; the row of their charge does. */
static enum err event_find_by_charge(struct event_run *s, struct uuid *ret_payment)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_payment_of_charge, &row, V_TEXT(s->fact.charge_id));

    if (e)
        return e;
    s->fact.intent_id = row.col[1].s;
    return uuid_of_bytes(row.col[0].s, ret_payment) ? OK : ERR_INTERNAL;
}

static enum err event_find_by_gateway_ids(struct event_run *s)
{
    struct uuid id;
    enum err e = ERR_NOT_FOUND;

    if (s->fact.intent_id.n)
        return payment_read_by_intent(s->tx, s->taking.arena, s->fact.intent_id, &s->payment);
    if (s->fact.charge_id.n)
        e = event_find_by_charge(s, &id);
    return e ? e : event_read_payment(s, id);
}

/* Invariant (1). The row is read only if the intent is not the payment's own. */
static enum err event_trust_intent(struct event_run *s)
{
    struct row row;
    struct uuid id;
    enum err e;

    if (!s->fact.intent_id.n || str_eq(s->fact.intent_id, s->payment.gateway_transaction_id))
        return OK;
    e = TX_ROW(s->tx, STMT_payment_of_intent, &row, V_TEXT(s->fact.intent_id));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (!uuid_of_bytes(row.col[0].s, &id))
        return ERR_INTERNAL;
    return uuid_eq(id, s->payment.id) ? OK : event_read_payment(s, id);
}

/* Only a UUID can be one of our ids: other systems may use the same metadata field. */
static enum err event_find_payment(struct event_run *s)
{
    struct uuid id;
    bool ours = uuid_parse(s->fact.payment_id, &id);
    enum err e = ERR_NOT_FOUND;

    if (ours)
        e = event_read_payment(s, id);
    if (!e)
        e = event_trust_intent(s);
    else if (e == ERR_NOT_FOUND)
        e = event_find_by_gateway_ids(s);
    s->found = !e;
    if (e == ERR_NOT_FOUND && ours) /* its claim may not have committed yet (D20) */
        return why_err(s->why, ERR_UNAVAILABLE, "no such payment yet");
    return e;
}

static enum err event_refetch(struct event_run *s)
{
    s->outcome = (struct str){ 0 };
    return refetch_later(s->tx, s->a->payments, s->m, s->job.type, &s->fact, &s->payment,
                         s->taking.trace);
}

static void event_set_outcome(struct event_run *s, enum verdict v)
{
    s->outcome = v == VERDICT_SUPERSEDED ? S("superseded") : S("applied");
}

/* The event contradicts the payment or itself, so it cannot be the whole truth. */
static bool event_disagrees(const struct event_run *s)
{
    return !s->fact.currency[0] || s->fact.amount != s->payment.money.minor ||
           (str_eq(s->job.type, S("payment_intent.succeeded")) &&
            s->fact.state != INTENT_SUCCEEDED);
}

static void event_log_decline(const struct event_run *s)
{
    struct decline d = { .message = s->m->id,
                         .event_id = s->m->ref,
                         .type = s->job.type,
                         .participant_id = s->job.participant_id,
                         .trace = s->job.trace };

    log_decline(s->tx, &s->payment, &s->fact, &d);
}

/* A booking's decline ends its payment and cancels its intent (D11). It may arrive after another card
 * has paid the same intent, and that payment wins (E4): so the gateway is queried first (E6). */
static bool decline_may_be_outdated(const struct event_run *s)
{
    return s->fact.state == INTENT_DECLINED && s->payment.context == CONTEXT_BOOKING &&
           s->payment.status == PAYMENT_PENDING;
}

/* A captured payment is applied only after a query to the gateway if the settings ask for it (E2).
 * An event that contradicts the payment or may be outdated is always refetched. */
static enum err event_apply_intent(struct event_run *s)
{
    enum verdict v = VERDICT_SAME;
    enum err e;

    if ((s->a->payments->refetch && s->fact.state == INTENT_SUCCEEDED) || event_disagrees(s) ||
        decline_may_be_outdated(s))
        return event_refetch(s);
    e = take_intent(s->tx, &s->taking, &s->payment, &s->fact, &v);
    if (e)
        return e;
    if (v == VERDICT_MISMATCH)
        return event_refetch(s);
    if (v != VERDICT_SUPERSEDED && s->fact.state == INTENT_DECLINED)
        event_log_decline(s);
    event_set_outcome(s, v);
    return OK;
}

static enum err event_apply_refund(struct event_run *s)
{
    const struct fact *f = &s->fact;
    enum verdict v = VERDICT_SAME;
    enum err e;

    if (!is_of_other_intent(&s->payment, f) && f->currency[0] &&
        !str_eq(str_of(f->currency), str_of(s->payment.money.currency)))
        return event_reject(s, "the refund is in another currency than its payment");
    e = take_refund(s->tx, &s->taking, &s->payment, f, &v);
    if (e == ERR_CONSTRAINT)
        why_set(s->why, "more would be refunded than was captured");
    if (!e && v == VERDICT_MISMATCH)
        return event_reject(s, "the refund is not of this payment or amount");
    event_set_outcome(s, v);
    return e;
}

/* The charge is applied at once; fee and net follow when the gateway has been queried (E3). */
static enum err event_apply_charge(struct event_run *s)
{
    struct charge_later *later = s->a->charge_later;
    const struct taking *t = &s->taking;
    bool ask_fee = false;
    struct uuid id;
    enum err e = s->fact.intent_id.n ? OK : event_find_by_charge(s, &id);

    if (e == ERR_NOT_FOUND)
        return event_reject(s, "the charge names no intent");
    if (e)
        return e;
    if (!charge_fits(&s->payment, &s->fact))
        return event_reject(s, "other currency, or not the money that was asked for");
    e = take_charge(s->tx, t, &s->payment, &s->fact, &ask_fee);
    if (!e && ask_fee && later)
        e = charge_ask_fee(s->tx, later, &s->payment, &s->fact, t->now_ms, t->trace);
    return e ? e : charge_check_refunds(s->tx, t->payments, &s->payment, &s->fact, t->now_ms);
}

static enum err event_apply_other(struct event_run *s,
                                  enum err (*take)(struct tx *, const struct taking *,
                                                   struct payment *, const struct fact *,
                                                   enum verdict *))
{
    enum verdict v = VERDICT_SAME;
    enum err e = take(s->tx, &s->taking, &s->payment, &s->fact, &v);

    if (!e && v == VERDICT_MISMATCH)
        return event_reject(s, "what it is about belongs to another payment");
    event_set_outcome(s, v);
    return e;
}

static enum err event_apply_kind(struct event_run *s)
{
    if (!event_type_fits(s->job.type, s->fact.kind))
        return event_reject(s, "the object is not of the event's kind");
    switch (s->fact.kind) {
    case FACT_INTENT:
        return is_of_other_intent(&s->payment, &s->fact)
                   ? give_back_other(s->tx, &s->taking, &s->payment, &s->fact)
                   : event_apply_intent(s);
    case FACT_CHARGE: return event_apply_charge(s);
    case FACT_REFUND: return event_apply_refund(s);
    case FACT_SESSION: return event_apply_other(s, take_session);
    case FACT_DISPUTE: return event_apply_other(s, take_dispute);
    case FACT_NONE: break;
    }
    return OK;
}

/* A refund or a dispute may arrive before its intent and name nothing of ours (E7): then the gateway
 * is queried. Any other event of an unknown intent names its payment, or is foreign. */
static bool may_be_ours(const struct event_run *s)
{
    bool goes_back = s->fact.kind == FACT_REFUND || s->fact.kind == FACT_DISPUTE;

    return goes_back && s->fact.intent_id.n && event_type_fits(s->job.type, s->fact.kind);
}

static enum err event_apply_fact(struct event_run *s)
{
    enum err e = s->foreign ? ERR_NOT_FOUND : event_find_payment(s);

    if (e == ERR_NOT_FOUND && may_be_ours(s))
        return refetch_whose(s->tx, s->a->payments, s->m, s->job.type, &s->fact, s->job.fact,
                             s->taking.trace);
    if (e == ERR_NOT_FOUND) {
        s->outcome = S("ignored");
        s->detail = S("foreign");
        return OK;
    }
    if (e)
        return e;
    if (!payment_is_at(s->a->payments, &s->payment, S("stripe")))
        return event_reject(s, "the payment that it names is another gateway's");
    s->outcome = S("applied");
    if (is_of_other_intent(&s->payment, &s->fact) && s->fact.kind != FACT_SESSION)
        s->detail = S("another intent of this payment");
    return event_apply_kind(s);
}

/* An edited event is only a hint: the gateway says which payment it is about and what happened. */
static enum err event_refetch_edited(struct event_run *s)
{
    bool refund = event_type_is_refund(s->job.type);
    struct str id = refund ? s->job.object_id : s->job.intent_id;

    if (!id.n)
        return event_reject(s, "the edited event names nothing that the gateway can be asked for");
    s->outcome = (struct str){ 0 };
    return refetch_edited(s->tx, s->a->payments, s->m, s->job.type, refund ? S("") : id,
                          refund ? id : S(""), s->taking.trace);
}

static enum err event_apply(struct event_run *s)
{
    if (s->job.livemode >= 0 && (s->job.livemode == 1) != s->a->expect_livemode)
        s->outcome = S("wrong_mode");
    else if (s->job.ask)
        return event_refetch_edited(s);
    else if (!event_type_is_known(s->job.type))
        s->outcome = S("ignored");
    else if (s->fact.kind == FACT_NONE)
        s->outcome = S("processed");
    else
        return event_apply_fact(s);
    return OK;
}

static struct outcome event_outcome(const struct event_run *s)
{
    return (struct outcome){ .message = s->m->id,
                             .word = s->outcome,
                             .detail = s->detail,
                             .at_ms = s->taking.now_ms,
                             .received_ms = s->m->added_ms,
                             .payment = s->found ? &s->payment.id : NULL,
                             .event_id = s->m->ref };
}

static enum err event_read(struct tx *tx, struct arena *a, const struct apply_event *ap,
                           const struct message *m, struct event_run *s, struct why *why)
{
    enum err e;

    *s = (struct event_run){ .tx = tx, .a = ap, .m = m, .why = why };
    s->taking = (struct taking){
        .payments = ap->payments, .arena = a, .now_ms = env_now_ms(tx_env(tx)), .event_id = m->ref
    };
    e = event_job_read(a, m->body, &s->job);
    if (!e && s->job.fact.n)
        e = fact_read(a, s->job.fact, &s->fact);
    if (!e) {
        message_place(tx_env(tx), m, s->job.trace, s->trace);
        s->taking.trace = str_of(s->trace);
    }
    if (e)
        why_set(why, "the message's body cannot be read");
    return e;
}

static enum err event_fault_point(struct tx *tx, const struct event_run *s)
{
    enum err e = fault_point_at(&tx_env(tx)->faults, "apply", s->job.type);

    if (e)
        why_set(s->why, "fault point apply:%.*s", (int)(s->job.type.n < 100 ? s->job.type.n : 100),
                s->job.type.p);
    return e;
}

static enum err apply_event_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    CLEANUP(arena_release) struct arena a;
    struct event_run s;
    struct outcome o;
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = event_read(tx, &a, ctx, m, &s, why);
    if (!e)
        e = event_fault_point(tx, &s);
    if (!e)
        e = event_apply(&s);
    if (e || !s.outcome.n)
        return e;
    o = event_outcome(&s);
    return outcomes_write(tx, &o, 1);
}

static int compare_lanes(const void *a, const void *b)
{
    const struct message *x = *(const struct message *const *)a;
    const struct message *y = *(const struct message *const *)b;

    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

/* PostgreSQL: every node locks payments in the order of their lanes, so that two bulks do not wait
 * for each other. */
static void sort_by_lane(const struct message **sorted, const struct message *const *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sorted[i] = m[i];
    qsort(sorted, n, sizeof(void *), compare_lanes);
}

struct event_bulk {
    struct event_run *s;
    size_t n;
};

static void bulk_mark_known(struct event_bulk *b, struct str intent_id)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->s[i].foreign && str_eq(b->s[i].fact.intent_id, intent_id))
            b->s[i].foreign = false;
}

static enum err bulk_known_row(void *ctx, const struct row *row)
{
    bulk_mark_known(ctx, row->col[0].s);
    return OK;
}

/* Looks up in one statement the intents of all events that name no payment of ours. An intent that
 * another event of this bulk names as ours may get its row only in this bulk, so it is not foreign.
 * An event that names only a charge is looked up alone. */
static enum err bulk_find_foreign(struct tx *tx, struct event_bulk *b)
{
    struct val v[LIMIT_BULK];
    struct uuid id;
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++) {
        struct event_run *s = &b->s[i];

        s->foreign = s->fact.kind != FACT_NONE && !uuid_parse(s->fact.payment_id, &id) &&
                     (s->fact.intent_id.n || !s->fact.charge_id.n);
        if (s->foreign && s->fact.intent_id.n)
            v[rows++] = V_TEXT(s->fact.intent_id);
    }
    for (size_t i = 0; i < b->n; i++)
        if (!b->s[i].foreign && b->s[i].fact.kind != FACT_NONE)
            bulk_mark_known(b, b->s[i].fact.intent_id);
    return rows ? tx_bulk(tx, STMT_intents_known, v, rows, 1, bulk_known_row, b) : OK;
}

/* PostgreSQL: locks all payments before any row that their subjects share. Otherwise a transaction
 * that holds one of the payments and wants a shared counter would wait for this one, while this one
 * waits for the payment. */
static enum err bulk_lock_payments(struct tx *tx, const struct event_bulk *b)
{
    struct uuid ids[LIMIT_BULK];
    struct val v[LIMIT_BULK];
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++)
        if (uuid_parse(b->s[i].fact.payment_id, &ids[rows])) {
            v[rows] = v_uuid(&ids[rows]);
            rows++;
        }
    return rows ? tx_bulk(tx, STMT_payments_lock, v, rows, 1, NULL, NULL) : OK;
}

static enum err bulk_apply(struct tx *tx, struct event_bulk *b)
{
    struct outcome outcomes[LIMIT_BULK];
    size_t count = 0;
    enum err e = bulk_find_foreign(tx, b);

    if (!e)
        e = bulk_lock_payments(tx, b);
    for (size_t i = 0; i < b->n && !e; i++) {
        struct event_run *s = &b->s[i];

        e = event_apply(s);
        if (!e && s->outcome.n)
            outcomes[count++] = event_outcome(s);
    }
    return e ? e : outcomes_write(tx, outcomes, count);
}

static enum err apply_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    const struct message *sorted[LIMIT_BULK];
    CLEANUP(arena_release) struct arena a = { 0 };
    struct event_bulk b = { .n = n };
    struct why why;

    assert(n <= LIMIT_BULK);
    if (tx_env(tx)->faults.count)
        return ERR_VALIDATION; /* fault points are counted: each message passes them once, alone */
    sort_by_lane(sorted, m, n);
    arena_init(&a, JOB_ARENA * LIMIT_BULK);
    b.s = arena_alloc(&a, n, sizeof(*b.s));
    if (!b.s)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        enum err e = event_read(tx, &a, ctx, sorted[i], &b.s[i], &why);

        if (e)
            return e;
    }
    return bulk_apply(tx, &b);
}

static enum err apply_event_buried(struct tx *tx, const struct message *m, void *ctx,
                                   const char *why)
{
    CLEANUP(arena_release) struct arena a;
    struct event_job j = { 0 };
    struct uuid payment;
    enum err e;

    (void)ctx;
    arena_init(&a, JOB_ARENA);
    e = event_job_read(&a, m->body, &j);
    return outcome_write_dead(tx, m->id, why,
                              !e && uuid_parse(j.payment_id, &payment) ? &payment : NULL, m->ref);
}

/* --- log lines and spans --- */

/* Other outcomes are counted where they are decided: `ended` knows only the event itself. */
static void log_unhandled(struct env *env, const struct apply_event *a, const struct message *m,
                          const struct event_job *j)
{
    bool wrong = j->livemode >= 0 && (j->livemode == 1) != a->expect_livemode;
    char id[UUID_TEXT + 1], unhandled[UNHANDLED_MAX];

    if (event_type_is_known(j->type) && !wrong)
        return;
    uuid_text(m->id, id);
    snprintf(unhandled, sizeof(unhandled), "Unhandled event type: %.*s", (int)j->type.n, j->type.p);
    LOG(env->log, LOG_INFO, wrong ? "Event of the wrong mode" : unhandled,
        LOG_TEXT("eventId", m->ref), LOG_TEXT("eventType", j->type),
        LOG_SOME("participant_id", j->participant_id), LOG_TEXT("messageId", str_of(id)),
        LOG_TRACE(j->trace));
}

static void log_failed(struct env *env, const struct message *m, const struct event_job *j,
                       enum job_end end, const char *why)
{
    char id[UUID_TEXT + 1];

    uuid_text(m->id, id);
    LOG(env->log, end == JOB_DEAD ? LOG_ERROR : LOG_WARN, "Webhook processing failed",
        LOG_TEXT("eventId", m->ref), LOG_TEXT("eventType", j->type), LOG_TEXT("error", str_of(why)),
        LOG_TEXT("error_type", end == JOB_DEAD ? S("permanent") : S("temporary")),
        LOG_SOME("participant_id", j->participant_id), LOG_NUM("attempt", m->attempt),
        LOG_TEXT("messageId", str_of(id)), LOG_TRACE(j->trace));
}

static void emit_span(struct env *env, const struct message *m, const struct event_job *j,
                      enum job_end end, const char *why)
{
    struct span s = message_span(env, m, j->trace, "Webhook.process");
    struct attribute more[] = { SPAN_TEXT("event.id", m->ref), SPAN_TEXT("event.type", j->type),
                                SPAN_TEXT("payment.id", j->payment_id) };

    message_span_end(&s, m, end, why, more, COUNT(more));
}

static void apply_event_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                              const char *why)
{
    struct event_job j = { .livemode = -1 };
    struct arena a;

    if (end != JOB_DONE) /* JOB_DONE is counted with the outcome: a refetch may write it */
        processing_count(env, end);
    arena_init(&a, JOB_ARENA);
    if (event_job_read(&a, m->body, &j) || end != JOB_DONE)
        log_failed(env, m, &j, end, why);
    else
        log_unhandled(env, ctx, m, &j);
    emit_span(env, m, &j, end, why);
    arena_release(&a);
}

struct job_kind apply_event_kind(struct apply_event *a, int retries, int64_t first_ms)
{
    return (struct job_kind){
        .name = "stripe.event",
        .run = apply_event_run,
        .ctx = a,
        .retry = retry_of_events(retries, first_ms),
        .run_many = apply_many,
        .buried = apply_event_buried,
        .ended = apply_event_ended,
    };
}
