/* purchase_payable.c - what a payment does to its purchase, the position and the sums (C2 to C5).
 *
 *   the payment            the purchase      the position                     the sums
 *   made (claim)           pending           available -> reserved, ours      positions_sold + 1
 *   a try declined         failed            ours and reserved -> available   positions_sold - 1
 *   its intent cancelled   cancelled         ours and reserved -> available   positions_sold - 1
 *   FAILED by ourselves    failed            ours and reserved -> available   positions_sold - 1
 *   captured               completed         ours -> sold; a late success:    revenue, paid + 1; late:
 *                                            available -> sold, ours (E8)     positions_sold + 1
 *   all of it refunded     refunded          stays sold                       revenue
 *
 *   (1) The purchase's status says what was done before: each line is done once, when the status
 *       climbs there, and the sums change by the difference to the purchase's stored revenue. So an
 *       event applied twice counts once (E7).
 *   (2) is_open() locks the position's row, so no other purchase takes it before the sale.
 *   (3) A campaign that ended meanwhile counts nothing more: then the unit of work fails
 *       (UNAVAILABLE), is run again, and finds it closed.
 *
 * Everything runs in the caller's transaction; a crash before its commit leaves nothing. */
#include "base/limits.h"
#include "campaign/campaign.h"
#include "campaign/purchase.h"
#include "notify/notification.h"
#include "payment/payable.h"

#include <assert.h>

/* --- claim: reserve the position --- */

struct position_offer {
    bool available;
    bool has_owner;
    struct uuid owner, purchase;
    struct uuid campaign, layer;
    struct money price;
    struct str campaign_status; /* the row's */
    int64_t unpaid;             /* the buyer's unpaid positions of this campaign */
};

/* The claims of one buyer are serialized, so that each of them sees the positions of the others. */
static enum err offer_read(struct tx *tx, const struct operate *by,
                           struct position_offer *ret_offer)
{
    struct position_offer o = { 0 };
    struct row row;
    enum err e = TX_DO(tx, STMT_buyer_lock, -1, v_uuid(&by->user));

    if (!e)
        e = TX_ROW(tx, STMT_position_offer, &row, v_uuid(&by->user), V_INT(LIMIT_RESERVED),
                   v_uuid(&by->subject));
    if (e)
        return e;
    o.available = str_eq(row.col[0].s, S("available"));
    o.has_owner = row.col[1].type == VAL_BLOB && uuid_of_bytes(row.col[1].s, &o.owner) &&
                  uuid_of_bytes(row.col[2].s, &o.purchase);
    o.campaign_status = row.col[7].s;
    o.unpaid = row.col[8].i;
    if (!uuid_of_bytes(row.col[3].s, &o.campaign) || !uuid_of_bytes(row.col[4].s, &o.layer) ||
        !money_make(row.col[5].i, row.col[6].s, &o.price))
        return ERR_INTERNAL;
    *ret_offer = o;
    return OK;
}

static enum err offer_check_campaign(struct operate *o, struct str status)
{
    if (str_eq(status, S("active")))
        return OK;
    return claim_refuse(o, ERR_UNPROCESSABLE,
                        str_eq(status, S("cancelled"))  ? "The campaign is cancelled."
                        : str_eq(status, S("sold_out")) ? "The campaign is sold out."
                                                        : "The campaign is over.");
}

/* The buyer already holds this position: reports the existing payment (D1). */
static enum err reject_own_position(struct tx *tx, struct operate *o,
                                    const struct position_offer *offer)
{
    enum err e = purchase_payment(tx, offer->purchase, &o->payment_id);

    if (e)
        return e;
    o->has_payment = true;
    return claim_refuse(o, ERR_PAYMENT_EXISTS, NULL);
}

static enum err reject_taken(struct operate *o)
{
    return claim_refuse(o, ERR_UNPROCESSABLE, "Somebody else has the position.");
}

static enum err reject_too_many(struct operate *o)
{
    return claim_refuse(o, ERR_UNPROCESSABLE,
                        "You hold 20 positions of this campaign without having paid them: pay or"
                        " cancel one of them first.");
}
static_assert(LIMIT_RESERVED == 20, "reject_too_many() names it");

static enum err offer_check(struct tx *tx, struct operate *o, struct position_offer *ret_offer)
{
    enum err e = offer_read(tx, o, ret_offer);

    if (e == ERR_NOT_FOUND)
        return claim_refuse(o, e, "There is no such position.");
    if (!e && ret_offer->has_owner && uuid_eq(ret_offer->owner, o->user))
        return reject_own_position(tx, o, ret_offer);
    if (!e)
        e = offer_check_campaign(o, ret_offer->campaign_status);
    if (!e && !ret_offer->available)
        return reject_taken(o);
    return !e && ret_offer->unpaid >= LIMIT_RESERVED ? reject_too_many(o) : e;
}

