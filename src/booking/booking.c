/* booking.c - a booking's row, and what its cancellation does to its payment.
 *
 *   change --> read locked --> the changed booking --> allowed? --> store --> CANCELLED now?
 *                                                                                |
 *        payment PENDING or AUTHORIZED: cancel at the gateway     <--------------|
 *        CAPTURED: audit line and alert; an operator decides      <--------------|
 *        an operation is under way: "booking.cancelled" checks later  <----------'
 *
 * The cancellation and what it starts are one commit. After a crash before it, the sender sends the
 * change again. */
#include "booking/booking.h"

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "notify/notification.h"
#include "payment/payable.h"
#include "queue/lane.h"
#include "store/tx_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_ARENA = 64 * 1024, BOOKING_JSON_MAX = 1024, CHECK_LATER_MS = 1000 };

static const char *const status_names[BOOKING_STATUSES] = {
    [BOOKING_PENDING] = "PENDING",
    [BOOKING_CONFIRMED] = "CONFIRMED",
    [BOOKING_CANCELLED] = "CANCELLED",
};

const char *booking_status_name(enum booking_status s)
{
    return status_names[s];
}

bool booking_status_parse(struct str name, enum booking_status *ret_status)
{
    for (int i = 0; i < BOOKING_STATUSES; i++)
        if (str_eq(name, str_of(status_names[i]))) {
            *ret_status = (enum booking_status)i;
            return true;
        }
    return false;
}

/* --- rows --- */

static bool booking_uuid(const struct val *v, struct uuid *ret_id)
{
    if (v->type != VAL_BLOB || v->s.n != sizeof(ret_id->b))
        return false;
    memcpy(ret_id->b, v->s.p, sizeof(ret_id->b));
    return true;
}

static bool booking_of_row(const struct row *row, struct booking *b)
{
    b->version = row->col[5].i;
    b->created_ms = row->col[6].i;
    b->updated_ms = row->col[7].i;
    b->sender_version = row->col[8].i;
    return booking_uuid(&row->col[0], &b->id) && booking_uuid(&row->col[1], &b->user_id) &&
           money_make(row->col[2].i, row->col[3].s, &b->money) &&
           booking_status_parse(row->col[4].s, &b->status);
}

enum err booking_read(struct tx *tx, struct uuid id, bool lock, struct booking *ret_booking)
{
    struct row row;
    enum err e = TX_ROW(tx, lock ? STMT_booking_lock : STMT_booking_get, &row, v_uuid(&id));

    if (e)
        return e;
    return booking_of_row(&row, ret_booking) ? OK : ERR_INTERNAL;
}

/* CONFLICT: another transaction has added it meanwhile. */
static enum err booking_insert_row(struct tx *tx, const struct booking *b)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_booking_add, &row, v_uuid(&b->id), v_uuid(&b->user_id),
                        V_MONEY(b->money), V_TEXT(str_of(status_names[b->status])),
                        V_INT(b->version), V_INT(b->created_ms), V_INT(b->sender_version));

    return e == ERR_NOT_FOUND ? ERR_CONFLICT : e;
}

static enum err booking_store_row(struct tx *tx, const struct booking *b)
{
    return TX_DO(tx, STMT_booking_store, 1, v_uuid(&b->user_id), V_MONEY(b->money),
                 V_TEXT(str_of(status_names[b->status])), V_INT(b->version),
                 V_INT(b->sender_version), V_INT(b->updated_ms), v_uuid(&b->id));
}

/* --- a cancelled booking's payment (D21) --- */

/* Audited and logged once for each payment: a capture during the cancellation may come here twice. */
static enum err note_captured_payment(struct tx *tx, const struct payment *p, const char *line,
                                      struct str why, int64_t now_ms)
{
    char payment[UUID_TEXT + 1], booking[UUID_TEXT + 1];
    struct row row;
    enum err e = TX_ROW(tx, STMT_booking_cancel_noted, &row, v_uuid(&p->id));

    if (e != ERR_NOT_FOUND)
        return e;
    uuid_text(p->id, payment);
    uuid_text(p->subject_id, booking);
    LOG_AFTER_COMMIT(tx, LOG_ERROR, line, LOG_TEXT("bookingId", str_of(booking)),
                     LOG_TEXT("paymentId", str_of(payment)),
                     LOG_NUM("capturedAmount", p->captured.minor),
                     LOG_TEXT("currency", str_of(p->money.currency)));
    return audit_money(tx, "BOOKING_CANCELLED", p, p->captured.minor, false, why, NULL, NULL,
                       now_ms);
}

