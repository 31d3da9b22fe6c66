/* allowed.h - what may be done to a payment as it is (P3, P4, D12, D21, D22): the one place that
 * knows. A claim asks it under the payment's lock; a page asks it to offer only what would be done. */
#pragma once

#include "payment/rows.h"

struct allowed {
    bool yes;
    int64_t most;    /* that may be captured or refunded; -1: it has no amount */
    const char *why; /* not yes: in English; NULL: its state does not allow it */
};

/* OP_CAPTURE, OP_REFUND or OP_VOID. An operation under way (open_op) is the caller's to look at. */
enum err allowed_read(struct tx *tx, const struct payables *payables, const struct payment *p,
                      enum op_kind kind, struct allowed *ret_allowed);
