#include "payment/allowed.h"

#include "base/limits.h"
#include "payment/payable.h"

static struct allowed allowed_no(const char *why)
{
    return (struct allowed){ .most = -1, .why = why };
}

static enum err may_capture(struct tx *tx, const struct payables *payables, const struct payment *p,
                            struct allowed *ret)
{
    bool open;
    enum err e = payables->of[p->context]->is_open(tx, p, &open);

    if (!e)
        *ret = open ? (struct allowed){ true, p->money.minor, NULL }
                    : allowed_no("The booking is CANCELLED; it cannot be captured.");
    return e;
}

static enum err may_refund(struct tx *tx, const struct payment *p, struct allowed *ret)
{
    struct refund_sums sums;
    int64_t available;
    enum err e = refund_sums(tx, p->id, &sums);

    if (e)
        return e;
    available = refund_available(p->captured, sums.reserved);
    if (p->disputed)
        *ret = allowed_no("The payment is disputed; its bank decides about the money.");
    else if (sums.count >= LIMIT_REFUNDS)
        *ret = allowed_no("This payment has too many refunds already.");
    else if (available < 1)
        *ret = allowed_no("More than was captured cannot be refunded.");
    else
        *ret = (struct allowed){ true, available, NULL };
    return OK;
}

static struct allowed may_void(const struct payment *p)
{
    return p->gateway_transaction_id.n || p->checkout_session_id.n
               ? (struct allowed){ true, -1, NULL }
               : allowed_no("There is nothing at the gateway that could be cancelled.");
}

enum err allowed_read(struct tx *tx, const struct payables *payables, const struct payment *p,
                      enum op_kind kind, struct allowed *ret_allowed)
{
    static const enum payment_request asks[OP_KINDS] = {
        [OP_CAPTURE] = ASK_CAPTURE, [OP_REFUND] = ASK_REFUND, [OP_VOID] = ASK_VOID
    };

    *ret_allowed = allowed_no(NULL);
    if (!payment_allows(p->status, asks[kind]))
        return OK;
    if (kind == OP_CAPTURE)
        return may_capture(tx, payables, p, ret_allowed);
    if (kind == OP_REFUND)
        return may_refund(tx, p, ret_allowed);
    *ret_allowed = may_void(p);
    return OK;
}
