/* check.c - what differed, looked at once more, one by one:
 *
 *   next note --> ask the gateway, and a list's gateway for the refunds, too --> under the
 *   payment's lock: the same now? it was under way. Else take what the gateway says (payment/transition.h),
 *   and compare again: what is gone is healed, what is left is a difference.
 *
 * Only provider facts move a payment, through the one function that everybody uses (P8); so what
 * our books have and the provider does not is never undone, but told. */
#include "observe/log.h"
#include "payment/transition.h"
#include "reconcile/run.h"

#include <stdio.h>
#include <string.h>

enum { GATEWAY_TRIES = 5 };

/* --- what is written of a difference --- */

static const char *state_word(enum intent_state s)
{
    static const char *const words[INTENT_STATES] = {
        [INTENT_OPEN] = "open",          [INTENT_ACTION] = "waiting",
        [INTENT_DECLINED] = "declined",  [INTENT_AUTHORIZED] = "authorized",
        [INTENT_SUCCEEDED] = "captured", [INTENT_CANCELED] = "canceled",
    };

    return words[s];
}

struct both { /* as texts; empty: nothing */
    char ours[80], theirs[80];
};

static void put_number(char *text, size_t size, int64_t n)
{
    if (n >= 0)
        snprintf(text, size, "%lld", (long long)n);
}

static void put_theirs(char *text, size_t size, const struct books_theirs *t)
{
    if (t->known)
        snprintf(text, size, "%s %lld %s", state_word(t->state),
                 (long long)(t->state == INTENT_SUCCEEDED ? t->received : t->amount).minor,
                 t->currency);
}

static void put_ours(char *text, size_t size, const struct books_ours *o)
{
    if (o->known)
        snprintf(text, size, "%s %lld %s", payment_status_name(o->status),
                 (long long)(minor_known(o->captured) ? o->captured.minor : o->money.minor),
                 o->money.currency);
}

static void put_both(struct both *b, int64_t ours, struct minor theirs)
{
    put_number(b->ours, sizeof(b->ours), ours);
    put_number(b->theirs, sizeof(b->theirs), theirs.minor);
}

static struct both words_of(enum difference d, const struct books_ours *o,
                            const struct books_theirs *t)
{
    struct both b = { 0 };

    switch (d) {
    case DIFF_AMOUNT: put_both(&b, o->money.minor, t->amount); break;
    case DIFF_CAPTURED:
        put_both(&b, minor_or_0(o->captured),
                 t->state == INTENT_SUCCEEDED ? t->received : (struct minor){ 0 });
        break;
    case DIFF_REFUNDED: put_both(&b, o->refunds_done.minor, t->refunded); break;
    case DIFF_FEE: put_both(&b, o->fee.minor, t->fee); break;
    case DIFF_MISSING_HERE:
    case DIFF_MISSING_THERE:
    case DIFF_STRAY:
    case DIFF_CURRENCY:
    case DIFF_STATUS:
    case DIFF_NOT_ASKED:
        put_ours(b.ours, sizeof(b.ours), o);
        put_theirs(b.theirs, sizeof(b.theirs), t);
        break;
    case DIFFERENCES: break;
    }
    return b;
}

struct checking {
    struct tx *tx;
    struct working *w;
    struct arena *arena;
    int64_t now_ms;
    struct payment p; /* under its lock */
    struct our_payment ours;
};

