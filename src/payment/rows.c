/* rows.c - payments, operations and refunds as rows, and the audit line of a money operation. A
 * payment's row carries a version: an UPDATE that changes no row is an error, never a lost update. */
#include "payment/rows.h"

#include "base/limits.h"

#include <assert.h>
#include <string.h>

/* --- columns --- */

/* Reads a row's columns in the order of its statement. */
struct column_reader {
    const struct row *row;
    struct arena *arena;
    int at;
    enum err err;
};

static const struct val *column_next(struct column_reader *c)
{
    return &c->row->col[c->at++];
}

static struct uuid column_uuid(struct column_reader *c, bool *ret_there)
{
    const struct val *v = column_next(c);
    struct uuid id = { 0 };
    bool there = v->type == VAL_BLOB && uuid_of_bytes(v->s, &id);

    if (ret_there)
        *ret_there = there;
    else if (!there)
        c->err = ERR_INTERNAL;
    return id;
}

static struct str column_text(struct column_reader *c)
{
    const struct val *v = column_next(c);
    struct str copy = { 0 };

    if (v->type != VAL_TEXT)
        return copy;
    copy = arena_str(c->arena, v->s);
    if (!copy.p)
        c->err = ERR_NO_MEMORY;
    return copy;
}

static int64_t column_int(struct column_reader *c, int64_t where_null)
{
    const struct val *v = column_next(c);

    return v->type == VAL_INT ? v->i : where_null;
}

static int column_word(struct column_reader *c, const char *const *words, size_t n)
{
    const struct val *v = column_next(c);

    for (size_t i = 0; i < n; i++)
        if (str_eq(v->s, str_of(words[i])))
            return (int)i;
    c->err = ERR_INTERNAL;
    return 0;
}

/* --- payments --- */

enum err payment_of_row(struct arena *a, const struct row *row, struct payment *ret)
{
    struct column_reader c = { .row = row, .arena = a };
    struct payment p = { 0 };
    int64_t minor;

    p.id = column_uuid(&c, NULL);
    if (!payment_context_parse(column_next(&c)->s, &p.context))
        c.err = ERR_INTERNAL;
    p.subject_id = column_uuid(&c, NULL);
    p.user_id = column_uuid(&c, NULL);
    minor = column_int(&c, 0);
    p.captured = minor_of(column_next(&c));
    p.refunded = minor_of(column_next(&c));
    if (!money_stored(minor, column_next(&c)->s, &p.money) ||
        !payment_status_parse(column_next(&c)->s, &p.status))
        c.err = ERR_INTERNAL;
    p.description = column_text(&c);
    p.gateway = column_text(&c);
    p.gateway_transaction_id = column_text(&c);
    p.failure_reason = column_text(&c);
    p.idempotency_key = column_uuid(&c, NULL);
    p.claim_id = column_uuid(&c, NULL);
    p.version = column_int(&c, 0);
    p.open_op = column_uuid(&c, &p.has_open_op);
    p.given_up = column_int(&c, 0) != 0;
    p.place_held = column_int(&c, 0) != 0;
    p.action = column_text(&c);
    p.checkout_session_id = column_text(&c);
    p.disputed = column_int(&c, 0) != 0;
    p.capture_before_ms = column_int(&c, 0);
    p.created_ms = column_int(&c, 0);
    p.updated_ms = column_int(&c, 0);
    if (!c.err)
        *ret = p;
    return c.err;
}

enum err payment_read(struct tx *tx, struct arena *a, struct uuid id, bool lock,
                      struct payment *ret_payment)
{
    struct row row;
    enum err e = TX_ROW(tx, lock ? STMT_payment_lock : STMT_payment_get, &row, v_uuid(&id));

    return e ? e : payment_of_row(a, &row, ret_payment);
}

enum err payment_read_by_intent(struct tx *tx, struct arena *a, struct str intent_id,
                                struct payment *ret_payment)
{
    struct uuid id;
    struct row row;
    enum err e = TX_ROW(tx, STMT_payment_of_intent, &row, V_TEXT(intent_id));

    if (e)
        return e;
    if (!uuid_of_bytes(row.col[0].s, &id))
        return ERR_INTERNAL;
    return payment_read(tx, a, id, true, ret_payment);
}

enum err payment_add(struct tx *tx, const struct payment *p)
{
    return TX_DO(tx, STMT_payment_add, 1, v_uuid(&p->id),
                 V_TEXT(str_of(payment_context_name(p->context))), v_uuid(&p->subject_id),
                 p->context == CONTEXT_BOOKING ? v_uuid(&p->subject_id) : V_NULL,
                 v_uuid(&p->user_id), V_MONEY(p->money), v_text(p->description), V_TEXT(p->gateway),
                 v_uuid(&p->idempotency_key), v_uuid(&p->claim_id), V_INT(p->created_ms));
}

enum err payment_store(struct tx *tx, struct payment *p, int64_t now_ms)
{
    enum err e;

