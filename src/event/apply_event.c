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

struct applying {
    struct tx *tx;
    const struct apply_event *a;
    const struct message *m;
    struct event_job job;
    struct fact fact;
    struct taking taking;
    struct payment payment;
    bool found;                 /* payment is the one that it is about */
    bool foreign;               /* known before: no payment of ours has this intent */
    struct str outcome, detail; /* outcome empty: another message will write it */
    char trace[TRACE_TEXT + 1]; /* of this run */
    struct why *why;
};

static enum err apply_event_refuse(struct applying *s, const char *why)
{
    return why_err(s->why, ERR_VALIDATION, "%s", why);
}

static enum err read_payment(struct applying *s, struct uuid id)
{
    return payment_read(s->tx, s->taking.arena, id, true, &s->payment);
}

/* Disputes and charges of old may name no intent; the charge's own row does. */
static enum err find_by_charge(struct applying *s, struct uuid *ret_payment)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_payment_of_charge, &row, V_TEXT(s->fact.charge_id));

    if (e)
        return e;
    s->fact.intent_id = row.col[1].s;
    return uuid_of_bytes(row.col[0].s, ret_payment) ? OK : ERR_INTERNAL;
}

static enum err find_by_gateway_ids(struct applying *s)
{
    struct uuid id;
    enum err e = ERR_NOT_FOUND;

    if (s->fact.intent_id.n)
        return payment_read_by_intent(s->tx, s->taking.arena, s->fact.intent_id, &s->payment);
    if (s->fact.charge_id.n)
        e = find_by_charge(s, &id);
    return e ? e : read_payment(s, id);
}

/* D18: an intent's own row says whose it is; metadata can be edited by anybody at the gateway. It
 * is only asked where the payment does not know this intent as its own. */
static enum err trust_intent(struct applying *s)
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
    return uuid_eq(id, s->payment.id) ? OK : read_payment(s, id);
}

/* Only what has the form of our ids can be ours: others may use the same name in their metadata. */
static enum err find_payment(struct applying *s)
{
    struct uuid id;
    bool ours = uuid_parse(s->fact.payment_id, &id);
    enum err e = ERR_NOT_FOUND;

    if (ours)
        e = read_payment(s, id);
    if (!e)
        e = trust_intent(s);
    else if (e == ERR_NOT_FOUND)
        e = find_by_gateway_ids(s);
    s->found = !e;
    if (e == ERR_NOT_FOUND && ours) { /* its claim may not have committed yet (D20) */
        return why_err(s->why, ERR_UNAVAILABLE, "no such payment yet");
    }
    return e;
}

static enum err ask_first(struct applying *s)
{
    s->outcome = (struct str){ 0 };
    return refetch_later(s->tx, s->a->payments, s->m, s->job.type, &s->fact, &s->payment,
                         s->taking.trace);
}

static void set_outcome(struct applying *s, enum verdict v)
{
    s->outcome = v == VERDICT_SUPERSEDED ? S("superseded") : S("applied");
}

/* What the event says cannot be all of the truth about this payment. */
static bool apply_event_disagrees(const struct applying *s)
{
    return !s->fact.currency[0] || s->fact.amount != s->payment.money.minor ||
           (str_eq(s->job.type, S("payment_intent.succeeded")) &&
            s->fact.state != INTENT_SUCCEEDED);
}

static void log_failure(const struct applying *s)
{
    struct decline d = { .message = s->m->id,
                         .event_id = s->m->ref,
                         .type = s->job.type,
                         .participant_id = s->job.participant_id,
                         .trace = s->job.trace };

    log_decline(s->tx, &s->payment, &s->fact, &d);
}

/* A booking's decline ends its payment and cancels its intent (D11). It may be told behind another
 * card that has paid on the same intent, which wins (E4): so the last word is the gateway's (E6).
 */
static bool may_be_outdated(const struct applying *s)
{
    return s->fact.state == INTENT_DECLINED && s->payment.context == CONTEXT_BOOKING &&
           s->payment.status == PAYMENT_PENDING;
}

