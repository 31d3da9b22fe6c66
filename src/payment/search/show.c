/* show.c - a payment as an operator sees it (O8): all that belongs to it, what may be done to it, and
 * what a client's key did. */
#include "base/json/write.h"
#include "payment/allowed.h"
#include "payment/search/scan.h"
#include "store/json_values.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 2 * 1024 * 1024, USES_BYTES = 256 * 1024 };

/* --- a payment in a list --- */

static enum err out_open_operation(struct tx *tx, const struct payment *p, struct buf *b)
{
    struct row row;
    enum err e =
        p->has_open_op ? TX_ROW(tx, STMT_operation_word, &row, v_uuid(&p->open_op)) : ERR_NOT_FOUND;

    if (e) {
        out_json(b, "openOperation", S("null"));
        return e == ERR_NOT_FOUND ? OK : e;
    }
    out_json(b, "openOperation", S("{"));
    out_text(b, "kind", row.col[0].s);
    out_text(b, "phase", row.col[1].s);
    buf_char(b, '}');
    return OK;
}

/* Leaves the JSON object open. */
static enum err begin_payment(struct tx *tx, struct arena *a, const struct payment *p,
                              bool refunded, struct buf *b)
{
    struct refund *refunds = NULL;
    size_t count = 0;
    struct str text;
    enum err e = refunded ? refunds_read(tx, a, p->id, &refunds, &count) : OK;

    if (e)
        return e;
    text = payment_json_seen(a, p, refunds, count);
    if (!text.p)
        return ERR_NO_MEMORY;
    buf_add(b, (struct str){ text.p, text.n - 1 });
    out_text(b, "context", str_of(payment_context_name(p->context)));
    out_text(b, "gateway", p->gateway);
    out_bool(b, "givenUp", p->given_up);
    out_bool(b, "voided", p->status == PAYMENT_REFUNDED && !minor_known(p->captured));
    return out_open_operation(tx, p, b);
}

enum err payment_out(struct tx *tx, struct arena *a, const struct payment *p, bool refunded,
                     struct buf *b)
{
    struct arena_mark mark = arena_mark(a);
    enum err e = begin_payment(tx, a, p, refunded, b);

    buf_char(b, '}');
    arena_rewind(a, mark); /* the text is in the buffer now */
    return e;
}

/* --- what belongs to it --- */

struct json_list {
    struct buf *out;
    bool begun;
};

static void json_list_next(struct json_list *l)
{
    buf_add(l->out, l->begun ? S(",{") : S("{"));
    l->begun = true;
}

static void out_val_int(struct buf *b, const char *name, const struct val *v)
{
    if (v->type == VAL_INT)
        out_int(b, name, v->i);
    else
        out_json(b, name, S("null"));
}

static void out_val_time(struct buf *b, const char *name, const struct val *v)
{
    out_time(b, name, v->type == VAL_INT ? v->i : 0);
}

static enum err out_operation(void *ctx, const struct row *row)
{
    struct json_list *l = ctx;
    const struct val *v = row->col;
    struct buf *b = l->out;

    json_list_next(l);
    out_val_uuid(b, "id", &v[0]);
    out_val_text(b, "kind", &v[1]);
    out_val_text(b, "phase", &v[2]);
    out_val_text(b, "cause", &v[3]);
    out_val_int(b, "amount", &v[4]);
    out_val_int(b, "sends", &v[5]);
    out_val_int(b, "asks", &v[6]);
    out_val_time(b, "claimedAt", &v[7]);
    out_val_time(b, "endedAt", &v[8]);
    out_val_text(b, "result", &v[9]);
    out_val_text(b, "by", &v[10]);
    buf_char(b, '}');
    return OK;
}

