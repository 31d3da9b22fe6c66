/* manual.h - bank transfers (G4): a gateway without a network. Its books are our own rows
 * (transfer_row.h), and what moves them is an operator's word or a bank's statement
 * (transfer/).
 *
 *   AUTHORIZE   a transfer with a reference of its own; the customer is told account, reference,
 *               amount and deadline
 *   FETCH       what the row says
 *   VOID        cancelled, unless its money has come
 *   CAPTURE     money that came is captured already
 *   REFUND      pending, until an operator says that it was sent back
 *
 * Each is one unit of the store, and harmless twice. */
#pragma once

#include "gateway/port.h"

struct store;
struct zone;

struct manual_options {
    struct env *env;
    struct store *store; /* borrowed */
    struct str account;  /* what people are told to pay to; borrowed */
    int days;            /* until a transfer must have come, ... */
    struct zone *zone;   /* ... to the end of that day here. Owned from here on */
};

/* NULL: no memory; the zone is freed. */
struct gateway *manual_gateway_new(const struct manual_options *o);

/* The last second of the day that is so many days later. */
int64_t manual_deadline_ms(const struct zone *z, int64_t now_ms, int days);