static enum err write_one(struct checking *c, enum difference d, bool healed,
                          const struct books_ours *ours)
{
    struct working *w = c->w;
    const struct check *k = &w->check;
    struct both b = words_of(d, ours, &w->theirs);
    const char *currency = w->theirs.currency[0] ? w->theirs.currency : ours->money.currency;

    w->stride.healed += healed;
    w->stride.differences += !healed;
    if (w->day.differences + w->day.healed + w->stride.differences + w->stride.healed >
        LIMIT_RECONCILE_KEPT)
        return OK;
    if (d == DIFF_STATUS && !w->theirs.known && !b.theirs[0])
        snprintf(b.theirs, sizeof(b.theirs), "unreadable");
    return TX_DO(c->tx, STMT_reconcile_difference_add, 1, V_TEXT(str_of(w->day.text)),
                 V_TEXT(str_of(k->key)), V_TEXT(str_of(difference_name(d))), V_TEXT(k->gateway),
                 c->ours.books.known ? v_uuid(&c->ours.id) : V_NULL, v_text(k->intent_id),
                 v_text(str_of(currency)), v_text(str_of(b.ours)), v_text(str_of(b.theirs)),
                 V_TEXT(healed ? S("healed") : S("open")), V_INT(c->now_ms));
}

/* What it was before is what is told of a healed one. */
static enum err write_all(struct checking *c, unsigned before, unsigned after,
                          const struct books_ours *was)
{
    enum err e = OK;

    for (int d = 0; d < DIFFERENCES && !e; d++) {
        unsigned bit = 1U << d;

        if ((before | after) & bit)
            e = write_one(c, (enum difference)d, !(after & bit),
                          after & bit ? &c->ours.books : was);
    }
    return e;
}

/* --- our side of it --- */

static enum err keep_one(void *ctx, const struct row *row)
{
    struct checking *c = ctx;

    return our_payment_read(c->arena, row, &c->ours);
}

static enum err read_ours(struct checking *c, struct uuid payment)
{
    struct val v = v_uuid(&payment);
    enum err e;

    c->ours = (struct our_payment){ 0 };
    e = tx_bulk(c->tx, STMT_books_by_payment, &v, 1, 1, keep_one, c);
    c->ours.books.other_intent = is_other(&c->ours, c->w->check.intent_id, &c->w->theirs);
    return e;
}

/* By the intent's own row, then by what was noted, then by the intent's metadata. NOT_FOUND. */
static enum err find_payment(struct checking *c, struct uuid *ret_id)
{
    const struct check *k = &c->w->check;
    struct row row;
    enum err e = ERR_NOT_FOUND;

    if (k->intent_id.n)
        e = TX_ROW(c->tx, STMT_payment_of_intent, &row, V_TEXT(k->intent_id));
    if (!e)
        return uuid_of_bytes(row.col[0].s, ret_id) ? OK : ERR_INTERNAL;
    if (e != ERR_NOT_FOUND)
        return e;
    if (k->has_payment)
        *ret_id = k->payment;
    else if (!uuid_parse(c->w->call.fact.payment_id, ret_id))
        return ERR_NOT_FOUND;
    return payment_read(c->tx, c->arena, *ret_id, true, &c->p);
}

/* --- mending --- */

static enum err take_refunds(struct checking *c, const struct taking *t)
{
    enum err e = OK;

    for (size_t i = 0; i < c->w->refund_count && !e; i++) {
        const struct fact *f = &c->w->refunds[i];
        enum verdict v;

        if (str_eq(str_of(f->currency), str_of(c->p.money.currency)))
            e = take_refund(c->tx, t, &c->p, f, &v);
    }
    return e;
}

static enum err reconcile_check_mend(struct checking *c)
{
    const struct fact *f = &c->w->call.fact;
    struct taking t = { .payments = c->w->r->payments, .arena = c->arena, .now_ms = c->now_ms };
    enum verdict v = VERDICT_SAME;
    bool ask_fee; /* never: it brings the fee, or there is none */
    enum err e = OK;

    if (c->w->no_mending || !c->w->theirs.known || f->kind != FACT_INTENT || !f->currency[0])
        return OK;
    if (is_of_other_intent(&c->p, f))
        return give_back_other(c->tx, &t, &c->p, f);
    e = take_intent(c->tx, &t, &c->p, f, &v);
    if (!e && v == VERDICT_MISMATCH)
        return OK; /* D10: for a person */
    if (!e && f->has_fee)
        e = take_charge(c->tx, &t, &c->p, f, &ask_fee);
    return e ? e : take_refunds(c, &t);
}