    assert(payment_sums_fit(p->money, p->captured, p->refunded)); /* also a CHECK of the table */
    e = TX_DO(tx, STMT_payment_store, 1, V_TEXT(str_of(payment_status_name(p->status))),
              v_minor(p->captured), v_minor(p->refunded), v_text(p->gateway_transaction_id),
              v_text(p->failure_reason), p->has_open_op ? v_uuid(&p->open_op) : V_NULL,
              V_INT(p->given_up), V_INT(p->place_held), v_text(p->action),
              v_text(p->checkout_session_id), V_INT(p->disputed),
              p->capture_before_ms ? V_INT(p->capture_before_ms) : V_NULL, V_INT(now_ms),
              v_uuid(&p->id), V_INT(p->version));
    if (e)
        return e;
    p->version++;
    p->updated_ms = now_ms;
    return OK;
}

struct payment_page {
    struct arena *arena;
    struct payment *payments;
    size_t n, max;
};

static enum err payment_page_add(void *ctx, const struct row *row)
{
    struct payment_page *p = ctx;

    return p->n < p->max ? payment_of_row(p->arena, row, &p->payments[p->n++]) : OK;
}

enum err payments_list(struct tx *tx, struct arena *a, const struct payment_filter *f,
                       struct payment *ret_payments, size_t *ret_count)
{
    struct payment_page page = { .arena = a, .payments = ret_payments, .max = (size_t)f->limit };
    struct uuid last;
    struct str name = f->has_status ? str_of(payment_status_name(f->status)) : S("");
    struct val status = V_TEXT(name);
    struct val before, limit = V_INT(f->limit);
    enum err e;

    memset(last.b, 0xff, sizeof(last.b));
    before = v_uuid(f->has_before ? &f->before : &last);
    if (f->has_booking && f->has_user) {
        struct val v[] = { v_uuid(&f->booking), before, status, limit, v_uuid(&f->user) };
        e = tx_each(tx, STMT_payments_by_both, v, COUNT(v), payment_page_add, &page);
    } else if (f->has_booking || f->has_user) {
        enum stmt by = f->has_booking ? STMT_payments_by_booking : STMT_payments_by_user;
        struct val v[] = { v_uuid(f->has_booking ? &f->booking : &f->user), before, status, limit };
        e = tx_each(tx, by, v, COUNT(v), payment_page_add, &page);
    } else {
        struct val v[] = { before, status, limit };
        e = tx_each(tx, STMT_payments_all, v, COUNT(v), payment_page_add, &page);
    }
    *ret_count = page.n;
    return e;
}

/* --- operations --- */

static const char *const op_names[OP_KINDS] = { "create", "capture", "refund", "void" };
static const char *const op_keywords[OP_KINDS] = { "CREATE", "CAPTURE", "REFUND", "VOID" };
static const char *const op_phases[] = { "send", "unknown", "done" };

const char *op_name(enum op_kind k)
{
    return op_names[k];
}

const char *op_keyword(enum op_kind k)
{
    return op_keywords[k];
}

enum err operation_read(struct tx *tx, struct arena *a, struct uuid id, struct operation *ret_op)
{
    struct column_reader c = { .arena = a };
    struct operation o = { 0 };
    struct row row;
    enum err e = TX_ROW(tx, STMT_operation_get, &row, v_uuid(&id));

    if (e)
        return e;
    c.row = &row;
    o.id = column_uuid(&c, NULL);
    o.payment_id = column_uuid(&c, NULL);
    o.kind = (enum op_kind)column_word(&c, op_names, OP_KINDS);
    o.phase = (enum op_phase)column_word(&c, op_phases, COUNT(op_phases));
    o.cause = column_text(&c);
    o.gateway_key = column_text(&c);
    o.amount = column_int(&c, -1);
    o.refund_id = column_uuid(&c, &o.has_refund);
    o.method = column_text(&c);
    o.user = column_uuid(&c, &o.has_key);
    o.key = column_uuid(&c, &o.has_key);
    o.message_id = column_uuid(&c, NULL);
    o.claimed_ms = column_int(&c, 0);
    o.sent_ms = column_int(&c, 0);
    o.sends = column_int(&c, 0);
    o.asks = column_int(&c, 0);
    o.intent_id = column_text(&c);
    o.details = column_text(&c);
    o.of_subject = column_int(&c, 0) != 0;
    o.list_after = column_text(&c);
    o.list_ms = column_int(&c, 0);
    if (!c.err)
        *ret_op = o;
    return c.err;
}

enum err operation_add(struct tx *tx, const struct operation *o)
{
    return TX_DO(tx, STMT_operation_add, 1, v_uuid(&o->id), v_uuid(&o->payment_id),
                 V_TEXT(str_of(op_name(o->kind))), V_TEXT(o->cause), V_TEXT(o->gateway_key),
                 v_amount(o->amount), o->has_refund ? v_uuid(&o->refund_id) : V_NULL,
                 v_text(o->method), o->has_key ? v_uuid(&o->user) : V_NULL,
                 o->has_key ? v_uuid(&o->key) : V_NULL, v_uuid(&o->message_id),
                 V_INT(o->claimed_ms), v_text(o->intent_id), v_text(o->details),
                 V_INT(o->of_subject));
}

