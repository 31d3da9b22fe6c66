/* rows.c - objects and their rows. Each table's columns are listed once, in the order of their
 * statements (store/statements/sandbox.h); what binds and what reads is made of the list. */
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

/* --- objects --- */

static void intent_of_row(const struct row *row, struct intent *o)
{
    const struct val *v = row->col;

    INTENT_COLUMNS(GET)
}

enum err sb_intent_read(struct tx *tx, struct str id, struct intent *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_intent_read, &row, V_TEXT(id));

    if (!e)
        intent_of_row(&row, ret);
    return e;
}

bool sb_intent_write(struct work *w, const struct intent *o)
{
    const struct val v[] = { INTENT_COLUMNS(PUT) };

    return !w->err && work_ok(w, tx_do(w->tx, STMT_sandbox_intent_write, 1, v, COUNT(v)));
}

static void charge_of_row(const struct row *row, struct charge *o)
{
    const struct val *v = row->col;

    CHARGE_COLUMNS(GET)
}

enum err sb_charge_read(struct tx *tx, struct str id, struct charge *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_charge_read, &row, V_TEXT(id));

    if (!e)
        charge_of_row(&row, ret);
    return e;
}

bool sb_charge_write(struct work *w, const struct charge *o)
{
    const struct val v[] = { CHARGE_COLUMNS(PUT) };

    return !w->err && work_ok(w, tx_do(w->tx, STMT_sandbox_charge_write, 1, v, COUNT(v)));
}

static void refund_of_row(const struct row *row, struct refund *o)
{
    const struct val *v = row->col;

    REFUND_COLUMNS(GET)
}

enum err sb_refund_read(struct tx *tx, struct str id, struct refund *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_refund_read, &row, V_TEXT(id));

    if (!e)
        refund_of_row(&row, ret);
    return e;
}

bool sb_refund_write(struct work *w, const struct refund *o)
{
    const struct val v[] = { REFUND_COLUMNS(PUT) };

    return !w->err && work_ok(w, tx_do(w->tx, STMT_sandbox_refund_write, 1, v, COUNT(v)));
}

static void method_of_row(const struct row *row, struct method *o)
{
    const struct val *v = row->col;

    METHOD_COLUMNS(GET)
}

enum err sb_method_read(struct tx *tx, struct str id, struct method *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_method_read, &row, V_TEXT(id));

    if (!e)
        method_of_row(&row, ret);
    return e;
}

bool sb_method_write(struct work *w, const struct method *o)
{
    const struct val v[] = { METHOD_COLUMNS(PUT) };

    return !w->err && work_ok(w, tx_do(w->tx, STMT_sandbox_method_write, 1, v, COUNT(v)));
}

/* --- pages --- */

static enum err take_row(void *ctx, const struct row *row)
{
    struct gather *g = ctx;

    g->read(row, g->rows + g->page->count++ * g->each);
    return OK;
}

/* Newest first, and without the one that only says that there are more. */
static void stripe_rows_arrange(struct gather *g)
{
    struct page *p = g->page;
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
        !work_ok(w, tx_each(w->tx, stmt, v, n, take_row, g)))
        return false;
    stripe_rows_arrange(g);
    return true;
}

static void read_intent(const struct row *row, void *ret)
{
    intent_of_row(row, ret);
}

static void read_charge(const struct row *row, void *ret)
{
    charge_of_row(row, ret);
}

static void read_refund(const struct row *row, void *ret)
{
    refund_of_row(row, ret);
}

bool sb_intent_page(struct work *w, struct page *p, struct intent **ret_intents)
{
    struct gather g = { .page = p, .each = sizeof(struct intent), .read = read_intent };
    const struct val v[] = { V_TEXT(p->above), V_TEXT(p->below), V_TEXT(p->filter[0]),
                             V_INT(p->limit + 1) };
    enum stmt stmt = p->backwards ? STMT_sandbox_intents_oldest : STMT_sandbox_intents_newest;
    bool ok = sb_gather(w, &g, stmt, v, COUNT(v));

    *ret_intents = (struct intent *)(void *)g.rows;
    return ok;
}

bool sb_charge_page(struct work *w, struct page *p, struct charge **ret_charges)
{
    struct gather g = { .page = p, .each = sizeof(struct charge), .read = read_charge };
    const struct val v[] = { V_TEXT(p->above), V_TEXT(p->below), V_INT(p->limit + 1) };
    enum stmt stmt = p->backwards ? STMT_sandbox_charges_oldest : STMT_sandbox_charges_newest;
    bool ok = sb_gather(w, &g, stmt, v, COUNT(v));

    *ret_charges = (struct charge *)(void *)g.rows;
    return ok;
}

bool sb_refund_page(struct work *w, struct page *p, bool of_one, struct refund **ret_refunds)
{
    static const enum stmt stmts[2][2] = {
        { STMT_sandbox_refunds_newest, STMT_sandbox_refunds_oldest },
        { STMT_sandbox_refunds_of_newest, STMT_sandbox_refunds_of_oldest },
    };
    struct gather g = { .page = p, .each = sizeof(struct refund), .read = read_refund };
    const struct val v[] = { V_TEXT(p->above), V_TEXT(p->below), V_INT(p->limit + 1) };
    bool ok = sb_gather(w, &g, stmts[of_one][p->backwards], v, COUNT(v));

    *ret_refunds = (struct refund *)(void *)g.rows;
    return ok;
}
