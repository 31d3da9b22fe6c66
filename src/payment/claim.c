/* claim.c - makes a client's operation exist before the gateway hears of it.
 *
 *   key_claim --ours----> checks --> payment or refund, operation, leased message: one commit
 *       '------not ours--> done: its answer | other content | running: wait
 *                          | unknown outcome: take its message over and submit again (D6)
 *
 *   (1) The key is checked before what the request is about (I5).
 *   (2) A rejected request fails the unit of work, which rolls back: it claims no key.
 *   (3) The message is born leased. A crash before the commit leaves nothing; a crash after it
 *       leaves a message whose lease expires, and the job `op` goes on.
 *
 * Locks on PostgreSQL, in this order: key, booking, payment. */
#include "payment/claim.h"

#include "base/limits.h"
#include "payment/allowed.h"
#include "payment/emit.h"
#include "payment/operation_span.h"
#include "payment/payable.h"

#include <string.h>

enum err claim_refuse(struct operate *o, enum err e, const char *why)
{
    o->why = why;
    return e;
}

static enum err claim_reject_state(struct operate *o, const struct payment *p, const char *why)
{
    o->has_current = true;
    o->current = p->status;
    return claim_refuse(o, ERR_UNPROCESSABLE, why);
}

/* --- the operation and its message --- */

/* The payment method that the gateway is given. If the client names none, it is the gateway's
 * default; if that is empty too, or on the gateway's own page, the client confirms itself (P1). */
static struct str claim_method(const struct operate *o, const struct payment *p)
{
    const struct gateway *g = gateways_named(o->payments->gateways, p->gateway);

    if (o->method.n || o->context == CONTEXT_PARTICIPANT || !g || !g->default_method.n)
        return o->method;
    return o->method_type.n && !str_eq(o->method_type, S("card")) ? o->method_type
                                                                  : g->default_method;
}

static enum err claim_add_operation(struct tx *tx, struct claim *c, const struct payment *p,
                                    int64_t amount, int64_t now_ms)
{
    struct operate *o = c->o;
    struct op_run *r = c->run;
    char key[GATEWAY_KEY + 1], id[UUID_TEXT + 1], payment_id[UUID_TEXT + 1];
    struct queue_new m = { .id = c->message_id, .kind = S("op"), .due_ms = now_ms };
    const struct subject *subject = subject_of(o->payments, p);
    enum err e;

    gateway_key(p->id, c->operation_id, key);
    r->op = (struct operation){ .id = c->operation_id,
                                .of_subject = o->of_subject,
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
    if (o->kind == OP_CREATE) {
        r->op.method = arena_str(&r->arena, claim_method(o, p));
        r->op.details = c->details;
    }
    r->payment = *p;
    memcpy(r->trace, o->trace, sizeof(r->trace));
    r->loaded = r->fresh = true;
    if (!r->op.gateway_key.p)
        return ERR_NO_MEMORY;
    e = operation_add(tx, &r->op);
    if (e)
        return e;
    if (subject->load) {
        e = subject->load(tx, r);
        if (e)
            return e;
    }
    uuid_text(c->operation_id, id);
    uuid_text(p->id, payment_id);
    m.body = arena_str(&r->arena, str_of(id)); /* the message borrows both until it is adopted */
    m.ref = arena_str(&r->arena, str_of(payment_id));
    if (!m.body.p || !m.ref.p)
        return ERR_NO_MEMORY;
    return queue_add_leased(o->payments->runtime.queue, tx, now_ms, &m, &c->message);
}

/* --- create --- */

enum err claim_check_place(struct tx *tx, struct operate *o, enum payment_context context,
                           struct uuid subject)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_payment_of_place, &row,
                        V_TEXT(str_of(payment_context_name(context))), v_uuid(&subject));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (!uuid_of_bytes(row.col[0].s, &o->payment_id))
        return ERR_INTERNAL;
    o->has_payment = true;
    return claim_refuse(o, ERR_PAYMENT_EXISTS, NULL);
}

static enum err claim_add_payment(struct tx *tx, struct claim *c, struct payment *p, int64_t now_ms)
{
    enum err e = payment_add(tx, p);

