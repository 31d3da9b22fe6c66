/* rows.c - the rows of intents, charges, refunds and payment methods. The columns of each table are
 * listed once, in the order of its statements (store/statements/sandbox.h); the macros of rows.h
 * make the functions that bind and read them. */
#include "sandbox/stripe/rows.h"

#include "base/limits.h"

#define INTENT_COLUMNS(X)                                                                          \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(NUMBER, amount)                                                                              \
    X(NUMBER, amount_capturable)                                                                   \
    X(NUMBER, amount_received)                                                                     \
    X(TEXT, currency)                                                                              \
    X(STATUS, status)                                                                              \
    X(TEXT, capture_method)                                                                        \
    X(TEXT, confirmation_method)                                                                   \
    X(TEXT, client_secret)                                                                         \
    X(MAYBE, customer)                                                                             \
    X(MAYBE, description)                                                                          \
    X(TEXT, metadata)                                                                              \
    X(MAYBE, payment_method)                                                                       \
    X(MAYBE, card)                                                                                 \
    X(FLAG, authenticated)                                                                         \
    X(MAYBE, latest_charge)                                                                        \
    X(TIME, canceled_ms)                                                                           \
    X(MAYBE, cancellation_reason)                                                                  \
    X(MAYBE, return_url)                                                                           \
    X(MAYBE, last_error)                                                                           \
    X(MAYBE, receipt_email)                                                                        \
    X(MAYBE, statement_descriptor)                                                                 \
    X(MAYBE, descriptor_suffix)                                                                    \
    X(MAYBE, setup_future_usage)                                                                   \
    X(MAYBE, shipping)                                                                             \
    X(MAYBE, transfer_group)                                                                       \
    X(TEXT, method_types)                                                                          \
    X(FLAG, automatic_methods)                                                                     \
    X(MAYBE, session)
#define CHARGE_COLUMNS(X)                                                                          \
    X(TEXT, id)                                                                                    \
    X(TEXT, intent)                                                                                \
    X(NUMBER, created_ms)                                                                          \
    X(NUMBER, amount)                                                                              \
    X(NUMBER, amount_captured)                                                                     \
    X(NUMBER, amount_refunded)                                                                     \
    X(FLAG, captured)                                                                              \
    X(TEXT, status)                                                                                \
    X(TEXT, currency)                                                                              \
    X(TEXT, payment_method)                                                                        \
    X(TEXT, card)                                                                                  \
    X(FLAG, authenticated)                                                                         \
    X(MAYBE, failure_code)                                                                         \
    X(MAYBE, decline_code)                                                                         \
    X(TIME, balanced_ms)                                                                           \
    X(TIME, capture_before_ms)                                                                     \
    X(TEXT, metadata)                                                                              \
    X(MAYBE, description)                                                                          \
    X(MAYBE, customer)                                                                             \
    X(MAYBE, receipt_email)                                                                        \
    X(MAYBE, statement_descriptor)                                                                 \
    X(MAYBE, descriptor_suffix)                                                                    \
    X(MAYBE, shipping)                                                                             \
    X(MAYBE, transfer_group)                                                                       \
    X(MAYBE, dispute)
#define REFUND_COLUMNS(X)                                                                          \
    X(TEXT, id)                                                                                    \
    X(TEXT, charge)                                                                                \
    X(TEXT, intent)                                                                                \
    X(NUMBER, created_ms)                                                                          \
    X(NUMBER, amount)                                                                              \
    X(TEXT, currency)                                                                              \
    X(TEXT, status)                                                                                \
    X(MAYBE, reason)                                                                               \
    X(TEXT, metadata)                                                                              \
    X(TEXT, payment_method)                                                                        \
    X(MAYBE, failure_reason)                                                                       \
    X(TIME, returned_ms)
#define METHOD_COLUMNS(X)                                                                          \
    X(TEXT, id)                                                                                    \
    X(NUMBER, created_ms)                                                                          \
    X(TEXT, card)                                                                                  \
    X(MAYBE, customer)                                                                             \
    X(MAYBE, billing)                                                                              \
    X(TEXT, metadata)                                                                              \
    X(NUMBER, exp_month)                                                                           \
    X(NUMBER, exp_year)                                                                            \
    X(MAYBE, iban)                                                                                 \
    X(FLAG, set_up)

/* --- statuses --- */

#define STATUS_TEXT(name, wire) { wire, sizeof(wire) - 1 },
static const struct str statuses[INTENT_STATUSES] = { INTENT_STATUS_LIST(STATUS_TEXT) };
#undef STATUS_TEXT

struct str sb_intent_status_text(enum intent_status s)
{
    return statuses[s];
}

static enum intent_status status_of(struct str text)
{
    enum intent_status s = 0;

    while (s < INTENT_SUCCEEDED && !str_eq(statuses[s], text))
        s++;
    return s;
}

/* --- pages --- */

static enum err add_page_row(void *ctx, const struct row *row)
{
    struct gather *g = ctx;

    g->read(row, g->rows + g->page->count++ * g->each);
    return OK;
}

/* Puts the page in order, newest first, and drops the extra row that says that there are more. */
static void arrange_page(struct gather *g)
{
    struct list_page *p = g->page;
    size_t n;

    p->more = p->count > (size_t)p->limit;
    p->count -= p->more;
    n = p->count;
    for (size_t i = 0; p->backwards && i < n / 2; i++)
        for (size_t k = 0; k < g->each; k++) {
            char *a = g->rows + i * g->each + k, *b = g->rows + (n - 1 - i) * g->each + k, c = *a;

            *a = *b;
            *b = c;
        }
}

bool sb_gather(struct work *w, struct gather *g, enum stmt stmt, const struct val *v, size_t n)
{
    g->page->count = 0;
    g->rows = arena_alloc(w->a, (size_t)g->page->limit + 1, g->each);
    if (!work_ok(w, g->rows ? OK : ERR_NO_MEMORY) ||
        !work_ok(w, tx_each(w->tx, stmt, v, n, add_page_row, g)))
        return false;
    arrange_page(g);
    return true;
}

OBJECT_ROWS(intent, INTENT_COLUMNS)
OBJECT_READ(intent)
OBJECT_PAGE(intent, 1)
OBJECT_ROWS(charge, CHARGE_COLUMNS)
OBJECT_READ(charge)
OBJECT_PAGE(charge, 0)
OBJECT_ROWS(refund, REFUND_COLUMNS)
OBJECT_READ(refund)
OBJECT_ROWS(method, METHOD_COLUMNS)
OBJECT_READ(method)

bool sb_refund_page(struct work *w, struct list_page *p, bool of_one, struct refund **ret_refunds)
{
    static const enum stmt stmts[2][2] = {
        { STMT_sandbox_refunds_newest, STMT_sandbox_refunds_oldest },
        { STMT_sandbox_refunds_of_newest, STMT_sandbox_refunds_of_oldest },
    };
    struct gather g = { .page = p, .each = sizeof(struct refund), .read = refund_of_row };
    const struct val v[] = { V_TEXT(p->above), V_TEXT(p->below), V_INT(p->limit + 1) };
    bool ok = sb_gather(w, &g, stmts[of_one][p->backwards], v, COUNT(v));

    *ret_refunds = (struct refund *)(void *)g.rows;
    return ok;
}