/* The columns of transactions_shown, in their order. */
static const struct {
    const char *name;
    void (*out)(struct buf *b, const char *name, const struct val *v);
} transaction_fields[] = {
    { "id", out_val_text },
    { "gateway", out_val_text },
    { "chargeId", out_val_text },
    { "status", out_val_text },
    { "amount", out_val_int },
    { "amountReceived", out_val_int },
    { "currency", out_val_text },
    { "fee", out_val_int },
    { "net", out_val_int },
    { "balanceTransaction", out_val_text },
    { "receiptUrl", out_val_text },
    { "failureCode", out_val_text },
    { "failureMessage", out_val_text },
    { "cancelReason", out_val_text },
    { "konbiniStore", out_val_text },
    { "konbiniExpiresAt", out_val_time },
    { "eventId", out_val_text },
    { "authorizedAt", out_val_time },
    { "succeededAt", out_val_time },
    { "failedAt", out_val_time },
    { "canceledAt", out_val_time },
    { "createdAt", out_val_time },
    { "updatedAt", out_val_time },
};

static enum err out_transaction(void *ctx, const struct row *row)
{
    struct json_list *l = ctx;

    json_list_next(l);
    for (size_t i = 0; i < COUNT(transaction_fields); i++)
        transaction_fields[i].out(l->out, transaction_fields[i].name, &row->col[i]);
    buf_char(l->out, '}');
    return OK;
}

static enum err out_dispute(void *ctx, const struct row *row)
{
    struct json_list *l = ctx;
    const struct val *v = row->col;
    struct buf *b = l->out;

    json_list_next(l);
    out_val_text(b, "id", &v[0]);
    out_val_text(b, "status", &v[1]);
    out_bool(b, "closed", v[2].i != 0);
    out_bool(b, "lost", v[3].i != 0);
    out_val_text(b, "reason", &v[4]);
    out_val_int(b, "amount", &v[5]);
    out_val_time(b, "createdAt", &v[6]);
    out_val_time(b, "updatedAt", &v[7]);
    buf_char(b, '}');
    return OK;
}

static enum err out_list(struct tx *tx, struct buf *b, const char *name, enum stmt stmt,
                         const struct val *v, size_t n, tx_each_fn each)
{
    struct json_list l = { .out = b };
    enum err e;

    out_json(b, name, S("["));
    e = tx_each(tx, stmt, v, n, each, &l);
    buf_char(b, ']');
    return e;
}

/* --- what may be done to it --- */

static enum err out_can(struct tx *tx, const struct payables *payables, const struct payment *p,
                        struct buf *b)
{
    static const struct {
        enum op_kind kind;
        const char *name, *most;
    } verbs[] = { { OP_CAPTURE, "capture", "captureMax" },
                  { OP_REFUND, "refund", "refundMax" },
                  { OP_VOID, "void", NULL } };

    out_json(b, "can", S("{"));
    for (size_t i = 0; i < COUNT(verbs); i++) {
        struct allowed a;
        enum err e = allowed_read(tx, payables, p, verbs[i].kind, &a);
        bool yes = !e && a.yes && !p->has_open_op;

        if (e)
            return e;
        out_bool(b, verbs[i].name, yes);
        if (verbs[i].most)
            out_amount(b, verbs[i].most, yes ? a.most : -1);
    }
    buf_char(b, '}');
    return OK;
}

static enum err write_shown(struct tx *tx, struct arena *a, const struct payables *payables,
                            const struct payment *p, struct buf *b)
{
    static const struct uuid admin_token;
    struct val v[] = { v_uuid(&admin_token), v_uuid(&p->id), V_INT(LIMIT_SHOWN_ROWS) };
    enum err e = begin_payment(tx, a, p, true, b);

    if (!e)
        e = out_list(tx, b, "operations", STMT_operations_shown, v, 3, out_operation);
    if (!e)
        e = out_list(tx, b, "transactions", STMT_transactions_shown, v + 1, 2, out_transaction);
    if (!e)
        e = out_list(tx, b, "disputes", STMT_disputes_shown, v + 1, 2, out_dispute);
    if (!e)
        e = out_can(tx, payables, p, b);
    buf_char(b, '}');
    return e;
}

enum err payment_show(struct tx *tx, struct arena *a, const struct payables *payables,
                      struct uuid id, struct str *ret_json)
{
    struct payment p;
    struct buf b;
    enum err e = payment_read(tx, a, id, false, &p);

