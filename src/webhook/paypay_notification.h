/* paypay_notification.h - what a notification of PayPay says about itself (W8): under which name it is
 * kept, so that a repeat is known, and which payment it points to. What it says about money is not
 * even read.
 *
 * It becomes an event as Stripe's do, named paypay:..., so that the same unit stores it. */
#pragma once

#include "webhook/event.h"

struct paypay_notice {
    struct stripe_event event; /* id, type, readable, why; the rest is empty */
    bool has_payment;          /* it is about a payment, and under an id that we made */
    struct uuid payment;
    struct str order; /* that id: merchant_order_id; empty: none that can be ours */
};

/* Texts point into the body or the arena. NO_MEMORY is the only failure: a body that cannot be read
 * is an event too. */
enum err paypay_notice_read(struct arena *a, struct str body, struct paypay_notice *ret_notice);