    c->o->has_subject = true;
    c->o->subject_id = p->subject_id;
    return e ? e : tell_created(tx, c->o->payments, &c->run->arena, p, now_ms, str_of(c->o->trace));
}

/* The payment stays with this gateway for good (G5). */
static enum err claim_choose_gateway(struct operate *o, struct payment *p)
{
    struct str method = o->context == CONTEXT_PARTICIPANT ? S("checkout") : o->method_type;
    const struct gateway *g = gateways_for(o->payments->gateways, method, p->money.currency);

    if (!g)
        return claim_refuse(o, ERR_UNPROCESSABLE,
                            "No gateway here takes this payment method in this currency.");
    p->gateway = str_of(g->name);
    return OK;
}

/* The payment exists already: this operation makes a new Checkout session for it. */
static enum err claim_reopen_payment(struct tx *tx, struct claim *c, struct payment *p,
                                     int64_t now_ms)
{
    enum err e = key_name_payment(tx, c->o, p->id);

    p->has_open_op = true;
    p->open_op = c->operation_id;
    return e ? e : payment_store(tx, p, now_ms);
}

static enum err claim_create(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct operate *o = c->o;
    struct op_run *r = c->run;
    struct payment p = { .id = c->payment_id,
                         .idempotency_key = o->key,
                         .claim_id = c->operation_id,
                         .context = o->context,
                         .captured = MINOR_NONE,
                         .refunded = MINOR_NONE,
                         .status = PAYMENT_PENDING,
                         .description = arena_str(&r->arena, o->description),
                         .version = 1,
                         .has_open_op = true,
                         .open_op = c->operation_id,
                         .created_ms = now_ms,
                         .updated_ms = now_ms };
    const struct subject *subject = subject_of(o->payments, &p);
    enum err e;

    c->goes_on = false;
    c->validating = claim_lap_begin(o);
    e = c->invalid = subject->claim(tx, c, &p, now_ms);
    lap_end(&c->validating, S(""));
    if (!e && !c->goes_on)
        e = claim_choose_gateway(o, &p);
    if (e)
        return e;
    e = c->goes_on ? claim_reopen_payment(tx, c, &p, now_ms) : claim_add_payment(tx, c, &p, now_ms);
    if (e)
        return e;
    e = claim_add_operation(tx, c, &p, -1, now_ms);
    if (e)
        return e;
    if (subject->claimed) {
        e = subject->claimed(tx, c, &p);
        if (e)
            return e;
    }
    o->has_payment = true;
    o->payment_id = p.id;
    return OK;
}

/* --- capture, refund, void --- */

/* The amount is reserved before the gateway is called, so that two refunds together never return
 * more than was captured (D12). */
static enum err claim_reserve_refund(struct tx *tx, struct claim *c, const struct payment *p,
                                     int64_t amount, int64_t now_ms)
{
    struct refund r = { .id = c->refund_id,
                        .payment_id = p->id,
                        .amount = amount,
                        .status = REFUND_PENDING,
                        .reason = arena_str(&c->run->arena, c->o->reason),
                        .created_ms = now_ms,
                        .updated_ms = now_ms };

    c->run->refund = r;
    return refund_add(tx, &r);
}

static enum err claim_check_amount(struct tx *tx, struct claim *c, const struct payment *p,
                                   int64_t now_ms, int64_t *ret_amount)
{
    struct operate *o = c->o;
    struct allowed allowed;
    enum err e = allowed_read(tx, o->payments->payables, p, o->kind, &allowed);

    if (e)
        return e;
    if (!allowed.yes)
        return claim_reject_state(o, p, allowed.why);
    *ret_amount = o->has_amount && o->kind != OP_VOID ? o->amount : allowed.most;
    if (*ret_amount > allowed.most || (o->kind != OP_VOID && *ret_amount < 1))
        return claim_reject_state(o, p,
                                  o->kind == OP_CAPTURE
                                      ? "More than was authorized cannot be captured."
                                      : "More than was captured cannot be refunded.");
    return o->kind == OP_REFUND ? claim_reserve_refund(tx, c, p, *ret_amount, now_ms) : OK;
}