/* --- refunds --- */

static enum err refund_of_row(struct arena *a, const struct row *row, struct refund *ret)
{
    struct column_reader c = { .row = row, .arena = a };
    struct refund r = { 0 };

    r.id = column_uuid(&c, NULL);
    r.payment_id = column_uuid(&c, NULL);
    r.amount = column_int(&c, 0);
    if (!refund_status_parse(column_next(&c)->s, &r.status))
        c.err = ERR_INTERNAL;
    r.reason = column_text(&c);
    r.gateway_refund_id = column_text(&c);
    r.failure_reason = column_text(&c);
    r.automatic = column_int(&c, 0) != 0;
    r.created_ms = column_int(&c, 0);
    r.updated_ms = column_int(&c, 0);
    if (!c.err)
        *ret = r;
    return c.err;
}

enum err refund_read(struct tx *tx, struct arena *a, struct uuid id, struct refund *ret_refund)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_refund_get, &row, v_uuid(&id));

    return e ? e : refund_of_row(a, &row, ret_refund);
}

enum err refund_read_by_gateway(struct tx *tx, struct arena *a, struct str gateway_id,
                                struct refund *ret_refund)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_refund_of_gateway, &row, V_TEXT(gateway_id));

    return e ? e : refund_of_row(a, &row, ret_refund);
}

enum err refund_add(struct tx *tx, const struct refund *r)
{
    return TX_DO(tx, STMT_refund_add, 1, v_uuid(&r->id), v_uuid(&r->payment_id), V_INT(r->amount),
                 v_text(r->reason), V_TEXT(str_of(refund_status_name(r->status))),
                 v_text(r->gateway_refund_id), V_INT(r->automatic), V_INT(r->created_ms),
                 v_text(r->failure_reason));
}

enum err refund_store(struct tx *tx, const struct refund *r, enum refund_status from,
                      int64_t now_ms)
{
    return TX_DO(tx, STMT_refund_store, 1, V_TEXT(str_of(refund_status_name(r->status))),
                 v_text(r->gateway_refund_id), v_text(r->failure_reason), V_INT(now_ms),
                 v_uuid(&r->id), V_TEXT(str_of(refund_status_name(from))));
}

enum err refund_sums(struct tx *tx, struct uuid payment, struct refund_sums *ret_sums)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_refund_sums, &row, v_uuid(&payment));

    if (e)
        return e;
    *ret_sums = (struct refund_sums){ minor_of(&row.col[0]), minor_of(&row.col[1]), row.col[2].i };
    return OK;
}

struct refund_list {
    struct arena *arena;
    struct refund *refunds;
    size_t n;
};

static enum err refund_list_add(void *ctx, const struct row *row)
{
    struct refund_list *l = ctx;

    return l->n < LIMIT_REFUNDS ? refund_of_row(l->arena, row, &l->refunds[l->n++]) : OK;
}

enum err refunds_read(struct tx *tx, struct arena *a, struct uuid payment,
                      struct refund **ret_refunds, size_t *ret_count)
{
    struct val v[] = { v_uuid(&payment), V_INT(LIMIT_REFUNDS) };
    struct refund_list l = { .arena = a };
    enum err e;

    l.refunds = arena_alloc(a, LIMIT_REFUNDS, sizeof(*l.refunds));
    if (!l.refunds)
        return ERR_NO_MEMORY;
    e = tx_each(tx, STMT_refunds_of_payment, v, COUNT(v), refund_list_add, &l);
    *ret_refunds = l.refunds;
    *ret_count = l.n;
    return e;
}

/* --- audit --- */

enum err audit_money(struct tx *tx, const char *operation, const struct payment *p, int64_t amount,
                     bool success, struct str detail, const struct uuid *user,
                     const struct uuid *key, int64_t now_ms)
{
    char id[UUID_TEXT + 1];

    uuid_text(p->id, id);
    return TX_DO(tx, STMT_audit_money, 1, V_INT(now_ms), V_TEXT(str_of(operation)),
                 V_TEXT(str_of(id)), V_TEXT(success ? S("success") : S("failure")), v_text(detail),
                 user ? v_uuid(user) : V_NULL, v_uuid(&p->id), V_INT(amount),
                 key ? v_uuid(key) : V_NULL);
}

bool payment_is_at(const struct payments *pp, const struct payment *p, struct str provider)
{
    const struct gateway *g = pp->gateways ? gateways_named(pp->gateways, p->gateway) : NULL;

    if (g)
        return str_eq(str_of(g->provider), provider);
    return str_eq(str_eq(p->gateway, S("sandbox")) ? S("stripe") : p->gateway, provider);
}
