/* claim.c - see claim.h. Checks come in I5's order: the key, then what it is about. A refusal rolls
 * the whole unit back, so that it claims no key.
 *
 * Locks (PostgreSQL): key, booking, payment. */
#include "flow/claim.h"

#include "base/limits.h"
#include "flow/booking.h"
#include "flow/tell.h"

#include <string.h>

static enum err refuse(struct operate *o, enum err e, const char *why)
{
    o->why = why;
    return e;
}

static enum err refuse_state(struct operate *o, const struct payment *p, const char *why)
{
    o->has_current = true;
    o->current = p->status;
    return refuse(o, ERR_UNPROCESSABLE, why);
}

/* --- the operation and its message --- */

static enum err add_operation(struct tx *tx, struct claim *c, const struct payment *p,
                              int64_t amount, int64_t now_ms)
{
    struct operate *o = c->o;
    struct op_run *r = c->run;
    char key[GATEWAY_KEY + 1], id[UUID_TEXT + 1], payment_id[UUID_TEXT + 1];
    struct queue_new m = { .id = c->message_id, .kind = S("op"), .due_ms = now_ms };
    enum err e;

    gateway_key(p->id, c->operation_id, key);
    r->op = (struct operation){ .id = c->operation_id,
                                .payment_id = p->id,
                                .message_id = c->message_id,
                                .kind = o->kind,
                                .cause = S("client"),
                                .gateway_key = arena_str(&r->arena, str_of(key)),
                                .amount = amount,
                                .has_refund = o->kind == OP_REFUND,
                                .refund_id = c->refund_id,
                                .has_key = true,
                                .user = o->user,
                                .key = o->key,
                                .claimed_ms = now_ms,
                                .sent_ms = now_ms };
    if (o->kind == OP_CREATE)
        r->op.method = arena_str(&r->arena, o->method.n ? o->method : o->payments->default_method);
    r->payment = *p;
    memcpy(r->trace, o->trace, sizeof(r->trace));
    r->loaded = r->fresh = true;
    if (!r->op.gateway_key.p)
        return ERR_NO_MEMORY;
    e = operation_add(tx, &r->op);
    uuid_text(c->operation_id, id);
    uuid_text(p->id, payment_id);
    m.body = arena_str(&r->arena, str_of(id)); /* the message borrows them until it is adopted */
    m.ref = arena_str(&r->arena, str_of(payment_id));
    if (!m.body.p || !m.ref.p)
        return ERR_NO_MEMORY;
    return e ? e : queue_add_leased(o->payments->queue, tx, now_ms, &m, &c->message);
}

/* --- create --- */

static enum err check_place(struct tx *tx, struct operate *o)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_payment_of_place, &row, V_TEXT(S("booking")), v_uuid(&o->booking));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (!uuid_of_bytes(row.col[0].s, &o->payment_id))
        return ERR_INTERNAL;
    o->has_payment = true;
    return refuse(o, ERR_PAYMENT_EXISTS, NULL);
}

static enum err check_booking(struct tx *tx, struct operate *o, struct booking *ret_booking)
{
    enum err e = booking_read(tx, o->booking, true, ret_booking);

    if (e == ERR_NOT_FOUND)
        return refuse(o, e, "There is no such booking.");
    if (e)
        return e;
    if (!o->may_any && !uuid_eq(ret_booking->user_id, o->user))
        return refuse(o, ERR_FORBIDDEN, NULL);
    e = check_place(tx, o); /* before its status: who paid it already is the better answer (D1) */
    if (e)
        return e;
    if (ret_booking->status != BOOKING_PENDING)
        return refuse(o, ERR_UNPROCESSABLE,
                      ret_booking->status == BOOKING_CONFIRMED
                          ? "The booking is CONFIRMED; it cannot be paid again."
                          : "The booking is CANCELLED; it cannot be paid.");
    if (!money_eq(ret_booking->money, o->money))
        return refuse(o, ERR_UNPROCESSABLE, "Amount or currency is not the booking's.");
    return OK;
}

static enum err claim_create(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct operate *o = c->o;
    struct op_run *r = c->run;
    struct booking b;
    struct payment p;
    enum err e = check_booking(tx, o, &b);

    if (e)
        return e;
    p = (struct payment){ .id = c->payment_id,
                          .subject_id = o->booking,
                          .user_id = b.user_id,
                          .idempotency_key = o->key,
                          .claim_id = c->operation_id,
                          .context = S("booking"),
                          .has_booking = true,
                          .booking_id = o->booking,
                          .money = o->money,
                          .captured = -1,
                          .refunded = -1,
                          .status = PAYMENT_PENDING,
                          .description = arena_str(&r->arena, o->description),
                          .gateway = str_of(o->payments->gateway->name),
                          .version = 1,
                          .has_open_op = true,
                          .open_op = c->operation_id,
                          .created_ms = now_ms,
                          .updated_ms = now_ms };
    e = payment_add(tx, &p);
    if (!e)
        e = add_operation(tx, c, &p, -1, now_ms);
    if (!e)
        e = tell_created(tx, o->payments, &r->arena, &p, now_ms);
    o->has_payment = true;
    o->payment_id = p.id;
    return e;
}

/* --- capture, refund, void --- */

static enum err check_capture(struct tx *tx, struct operate *o, const struct payment *p,
                              int64_t *ret_amount)
{
    struct booking b;
    enum err e = p->has_booking ? booking_read(tx, p->booking_id, false, &b) : ERR_NOT_FOUND;

    if (!e && b.status == BOOKING_CANCELLED)
        return refuse_state(o, p, "The booking is CANCELLED; it cannot be captured.");
    if (e && e != ERR_NOT_FOUND)
        return e;
    *ret_amount = o->has_amount ? o->amount : p->money.minor;
    if (*ret_amount > p->money.minor)
        return refuse_state(o, p, "More than was authorized cannot be captured.");
    return OK;
}

