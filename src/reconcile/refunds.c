/* refunds.c - reads what the gateway refunded of one payment: from its list, or without a list by a
 * query for each of our refunds. It sets theirs.refunded to their sum and w->refunds to the facts
 * that repair our side. With too many refunds, an unreadable one, or a sum that does not fit into
 * 64 bits, the sum stays unknown and is not compared. Nothing is stored here. */
#include "reconcile/run.h"

/* A gateway that reports the sum itself includes refunds that were not made by us. A bank transfer
 * that no payment could take and that was paid twice has more refunded than received: the sum is
 * cut. */
static void refunds_settle(struct day_run *w, struct minor refunded)
{
    const struct fact *f = &w->call.fact;

    w->theirs.refunded = f->has_refunded ? (struct minor){ f->charge_refunded } : refunded;
    if (!minor_known(w->payment.captured) && minor_cmp(w->theirs.refunded, w->theirs.received) > 0)
        w->theirs.refunded = w->theirs.received;
    check_settle(w);
}

static void refunds_give_up(struct day_run *w)
{
    refunds_settle(w, MINOR_NONE);
}

/* --- by a list --- */

static void refunds_page_read(struct stripe_page *page);

static void refunds_request_page(struct day_run *w, struct str after)
{
    step_page(w, stripe_refunds_path(&w->arena, w->check.intent_id), after, refunds_page_read);
}

/* False: one is unreadable, there are too many, or the sum is too large. */
static bool refunds_take_page(struct day_run *w, const struct stripe_page *page)
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

static void refunds_page_read(struct stripe_page *page)
{
    struct day_run *w = CONTAINER_OF(page, struct day_run, page);

    if (page->err)
        step_fail(w, page->why);
    else if (!refunds_take_page(w, page))
        refunds_give_up(w);
    else if (page->has_more)
        refunds_request_page(w, page->last_id);
    else
        refunds_settle(w, w->theirs.refunded);
}

/* --- one by one --- */

static void refunds_query_next(struct day_run *w);

static void refunds_answered(struct gateway_call *c)
{
    struct day_run *w = CONTAINER_OF(c, struct day_run, refund_call);

    if (c->answer == GATEWAY_OK && c->fact.kind == FACT_REFUND) {
        w->refunds[w->refund_count++] = c->fact;
        if (theirs_add_refund(&w->theirs, &c->fact))
            refunds_query_next(w);
        else
            refunds_give_up(w);
    } else if (c->answer == GATEWAY_ABSENT) {
        refunds_query_next(w);
    } else {
        refunds_give_up(w);
    }
}

/* A failed refund was never at the gateway, or is known to have come back. An automatic refund of a
 * captured payment is of other money, and our side does not count it either (D22). */
static bool refund_needs_query(const struct payment *p, const struct refund *r)
{
    if (r->automatic && minor_known(p->captured))
        return false;
    return r->gateway_refund_id.n && r->status != REFUND_FAILED && r->status != REFUND_CANCELED;
}

static void refunds_query_next(struct day_run *w)
{
    const struct refund *r = NULL;

    while (!r && w->our_next < w->our_count) {
        if (refund_needs_query(&w->payment, &w->our_refunds[w->our_next]))
            r = &w->our_refunds[w->our_next];
        w->our_next++;
    }
    if (!r) {
        refunds_settle(w, w->theirs.refunded);
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
                                            .done = refunds_answered };
    w->refund_call.money.minor = r->amount;
    gateways_call(gateways_named(w->r->payments->gateways, w->check.gateway), &w->refund_call);
}

static enum err refunds_ours_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    return refunds_read(tx, u->arena, w->payment.id, &w->our_refunds, &w->our_count);
}

static void refunds_ours_read(struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    w->our_next = 0;
    if (u->err)
        step_done(u);
    else
        refunds_query_next(w);
}

void check_refunds(struct day_run *w)
{
    static const struct unit_kind ours = { "reconcile.refunds", UNIT_READ, refunds_ours_run, NULL };
    const struct gateway *listed = listed_gateway(w->r);

    w->refunds = arena_alloc(&w->arena, LIMIT_RECONCILE_REFUNDS, sizeof(*w->refunds));
    w->theirs.refunded = (struct minor){ 0 };
    if (!w->refunds)
        step_fail(w, "no memory");
    else if (listed && str_eq(w->check.gateway, str_of(listed->name)))
        refunds_request_page(w, S(""));
    else if (w->check.has_payment)
        step_post(w, &ours, refunds_ours_read);
    else
        refunds_give_up(w);
}