/* One statement decides: of several claims at once, one gets the position. */
static enum err position_reserve(struct tx *tx, struct operate *o, const struct purchase *p)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_position_reserve, &row, v_uuid(&p->user_id), v_uuid(&p->id),
                        V_INT(p->created_ms), v_uuid(&p->position_id));

    return e == ERR_NOT_FOUND ? reject_taken(o) : e;
}

/* From here on the campaign's row is locked: a cancellation waits and will find this purchase. If the
 * campaign has ended since it was read, its status is the reason to reject the claim. */
static enum err count_reserved(struct tx *tx, struct operate *o, const struct purchase *p)
{
    enum err e = campaign_count(tx, p->campaign_id, p->layer_id, +1, p->created_ms), why;
    struct row row;

    if (e != ERR_UNAVAILABLE)
        return e;
    why = TX_ROW(tx, STMT_campaign_status_get, &row, v_uuid(&p->campaign_id));
    if (!why)
        why = offer_check_campaign(o, row.col[0].s);
    return why ? why : e;
}

static enum err purchase_payable_claim(struct tx *tx, struct claim *c, struct payment *p,
                                       int64_t now_ms)
{
    struct operate *o = c->o;
    bool konbini = str_eq(o->method_type, S("konbini"));
    struct position_offer offer;
    struct purchase b;
    enum err e = offer_check(tx, o, &offer);

    if (e)
        return e;
    b = (struct purchase){ .id = c->subject_id,
                           .campaign_id = offer.campaign,
                           .layer_id = offer.layer,
                           .position_id = o->subject,
                           .user_id = o->user,
                           .payment_id = p->id,
                           .money = offer.price,
                           .konbini = konbini,
                           .expires_ms = now_ms + o->payments->reservation_ms,
                           .created_ms = now_ms };
    p->subject_id = b.id;
    p->user_id = b.user_id;
    p->money = b.money;
    e = position_reserve(tx, o, &b);
    return e ? e : purchase_add(tx, &b);
}

static enum err purchase_payable_claimed(struct tx *tx, struct claim *c, const struct payment *p)
{
    struct purchase b;
    enum err e = purchase_read(tx, p->subject_id, &b);

    return e ? e : count_reserved(tx, c->o, &b);
}

/* --- load: the metadata of its intent --- */

static struct str id_text(struct arena *a, struct uuid id)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    return arena_str(a, str_of(text));
}

static enum err purchase_payable_load(struct tx *tx, struct op_run *r)
{
    struct call_extra *x = &r->extra;
    struct purchase b;
    enum err e;

    if (r->op.kind != OP_CREATE)
        return OK;
    e = purchase_read(tx, r->payment.subject_id, &b);
    if (e)
        return e;
    *x = (struct call_extra){ .capture_now = true, .method_type = purchase_method(&b) };
    x->notes[0] = (struct gateway_note){ "campaign_id", id_text(&r->arena, b.campaign_id) };
    x->notes[1] = (struct gateway_note){ "position_id", id_text(&r->arena, b.position_id) };
    x->notes[2] = (struct gateway_note){ "purchase_id", id_text(&r->arena, b.id) };
    x->note_count = 3;
    return x->notes[0].value.p && x->notes[1].value.p && x->notes[2].value.p ? OK : ERR_NO_MEMORY;
}

/* --- is_open --- */

static enum err purchase_payable_is_open(struct tx *tx, const struct payment *p, bool *ret_open)
{
    struct uuid holder;
    struct purchase b;
    struct row row;
    bool ours;
    enum err e = purchase_read(tx, p->subject_id, &b);

    if (!e)
        e = TX_ROW(tx, STMT_position_lock, &row, v_uuid(&b.position_id));
    if (e)
        return e;
    ours = row.col[1].type != VAL_BLOB ||
           (uuid_of_bytes(row.col[1].s, &holder) && uuid_eq(holder, b.id));
    e = TX_ROW(tx, STMT_campaign_status_get, &row, v_uuid(&b.campaign_id));
    *ret_open = !e && ours && str_eq(row.col[0].s, S("active"));
    return e;
}

/* --- notifications --- */

static enum err purchase_notify(struct tx *tx, const struct taking *t, const struct purchase *b,
                                struct notice n)
{
    n.subject = b->id;
    n.user = &b->user_id;
    n.payment = &b->payment_id;
    n.campaign = &b->campaign_id;
    n.purchase = &b->id;
    n.trace = t->trace;
    return notice_add(tx, &t->payments->notifier, t->arena, &n, t->now_ms, NULL);
}

