/* rows_events.c - the rows of webhook endpoints, customers and bank transfers. Each column list is
 * in the order of its statements. */
#include "sandbox/stripe/customers.h"
#include "sandbox/stripe/rows.h"
#include "sandbox/webhook/hooks.h"

#define HOOK_COLUMNS(X)                                                                            \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(TEXT, url)                                                                                   \
    X(TEXT, events)                                                                                \
    X(MAYBE, description)                                                                          \
    X(TEXT, metadata)                                                                              \
    X(FLAG, disabled)                                                                              \
    X(MAYBE, api_version)                                                                          \
    X(TEXT, secret)                                                                                \
    X(MAYBE, previous)                                                                             \
    X(TIME, previous_until_ms)
#define CUSTOMER_COLUMNS(X)                                                                        \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(MAYBE, name)                                                                                 \
    X(MAYBE, email)                                                                                \
    X(MAYBE, phone)                                                                                \
    X(MAYBE, description)                                                                          \
    X(MAYBE, address)                                                                              \
    X(MAYBE, shipping)                                                                             \
    X(TEXT, metadata)                                                                              \
    X(FLAG, deleted)                                                                               \
    X(NUMBER, cash)
#define TRANSFER_COLUMNS(X)                                                                        \
    X(TEXT, intent)                                                                                \
    X(TEXT, customer)                                                                              \
    X(NUMBER, funded)

OBJECT_ROWS(hook, HOOK_COLUMNS)
OBJECT_READ(hook)
OBJECT_PAGE(hook, 0)
OBJECT_ROWS(customer, CUSTOMER_COLUMNS)
OBJECT_READ(customer)
OBJECT_PAGE(customer, 1)
OBJECT_ROWS(transfer, TRANSFER_COLUMNS)
OBJECT_READ(transfer)
