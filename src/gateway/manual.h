/* manual.h - bank transfers (G4): a gateway without a network. Its ledger is our own rows
 * (transfer_row.h), which an operator or a bank statement changes (transfer/).
 *
 *   AUTHORIZE   a transfer with a reference of its own; the customer is told account, reference,
 *               amount and deadline
 *   FETCH       what the row says
 *   VOID        cancelled, unless its money has come
 *   CAPTURE     money that came is captured already
 *   REFUND      pending, until an operator says that it was sent back
 *
 * Each is one unit of work, and running it twice has the effect of once. */
#pragma once

#include "gateway/port.h"

struct store;
struct zone;

struct manual_options {
    struct env *env;
    struct store *store; /* borrowed */
    struct str account;  /* the bank account that customers are shown; borrowed */
    int days;            /* after which a transfer is overdue, ... */
    struct zone *zone;   /* ... at the end of that day in this zone; owned by the gateway */
};

/* NULL: no memory; the zone is freed. */
struct gateway *manual_gateway_new(const struct manual_options *o);

/* The last second of the day that is `days` later. */
int64_t manual_deadline_ms(const struct zone *z, int64_t now_ms, int days);