/* No client's operation can start on the payment of a cancelled booking, so open_op is not set. Money
 * that arrives meanwhile goes back (D2). */
static enum err cancel_at_gateway(struct tx *tx, struct payments *pp, const struct payment *p)
{
    if (!p->gateway_transaction_id.n)
        return OK; /* no intent to cancel */
    return operation_start_own(tx, pp, p, OP_VOID, 0, S("booking_cancelled"));
}

static enum err cancel_or_note_payment(struct tx *tx, struct payments *pp, const struct payment *p,
                                       int64_t now_ms, bool *ret_busy)
{
    *ret_busy = p->has_open_op;
    if (*ret_busy)
        return OK;
    switch (p->status) {
    case PAYMENT_PENDING:
    case PAYMENT_AUTHORIZED: return cancel_at_gateway(tx, pp, p);
    case PAYMENT_CAPTURED:
        return note_captured_payment(tx, p, "Booking cancelled after capture",
                                     S("the booking was cancelled after its payment was captured"),
                                     now_ms);
    case PAYMENT_REFUNDED:
    case PAYMENT_FAILED:
    case PAYMENT_STATUSES: break;
    }
    return OK;
}

/* The payment that holds the booking's place. NOT_FOUND: none does. */
static enum err booking_live_payment(struct tx *tx, struct uuid booking, struct uuid *ret_id,
                                     enum payment_status *ret_status)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_booking_payment, &row, v_uuid(&booking));

    if (e)
        return e;
    return booking_uuid(&row.col[0], ret_id) && payment_status_parse(row.col[1].s, ret_status)
               ? OK
               : ERR_INTERNAL;
}

static enum err booking_release_payment(struct tx *tx, struct payments *pp, struct uuid booking,
                                        int64_t now_ms, bool *ret_busy)
{
    CLEANUP(arena_release) struct arena a = { 0 };
    enum payment_status status;
    struct payment p;
    struct uuid id;
    enum err e = booking_live_payment(tx, booking, &id, &status);

    *ret_busy = false;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    arena_init(&a, JOB_ARENA);
    e = payment_read(tx, &a, id, true, &p);
    return e ? e : cancel_or_note_payment(tx, pp, &p, now_ms, ret_busy);
}

static enum err booking_check_later(struct tx *tx, struct payments *pp, struct uuid booking,
                                    int64_t now_ms)
{
    char id[UUID_TEXT + 1];
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("booking.cancelled"),
                           .due_ms = now_ms + CHECK_LATER_MS };

    uuid_text(booking, id);
    m.ref = str_of(id);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

static enum err booking_end_payment(struct tx *tx, struct payments *pp, struct uuid booking,
                                    int64_t now_ms)
{
    bool busy;
    enum err e = booking_release_payment(tx, pp, booking, now_ms, &busy);

    return e || !busy ? e : booking_check_later(tx, pp, booking, now_ms);
}

static enum err booking_cancelled_run(struct tx *tx, const struct message *m, void *ctx,
                                      struct why *why)
{
    struct uuid booking;
    bool busy;
    enum err e;

    if (!uuid_parse(m->ref, &booking))
        return why_err(why, ERR_VALIDATION, "the message names no booking");
    e = booking_release_payment(tx, ctx, booking, env_now_ms(tx_env(tx)), &busy);
    if (e || !busy)
        return e;
    return why_err(why, ERR_UNAVAILABLE, "an operation on its payment is under way");
}

struct job_kind booking_cancelled_kind(struct payments *p)
{
    return (struct job_kind){ .name = "booking.cancelled",
                              .run = booking_cancelled_run,
                              .ctx = p,
                              .retry = retry_table[RETRY_BOOKING_CANCELLED] };
}

/* --- changes --- */

static bool change_is_complete(const struct booking_change *c)
{
    return c->has_user && c->has_money;
}

static bool change_has_number(const struct booking_change *c)
{
    return c->has_version && !c->version_is_time;
}

