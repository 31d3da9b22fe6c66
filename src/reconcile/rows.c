/* rows.c - the rows of a reconciliation: the day with its place, our payments, and the sums. */
#include "reconcile/run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const phases[DAY_PHASES] = {
    [DAY_CLEAR] = "clear", [DAY_THEIRS] = "theirs", [DAY_OURS] = "ours",     [DAY_PAUSE] = "pause",
    [DAY_CHECK] = "check", [DAY_SUM] = "sum",       [DAY_FORGET] = "forget", [DAY_DONE] = "done",
};

const char *day_phase_name(enum day_phase p)
{
    return phases[p];
}

static bool phase_parse(struct str name, enum day_phase *ret)
{
    for (int i = 0; i < DAY_PHASES; i++)
        if (str_eq(name, str_of(phases[i]))) {
            *ret = (enum day_phase)i;
            return true;
        }
    return false;
}

/* --- a day --- */

enum err day_read(struct tx *tx, struct str text, struct day *ret_day)
{
    struct day d = { 0 };
    struct row row;
    const struct val *c = row.col;
    enum err e = TX_ROW(tx, STMT_reconcile_get, &row, V_TEXT(text));

    if (e)
        return e;
    if (!phase_parse(c[4].s, &d.phase) || !uuid_of_bytes(c[6].s, &d.run))
        return ERR_INTERNAL;
    snprintf(d.text, sizeof(d.text), STR_FMT, STR_ARG(c[0].s));
    snprintf(d.place, sizeof(d.place), STR_FMT, STR_ARG(c[5].s));
    d.from_ms = c[2].i;
    d.to_ms = c[3].i;
    d.theirs = c[8].i;
    d.ours = c[9].i;
    d.checked = c[10].i;
    d.differences = c[11].i;
    d.healed = c[12].i;
    d.started_ms = c[14].i;
    d.failures = c[17].i;
    d.anew = c[18].i;
    *ret_day = d;
    return OK;
}

enum err day_step(struct tx *tx, const struct day *d, const struct progress *s, int64_t now_ms)
{
    return TX_DO(tx, STMT_reconcile_step, 1, V_TEXT(str_of(phases[s->phase])),
                 V_TEXT(str_of(s->place)), V_INT(s->theirs), V_INT(s->ours), V_INT(s->checked),
                 V_INT(s->differences), V_INT(s->healed), V_INT(s->anew), V_INT(now_ms),
                 s->phase == DAY_DONE ? V_INT(now_ms) : V_NULL, V_TEXT(str_of(d->text)),
                 v_uuid(&d->run), V_TEXT(str_of(phases[d->phase])), V_TEXT(str_of(d->place)));
}

/* --- one payment of ours --- */

enum err our_payment_read(struct arena *a, const struct row *row, struct our_payment *ret)
{
    const struct val *c = row->col;
    struct our_payment p = { .gateway = arena_str(a, c[1].s),
                             .intent_id = arena_str(a, c[2].s),
                             .listed_intent_id = arena_str(a, c[12].s),
                             .has_open_op = c[11].i,
                             .seen = row->count > 14 && c[14].i,
                             .created_ms = c[13].i };

    if (!p.gateway.p || !p.intent_id.p || !p.listed_intent_id.p)
        return ERR_NO_MEMORY;
    p.books = (struct books_ours){ .known = true,
                                   .captured = minor_of(&c[7]),
                                   .fee = minor_of(&c[8]),
                                   .refunds_done = minor_of(&c[9]),
                                   .refunds_all = minor_of(&c[10]) };
    if (!uuid_of_bytes(c[0].s, &p.id) || !payment_context_parse(c[3].s, &p.context) ||
        !payment_status_parse(c[4].s, &p.books.status) ||
        !money_stored(c[5].i, c[6].s, &p.books.money))
        return ERR_INTERNAL;
    *ret = p;
    return OK;
}

bool is_other(const struct our_payment *p, struct str intent_id, const struct books_theirs *t)
{
    bool has_money = t->state == INTENT_AUTHORIZED || t->state == INTENT_SUCCEEDED;

    if (!p->books.known || !intent_id.n)
        return false;
    if (p->intent_id.n)
        return !str_eq(p->intent_id, intent_id);
    return p->context == CONTEXT_PARTICIPANT && !(t->known && has_money);
}

/* --- sums --- */

static struct total *total_of(struct totals *t, struct str gateway, const char *side,
                              const char *currency)
{
    struct total *x;

    for (size_t i = 0; i < t->count; i++) {
        x = &t->all[i];
        if (str_eq(x->gateway, gateway) && strcmp(x->side, side) == 0 &&
            strcmp(x->currency, currency) == 0)
            return x;
    }
    assert(t->count < TOTALS);
    x = &t->all[t->count++];
    *x = (struct total){ .gateway = gateway, .side = side };
    memcpy(x->currency, currency, 3);
    return x;
}

static enum err total_add(struct total *x, struct minor captured, struct minor refunded,
                          struct minor fee)
{
    x->payments++;
    return minor_add(&x->captured, captured) && minor_add(&x->refunded, refunded) &&
                   minor_add(&x->fees, fee)
               ? OK
               : ERR_SUM_TOO_LARGE;
}

/* Only captured payments count. */
enum err totals_ours(struct totals *t, const struct our_payment *p)
{
    const struct books_ours *b = &p->books;

    if (!minor_known(b->captured))
        return OK;
    return total_add(total_of(t, p->gateway, "ours", b->money.currency), b->captured,
                     b->refunds_done, b->fee);
}

enum err totals_theirs(struct totals *t, struct str gateway, const char *side,
                       const struct books_theirs *b)
{
    if (!b->known || b->state != INTENT_SUCCEEDED || !minor_or_0(b->received) || !b->currency[0])
        return OK;
    return total_add(total_of(t, gateway, side, b->currency), b->received, b->refunded, b->fee);
}

enum err totals_store(struct tx *tx, const char *day, const struct totals *t)
{
    enum err e = OK;

    for (size_t i = 0; i < t->count && !e; i++) {
        const struct total *x = &t->all[i];

        e = TX_DO(tx, STMT_reconcile_total_add, 1, V_TEXT(str_of(day)), V_TEXT(x->gateway),
                  V_TEXT(str_of(x->side)), V_TEXT(str_of(x->currency)), V_INT(x->payments),
                  v_minor(x->captured), v_minor(x->refunded), v_minor(x->fees));
    }
    return e;
}

/* --- theirs --- */

struct books_theirs theirs_of(const struct fact *f, struct minor refunded)
{
    struct books_theirs b = { .known = true,
                              .state = f->state,
                              .amount = { f->amount },
                              .received = { f->received },
                              .refunded = refunded,
                              .fee = { f->has_fee ? f->fee : -1 } };

    memcpy(b.currency, f->currency, sizeof(b.currency));
    return b;
}

bool theirs_add_refund(struct books_theirs *b, const struct fact *f)
{
    return f->refund == REFUND_FAILED || f->refund == REFUND_CANCELED ||
           minor_add(&b->refunded, (struct minor){ f->amount });
}

struct gateway *listed_gateway(const struct reconcile *r)
{
    return r->lister ? gateways_of(r->payments->gateways, S("stripe")) : NULL;
}
