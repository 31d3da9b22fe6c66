/* refunds.c - what went back of one payment, in the gateway's own words: by a list, or
 * where it has none, by asking for each refund of ours. In the end theirs.refunded is what they sum
 * up to, and w->refunds are the facts that mend ours. Too many of them, one that cannot be
 * understood, or a sum that 64 bits do not hold: none, and nothing is compared. */
#include "reconcile/run.h"

/* A gateway that tells the sum by itself counts refunds that were made elsewhere, too. What went
 * back of a transfer that nobody could take, and was paid twice, is more than it brought. */
static void settle_with(struct working *w, struct minor refunded)
{
    const struct fact *f = &w->call.fact;

    w->theirs.refunded = f->has_refunded ? (struct minor){ f->charge_refunded } : refunded;
    if (!minor_known(w->payment.captured) && minor_cmp(w->theirs.refunded, w->theirs.received) > 0)
        w->theirs.refunded = w->theirs.received;
    check_settle(w);
}

static void give_up(struct working *w)
{
    settle_with(w, MINOR_NONE);
}

/* --- by a list --- */

static void page_read(struct stripe_page *page);

static void ask_page(struct working *w, struct str after)
{
    step_page(w, stripe_refunds_path(&w->arena, w->check.intent_id), after, page_read);
}

/* False: one of them cannot be understood, or there are too many, or too much. */
static bool take_page(struct working *w, const struct stripe_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        struct fact *f = &w->refunds[w->refund_count];

        if (w->refund_count == LIMIT_RECONCILE_REFUNDS ||
            stripe_listed_refund(&w->arena, page->items[i], f))
            return false;
        w->refund_count++;
        if (!theirs_add_refund(&w->theirs, f))
            return false;
    }
    return !page->has_more || w->refund_count < LIMIT_RECONCILE_REFUNDS;
}

static void page_read(struct stripe_page *page)
{
    struct working *w = CONTAINER_OF(page, struct working, page);

    if (page->err)
        step_fail(w, page->why);
    else if (!take_page(w, page))
        give_up(w);
    else if (page->has_more)
        ask_page(w, page->last_id);
    else
        settle_with(w, w->theirs.refunded);
}

/* --- one by one --- */

static void ask_next(struct working *w);

static void reconcile_refunds_answered(struct gateway_call *c)
{
    struct working *w = CONTAINER_OF(c, struct working, refund_call);

    if (c->answer == GATEWAY_OK && c->fact.kind == FACT_REFUND) {
        w->refunds[w->refund_count++] = c->fact;
        if (theirs_add_refund(&w->theirs, &c->fact))
            ask_next(w);
        else
            give_up(w);
    } else if (c->answer == GATEWAY_ABSENT) {
        ask_next(w);
    } else {
        give_up(w);
    }
}

/* What failed here was never there, or is known to have come back. Beside money that was taken, a
 * refund of our own accord is that of other money: our side does not count it either (D22). */
static bool must_be_asked(const struct payment *p, const struct refund *r)
{
    if (r->automatic && minor_known(p->captured))
        return false;
    return r->gateway_refund_id.n && r->status != REFUND_FAILED && r->status != REFUND_CANCELED;
}

static void ask_next(struct working *w)
{
    const struct refund *r = NULL;

    while (!r && w->our_next < w->our_count) {
        if (must_be_asked(&w->payment, &w->our_refunds[w->our_next]))
            r = &w->our_refunds[w->our_next];
        w->our_next++;
    }
    if (!r) {
        settle_with(w, w->theirs.refunded);
        return;
    }
    w->refund_call = (struct gateway_call){ .ask = GATEWAY_FETCH_REFUND,
                                            .payment = w->payment.id,
                                            .user = w->payment.user_id,
                                            .subject = w->payment.subject_id,
                                            .context = w->payment.context,
                                            .money = w->payment.money,
                                            .intent_id = w->check.intent_id,
                                            .refund = r->id,
                                            .refund_id = r->gateway_refund_id,
                                            .arena = &w->arena,
                                            .executor = w->r->payments->runtime.executor,
                                            .done = reconcile_refunds_answered };
    w->refund_call.money.minor = r->amount;
    gateways_call(gateways_named(w->r->payments->gateways, w->check.gateway), &w->refund_call);
}

static enum err ours_run(struct tx *tx, struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);

    return refunds_read(tx, u->arena, w->payment.id, &w->our_refunds, &w->our_count);
}

static void ours_read(struct unit *u)
{
    struct working *w = CONTAINER_OF(u, struct working, unit);

    w->our_next = 0;
    if (u->err)
        step_done(u);
    else
        ask_next(w);
}

void check_refunds(struct working *w)
{
    static const struct unit_kind ours = { "reconcile.refunds", UNIT_READ, ours_run, NULL };
    const struct gateway *listed = listed_gateway(w->r);

    w->refunds = arena_alloc(&w->arena, LIMIT_RECONCILE_REFUNDS, sizeof(*w->refunds));
    w->theirs.refunded = (struct minor){ 0 };
    if (!w->refunds)
        step_fail(w, "no memory");
    else if (listed && str_eq(w->check.gateway, str_of(listed->name)))
        ask_page(w, S(""));
    else if (w->check.has_payment)
        step_post(w, &ours, ours_read);
    else
        give_up(w);
}