static enum err booking_add_new(struct tx *tx, const struct booking_change *c, int64_t now_ms,
                                struct booking *ret_booking)
{
    if (!change_is_complete(c))
        return ERR_NOT_FOUND;
    *ret_booking = (struct booking){
        .id = c->id,
        .user_id = c->user_id,
        .money = c->money,
        .status = c->has_status ? c->status : BOOKING_PENDING,
        .version = c->has_version ? c->version : now_ms,
        .sender_version = change_has_number(c) ? c->version : 0,
        .created_ms = now_ms,
        .updated_ms = now_ms,
    };
    return booking_insert_row(tx, ret_booking);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Below 0: the change is older than the booking; 0: as old. A change without a version is newest. */
static int change_age(const struct booking *b, const struct booking_change *c)
{
    int64_t known = change_has_number(c) ? b->sender_version : b->version;

    return c->has_version ? (c->version > known) - (c->version < known) : 1;
}

/* The booking with the change applied. The terms of an older change are ignored. */
static struct booking booking_changed(const struct booking *b, const struct booking_change *c,
                                      int64_t now_ms)
{
    struct booking next = *b;
    bool older = change_age(b, c) < 0;

    if (c->has_user && !older)
        next.user_id = c->user_id;
    if (c->has_money && !older)
        next.money = c->money;
    if (c->has_status)
        next.status = c->status;
    next.version = larger(c->has_version ? c->version : now_ms, b->version + !c->has_version);
    if (change_has_number(c))
        next.sender_version = larger(c->version, b->sender_version);
    next.updated_ms = now_ms;
    return next;
}

static bool booking_same_terms(const struct booking *a, const struct booking *b)
{
    return uuid_eq(a->user_id, b->user_id) && money_eq(a->money, b->money);
}

static enum booking_put change_verdict(const struct booking *b, const struct booking_change *c,
                                       const struct booking *next)
{
    bool cancels = next->status == BOOKING_CANCELLED && b->status != BOOKING_CANCELLED;
    int age = change_age(b, c);

    if (cancels)
        return BOOKING_STORED;
    if (age <= 0)
        return age < 0 ? BOOKING_OLDER : BOOKING_UNCHANGED;
    return b->status == BOOKING_CANCELLED && next->status != BOOKING_CANCELLED ? BOOKING_OLDER
                                                                               : BOOKING_STORED;
}

/* While money is under way the terms stay. A cancellation is never rejected because of its terms: it
 * keeps the old ones. */
static enum err keep_terms_of_payment(struct tx *tx, const struct booking *b, struct booking *next,
                                      enum booking_put *ret_put)
{
    bool undoes = b->status == BOOKING_CONFIRMED && next->status == BOOKING_PENDING;
    enum payment_status status;
    struct uuid id;
    enum err e;

    if (booking_same_terms(b, next) && !undoes)
        return OK;
    e = booking_live_payment(tx, b->id, &id, &status);
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (undoes && status == PAYMENT_CAPTURED)
        next->status = BOOKING_CONFIRMED;
    if (!booking_same_terms(b, next) && next->status == BOOKING_CANCELLED) {
        next->user_id = b->user_id;
        next->money = b->money;
    } else if (!booking_same_terms(b, next)) {
        *ret_put = BOOKING_REFUSED;
    }
    return OK;
}

static enum err booking_change_known(struct tx *tx, struct payments *p,
                                     const struct booking_change *c, int64_t now_ms,
                                     struct booking_result *r)
{
    struct booking next = booking_changed(&r->now, c, now_ms);
    bool cancels = next.status == BOOKING_CANCELLED && r->now.status != BOOKING_CANCELLED;
    enum err e = OK;

    r->put = change_verdict(&r->now, c, &next);
    if (r->put == BOOKING_STORED)
        e = keep_terms_of_payment(tx, &r->now, &next, &r->put);
    if (e || r->put != BOOKING_STORED)
        return e;
    r->now = next;
    r->cancelled = cancels;
    e = booking_store_row(tx, &next);
    return e || !cancels ? e : booking_end_payment(tx, p, next.id, now_ms);
}

enum err booking_change(struct tx *tx, struct payments *p, const struct booking_change *c,
                        int64_t now_ms, struct booking_result *ret_result)
{
    struct booking_result r = { .put = BOOKING_STORED };
    enum err e = booking_read(tx, c->id, true, &r.now);

    if (e == ERR_NOT_FOUND) {
        e = booking_add_new(tx, c, now_ms, &r.now);
        r.is_new = !e;
        if (e == ERR_CONFLICT) /* another transaction added it first, and has committed */
            e = booking_read(tx, c->id, true, &r.now);
    }
    if (!e && !r.is_new)
        e = booking_change_known(tx, p, c, now_ms, &r);
    *ret_result = r;
    return e;
}

enum err booking_put(struct tx *tx, struct payments *p, const struct booking *b, int64_t now_ms,
                     enum booking_put *ret_put)
{
    struct booking_change c = { .id = b->id,
                                .user_id = b->user_id,
                                .money = b->money,
                                .status = b->status,
                                .version = b->version,
                                .has_user = true,
                                .has_money = true,
                                .has_status = true,
                                .has_version = true };
    struct booking_result r;
    enum err e = booking_change(tx, p, &c, now_ms, &r);