/* E2: the confirmation point is believed after a look at the gateway, where that is wished for;
 * always where what it says cannot be, or may not be so any more. */
static enum err apply_intent(struct applying *s)
{
    enum verdict v = VERDICT_SAME;
    enum err e;

    if ((s->a->payments->refetch && s->fact.state == INTENT_SUCCEEDED) ||
        apply_event_disagrees(s) || may_be_outdated(s))
        return ask_first(s);
    e = take_intent(s->tx, &s->taking, &s->payment, &s->fact, &v);
    if (!e && v == VERDICT_MISMATCH)
        return ask_first(s);
    if (!e && v != VERDICT_SUPERSEDED && s->fact.state == INTENT_DECLINED)
        log_failure(s);
    set_outcome(s, v);
    return e;
}

static enum err apply_refund(struct applying *s)
{
    const struct fact *f = &s->fact;
    enum verdict v = VERDICT_SAME;
    enum err e;

    if (!is_of_other_intent(&s->payment, f) && f->currency[0] &&
        !str_eq(str_of(f->currency), str_of(s->payment.money.currency)))
        return apply_event_refuse(s, "the refund is in another currency than its payment");
    e = take_refund(s->tx, &s->taking, &s->payment, f, &v);
    if (e == ERR_CONSTRAINT)
        why_set(s->why, "more would be refunded than was captured");
    if (!e && v == VERDICT_MISMATCH)
        return apply_event_refuse(s, "the refund is not of this payment or amount");
    set_outcome(s, v);
    return e;
}

/* E3: it is applied at once; fee and net follow when the gateway was asked. */
static enum err apply_charge(struct applying *s)
{
    struct charge_later *later = s->a->charge_later;
    const struct taking *t = &s->taking;
    bool ask_fee = false;
    struct uuid id;
    enum err e = s->fact.intent_id.n ? OK : find_by_charge(s, &id);

    if (e == ERR_NOT_FOUND)
        return apply_event_refuse(s, "the charge names no intent");
    if (!e && !charge_fits(&s->payment, &s->fact))
        return apply_event_refuse(s, "other currency, or not the money that was asked for");
    if (!e)
        e = take_charge(s->tx, t, &s->payment, &s->fact, &ask_fee);
    if (!e && ask_fee && later)
        e = charge_ask_fee(s->tx, later, &s->payment, &s->fact, t->now_ms, t->trace);
    return e ? e : charge_check_refunds(s->tx, t->payments, &s->payment, &s->fact, t->now_ms);
}

static enum err apply_with(struct applying *s,
                           enum err (*take)(struct tx *, const struct taking *, struct payment *,
                                            const struct fact *, enum verdict *))
{
    enum verdict v = VERDICT_SAME;
    enum err e = take(s->tx, &s->taking, &s->payment, &s->fact, &v);

    if (!e && v == VERDICT_MISMATCH)
        return apply_event_refuse(s, "what it is about belongs to another payment");
    set_outcome(s, v);
    return e;
}

static enum err apply_kind(struct applying *s)
{
    if (!event_type_fits(s->job.type, s->fact.kind))
        return apply_event_refuse(s, "the object is not of the event's kind");
    switch (s->fact.kind) {
    case FACT_INTENT:
        return is_of_other_intent(&s->payment, &s->fact)
                   ? give_back_other(s->tx, &s->taking, &s->payment, &s->fact)
                   : apply_intent(s);
    case FACT_CHARGE: return apply_charge(s);
    case FACT_REFUND: return apply_refund(s);
    case FACT_SESSION: return apply_with(s, take_session);
    case FACT_DISPUTE: return apply_with(s, take_dispute);
    case FACT_NONE: break;
    }
    return OK;
}

/* Money that goes back may be told before the intent of which it was, and with nothing of ours in
 * it (E7): only then is the gateway asked. All else of an unknown intent names its payment, or is
 * foreign. */
