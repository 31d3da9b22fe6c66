/* request.h - an ask as one HTTP request. The same call always gives the same bytes: Stripe
 * refuses a key that comes back with other parameters. */
#pragma once

#include "base/err.h"
#include "gateway/port.h"

struct stripe_request {
    struct str method, url, body;
};

bool stripe_is_fetch(enum gateway_ask ask);
bool stripe_is_listing(const struct gateway_call *c); /* it reads pages of a list */

/* Writes to c->arena. `after`: the last id of the page before; empty for the first.
 * UNPROCESSABLE: Stripe cannot take that amount in that currency; nothing may be sent. */
enum err stripe_request_make(const struct gateway_call *c, struct str base, struct str after,
                             struct stripe_request *ret_request);

/* After EXPIRE was refused: fetches the session. */
enum err stripe_request_look(const struct gateway_call *c, struct str base,
                             struct stripe_request *ret_request);
