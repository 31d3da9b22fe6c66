/* check.c - checks the noted differences once more, one by one:
 *
 *   next note --> query the gateway, for the refunds, too --> under the payment's lock: compare.
 *   Equal now: it was changing. Else apply the gateway's facts (payment/transition.h) and compare
 *   again: what is equal then is healed, what is left is a difference.
 *
 *   (1) Only facts of the provider move a payment, through payment/transition.h (P8). What our rows
 *       have and the provider does not is reported, never undone.
 *   (2) A check, its result and the day's new place are one commit. A crash before it repeats the
 *       check. */
#include "observe/log.h"
#include "payment/transition.h"
#include "reconcile/run.h"

#include <stdio.h>
#include <string.h>

enum { GATEWAY_TRIES = 5 };

/* --- storing a difference --- */

static const char *check_state_word(enum intent_state s)
{
    static const char *const words[INTENT_STATES] = {
        [INTENT_OPEN] = "open",          [INTENT_ACTION] = "waiting",
        [INTENT_DECLINED] = "declined",  [INTENT_AUTHORIZED] = "authorized",
        [INTENT_SUCCEEDED] = "captured", [INTENT_CANCELED] = "canceled",
    };

    return words[s];
}

struct check_values { /* as texts; empty: unknown */
    char ours[80], theirs[80];
};

static void check_put_number(char *text, size_t size, int64_t n)
{
    if (n >= 0)
        snprintf(text, size, "%lld", (long long)n);
}

static void check_put_theirs(char *text, size_t size, const struct books_theirs *t)
{
    if (t->known)
        snprintf(text, size, "%s %lld %s", check_state_word(t->state),
                 (long long)(t->state == INTENT_SUCCEEDED ? t->received : t->amount).minor,
                 t->currency);
}

static void check_put_ours(char *text, size_t size, const struct books_ours *o)
{
    if (o->known)
        snprintf(text, size, "%s %lld %s", payment_status_name(o->status),
                 (long long)(minor_known(o->captured) ? o->captured.minor : o->money.minor),
                 o->money.currency);
}

static void check_put_numbers(struct check_values *b, int64_t ours, struct minor theirs)
{
    check_put_number(b->ours, sizeof(b->ours), ours);
    check_put_number(b->theirs, sizeof(b->theirs), theirs.minor);
}

static struct check_values check_values_of(enum difference d, const struct books_ours *o,
                                           const struct books_theirs *t)
{
    struct check_values b = { 0 };

    switch (d) {
    case DIFF_AMOUNT: check_put_numbers(&b, o->money.minor, t->amount); break;
    case DIFF_CAPTURED:
        check_put_numbers(&b, minor_or_0(o->captured),
                          t->state == INTENT_SUCCEEDED ? t->received : (struct minor){ 0 });
        break;
    case DIFF_REFUNDED: check_put_numbers(&b, o->refunds_done.minor, t->refunded); break;
    case DIFF_FEE: check_put_numbers(&b, o->fee.minor, t->fee); break;
    case DIFF_MISSING_HERE:
    case DIFF_MISSING_THERE:
    case DIFF_STRAY:
    case DIFF_CURRENCY:
    case DIFF_STATUS:
    case DIFF_NOT_ASKED:
        check_put_ours(b.ours, sizeof(b.ours), o);
        check_put_theirs(b.theirs, sizeof(b.theirs), t);
        break;
    case DIFFERENCES: break;
    }
    return b;
}

struct checking {
    struct tx *tx;
    struct day_run *w;
    struct arena *arena;
    int64_t now_ms;
    struct payment p; /* under its lock */
    struct our_payment ours;
};

