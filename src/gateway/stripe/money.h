/* money.h - converts between our minor units (ISO 4217) and Stripe's, which differ for some
 * currencies. An amount that cannot be converted exactly is rejected: a wrong factor would charge a
 * hundred times the amount. */
#pragma once

#include "domain/money.h"

/* False: Stripe cannot take this amount, or its documents contradict each other about it. */
bool stripe_amount_out(struct money m, int64_t *ret_wire) __attribute__((warn_unused_result));

/* currency: in upper case. False: it is no whole number of our units. */
bool stripe_amount_in(int64_t wire, const char currency[4], int64_t *ret_minor)
    __attribute__((warn_unused_result));
