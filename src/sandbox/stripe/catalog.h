/* catalog.h - making a price, for the line items of a Checkout Session. */
#pragma once

#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

/* Reads a price and its product from the form. The price is not written yet. */
bool price_new(struct stripe_call *v, struct price *p);
