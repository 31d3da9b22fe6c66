/* rows_checkout.c - the rows of the objects in checkout.h. Each column list is in the order of its
 * statements. */
#include "base/limits.h"
#include "sandbox/stripe/checkout.h"
#include "sandbox/stripe/rows.h"

#define PRODUCT_COLUMNS(X)                                                                         \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(TEXT, name)                                                                                  \
    X(MAYBE, description)                                                                          \
    X(FLAG, active)                                                                                \
    X(TEXT, metadata)
#define PRICE_COLUMNS(X)                                                                           \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(TEXT, product)                                                                               \
    X(TEXT, currency)                                                                              \
    X(NUMBER, unit_amount)                                                                         \
    X(FLAG, active)                                                                                \
    X(MAYBE, nickname)                                                                             \
    X(TEXT, metadata)
#define SESSION_COLUMNS(X)                                                                         \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(NUMBER, expires_ms)                                                                          \
    X(NUMBER, amount)                                                                              \
    X(TEXT, currency)                                                                              \
    X(TEXT, status)                                                                                \
    X(TEXT, payment_status)                                                                        \
    X(TEXT, success_url)                                                                           \
    X(MAYBE, cancel_url)                                                                           \
    X(MAYBE, client_reference)                                                                     \
    X(MAYBE, customer)                                                                             \
    X(MAYBE, customer_email)                                                                       \
    X(MAYBE, payer_email)                                                                          \
    X(TEXT, metadata)                                                                              \
    X(TEXT, method_types)                                                                          \
    X(MAYBE, intent)                                                                               \
    X(TEXT, capture_method)                                                                        \
    X(TEXT, intent_metadata)                                                                       \
    X(MAYBE, intent_description)                                                                   \
    X(MAYBE, receipt_email)                                                                        \
    X(MAYBE, descriptor_suffix)                                                                    \
    X(MAYBE, setup_future_usage)                                                                   \
    X(MAYBE, shipping)
#define ITEM_COLUMNS(X)                                                                            \
    X(TEXT, session)                                                                               \
    X(NUMBER, line)                                                                                \
    X(TEXT, id)                                                                                    \
    X(TEXT, price)                                                                                 \
    X(TEXT, description)                                                                           \
    X(TEXT, currency)                                                                              \
    X(NUMBER, quantity)                                                                            \
    X(NUMBER, amount)
#define VOUCHER_COLUMNS(X)                                                                         \
    X(TEXT, intent)                                                                                \
    X(MAYBE, confirmation_number)                                                                  \
    X(TIME, expires_after_days)                                                                    \
    X(TIME, asked_until_ms)                                                                        \
    X(MAYBE, product_description)                                                                  \
    X(MAYBE, number)                                                                               \
    X(MAYBE, code)                                                                                 \
    X(TIME, shown_until_ms)                                                                        \
    X(TIME, lapses_ms)                                                                             \
    X(MAYBE, store)
#define DISPUTE_COLUMNS(X)                                                                         \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(TEXT, charge)                                                                                \
    X(TEXT, intent)                                                                                \
    X(NUMBER, amount)                                                                              \
    X(TEXT, currency)                                                                              \
    X(TEXT, reason)                                                                                \
    X(TEXT, status)                                                                                \
    X(TEXT, metadata)

OBJECT_ROWS(product, PRODUCT_COLUMNS)
OBJECT_READ(product)
OBJECT_PAGE(product, 1)
OBJECT_ROWS(price, PRICE_COLUMNS)
OBJECT_READ(price)
OBJECT_PAGE(price, 2)
OBJECT_ROWS(session, SESSION_COLUMNS)
OBJECT_READ(session)
OBJECT_PAGE(session, 1)
OBJECT_ROWS(item, ITEM_COLUMNS)
OBJECT_ROWS(voucher, VOUCHER_COLUMNS)
OBJECT_READ(voucher)
OBJECT_ROWS(dispute, DISPUTE_COLUMNS)
OBJECT_READ(dispute)
OBJECT_PAGE(dispute, 0)

/* --- the lines of a session --- */

struct session_lines {
    struct item *items; /* LIMIT_SANDBOX_ITEMS of them */
    size_t count;
};

static enum err add_line(void *ctx, const struct row *row)
{
    struct session_lines *l = ctx;

    if (l->count == LIMIT_SANDBOX_ITEMS)
        return ERR_INTERNAL; /* the maker of the session has checked the count */
    item_of_row(row, &l->items[l->count++]);
    return OK;
}

bool sb_items_of(struct work *w, struct str session, struct item **ret, size_t *ret_count)
{
    struct session_lines l = { .items =
                                   arena_alloc(w->a, LIMIT_SANDBOX_ITEMS, sizeof(struct item)) };
    const struct val v[] = { V_TEXT(session) };

    if (!work_ok(w, l.items ? OK : ERR_NO_MEMORY) ||
        !work_ok(w, tx_each(w->tx, STMT_sandbox_items_of, v, COUNT(v), add_line, &l)))
        return false;
    *ret = l.items;
    *ret_count = l.count;
    return true;
}