static bool may_be_ours(const struct applying *s)
{
    bool goes_back = s->fact.kind == FACT_REFUND || s->fact.kind == FACT_DISPUTE;

    return goes_back && s->fact.intent_id.n && event_type_fits(s->job.type, s->fact.kind);
}

static enum err apply_fact(struct applying *s)
{
    enum err e = s->foreign ? ERR_NOT_FOUND : find_payment(s);

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
        return apply_event_refuse(s, "the payment that it names is another gateway's");
    s->outcome = S("applied");
    if (is_of_other_intent(&s->payment, &s->fact) && s->fact.kind != FACT_SESSION)
        s->detail = S("another intent of this payment");
    return apply_kind(s);
}

/* Whose it is, and what is so, is for the gateway to say. */
static enum err ask_for_edited(struct applying *s)
{
    bool refund = event_type_is_refund(s->job.type);
    struct str id = refund ? s->job.object_id : s->job.intent_id;

    if (!id.n)
        return apply_event_refuse(
            s, "the edited event names nothing that the gateway can be asked for");
    s->outcome = (struct str){ 0 };
    return refetch_edited(s->tx, s->a->payments, s->m, s->job.type, refund ? S("") : id,
                          refund ? id : S(""), s->taking.trace);
}

static enum err apply_event_effect(struct applying *s)
{
    if (s->job.livemode >= 0 && (s->job.livemode == 1) != s->a->expect_livemode)
        s->outcome = S("wrong_mode");
    else if (s->job.ask)
        return ask_for_edited(s);
    else if (!event_type_is_known(s->job.type))
        s->outcome = S("ignored");
    else if (s->fact.kind == FACT_NONE)
        s->outcome = S("processed");
    else
        return apply_fact(s);
    return OK;
}

static struct outcome outcome_of(const struct applying *s)
{
    return (struct outcome){ .message = s->m->id,
                             .word = s->outcome,
                             .detail = s->detail,
                             .at_ms = s->taking.now_ms,
                             .received_ms = s->m->added_ms,
                             .payment = s->found ? &s->payment.id : NULL,
                             .event_id = s->m->ref };
}

static enum err read_one(struct tx *tx, struct arena *a, const struct apply_event *ap,
                         const struct message *m, struct applying *s, struct why *why)
{
    enum err e;

    *s = (struct applying){ .tx = tx, .a = ap, .m = m, .why = why };
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

static enum err pass_fault(struct tx *tx, const struct applying *s)
{
    enum err e = fault_point_at(&tx_env(tx)->faults, "apply", s->job.type);

    if (e)
        why_set(s->why, "fault point apply:%.*s", (int)(s->job.type.n < 100 ? s->job.type.n : 100),
                s->job.type.p);
    return e;
}

static enum err apply_event_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct applying s;
    struct arena a;
    enum err e;

    arena_init(&a, JOB_ARENA);
    e = read_one(tx, &a, ctx, m, &s, why);
    if (!e)
        e = pass_fault(tx, &s);
    if (!e)
        e = apply_event_effect(&s);
    if (!e && s.outcome.n) {
        struct outcome o = outcome_of(&s);

        e = outcomes_write(tx, &o, 1);
    }
    arena_release(&a);
    return e;
}

static int by_lane(const void *a, const void *b)
{
    const struct message *x = *(const struct message *const *)a;
    const struct message *y = *(const struct message *const *)b;

    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

/* PostgreSQL: payments are locked in the order of their lanes, on every node, or two bulks might
 * wait for each other. */
static void sort_by_lane(const struct message **sorted, const struct message *const *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sorted[i] = m[i];
    qsort(sorted, n, sizeof(void *), by_lane);
}

struct bulk {
    struct applying *s;
    size_t n;
};

static void claim_intent(struct bulk *b, struct str intent_id)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->s[i].foreign && str_eq(b->s[i].fact.intent_id, intent_id))
            b->s[i].foreign = false;
}

static enum err mark_known(void *ctx, const struct row *row)
{
    claim_intent(ctx, row->col[0].s);
    return OK;
}