static enum err reconcile_check_compare(struct checking *c, struct uuid id)
{
    struct books_ours was;
    unsigned before, after;
    enum err e = payment_read(c->tx, c->arena, id, true, &c->p);

    if (!e)
        e = read_ours(c, id);
    if (e)
        return e;
    was = c->ours.books;
    before = after = books_compare(&was, &c->w->theirs);
    if (before) {
        e = reconcile_check_mend(c);
        if (!e)
            e = read_ours(c, id);
        after = books_compare(&c->ours.books, &c->w->theirs);
    }
    return e ? e : write_all(c, before, after, &was);
}

/* Gateways without a list: their side of the sums is what was asked for. */
static enum err add_totals(struct checking *c)
{
    struct working *w = c->w;
    const struct gateway *listed = listed_gateway(w->r);
    struct totals t = { 0 };
    enum err e;

    if (listed && str_eq(w->check.gateway, str_of(listed->name)))
        return OK;
    e = totals_theirs(&t, w->check.gateway, "theirs", &w->theirs);
    return e ? e : totals_store(c->tx, w->day.text, &t);
}

static enum err check_run(struct tx *tx, struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);
    struct checking c = { .tx = tx, .w = w, .arena = u->arena, .now_ms = env_now_ms(w->job->env) };
    struct uuid id;
    enum err e = fault_point(&w->job->env->faults, "reconcile.check");

    w->stride = (struct stride){ .phase = DAY_CHECK, .checked = 1 };
    memcpy(w->stride.place, w->check.key, sizeof(w->check.key));
    if (!e)
        e = find_payment(&c, &id);
    if (!e)
        e = reconcile_check_compare(&c, id);
    else if (e == ERR_NOT_FOUND)
        e = write_all(&c, 0, books_compare(&c.ours.books, &w->theirs), &c.ours.books);
    if (!e)
        e = add_totals(&c);
    return e ? e : day_step(tx, &w->day, &w->stride, c.now_ms);
}

/* What could not be taken (more would go back than was captured) is told, and changes nothing. */
static void reconcile_check_checked(struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);
    static const struct unit_kind kind = { "reconcile.check", UNIT_BACK, check_run, NULL };

    if (!u->err || w->no_mending || err_is_retryable(u->err) || u->err == ERR_STALE) {
        if (!u->err && w->stride.healed)
            LOG(w->job->env->log, LOG_WARN, "A difference to the provider's books was mended",
                LOG_TEXT("day", str_of(w->day.text)));
        step_done(u);
        return;
    }
    w->no_mending = true;
    step_post(w, &kind, reconcile_check_checked);
}

void check_settle(struct working *w)
{
    static const struct unit_kind kind = { "reconcile.check", UNIT_BACK, check_run, NULL };

    w->no_mending = false;
    step_post(w, &kind, reconcile_check_checked);
}

/* --- it cannot be asked, or not be understood --- */

static enum err odd_run(struct tx *tx, struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);
    struct checking c = { .tx = tx, .w = w, .arena = u->arena, .now_ms = env_now_ms(w->job->env) };
    enum err e = OK;

    w->stride = (struct stride){ .phase = DAY_CHECK, .checked = 1 };
    memcpy(w->stride.place, w->check.key, sizeof(w->check.key));
    if (w->check.has_payment)
        e = read_ours(&c, w->check.payment);
    if (!e)
        e = write_one(&c, w->odd, false, &c.ours.books);
    return e ? e : day_step(tx, &w->day, &w->stride, c.now_ms);
}

static void tell_odd(struct working *w, enum difference odd)
{
    static const struct unit_kind kind = { "reconcile.odd", UNIT_BACK, odd_run, NULL };

    w->theirs = (struct books_theirs){ .known = false };
    w->odd = odd;
    step_post(w, &kind, step_done);
}

/* --- asking --- */

static void take_fact(struct working *w)
{
    w->theirs = theirs_of(&w->call.fact, MINOR_NONE);
    if (!w->check.intent_id.n)
        w->check.intent_id = w->call.fact.intent_id;
    if (w->theirs.state == INTENT_SUCCEEDED)
        check_refunds(w);
    else
        check_settle(w);
}

