/* paypay_notification.h - the name of a notification of PayPay, by which a repeat is recognized, and
 * the payment that it is about (W8). Its amounts are not read.
 *
 * It becomes an event named paypay:..., which the same unit stores as Stripe's events. */
#pragma once

#include "webhook/event.h"

struct paypay_notice {
    struct stripe_event event; /* id, type, readable, why; the rest is empty */
    bool has_payment;          /* its merchant_order_id is one that we made */
    struct uuid payment;
    struct str order; /* merchant_order_id; empty: none, or it cannot be ours */
};

/* Texts point into the body or the arena. NO_MEMORY is the only failure: a body that cannot be read
 * is an event too. */
enum err paypay_notice_read(struct arena *a, struct str body, struct paypay_notice *ret_notice);