    *ret_put = r.put;
    return e;
}

/* --- its payments --- */

static enum err booking_check_claim(struct tx *tx, struct operate *o, struct booking *ret_booking)
{
    enum err e = booking_read(tx, o->subject, true, ret_booking);

    if (e == ERR_NOT_FOUND)
        return claim_refuse(o, e, "There is no such booking.");
    if (e)
        return e;
    if (!o->may_any && !uuid_eq(ret_booking->user_id, o->user))
        return claim_refuse(o, ERR_FORBIDDEN, NULL);
    /* Before the status, because "paid already" is the better answer (D1). */
    e = claim_check_place(tx, o, CONTEXT_BOOKING, o->subject);
    if (e)
        return e;
    if (ret_booking->status != BOOKING_PENDING)
        return claim_refuse(o, ERR_UNPROCESSABLE,
                            ret_booking->status == BOOKING_CONFIRMED
                                ? "The booking is CONFIRMED; it cannot be paid again."
                                : "The booking is CANCELLED; it cannot be paid.");
    if (!money_eq(ret_booking->money, o->money))
        return claim_refuse(o, ERR_UNPROCESSABLE, "Amount or currency is not the booking's.");
    return OK;
}

static const char *const details_paths[] = { "type" };

/* The payment method's type for the gateway. It is one of a few words, so it needs no escaping. */
static enum err booking_write_details(struct claim *c)
{
    char text[64];

    if (!c->o->method_type.n)
        return OK;
    snprintf(text, sizeof(text), "{\"%s\":\"" STR_FMT "\"}", details_paths[0],
             STR_ARG(c->o->method_type));
    c->details = arena_str(&c->run->arena, str_of(text));
    return c->details.p ? OK : ERR_NO_MEMORY;
}

static enum err booking_claim(struct tx *tx, struct claim *c, struct payment *p, int64_t now_ms)
{
    struct booking b;
    enum err e = booking_check_claim(tx, c->o, &b);

    (void)now_ms;
    if (e)
        return e;
    p->subject_id = b.id;
    p->user_id = b.user_id;
    p->money = b.money;
    return booking_write_details(c);
}

static enum err booking_load(struct tx *tx, struct op_run *r)
{
    struct json_value type;
    enum err e;

    (void)tx;
    if (r->op.kind != OP_CREATE || !r->op.details.n)
        return OK;
    e = json_pick(r->op.details, details_paths, 1, &type, NULL);
    if (!e && type.type == JSON_STRING)
        r->extra.method_type = type.raw;
    return e;
}

static enum err booking_is_open(struct tx *tx, const struct payment *p, bool *ret_open)
{
    struct booking b;
    enum err e = booking_read(tx, p->subject_id, false, &b);

    *ret_open = e || b.status != BOOKING_CANCELLED;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* 004: the subscriber Notification gets PaymentAuthorized and PaymentFailed. */
static enum err booking_notify(struct tx *tx, const struct taking *t, const struct payment *p,
                               struct notice n)
{
    n.subject = p->id;
    n.user = &p->user_id;
    n.booking = &p->subject_id;
    n.payment = &p->id;
    n.trace = t->trace;
    return notice_add(tx, &t->payments->notifier, t->arena, &n, t->now_ms, NULL);
}

static enum err booking_moved(struct tx *tx, const struct taking *t, const struct payment *p,
                              const struct fact *f)
{
    if (p->status == PAYMENT_AUTHORIZED)
        return booking_notify(
            tx, t, p, (struct notice){ .type = NOTICE_PAYMENT_AUTHORIZED, .money = p->money });
    if (p->status == PAYMENT_FAILED && f && (f->decline_code.n || f->failure_code.n))
        return booking_notify(tx, t, p,
                              (struct notice){ .type = NOTICE_PAYMENT_FAILED,
                                               .code = f->failure_code,
                                               .decline_code = f->decline_code });
    if (p->status != PAYMENT_CAPTURED && !minor_known(p->captured))
        return OK;
    return booking_confirm_later(tx, t->payments->runtime.queue, p->subject_id, p->id, t->now_ms);
}

/* A customer who confirms in the browser gets the konbini slip after the cancel was planned, and may
 * pay the slip until it expires. Its time is stored with the transaction. */
static enum err booking_slip_end(struct tx *tx, const struct payment *p, int64_t *ret_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_transaction_slip, &row, V_TEXT(p->gateway_transaction_id));