/* Whose intents they are that do not name a payment of ours: one question for all of them. Those
 * that another event of this bulk names as ours may get their row only now. What names only a
 * charge is looked up by itself. */
static enum err find_foreign(struct tx *tx, struct bulk *b)
{
    struct val v[LIMIT_BULK];
    struct uuid id;
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++) {
        struct applying *s = &b->s[i];

        s->foreign = s->fact.kind != FACT_NONE && !uuid_parse(s->fact.payment_id, &id) &&
                     (s->fact.intent_id.n || !s->fact.charge_id.n);
        if (s->foreign && s->fact.intent_id.n)
            v[rows++] = V_TEXT(s->fact.intent_id);
    }
    for (size_t i = 0; i < b->n; i++)
        if (!b->s[i].foreign && b->s[i].fact.kind != FACT_NONE)
            claim_intent(b, b->s[i].fact.intent_id);
    return rows ? tx_bulk(tx, STMT_intents_known, v, rows, 1, mark_known, b) : OK;
}

/* PostgreSQL: all payments before anything that their subjects share, or who holds one of them and
 * wants a counter would wait for us while we wait for that payment. */
static enum err lock_payments(struct tx *tx, const struct bulk *b)
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

static enum err apply_all(struct tx *tx, struct bulk *b)
{
    struct outcome outcomes[LIMIT_BULK];
    size_t count = 0;
    enum err e = find_foreign(tx, b);

    if (!e)
        e = lock_payments(tx, b);
    for (size_t i = 0; i < b->n && !e; i++) {
        struct applying *s = &b->s[i];

        e = apply_event_effect(s);
        if (!e && s->outcome.n)
            outcomes[count++] = outcome_of(s);
    }
    return e ? e : outcomes_write(tx, outcomes, count);
}

static enum err apply_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    const struct message *sorted[LIMIT_BULK];
    struct bulk b = { .n = n };
    struct arena a;
    struct why why;
    enum err e = OK;

    assert(n <= LIMIT_BULK);
    if (tx_env(tx)->faults.count)
        return ERR_VALIDATION; /* faults are counted: each message passes them once, alone */
    sort_by_lane(sorted, m, n);
    arena_init(&a, JOB_ARENA * LIMIT_BULK);
    b.s = arena_alloc(&a, n, sizeof(*b.s));
    if (!b.s)
        e = ERR_NO_MEMORY;
    for (size_t i = 0; i < n && !e; i++)
        e = read_one(tx, &a, ctx, sorted[i], &b.s[i], &why);
    if (!e)
        e = apply_all(tx, &b);
    arena_release(&a);
    return e;
}

static enum err apply_event_buried(struct tx *tx, const struct message *m, void *ctx,
                                   const char *why)
{
    struct event_job j = { 0 };
    struct uuid payment;
    struct arena a;
    enum err e;

    (void)ctx;
    arena_init(&a, JOB_ARENA);
    e = event_job_read(&a, m->body, &j);
    e = outcome_write_dead(tx, m->id, why,
                           !e && uuid_parse(j.payment_id, &payment) ? &payment : NULL, m->ref);
    arena_release(&a);
    return e;
}

/* --- what is told of it --- */

/* Applied, superseded and foreign ones are counted where they are decided: `ended` only knows what
 * the event itself says. */
static void tell_done(struct env *env, const struct apply_event *a, const struct message *m,
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

static void tell_failed(struct env *env, const struct message *m, const struct event_job *j,
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

static void tell_span(struct env *env, const struct message *m, const struct event_job *j,
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

    if (end != JOB_DONE) /* that is counted with its outcome: it may have been handed over */
        processing_count(env, end);
    arena_init(&a, JOB_ARENA);
    if (event_job_read(&a, m->body, &j) || end != JOB_DONE)
        tell_failed(env, m, &j, end, why);
    else
        tell_done(env, ctx, m, &j);
    tell_span(env, m, &j, end, why);
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