/* An outage ends; one payment that the gateway never answers for does not hold up the others. */
static void not_told(struct working *w)
{
    const struct gateway_call *c = &w->call;
    bool odd = strcmp(c->error_code, "unreadable_answer") == 0 ||
               strcmp(c->error_code, "answer_mismatch") == 0;

    if (odd)
        tell_odd(w, DIFF_STATUS);
    else if (w->day.failures >= GATEWAY_TRIES)
        tell_odd(w, DIFF_NOT_ASKED);
    else
        step_fail(w, c->error_code[0] ? c->error_code : "the gateway could not be asked");
}

static void reconcile_check_answered(struct gateway_call *c)
{
    struct working *w = CONTAINER_OF(c, struct working, call);

    w->refund_count = 0;
    if (c->answer == GATEWAY_OK && c->fact.kind == FACT_INTENT) {
        take_fact(w);
    } else if (c->answer == GATEWAY_ABSENT) {
        w->theirs = (struct books_theirs){ .known = false };
        check_settle(w);
    } else {
        not_told(w);
    }
}

static void reconcile_check_ask(struct working *w)
{
    struct gateway *g = gateways_named(w->r->payments->gateways, w->check.gateway);
    const struct payment *p = &w->payment;

    if (!g) {
        tell_odd(w, DIFF_NOT_ASKED);
        return;
    }
    w->call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                     .payment = w->check.payment,
                                     .user = p->user_id,
                                     .subject = p->subject_id,
                                     .context = p->context,
                                     .money = p->money,
                                     .intent_id = w->check.intent_id,
                                     .session_id = p->checkout_session_id,
                                     .since_ms = p->created_ms,
                                     .until_ms = p->updated_ms,
                                     .arena = &w->arena,
                                     .executor = w->r->payments->runtime.executor,
                                     .done = reconcile_check_answered };
    gateways_call(g, &w->call);
}

/* --- the next one --- */

static enum err take_check(struct working *w, struct arena *a, const struct row *row)
{
    struct check *k = &w->check;
    const struct val *c = row->col;

    *k = (struct check){ .gateway = arena_str(a, c[1].s),
                         .intent_id = c[3].type == VAL_TEXT ? arena_str(a, c[3].s) : S(""),
                         .has_payment = c[2].type == VAL_BLOB };
    if (k->has_payment && !uuid_of_bytes(c[2].s, &k->payment))
        return ERR_INTERNAL;
    snprintf(k->key, sizeof(k->key), STR_FMT, STR_ARG(c[0].s));
    return k->gateway.p && k->intent_id.p ? OK : ERR_NO_MEMORY;
}

static enum err next_run(struct tx *tx, struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_reconcile_check_next, &row, V_TEXT(str_of(w->day.text)),
                        V_TEXT(str_of(w->day.place)));

    w->payment = (struct payment){ 0 };
    if (!e)
        e = take_check(w, u->arena, &row);
    if (e || !w->check.has_payment)
        return e;
    e = payment_read(tx, u->arena, w->check.payment, false, &w->payment);
    return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
}

static enum err end_run(struct tx *tx, struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);

    return day_step(tx, &w->day, &w->stride, env_now_ms(w->job->env));
}

static void next_read(struct unit *u)
{
    static const struct unit_kind end = { "reconcile.checked", UNIT_BACK, end_run, NULL };
    struct working *w = CONTAINER_OF(u, struct working, unit);

    if (u->err == ERR_NOT_FOUND) {
        w->stride = (struct stride){ .phase = DAY_SUM };
        step_post(w, &end, step_done);
    } else if (u->err) {
        step_done(u);
    } else {
        reconcile_check_ask(w);
    }
}

void step_check(struct working *w)
{
    static const struct unit_kind kind = { "reconcile.next", UNIT_READ, next_run, NULL };

    step_post(w, &kind, next_read);
}