    if (e)
        return e;
    buf_init(&b, SHOWN_BYTES);
    e = write_shown(tx, a, payables, &p, &b);
    *ret_json = out_done(&b, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- what a key did --- */

struct key_use {
    struct uuid operation, user, payment;
    bool has_user, has_status;
    const char *kind, *state;
    int64_t status, claimed_ms, expires_ms; /* expires: 0: its record is gone */
};

struct key_uses {
    struct key_use all[2 * LIMIT_FIND_IDS];
    size_t count;
    int64_t now_ms;
};

static const char *use_kind(struct str word)
{
    for (int k = 0; k < OP_KINDS; k++)
        if (str_eq(word, str_of(op_name((enum op_kind)k))))
            return op_keyword((enum op_kind)k);
    return "";
}

/* An expired record may exist for another hour; a running one never expires (D5). */
static const char *use_state(const struct val *state, int64_t expires_ms, int64_t now_ms)
{
    if (state->type != VAL_TEXT)
        return "expired";
    if (str_eq(state->s, S("running")))
        return "running";
    return expires_ms < now_ms ? "expired" : "done";
}

static enum err key_uses_take(void *ctx, const struct row *row)
{
    struct key_uses *u = ctx;
    const struct val *v = row->col;
    struct key_use *one;

    if (u->count == COUNT(u->all))
        return ERR_INTERNAL;
    one = &u->all[u->count];
    *one = (struct key_use){ .kind = use_kind(v[2].s),
                             .has_status = v[4].type == VAL_INT,
                             .status = v[4].i,
                             .claimed_ms = v[6].i,
                             .expires_ms = v[7].type == VAL_INT ? v[7].i : 0 };
    one->state = use_state(&v[3], one->expires_ms, u->now_ms);
    one->has_user = v[1].type == VAL_BLOB && uuid_of_bytes(v[1].s, &one->user);
    if (!uuid_of_bytes(v[0].s, &one->operation) || !uuid_of_bytes(v[5].s, &one->payment))
        return ERR_INTERNAL;
    u->count++;
    return OK;
}

static int compare_uses(const void *a, const void *b)
{
    return uuid_order(&((const struct key_use *)b)->operation,
                      &((const struct key_use *)a)->operation);
}

static void out_use(struct buf *b, const struct key_use *u)
{
    buf_char(b, '{');
    if (u->has_user)
        out_uuid(b, "userId", u->user);
    else
        out_json(b, "userId", S("null"));
    out_text(b, "operation", str_of(u->kind));
    out_text(b, "state", str_of(u->state));
    if (u->has_status)
        out_int(b, "status", u->status);
    else
        out_json(b, "status", S("null"));
    out_uuid(b, "paymentId", u->payment);
    out_time(b, "createdAt", u->claimed_ms);
    out_time(b, "expiresAt", u->expires_ms);
    buf_char(b, '}');
}

/* A checkout's first claim is found by both statements. */
static void write_uses(struct buf *b, struct key_uses *u)
{
    size_t shown = 0;

    qsort(u->all, u->count, sizeof(u->all[0]), compare_uses);
    buf_add(b, S("{\"data\":["));
    for (size_t i = 0; i < u->count && shown < LIMIT_FIND_IDS; i++) {
        if (i && uuid_eq(u->all[i].operation, u->all[i - 1].operation))
            continue;
        if (shown++)
            buf_char(b, ',');
        out_use(b, &u->all[i]);
    }
    buf_add(b, S("]}"));
}

enum err payment_key_uses(struct tx *tx, struct arena *a, struct uuid key, int64_t now_ms,
                          struct str *ret_json)
{
    struct val v[] = { v_uuid(&key), V_INT(LIMIT_FIND_IDS) };
    struct key_uses *u = arena_alloc(a, 1, sizeof(*u));
    struct buf b;
    enum err e;

    if (!u)
        return ERR_NO_MEMORY;
    *u = (struct key_uses){ .now_ms = now_ms };
    e = tx_each(tx, STMT_key_uses_created, v, COUNT(v), key_uses_take, u);
    if (!e)
        e = tx_each(tx, STMT_key_uses_other, v, COUNT(v), key_uses_take, u);
    if (e)
        return e;
    buf_init(&b, USES_BYTES);
    write_uses(&b, u);
    *ret_json = out_done(&b, a);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}
