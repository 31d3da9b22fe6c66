/* fee_job.h - what follows a charge when there is time: its fee is asked for (E3), and what
 * the gateway says was refunded is compared with the refunds that we know (D12). Neither holds up
 * an event: the messages are spaced, so that thousands of charges become a trickle of calls and not
 * a crowd that everything else waits behind. */
#pragma once

#include "payment/payments.h"

#include <stdatomic.h>

struct charge_later {
    struct payments *payments;
    _Atomic int64_t free_ms;  /* when the next call may be due */
    _Atomic int64_t underway; /* calls */
};

/* The message that asks for fee and net of f's charge, and writes them: "charge.fee". */
enum err charge_ask_fee(struct tx *tx, struct charge_later *c, const struct payment *p,
                        const struct fact *f, int64_t now_ms, struct str trace);
struct job_kind charge_fee_kind(struct charge_later *c);

/* Where the charge says that more was refunded than we know of: refunds may still be on their way,
 * so it is looked at again later, and then told: "charge.refunds". Money is never counted by it. */
enum err charge_check_refunds(struct tx *tx, struct payments *pp, const struct payment *p,
                              const struct fact *f, int64_t now_ms);
struct job_kind charge_refunds_kind(struct payments *pp);