/* One notification for each try. A try without a charge is identified by its failure code. */
static enum err notify_declined(struct tx *tx, const struct taking *t, const struct purchase *b,
                                const struct fact *f)
{
    struct str code = f->decline_code.n ? f->decline_code : f->failure_code;

    return purchase_notify(tx, t, b,
                           (struct notice){ .type = NOTICE_PAYMENT_FAILED,
                                            .attempt = f->charge_id.n ? f->charge_id : code,
                                            .code = f->failure_code,
                                            .decline_code = f->decline_code });
}

/* --- failed, cancelled: the position is free again --- */

static enum err position_release(struct tx *tx, const struct purchase *b, int64_t now_ms)
{
    struct row row;
    enum err e;

    assert(b->status < PURCHASE_COMPLETED && !minor_or_0(b->revenue)); /* what is sold stays sold */
    e = TX_ROW(tx, STMT_position_release, &row, v_uuid(&b->position_id), v_uuid(&b->id));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    e = fault_point(&tx_env(tx)->faults, "purchase.release");
    return e ? e : campaign_count(tx, b->campaign_id, b->layer_id, -1, now_ms);
}

static enum err purchase_end(struct tx *tx, const struct taking *t, struct purchase *b,
                             enum purchase_status to)
{
    enum err e;

    if (b->status >= to)
        return OK;
    b->status = to;
    *(to == PURCHASE_FAILED ? &b->failed_ms : &b->cancelled_ms) = t->now_ms;
    e = purchase_store(tx, b, t->now_ms);
    return e ? e : position_release(tx, b, t->now_ms);
}

static enum err purchase_declined(struct tx *tx, const struct taking *t, struct purchase *b,
                                  const struct fact *f)
{
    enum err e = notify_declined(tx, t, b, f);

    return e ? e : purchase_end(tx, t, b, PURCHASE_FAILED);
}

/* 003: a buyer is notified only of an expired reservation, not of his own cancellation. */
static enum err purchase_cancelled(struct tx *tx, const struct taking *t, struct purchase *b,
                                   const struct fact *f)
{
    enum err e = OK;

    if (str_eq(f->cancel_reason, S("abandoned")))
        e = purchase_notify(tx, t, b, (struct notice){ .type = NOTICE_PAYMENT_CANCELLED });
    return e ? e : purchase_end(tx, t, b, PURCHASE_CANCELLED);
}

/* --- completed, refunded: the sums follow the money --- */

static enum err position_sell(struct tx *tx, const struct taking *t, const struct purchase *b,
                              bool *ret_taken_back)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_position_sell, &row, V_INT(t->now_ms), v_uuid(&b->position_id),
                        v_uuid(&b->id));

    *ret_taken_back = e == ERR_NOT_FOUND;
    if (e == ERR_NOT_FOUND)
        e = TX_ROW(tx, STMT_position_take_back, &row, v_uuid(&b->user_id), v_uuid(&b->id),
                   V_INT(t->now_ms), v_uuid(&b->position_id));
    return e == ERR_NOT_FOUND ? ERR_INTERNAL : e; /* impossible: is_open() has locked it */
}

static enum err count_user(struct tx *tx, const struct taking *t, const struct purchase *b,
                           int64_t by, bool first)
{
    struct val currency = V_TEXT(str_of(b->money.currency));

    if (first)
        return TX_DO(tx, STMT_user_bought, 1, v_uuid(&b->user_id), currency, V_INT(by),
                     V_INT(t->now_ms));
    return by ? TX_DO(tx, STMT_user_spent, 1, V_INT(by), V_INT(t->now_ms), v_uuid(&b->user_id),
                      currency)
              : OK;
}

static enum err count_sold(struct tx *tx, const struct taking *t, const struct purchase *b,
                           bool taken_back)
{
    enum err e = OK;

    if (taken_back)
        e = campaign_count(tx, b->campaign_id, b->layer_id, +1, t->now_ms);
    return e ? e : campaign_sold(tx, t->payments, b->campaign_id, t->now_ms);
}

static void purchase_set_status(struct purchase *b, const struct payment *p, int64_t now_ms)
{
    bool all_back = p->status == PAYMENT_REFUNDED;

    if (b->status < PURCHASE_COMPLETED)
        b->completed_ms = now_ms;
    if (!all_back || !b->refunded_ms)
        b->refunded_ms = all_back ? now_ms : 0;
    b->status = all_back ? PURCHASE_REFUNDED : PURCHASE_COMPLETED;
    b->revenue.minor = minor_change(p->refunded, p->captured);
}

/* Brings the purchase and the sums to what the captured payment is now. Rows that many transactions
 * want come last. */