static enum err check_store_one(struct checking *c, enum difference d, bool healed,
                                const struct books_ours *ours)
{
    struct day_run *w = c->w;
    const struct check *k = &w->check;
    struct check_values b = check_values_of(d, ours, &w->theirs);
    const char *currency = w->theirs.currency[0] ? w->theirs.currency : ours->money.currency;

    w->progress.healed += healed;
    w->progress.differences += !healed;
    if (w->day.differences + w->day.healed + w->progress.differences + w->progress.healed >
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

/* A healed difference is stored with our values before the repair. */
static enum err check_store_all(struct checking *c, unsigned before, unsigned after,
                                const struct books_ours *was)
{
    enum err e = OK;

    for (int d = 0; d < DIFFERENCES && !e; d++) {
        unsigned bit = 1U << d;

        if ((before | after) & bit)
            e = check_store_one(c, (enum difference)d, !(after & bit),
                                after & bit ? &c->ours.books : was);
    }
    return e;
}

/* --- our side of it --- */

static enum err check_keep_ours(void *ctx, const struct row *row)
{
    struct checking *c = ctx;

    return our_payment_read(c->arena, row, &c->ours);
}

static enum err check_read_ours(struct checking *c, struct uuid payment)
{
    struct val v = v_uuid(&payment);
    enum err e;

    c->ours = (struct our_payment){ 0 };
    e = tx_bulk(c->tx, STMT_books_by_payment, &v, 1, 1, check_keep_ours, c);
    c->ours.books.other_intent = is_other(&c->ours, c->w->check.intent_id, &c->w->theirs);
    return e;
}

/* Finds it by the intent's row, then by the note, then by the intent's metadata. NOT_FOUND. */
static enum err check_find_payment(struct checking *c, struct uuid *ret_id)
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

/* --- repairing --- */

static enum err check_apply_refunds(struct checking *c, const struct taking *t)
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

static enum err check_repair(struct checking *c)
{
    const struct fact *f = &c->w->call.fact;
    struct taking t = { .payments = c->w->r->payments, .arena = c->arena, .now_ms = c->now_ms };
    enum verdict v = VERDICT_SAME;
    bool ask_fee; /* never set: the fact has the fee, or there is none */
    enum err e = OK;

    if (c->w->no_repair || !c->w->theirs.known || f->kind != FACT_INTENT || !f->currency[0])
        return OK;
    if (is_of_other_intent(&c->p, f))
        return give_back_other(c->tx, &t, &c->p, f);
    e = take_intent(c->tx, &t, &c->p, f, &v);
    if (!e && v == VERDICT_MISMATCH)
        return OK; /* an operator decides (D10) */
    if (!e && f->has_fee)
        e = take_charge(c->tx, &t, &c->p, f, &ask_fee);
    return e ? e : check_apply_refunds(c, &t);
}

static enum err check_compare(struct checking *c, struct uuid id)
{
    struct books_ours was;
    unsigned before, after;
    enum err e = payment_read(c->tx, c->arena, id, true, &c->p);

    if (e)
        return e;
    e = check_read_ours(c, id);
    if (e)
        return e;
    was = c->ours.books;
    before = books_compare(&was, &c->w->theirs);
    if (!before)
        return OK;
    e = check_repair(c);
    if (e)
        return e;
    e = check_read_ours(c, id);
    if (e)
        return e;
    after = books_compare(&c->ours.books, &c->w->theirs);
    return check_store_all(c, before, after, &was);
}

/* Without a list, the provider's side of the sums comes from the queries. */
static enum err check_add_totals(struct checking *c)
{
    struct day_run *w = c->w;
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
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    struct checking c = { .tx = tx, .w = w, .arena = u->arena, .now_ms = env_now_ms(w->job->env) };
    struct uuid id;
    enum err e = fault_point(&w->job->env->faults, "reconcile.check");

    w->progress = (struct progress){ .phase = DAY_CHECK, .checked = 1 };
    memcpy(w->progress.place, w->check.key, sizeof(w->check.key));
    if (e)
        return e;
    e = check_find_payment(&c, &id);
    if (!e)
        e = check_compare(&c, id);
    else if (e == ERR_NOT_FOUND)
        e = check_store_all(&c, 0, books_compare(&c.ours.books, &w->theirs), &c.ours.books);
    if (e)
        return e;
    e = check_add_totals(&c);
    return e ? e : day_step(tx, &w->day, &w->progress, c.now_ms);
}

/* If the repair fails (it would refund more than was captured), the difference is only reported. */
static void check_done(struct unit *u)
{
    static const struct unit_kind kind = { "reconcile.check", UNIT_BACK, check_run, NULL };
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    if (!u->err || w->no_repair || err_is_retryable(u->err) || u->err == ERR_STALE) {
        if (!u->err && w->progress.healed)
            LOG(w->job->env->log, LOG_WARN, "A difference to the provider's books was mended",
                LOG_TEXT("day", str_of(w->day.text)));
        step_done(u);
        return;
    }
    w->no_repair = true;
    step_post(w, &kind, check_done);
}

void check_settle(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.check", UNIT_BACK, check_run, NULL };

    w->no_repair = false;
    step_post(w, &kind, check_done);
}

/* --- no usable answer --- */

static enum err check_odd_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    struct checking c = { .tx = tx, .w = w, .arena = u->arena, .now_ms = env_now_ms(w->job->env) };
    enum err e = OK;

    w->progress = (struct progress){ .phase = DAY_CHECK, .checked = 1 };
    memcpy(w->progress.place, w->check.key, sizeof(w->check.key));
    if (w->check.has_payment)
        e = check_read_ours(&c, w->check.payment);
    if (!e)
        e = check_store_one(&c, w->odd, false, &c.ours.books);
    return e ? e : day_step(tx, &w->day, &w->progress, c.now_ms);
}

static void check_report_odd(struct day_run *w, enum difference odd)
{
    static const struct unit_kind kind = { "reconcile.odd", UNIT_BACK, check_odd_run, NULL };

    w->theirs = (struct books_theirs){ .known = false };
    w->odd = odd;
    step_post(w, &kind, step_done);
}

/* --- querying the gateway --- */

static void check_take_fact(struct day_run *w)
{
    w->theirs = theirs_of(&w->call.fact, MINOR_NONE);
    if (!w->check.intent_id.n)
        w->check.intent_id = w->call.fact.intent_id;
    if (w->theirs.state == INTENT_SUCCEEDED)
        check_refunds(w);
    else
        check_settle(w);
}

/* An outage ends; but one payment that the gateway never answers for must not block the others. */
static void check_no_answer(struct day_run *w)
{
    const struct gateway_call *c = &w->call;
    bool odd = strcmp(c->error_code, "unreadable_answer") == 0 ||
               strcmp(c->error_code, "answer_mismatch") == 0;

    if (odd)
        check_report_odd(w, DIFF_STATUS);
    else if (w->day.failures >= GATEWAY_TRIES)
        check_report_odd(w, DIFF_NOT_ASKED);
    else
        step_fail(w, c->error_code[0] ? c->error_code : "the gateway could not be asked");
}

static void check_answered(struct gateway_call *c)
{
    struct day_run *w = CONTAINER_OF(c, struct day_run, call);

    w->refund_count = 0;
    if (c->answer == GATEWAY_OK && c->fact.kind == FACT_INTENT) {
        check_take_fact(w);
    } else if (c->answer == GATEWAY_ABSENT) {
        w->theirs = (struct books_theirs){ .known = false };
        check_settle(w);
    } else {
        check_no_answer(w);
    }
}

static void check_query(struct day_run *w)
{
    struct gateway *g = gateways_named(w->r->payments->gateways, w->check.gateway);
    const struct payment *p = &w->payment;

    if (!g) {
        check_report_odd(w, DIFF_NOT_ASKED);
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
                                     .done = check_answered };
    gateways_call(g, &w->call);
}

/* --- the next check --- */

static enum err check_of_row(struct day_run *w, struct arena *a, const struct row *row)
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

static enum err check_next_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_reconcile_check_next, &row, V_TEXT(str_of(w->day.text)),
                        V_TEXT(str_of(w->day.place)));

    w->payment = (struct payment){ 0 };
    if (!e)
        e = check_of_row(w, u->arena, &row);
    if (e || !w->check.has_payment)
        return e;
    e = payment_read(tx, u->arena, w->check.payment, false, &w->payment);
    return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
}

static void check_next_read(struct unit *u)
{
    static const struct unit_kind end = { "reconcile.checked", UNIT_BACK, step_progress_run, NULL };
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    if (u->err == ERR_NOT_FOUND) {
        w->progress = (struct progress){ .phase = DAY_SUM };
        step_post(w, &end, step_done);
    } else if (u->err) {
        step_done(u);
    } else {
        check_query(w);
    }
}

void step_check(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.next", UNIT_READ, check_next_run, NULL };

    step_post(w, &kind, check_next_read);
}