static enum err claim_check_payment(struct operate *o, const struct payment *p)
{
    if (!o->may_any && !uuid_eq(p->user_id, o->user))
        return claim_refuse(o, ERR_FORBIDDEN, NULL);
    if (!o->may_any && o->kind == OP_REFUND && p->context == CONTEXT_PURCHASE)
        return claim_refuse(o, ERR_FORBIDDEN, "What was bought is refunded by who sells it.");
    o->has_payment = true;
    o->payment_id = p->id;
    if (p->has_open_op)
        return claim_refuse(o, ERR_UNCERTAIN,
                            "Another operation on this payment has no outcome yet.");
    return OK;
}

static enum err claim_other(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct operate *o = c->o;
    struct payment p;
    int64_t amount = 0;
    struct uuid id = o->payment;
    enum err e = OK;

    if (o->by_purchase)
        e = o->payments->payables->of[CONTEXT_PURCHASE]->payment_of(tx, o->payment, &id);
    c->validating = claim_lap_begin(o);
    if (!e)
        e = payment_read(tx, &c->run->arena, id, true, &p);
    if (e == ERR_NOT_FOUND)
        return claim_refuse(
            o, e, o->by_purchase ? "There is no such purchase." : "There is no such payment.");
    if (!e)
        e = claim_check_payment(o, &p);
    if (!e)
        e = claim_check_amount(tx, c, &p, now_ms, &amount);
    c->invalid = e;
    lap_end(&c->validating, S(""));
    if (e)
        return e;
    if (o->by_purchase) {
        e = key_name_payment(tx, o, id);
        if (e)
            return e;
    }
    p.has_open_op = true;
    p.open_op = c->operation_id;
    e = payment_store(tx, &p, now_ms);
    return e ? e : claim_add_operation(tx, c, &p, amount, now_ms);
}

/* --- a key that exists already --- */

/* The outcome is unknown and the client repeats its request. The operation is submitted again with
 * the same gateway key, unless its message is leased, which means that a job queries the gateway
 * right now (D6). */
static enum err claim_take_over(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct op_run *r = c->run;
    enum err e = queue_take(c->o->payments->runtime.queue, tx, &r->arena, c->record.message, now_ms,
                            &c->message);

    c->result = CLAIM_RUNNING;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    e = run_read(tx, r, c->record.operation);
    if (!e && now_ms - r->op.claimed_ms < LIMIT_KEY_FRESH_MS) /* later the job only queries */
        e = TX_DO(tx, STMT_operation_resend, 1, V_INT(now_ms), V_INT(r->op.sends),
                  v_uuid(&r->op.id));
    r->loaded = r->fresh = true;
    memcpy(r->trace, c->o->trace, sizeof(r->trace));
    c->o->has_subject = !e;
    c->o->subject_id = r->payment.subject_id;
    c->result = CLAIMED;
    return e;
}

static enum err claim_existing_key(struct tx *tx, struct claim *c, int64_t now_ms)
{
    struct operate *o = c->o;
    enum err e = key_find(tx, o->arena, o->user, o->kind, o->key, &c->record);

    if (e)
        return e == ERR_NOT_FOUND ? ERR_TIMEOUT : e; /* deleted meanwhile: 503, try again */
    o->has_payment = true;
    o->payment_id = c->record.payment;
    if (memcmp(c->record.hash, o->hash, KEY_HASH) != 0)
        c->result = CLAIM_OTHER;
    else if (c->record.done)
        c->result = CLAIM_DONE;
    else if (c->record.phase == PHASE_UNKNOWN)
        return claim_take_over(tx, c, now_ms);
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
    c->validating = (struct lap){ 0 };
    arena_release(&c->run->arena);
    e = key_claim(tx, o, payment, c->operation_id, now_ms, &ours);
    if (e)
        return e;
    if (!ours)
        return claim_existing_key(tx, c, now_ms);
    e = o->kind == OP_CREATE ? claim_create(tx, c, now_ms) : claim_other(tx, c, now_ms);
    if (!e)
        c->result = CLAIMED;
    return e;
}

const struct unit_kind claim_kind = { "op.claim", UNIT_FRONT, claim_run, NULL };
