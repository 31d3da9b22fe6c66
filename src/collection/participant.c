/* participant.c - what a participant owes, as the payable of its payments (S1, S3, D18).
 *
 *   checkout --> a payment under way? --no--> a new payment -----------------------.
 *                  | PENDING                                                       v
 *                  |--> the same payment; its last session ends first ----> a new session
 *                  '--> its last session is complete and the try was lost (a konbini slip that was
 *                       not paid in time): the same payment, without that intent. The intent cannot
 *                       be cancelled; money that arrives on it later is applied if it is the first,
 *                       or goes back (D2)
 *
 *   (1) What the gateway is sent is stored in the operation's details, not read from rows that may
 *       change: the same gateway key always comes with the same parameters.
 *   (2) A session never pays: the intent's success moves the payment, and that moves the participant,
 *       once and only upwards (E1, E2).
 *   (3) PostgreSQL: an existing payment is locked before its participant; while a payment is being
 *       made, the participant's lock keeps a second one out.
 *
 * Everything runs in the caller's transaction; a crash before its commit leaves nothing. */
#include "base/json/json.h"
#include "base/json/write.h"
#include "collection/collection.h"
#include "notify/notification.h"
#include "payment/payable.h"

#include <string.h>

enum { DETAILS_MAX = 32 * 1024, ANSWER_MAX = 1024 * 1024 };

/* --- what the gateway is sent --- */

enum { AT_SUCCESS, AT_CANCEL, AT_ITEM, AT_EMAIL, AT_COLLECTION, AT_OLD, AT_COUNT };
static const char *const detail_paths[AT_COUNT] = { "success", "cancel",     "item",
                                                    "email",   "collection", "old" };

static enum err participant_write_details(struct claim *c, const struct participant *who,
                                          struct str old)
{
    const struct operate *o = c->o;
    struct str values[AT_COUNT] = {
        [AT_SUCCESS] = o->success_url.n ? o->success_url : o->payments->return_url,
        [AT_CANCEL] = o->cancel_url,
        [AT_ITEM] = who->title,
        [AT_EMAIL] = who->email,
        [AT_OLD] = old,
    };
    char collection[UUID_TEXT + 1];
    struct buf b;

    uuid_text(who->collection, collection);
    values[AT_COLLECTION] = str_of(collection);
    buf_init(&b, DETAILS_MAX);
    buf_char(&b, '{');
    for (size_t i = 0; i < AT_COUNT; i++)
        if (values[i].n)
            out_text(&b, detail_paths[i], values[i]);
    buf_char(&b, '}');
    c->details = out_done(&b, &c->run->arena);
    return c->details.p ? OK : ERR_NO_MEMORY;
}

static enum err participant_load(struct tx *tx, struct op_run *r)
{
    struct json_value v[AT_COUNT];
    struct str values[AT_COUNT] = { 0 };
    enum err e;

    (void)tx;
    if (r->op.kind != OP_CREATE)
        return OK;
    e = json_pick(r->op.details, detail_paths, AT_COUNT, v, NULL);
    for (size_t i = 0; !e && i < AT_COUNT; i++)
        if (v[i].type == JSON_STRING)
            e = json_unescape(&r->arena, &v[i], &values[i]);
    if (e)
        return e;
    r->extra = (struct call_extra){ .notes = { { "collection_id", values[AT_COLLECTION] } },
                                    .note_count = 1,
                                    .success_url = values[AT_SUCCESS],
                                    .cancel_url = values[AT_CANCEL],
                                    .item = values[AT_ITEM],
                                    .email = values[AT_EMAIL],
                                    .old_session = values[AT_OLD] };
    return OK;
}

/* --- may it be paid, and by which payment --- */

static enum err reject_paid(struct operate *o, const struct payment *known)
{
    o->has_payment = true;
    o->payment_id = known->id;
    return claim_refuse(o, ERR_PAYMENT_EXISTS, NULL);
}