    *ret_ms = e ? 0 : row.col[0].i + LIMIT_KONBINI_LATE_MS;
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err booking_captured_late(struct tx *tx, const struct taking *t,
                                      const struct payment *p)
{
    return note_captured_payment(tx, p, "Captured after its booking was cancelled",
                                 S("the payment was captured after its booking was cancelled"),
                                 t->now_ms);
}

static enum err booking_ends(struct tx *tx, const struct taking *t, const struct payment *p,
                             const struct fact *f, int64_t *ret_ms)
{
    int64_t slip_ms = 0;
    enum err e = f ? OK : booking_slip_end(tx, p, &slip_ms);

    if (f && f->action_expires_ms) /* a slip, a code and a transfer have a time of their own */
        *ret_ms = f->action_expires_ms + LIMIT_KONBINI_LATE_MS;
    else if (f)
        *ret_ms = t->now_ms + t->payments->action_limit_ms;
    else
        *ret_ms = larger(slip_ms, t->now_ms);
    return e;
}

const struct subject booking_subject = { .claim = booking_claim,
                                         .load = booking_load,
                                         .is_open = booking_is_open,
                                         .moved = booking_moved,
                                         .captured_late = booking_captured_late,
                                         .ends = booking_ends };

/* --- confirmation (B3) --- */

enum err booking_confirm_later(struct tx *tx, struct queue *q, struct uuid booking,
                               struct uuid payment, int64_t now_ms)
{
    char id[UUID_TEXT + 1], body[64], paid[UUID_TEXT + 1];
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("booking.confirm"),
                           .has_lane = true,
                           .lane = lane_of_ids(booking, NULL),
                           .due_ms = now_ms };

    uuid_text(booking, id);
    uuid_text(payment, paid);
    snprintf(body, sizeof(body), "{\"payment\":\"%s\"}", paid);
    m.ref = str_of(id);
    m.body = str_of(body);
    return queue_add(q, tx, now_ms, &m, 1);
}

/* Locked in the order of their ids, on every node, so that two bulks never wait for each other. */
static enum err booking_confirm_many(struct tx *tx, const struct message *const *m, size_t n,
                                     void *ctx)
{
    enum { COLUMNS = 2 };
    struct uuid ids[LIMIT_BULK];
    struct val v[LIMIT_BULK * COLUMNS];
    int64_t now_ms = env_now_ms(tx_env(tx));

    (void)ctx;
    for (size_t i = 0; i < n; i++)
        if (!uuid_parse(m[i]->ref, &ids[i]))
            return ERR_VALIDATION;
    qsort(ids, n, sizeof(ids[0]), uuid_order);
    for (size_t i = 0; i < n; i++) {
        v[i * COLUMNS] = V_INT(now_ms);
        v[i * COLUMNS + 1] = v_uuid(&ids[i]);
    }
    return tx_bulk(tx, STMT_booking_confirm, v, n, COLUMNS, NULL, NULL);
}

static enum err booking_confirm_run(struct tx *tx, const struct message *m, void *ctx,
                                    struct why *why)
{
    enum err e = booking_confirm_many(tx, &m, 1, ctx);

    if (e == ERR_VALIDATION)
        why_set(why, "the message names no booking");
    return e;
}

struct job_kind booking_confirm_kind(struct payments *p)
{
    return (struct job_kind){ .name = "booking.confirm",
                              .run = booking_confirm_run,
                              .run_many = booking_confirm_many,
                              .ctx = p,
                              .retry = retry_table[RETRY_BOOKING_CONFIRM] };
}

/* --- JSON --- */

struct str booking_json(struct arena *a, const struct booking *b)
{
    struct buf out;

    buf_init(&out, BOOKING_JSON_MAX);
    buf_char(&out, '{');
    out_uuid(&out, "id", b->id);
    out_uuid(&out, "userId", b->user_id);
    money_out(&out, b->money);
    out_text(&out, "status", str_of(status_names[b->status]));
    out_int(&out, "version", b->version);
    out_time(&out, "createdAt", b->created_ms);
    out_time(&out, "updatedAt", b->updated_ms);
    buf_char(&out, '}');
    return out_done(&out, a);
}