static enum err purchase_follow_money(struct tx *tx, const struct taking *t,
                                      const struct payment *p, struct purchase *b)
{
    bool first = b->status < PURCHASE_COMPLETED, taken_back = false;
    struct minor had = b->revenue;
    int64_t by;
    enum err e;

    if (first) {
        e = position_sell(tx, t, b, &taken_back);
        if (e)
            return e;
    }
    purchase_set_status(b, p, t->now_ms);
    by = minor_change(had, b->revenue);
    e = purchase_store(tx, b, t->now_ms);
    if (!e && first)
        e = purchase_notify(tx, t, b, (struct notice){ .type = NOTICE_PURCHASE_CONFIRMED });
    if (!e)
        e = count_user(tx, t, b, by, first);
    if (!e && first)
        e = count_sold(tx, t, b, taken_back);
    return e || !by ? e : campaign_revenue(tx, b->campaign_id, by, t->now_ms);
}

/* --- the reservation's end (D19) --- */

/* A konbini slip has its own expiry. Until it exists, a position is reserved as long as for a
 * card. */
static enum err purchase_store_expiry(struct tx *tx, const struct taking *t, struct purchase *b,
                                      const struct fact *f)
{
    int64_t expires_ms = f->action_expires_ms + LIMIT_KONBINI_LATE_MS;

    if (!f->action_expires_ms || b->status != PURCHASE_PENDING || b->expires_ms == expires_ms)
        return OK;
    b->expires_ms = expires_ms;
    return purchase_store(tx, b, t->now_ms);
}

static enum err purchase_payable_ends(struct tx *tx, const struct taking *t,
                                      const struct payment *p, const struct fact *f,
                                      int64_t *ret_ms)
{
    struct purchase b;
    enum err e = purchase_read(tx, p->subject_id, &b);

    if (!e && f)
        e = purchase_store_expiry(tx, t, &b, f);
    *ret_ms = e ? CLOCK_NEVER : b.expires_ms;
    return e;
}

/* --- the table of payment/payable.h --- */

static enum err purchase_payable_moved(struct tx *tx, const struct taking *t,
                                       const struct payment *p, const struct fact *f)
{
    struct purchase b;
    enum err e = purchase_read(tx, p->subject_id, &b);

    if (e)
        return e;
    if (minor_known(p->captured))
        return purchase_follow_money(tx, t, p, &b);
    if (is_void(p))
        return f && f->state == INTENT_CANCELED ? purchase_cancelled(tx, t, &b, f)
                                                : purchase_end(tx, t, &b, PURCHASE_FAILED);
    if (p->status != PAYMENT_PENDING || !f)
        return OK;
    return f->state == INTENT_DECLINED ? purchase_declined(tx, t, &b, f)
                                       : purchase_store_expiry(tx, t, &b, f);
}

static enum err purchase_payable_refunded(struct tx *tx, const struct taking *t,
                                          const struct payment *p)
{
    struct purchase b;
    enum err e = purchase_read(tx, p->subject_id, &b);
    bool came_back = !e && b.status == PURCHASE_REFUNDED && p->status == PAYMENT_CAPTURED;

    if (!e)
        e = purchase_follow_money(tx, t, p, &b);
    if (e || !came_back)
        return e;
    return campaign_give_back(tx, t->payments, b.campaign_id, b.id, t->now_ms);
}

/* payment/transition.c writes the alert and the audit line. */
static enum err purchase_payable_given_back(struct tx *tx, const struct taking *t,
                                            const struct payment *p, const struct fact *f)
{
    struct purchase b;
    enum err e;

    if (f->state != INTENT_SUCCEEDED)
        return OK; /* no money was captured */
    e = fault_point(&tx_env(tx)->faults, "purchase.give_back");
    if (!e)
        e = purchase_read(tx, p->subject_id, &b);
    return e ? e
             : purchase_notify(
                   tx, t, &b,
                   (struct notice){ .type = NOTICE_PAYMENT_REFUNDED, .attempt = f->charge_id });
}

static enum err purchase_payable_render(struct tx *tx, struct arena *a, const struct payment *p,
                                        struct str payment, struct str *ret_body)
{
    struct purchase b;
    enum err e = purchase_read(tx, p->subject_id, &b);

    if (e)
        return e;
    *ret_body = purchase_json(a, &b, payment);
    return ret_body->p ? OK : ERR_NO_MEMORY;
}

const struct subject purchase_subject = {
    .payment_of = purchase_payment,
    .claim = purchase_payable_claim,
    .claimed = purchase_payable_claimed,
    .load = purchase_payable_load,
    .is_open = purchase_payable_is_open,
    .moved = purchase_payable_moved,
    .refunded = purchase_payable_refunded,
    .given_back = purchase_payable_given_back,
    .ends = purchase_payable_ends,
    .render = purchase_payable_render,
};
