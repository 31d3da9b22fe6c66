/* fee_job.h - what follows a charge: its fee is queried (E3), and the refunded sum that the gateway
 * reports is compared with the known refunds (D12). Neither holds up an event: the messages are
 * spaced, so that thousands of charges do not delay other calls. */
#pragma once

#include "payment/payments.h"

#include <stdatomic.h>

struct charge_later {
    struct payments *payments;
    _Atomic int64_t free_ms;  /* when the next call may be due */
    _Atomic int64_t underway; /* calls */
};

/* Adds the message "charge.fee", which queries fee and net of f's charge and stores them. */
enum err charge_ask_fee(struct tx *tx, struct charge_later *c, const struct payment *p,
                        const struct fact *f, int64_t now_ms, struct str trace);
struct job_kind charge_fee_kind(struct charge_later *c);

/* If the charge reports more refunded money than our refunds have: adds the message "charge.refunds",
 * which compares again later, because events of refunds may still be under way, and logs a
 * difference. Money is never counted by it. */
enum err charge_check_refunds(struct tx *tx, struct payments *pp, const struct payment *p,
                              const struct fact *f, int64_t now_ms);
struct job_kind charge_refunds_kind(struct payments *pp);
