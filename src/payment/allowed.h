/* allowed.h - which operations the payment's state allows (P3, P4, D12, D21, D22): the one place that
 * decides. Claims ask under the payment's lock; pages ask to offer only what would be accepted. */
#pragma once

#include "payment/rows.h"

struct allowed {
    bool yes;
    int64_t most;    /* the most that may be captured or refunded; -1: a void has no amount */
    const char *why; /* not allowed: the reason in English; NULL: the payment's state */
};

/* OP_CAPTURE, OP_REFUND or OP_VOID. The caller checks open_op. */
enum err allowed_read(struct tx *tx, const struct payables *payables, const struct payment *p,
                      enum op_kind kind, struct allowed *ret_allowed);
