/* money.h - our minor units (ISO 4217) and Stripe's, which are not always the same. What
 * cannot be said exactly is refused, never rounded: a wrong factor is a hundredfold charge. */
#pragma once

#include "domain/money.h"

/* False: Stripe cannot take this amount, or what it would make of it is not settled. */
bool stripe_amount_out(struct money m, int64_t *ret_wire) __attribute__((warn_unused_result));

/* The currency in upper case. False: it is no whole number of our units. */
bool stripe_amount_in(int64_t wire, const char currency[4], int64_t *ret_minor)
    __attribute__((warn_unused_result));
