/* create_lookup.h - searches for payments whose intent is unknown together. After an outage there are
 * hundreds of them, and each would read the same long list of intents, page by page.
 *
 *   (1) There is one reading at a time. A call that arrives during a reading waits for the next one,
 *       so its list is always read from a moment after the call began: its end proves absence (D6).
 *   (2) All calls that wait, with about the same start and the same place in the list, share it.
 *   (3) A call that waits here does not wait at the guard: a reading is one call of the gateway.
 *   (4) All its calls come from one executor. Any other ask is passed on as it is. */
#pragma once

#include "gateway/port.h"

/* Owns the inner gateway. NULL: no memory, and the inner gateway is freed. */
struct gateway *finder_new(struct gateway *inner);