/* The session that must end before another one is made. Empty: none, or it has expired already. */
static enum err last_session(struct tx *tx, const struct payment *p, struct str *ret_id)
{
    struct row row;
    enum err e;

    *ret_id = (struct str){ 0 };
    if (!p->checkout_session_id.n)
        return OK;
    e = TX_ROW(tx, STMT_session_get, &row, V_TEXT(p->checkout_session_id));
    if (e && e != ERR_NOT_FOUND)
        return e;
    if (e || !str_eq(row.col[2].s, S("expired")))
        *ret_id = p->checkout_session_id;
    return OK;
}

/* A complete session's intent that ended without money: the payment drops it. A konbini slip may
 * follow a declined card on the same page, and as long as the slip can be paid the try is not lost. */
static enum err drop_lost_try(struct tx *tx, struct payment *p, int64_t now_ms)
{
    struct row row;
    enum err e;

    if (!p->gateway_transaction_id.n)
        return OK;
    e = TX_ROW(tx, STMT_transaction_lost, &row, V_TEXT(p->gateway_transaction_id), V_INT(now_ms));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    p->gateway_transaction_id = p->checkout_session_id = (struct str){ 0 };
    return OK;
}

/* Another session for the payment that holds the participant's place, or rejects a paid one.
 * *ret_gone: the payment has ended since it was read. */
static enum err participant_reuse_payment(struct tx *tx, struct claim *c,
                                          const struct participant *who, struct payment *p,
                                          int64_t now_ms, bool *ret_gone)
{
    struct payment known;
    struct str old;
    enum err e = payment_read(tx, &c->run->arena, who->payment, true, &known);

    *ret_gone = !e && !who->paid && is_void(&known);
    if (e || *ret_gone)
        return e;
    if (known.status != PAYMENT_PENDING)
        return reject_paid(c->o, &known);
    c->o->has_payment = true;
    c->o->payment_id = known.id;
    if (known.has_open_op)
        return claim_refuse(c->o, ERR_UNCERTAIN,
                            "Another operation on this payment has no outcome yet.");
    e = drop_lost_try(tx, &known, now_ms);
    if (!e)
        e = last_session(tx, &known, &old);
    if (e)
        return e;
    *p = known;
    c->goes_on = true;
    return participant_write_details(c, who, old);
}

/* Another request may be making a payment, or the last one's cancel is not confirmed yet: then the
 * client has to try again. */
static enum err participant_check_place(struct tx *tx, struct operate *o,
                                        const struct participant *who)
{
    enum err e = claim_check_place(tx, o, CONTEXT_PARTICIPANT, who->id);

    if (e == ERR_PAYMENT_EXISTS && !who->paid)
        return claim_refuse(o, ERR_UNCERTAIN, "Another payment of it has no outcome yet.");
    return e || !who->paid ? e : claim_refuse(o, ERR_PAYMENT_EXISTS, NULL);
}

static enum err participant_begin(struct tx *tx, struct claim *c, struct payment *p)
{
    struct participant who;
    enum err e = participant_hold(tx, c->o->subject, &who);

    if (!e)
        e = participant_check_place(tx, c->o, &who);
    if (e)
        return e;
    p->subject_id = who.id;
    p->user_id = who.owner;
    p->description = arena_str(&c->run->arena, who.title);
    if (!p->description.p || !money_make(who.amount, str_of(who.currency), &p->money))
        return ERR_INTERNAL;
    return participant_write_details(c, &who, (struct str){ 0 });
}

static enum err participant_claim(struct tx *tx, struct claim *c, struct payment *p, int64_t now_ms)
{
    struct operate *o = c->o;
    struct participant who;
    bool gone = true;
    enum err e = participant_read(tx, o->subject, &who);