/* The amount is reserved before the gateway is asked, so that two refunds never give back more than
 * was taken (D12). */
static enum err check_refund(struct tx *tx, struct claim *c, const struct payment *p,
                             int64_t now_ms, int64_t *ret_amount)
{
    struct operate *o = c->o;
    struct refund_sums sums;
    int64_t available;
    struct refund r;
    enum err e = refund_sums(tx, p->id, &sums);

    if (e)
        return e;
    if (sums.count >= LIMIT_REFUNDS)
        return refuse_state(o, p, "This payment has too many refunds already.");
    available = refund_available(p->captured, sums.reserved);
    *ret_amount = o->has_amount ? o->amount : available;
    if (*ret_amount < 1 || *ret_amount > available)
        return refuse_state(o, p, "More than was captured cannot be refunded.");
    r = (struct refund){ .id = c->refund_id,
                         .payment_id = p->id,
                         .amount = *ret_amount,
                         .status = REFUND_PENDING,
                         .reason = arena_str(&c->run->arena, o->reason),
                         .created_ms = now_ms,
                         .updated_ms = now_ms };
    c->run->refund = r;
    return refund_add(tx, &r);
}

static enum err check_kind(struct tx *tx, struct claim *c, const struct payment *p, int64_t now_ms,
                           int64_t *ret_amount)
{
    *ret_amount = -1;
    if (c->o->kind == OP_CAPTURE)
        return check_capture(tx, c->o, p, ret_amount);
    if (c->o->kind == OP_REFUND)
        return check_refund(tx, c, p, now_ms, ret_amount);
    return p->gateway_transaction_id.n
               ? OK
               : refuse_state(c->o, p, "There is nothing at the gateway that could be cancelled.");
}

static enum err check_payment(struct operate *o, const struct payment *p)
{
    static const enum payment_request asks[OP_KINDS] = {
        [OP_CAPTURE] = ASK_CAPTURE, [OP_REFUND] = ASK_REFUND, [OP_VOID] = ASK_VOID
    };

    if (!o->may_any && !uuid_eq(p->user_id, o->user))
        return refuse(o, ERR_FORBIDDEN, NULL);
    o->has_payment = true;
    o->payment_id = p->id;
    if (p->has_open_op)
        return refuse(o, ERR_UNCERTAIN, "Another operation on this payment has no outcome yet.");
    if (!payment_allows(p->status, asks[o->kind]))
        return refuse_state(o, p, NULL);
    return OK;
}

static enum err claim_other(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct operate *o = c->o;
    struct payment p;
    int64_t amount;
    enum err e = payment_read(tx, &c->run->arena, o->payment, true, &p);

    if (e == ERR_NOT_FOUND)
        return refuse(o, e, "There is no such payment.");
    if (!e)
        e = check_payment(o, &p);
    if (!e)
        e = check_kind(tx, c, &p, now_ms, &amount);
    if (e)
        return e;
    p.has_open_op = true;
    p.open_op = c->operation_id;
    e = payment_store(tx, &p, now_ms);
    return e ? e : add_operation(tx, c, &p, amount, now_ms);
}

/* --- a key that is known --- */

/* Its outcome is unknown and its client asks again: sent again with the same gateway key, unless
 * somebody is asking the gateway right now (D6). */
static enum err take_over(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct op_run *r = c->run;
    enum err e =
        queue_take(c->o->payments->queue, tx, &r->arena, c->record.message, now_ms, &c->message);

    c->result = CLAIM_RUNNING;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    e = run_read(tx, r, c->record.operation);
    if (!e && now_ms - r->op.claimed_ms < LIMIT_KEY_FRESH_MS) /* else it is only asked for */
        e = TX_DO(tx, STMT_operation_resend, 1, V_INT(now_ms), V_INT(r->op.sends),
                  v_uuid(&r->op.id));
    r->loaded = r->fresh = true;
    c->result = CLAIMED;
    return e;
}

static enum err look(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct operate *o = c->o;
    enum err e = key_find(tx, o->arena, o->user, o->kind, o->key, &c->record);

    if (e)
        return e == ERR_NOT_FOUND ? ERR_TIMEOUT : e; /* it went while we looked: 503, again */
    o->has_payment = true;
    o->payment_id = c->record.payment;
    if (memcmp(c->record.hash, o->hash, KEY_HASH) != 0)
        c->result = CLAIM_OTHER;
    else if (c->record.done)
        c->result = CLAIM_DONE;
    else if (c->record.phase == PHASE_UNKNOWN)
        return take_over(tx, c, now_ms);
    else
        c->result = CLAIM_RUNNING;
    return OK;
}

static enum err claim_run(struct tx *tx, struct unit *u)
{
    struct claim *c = CONTAINER_OF(u, struct claim, unit);
    struct operate *o = c->o;
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct uuid payment = o->kind == OP_CREATE ? c->payment_id : o->payment;
    bool ours = false;
    enum err e;

    o->why = NULL;
    o->has_payment = o->has_current = false;
    c->result = CLAIM_IMPOSSIBLE;
    arena_release(&c->run->arena);
    e = key_claim(tx, o, payment, c->operation_id, now_ms, &ours);
    if (e)
        return e;
    if (!ours)
        return look(tx, c, now_ms);
    e = o->kind == OP_CREATE ? claim_create(tx, c, now_ms) : claim_other(tx, c, now_ms);
    if (!e)
        c->result = CLAIMED;
    return e;
}

const struct unit_kind claim_kind = { "op.claim", UNIT_FRONT, claim_run, NULL };
