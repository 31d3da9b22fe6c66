/* rows.c - the rows of the simulated PayPay. Each table's columns are listed once, in the order of
 * its statements (store/statements/sandbox_paypay.h). */
#include "sandbox/stripe/rows.h"

#include "base/limits.h"
#include "sandbox/paypay/paypay.h"

#define PUT_STATE(f) V_TEXT(pp_status_text(o->f))
#define GET_STATE(f) o->f = pp_status_of(v->s)

#define CODE_COLUMNS(X)                                                                            \
    X(TEXT, id)                                                                                    \
    X(TEXT, payment)                                                                               \
    X(NUMBER, created_ms)                                                                          \
    X(NUMBER, expires_ms)                                                                          \
    X(TEXT, status)                                                                                \
    X(NUMBER, amount)                                                                              \
    X(FLAG, authorization)                                                                         \
    X(TIME, until_ms)                                                                              \
    X(NUMBER, requested_s)                                                                         \
    X(MAYBE, description)                                                                          \
    X(MAYBE, redirect_url)                                                                         \
    X(MAYBE, redirect_type)                                                                        \
    X(MAYBE, items)                                                                                \
    X(MAYBE, metadata)                                                                             \
    X(MAYBE, store_id)                                                                             \
    X(MAYBE, terminal_id)
#define PAYMENT_COLUMNS(X)                                                                         \
    X(TEXT, id)                                                                                    \
    X(TEXT, merchant_id)                                                                           \
    X(MAYBE, code)                                                                                 \
    X(MAYBE, user)                                                                                 \
    X(STATE, status)                                                                               \
    X(FLAG, authorization)                                                                         \
    X(NUMBER, amount)                                                                              \
    X(NUMBER, captured)                                                                            \
    X(NUMBER, refunded)                                                                            \
    X(NUMBER, requested_s)                                                                         \
    X(NUMBER, accepted_ms)                                                                         \
    X(TIME, authorized_ms)                                                                         \
    X(TIME, completed_ms)                                                                          \
    X(TIME, expires_ms)                                                                            \
    X(TIME, canceled_ms)                                                                           \
    X(MAYBE, store_id)                                                                             \
    X(MAYBE, terminal_id)                                                                          \
    X(MAYBE, receipt)                                                                              \
    X(MAYBE, description)                                                                          \
    X(MAYBE, items)                                                                                \
    X(MAYBE, metadata)                                                                             \
    X(MAYBE, revert_id)                                                                            \
    X(TIME, revert_requested_s)                                                                    \
    X(MAYBE, revert_reason)
#define CAPTURE_COLUMNS(X)                                                                         \
    X(TEXT, payment)                                                                               \
    X(TEXT, id)                                                                                    \
    X(TEXT, status)                                                                                \
    X(NUMBER, amount)                                                                              \
    X(NUMBER, requested_s)                                                                         \
    X(NUMBER, accepted_ms)                                                                         \
    X(TIME, expires_ms)                                                                            \
    X(TEXT, description)
#define REFUND_COLUMNS(X)                                                                          \
    X(TEXT, id)                                                                                    \
    X(TEXT, payment)                                                                               \
    X(TEXT, status)                                                                                \
    X(NUMBER, amount)                                                                              \
    X(NUMBER, requested_s)                                                                         \
    X(NUMBER, accepted_ms)                                                                         \
    X(MAYBE, reason)

/* --- one row --- */

static enum err row_by_id(struct tx *tx, enum stmt stmt, struct str id, struct row *row)
{
    return TX_ROW(tx, stmt, row, V_TEXT(id));
}

#define READER(name, type, columns, stmt)                                                          \
    enum err name(struct tx *tx, struct str id, struct type *ret)                                  \
    {                                                                                              \
        struct type *o = ret;                                                                      \
        struct row row;                                                                            \
        const struct val *v = row.col;                                                             \
        enum err e = row_by_id(tx, stmt, id, &row);                                                \
                                                                                                   \
        if (e)                                                                                     \
            return e;                                                                              \
        columns(GET) return OK;                                                                    \
    }
#define WRITER(name, type, columns, stmt)                                                          \
    bool name(struct work *w, const struct type *o)                                                \
    {                                                                                              \
        const struct val v[] = { columns(PUT) };                                                   \
                                                                                                   \
        return !w->err && work_ok(w, tx_do(w->tx, stmt, 1, v, COUNT(v)));                          \
    }

READER(pp_code_read, pp_code, CODE_COLUMNS, STMT_sandbox_paypay_code_read)
READER(pp_code_of, pp_code, CODE_COLUMNS, STMT_sandbox_paypay_code_of)
WRITER(pp_code_write, pp_code, CODE_COLUMNS, STMT_sandbox_paypay_code_write)
READER(pp_payment_read, pp_payment, PAYMENT_COLUMNS, STMT_sandbox_paypay_payment_read)
READER(pp_payment_of, pp_payment, PAYMENT_COLUMNS, STMT_sandbox_paypay_payment_of)
WRITER(pp_payment_write, pp_payment, PAYMENT_COLUMNS, STMT_sandbox_paypay_payment_write)
READER(pp_capture_read, pp_capture, CAPTURE_COLUMNS, STMT_sandbox_paypay_capture_read)
WRITER(pp_capture_write, pp_capture, CAPTURE_COLUMNS, STMT_sandbox_paypay_capture_write)
READER(pp_refund_read, pp_refund, REFUND_COLUMNS, STMT_sandbox_paypay_refund_read)
WRITER(pp_refund_write, pp_refund, REFUND_COLUMNS, STMT_sandbox_paypay_refund_write)

bool pp_capture_forget(struct work *w, struct str payment)
{
    return !w->err &&
           work_ok(w, TX_DO(w->tx, STMT_sandbox_paypay_capture_forget, 1, V_TEXT(payment)));
}

bool pp_id_exists(struct work *w, enum stmt stmt, struct str id)
{
    struct row row;
    enum err e = row_by_id(w->tx, stmt, id, &row);

    return e != ERR_NOT_FOUND && work_ok(w, e);
}

/* --- a payment's refunds --- */

struct pp_refund_list {
    struct pp_refund *all;
    size_t count;
};

static enum err add_refund(void *ctx, const struct row *row)
{
    struct pp_refund_list *l = ctx;
    const struct val *v = row->col;
    struct pp_refund *o = &l->all[l->count];

    if (l->count == LIMIT_SANDBOX_PP_REFUNDS)
        return ERR_INTERNAL;
    REFUND_COLUMNS(GET)
    l->count++;
    return OK;
}

bool pp_refunds_of(struct work *w, struct str payment, struct pp_refund **ret, size_t *ret_count)
{
    struct pp_refund_list l = { 0 };
    struct val v = V_TEXT(payment);

    l.all = arena_alloc(w->a, LIMIT_SANDBOX_PP_REFUNDS, sizeof(*l.all));
    if (!work_ok(w, l.all ? OK : ERR_NO_MEMORY) ||
        !work_ok(w, tx_each(w->tx, STMT_sandbox_paypay_refunds_of, &v, 1, add_refund, &l)))
        return false;
    *ret = l.all;
    *ret_count = l.count;
    return true;
}
