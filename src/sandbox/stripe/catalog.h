/* catalog.h - what a session's lines need of the products and prices. */
#pragma once

#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

/* Of the form as it is, with its product; not written yet. */
bool price_new(struct visit *v, struct price *p);
