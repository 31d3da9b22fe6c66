/* payment_poll.c - see payment_poll.h.
 *
 *   due --> read --decided--> done
 *             '--PENDING--> fetch --> settle --money, or its end--> taken, done
 *                                       |---nobody has paid, no answer--> again later
 *                                       '---the same, and its time is over--> cancelled, done
 *
 * The same for what is AUTHORIZED behind its time; but nothing is cancelled there.
 *
 * Where a notification was faster the look costs one read. A look that says nothing writes nothing
 * but its own message and its line of the timeline (O7). */
#include "event/payment_poll.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "event/refetch.h"
#include "payment/attempts.h"

#include <stdlib.h>

enum { LOOK_ARENA = 512 * 1024 };

struct payment_poll_look {
    struct arena arena;
    struct payments *payments;
    struct job *job;
    struct uuid payment;
    bool lapsing; /* it is AUTHORIZED, and until_ms was the end of that */
    int64_t until_ms;
    struct unit load;
    struct payment p; /* as it was before the call */
    bool called;
    struct gateway_call call;
    struct gateway_tries tries;
};

/* The gateway may have given it more time, or is slow to end it. */
static int64_t lapse_gap_ms(const struct payment_poll_look *l, int64_t now_ms)
{
    int64_t more = l->call.answer == GATEWAY_OK ? l->call.fact.capture_before_ms - now_ms : 0;

    return more > 0 ? more + LIMIT_LAPSE_LATE_MS
                    : retry_aged_ms(&retry_table[RETRY_LAPSED], now_ms - l->until_ms);
}

/* --- outside --- */

static bool is_open(const struct payment_poll_look *l, const struct payment *p)
{
    return p->status == (l->lapsing ? PAYMENT_AUTHORIZED : PAYMENT_PENDING) &&
           p->gateway_transaction_id.n;
}

static void call_done(struct gateway_call *c)
{
    struct payment_poll_look *l = CONTAINER_OF(c, struct payment_poll_look, call);

    l->called = true;
    job_outside_done(l->job, OK, NULL);
}

static void payment_poll_fetch(struct payment_poll_look *l)
{
    struct payments *pp = l->payments;

    l->call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                     .payment = l->payment,
                                     .intent_id = l->p.gateway_transaction_id,
                                     .money = l->p.money,
                                     .seen = &l->tries,
                                     .arena = &l->arena,
                                     .executor = pp->runtime.executor,
                                     .done = call_done };
    gateways_call(gateways_named(pp->gateways, l->p.gateway), &l->call);
}

static enum err load_run(struct tx *tx, struct unit *u)
{
    struct payment_poll_look *l = CONTAINER_OF(u, struct payment_poll_look, load);

    return payment_read(tx, &l->arena, l->payment, false, &l->p);
}

static void payment_poll_loaded(struct unit *u)
{
    struct payment_poll_look *l = CONTAINER_OF(u, struct payment_poll_look, load);

    if (u->err)
        job_outside_done(l->job, u->err, "the payment could not be read");
    else if (!is_open(l, &l->p))
        job_outside_done(l->job, OK, NULL);
    else
        payment_poll_fetch(l);
}

static bool read_message(struct payment_poll_look *l, const struct message *m)
{
    static const char *const paths[] = { "until" };
    struct json_value v[COUNT(paths)];

    l->lapsing = str_eq(m->kind, S("payment.lapsed"));
    return uuid_parse(m->ref, &l->payment) && !json_pick(m->body, paths, COUNT(paths), v, NULL) &&
           v[0].type == JSON_NUMBER && str_to_i64(v[0].raw, &l->until_ms);
}

static void payment_poll_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "poll.load", UNIT_READ, load_run, NULL };
    struct payment_poll_look *l = calloc(1, sizeof(*l));

    if (!l) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = l;
    l->job = j;
    l->payments = ctx;
    l->tries.env = j->env;
    arena_init(&l->arena, LOOK_ARENA);
    j->arena = &l->arena;
    if (!read_message(l, j->message)) {
        job_outside_done(j, ERR_VALIDATION, "the message cannot be read");
        return;
    }
    l->load = (struct unit){ .kind = &kind,
                             .executor = l->payments->runtime.executor,
                             .done = payment_poll_loaded,
                             .arena = &l->arena };
    store_post(l->payments->runtime.store, &l->load);
}

/* --- inside --- */

static bool says_something(const struct payment_poll_look *l)
{
    const struct fact *f = &l->call.fact;
    enum intent_state known = l->lapsing ? INTENT_AUTHORIZED : INTENT_OPEN;

    return l->call.answer == GATEWAY_OK && f->kind == FACT_INTENT && f->state > known;
}

static enum err payment_poll_take(struct tx *tx, const struct taking *t,
                                  const struct payment_poll_look *l, struct payment *p,
                                  struct why *why)
{
    enum verdict v = VERDICT_SAME;
    enum err e;

    if (!says_something(l))
        return OK;
    e = take_intent(tx, t, p, &l->call.fact, &v);
    if (e || v != VERDICT_MISMATCH)
        return e;
    why_set(why, "other currency, or not the money that was asked for");
    return ERR_VALIDATION; /* a dead letter: for a person to see (D10) */
}

/* Its code is over, and nobody has paid: cancelled at once, so that its subject can be paid anew.
 */
static enum err go_on(struct tx *tx, const struct taking *t, const struct payment_poll_look *l,
                      const struct payment *p)
{
    if (l->lapsing) {
        l->job->again_ms = t->now_ms + lapse_gap_ms(l, t->now_ms);
        return OK;
    }
    if (t->now_ms >= l->until_ms && !p->has_open_op)
        return operation_start_own(tx, t->payments, p, OP_VOID, 0, S("abandoned"));
    l->job->again_ms =
        t->now_ms + retry_aged_ms(&retry_table[RETRY_POLL], t->now_ms - l->job->message->added_ms);
    return OK;
}

static enum err payment_poll_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct payment_poll_look *l = j->state;
    struct taking t = { .payments = ctx, .arena = &l->arena, .now_ms = env_now_ms(tx_env(tx)) };
    struct payment p;
    enum err e;

    if (!l->called)
        return OK;
    e = payment_read(tx, &l->arena, l->payment, true, &p);
    if (!e)
        e = attempts_write(tx, l->payment, j->message->id, &l->tries);
    if (e || !is_open(l, &p))
        return e;
    e = payment_poll_take(tx, &t, l, &p, why);
    return e || !is_open(l, &p) ? e : go_on(tx, &t, l, &p);
}

static void payment_poll_release(struct job *j, void *ctx)
{
    struct payment_poll_look *l = j->state;

    (void)ctx;
    if (l)
        arena_release(&l->arena);
    free(l);
    j->state = NULL;
}

/* Every look costs an attempt, and nobody else would look: there is no last one but its time. */
static struct job_kind kind_of(const char *name, struct payments *pp)
{
    return (struct job_kind){
        .name = name,
        .ctx = pp,
        .retry = retry_table[RETRY_POLL_JOB],
        .outside = payment_poll_outside,
        .settle = payment_poll_settle,
        .release = payment_poll_release,
        .patient = true,
    };
}

struct job_kind poll_kind(struct payments *pp)
{
    return kind_of("paypay.poll", pp);
}

struct job_kind poll_lapsed_kind(struct payments *pp)
{
    return kind_of("payment.lapsed", pp);
}
