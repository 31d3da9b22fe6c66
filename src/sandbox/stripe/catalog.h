/* catalog.h - what a session's lines need of the products and prices. */
#pragma once

#include "sandbox/checkout.h"
#include "sandbox/visit.h"

/* Of the form as it is; written. */
bool product_new(struct visit *v, struct product *p);
/* Of the form as it is, with its product; not written yet. */
bool price_new(struct visit *v, struct price *p);