    if (e == ERR_NOT_FOUND)
        return claim_refuse(o, e, "There is no such participant.");
    if (e)
        return e;
    if (!o->may_any && !participant_is_of(&who, o->user))
        return claim_refuse(o, ERR_FORBIDDEN, NULL);
    if (who.has_payment)
        e = participant_reuse_payment(tx, c, &who, p, now_ms, &gone);
    return e || !gone ? e : participant_begin(tx, c, p);
}

/* --- what its payment does to it --- */

static enum err participant_is_open(struct tx *tx, const struct payment *p, bool *ret_open)
{
    struct participant who;
    enum err e = participant_read(tx, p->subject_id, &who);

    /* Paid by another payment: this money goes back (D2). */
    *ret_open = !e && (!who.paid || minor_known(p->captured));
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err participant_refunded(struct tx *tx, const struct taking *t, const struct payment *p)
{
    if (!minor_known(p->captured))
        return OK;
    return TX_DO(tx, STMT_participant_paid, 1, v_minor(p->captured), V_INT(minor_or_0(p->refunded)),
                 V_INT(t->now_ms), v_uuid(&p->subject_id));
}

/* The customer's page may have been closed for long, so an expired slip is reported by a message. */
static enum err notify_declined(struct tx *tx, const struct taking *t, const struct payment *p,
                                const struct fact *f)
{
    struct notice n = { .type = NOTICE_PAYMENT_FAILED,
                        .subject = p->subject_id,
                        .attempt = f->charge_id.n ? f->charge_id : f->intent_id,
                        .participant = &p->subject_id,
                        .payment = &p->id,
                        .code = f->failure_code,
                        .decline_code = f->decline_code,
                        .trace = t->trace };

    return notice_add(tx, &t->payments->notifier, t->arena, &n, t->now_ms, NULL);
}

static enum err participant_moved(struct tx *tx, const struct taking *t, const struct payment *p,
                                  const struct fact *f)
{
    if (f && f->state == INTENT_DECLINED && p->status == PAYMENT_PENDING)
        return notify_declined(tx, t, p, f);
    return participant_refunded(tx, t, p);
}

static enum err participant_given_back(struct tx *tx, const struct taking *t,
                                       const struct payment *p, const struct fact *f)
{
    struct notice n = { .type = NOTICE_PAYMENT_REFUNDED,
                        .subject = p->subject_id,
                        .attempt = f->intent_id,
                        .participant = &p->subject_id,
                        .payment = &p->id,
                        .trace = t->trace };

    return notice_add(tx, &t->payments->notifier, t->arena, &n, t->now_ms, NULL);
}

/* Never: a session ends by itself, and another one continues the same payment. */
static enum err participant_ends(struct tx *tx, const struct taking *t, const struct payment *p,
                                 const struct fact *f, int64_t *ret_ms)
{
    (void)tx;
    (void)t;
    (void)p;
    (void)f;
    *ret_ms = CLOCK_NEVER;
    return OK;
}

static enum err participant_render(struct tx *tx, struct arena *a, const struct payment *p,
                                   struct str payment, struct str *ret_body)
{
    struct participant who;
    struct buf b;
    enum err e = participant_read(tx, p->subject_id, &who);

    if (e)
        return e;
    buf_init(&b, ANSWER_MAX);
    buf_char(&b, '{');
    out_json(&b, "participant", S("{"));
    participant_out(&b, &who);
    buf_char(&b, '}');
    out_json(&b, "payment", payment);
    e = checkout_out(tx, &b, p);
    buf_char(&b, '}');
    *ret_body = out_done(&b, a);
    return e || ret_body->p ? e : ERR_NO_MEMORY;
}

const struct subject participant_subject = { .claim = participant_claim,
                                             .load = participant_load,
                                             .is_open = participant_is_open,
                                             .moved = participant_moved,
                                             .refunded = participant_refunded,
                                             .given_back = participant_given_back,
                                             .ends = participant_ends,
                                             .render = participant_render };
