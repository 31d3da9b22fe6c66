/* create_lookup.h - payments whose intent nobody knows are looked for together. Behind an outage there are
 * hundreds of them, and each would read the same long list of intents, page by page.
 *
 *   (1) One reading at a time. Who comes while it goes on waits for the next one, so that a list is
 *       always read from a moment after the ask began: its end proves absence (D6).
 *   (2) All who wait and began at about the same time, at the same place of the list, share it.
 *   (3) Who waits here has no place in the guard's line: a reading is one call of the gateway.
 *   (4) All its calls come from one executor. Whatever else is asked passes as it is. */
#pragma once

#include "gateway/port.h"

/* Owns the gateway, and has its name, methods and the rest. NULL: no memory; then it is freed. */
struct gateway *finder_new(struct gateway *inner);
