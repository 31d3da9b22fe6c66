/* A look for unknown outcomes each minute, and a day's walk through a million payments: neither may
 * read a row that it does not need (P7, E11). The database is asked, with the tables empty and
 * full: plans are kept. */
#include "contract/plans.h"

static const struct plan_walk walks[] = {
    { STMT_unknown_state, "operations_unknown", "operations_unknown" },
    { STMT_unknown_page, "operations_unknown", "operations_unknown" },
    { STMT_unknown_untold, "operations_untold (told_at<?)", "operations_untold" },
    { STMT_books_of_day, "PRIMARY KEY (id>? AND id<?)", "payments_pkey" },
    { STMT_reconcile_check_next, "PRIMARY KEY (day=? AND key>?)", "reconciliation_checks_pkey" },
    { STMT_reconcile_page, "PRIMARY KEY (day<?)", "reconciliations_pkey" },
};

/* By a key: nothing is walked. */
static const enum stmt lookups[] = {
    STMT_unknown_told,
    STMT_books_by_intent,
    STMT_books_by_payment,
    STMT_reconcile_get,
    STMT_reconcile_step,
    STMT_reconcile_abandon,
    STMT_reconcile_seen_forget,
    STMT_reconcile_checks_forget,
    STMT_reconcile_totals_read,
    STMT_reconcile_last,
    STMT_heal_get,
};

/* In SQL that both understand, n(i) being the numbers. One operation in a thousand is unknown. */
static const char *const fill[] = {
    "INSERT INTO payments (id, context, subject_id, user_id, amount, currency, status, gateway,"
    " gateway_transaction_id, idempotency_key, claim_id, created_at, updated_at)"
    " SELECT @, 'purchase', @, @, 1, 'JPY', 'FAILED', 'g', 'pi_' || i, @, @, i, i"
    " FROM n",
    "INSERT INTO payment_transactions (id, payment_id, gateway, stripe_payment_intent_id, status,"
    " created_at, updated_at) SELECT @, @, 'g', 'pi_' || i, 'failed', i, i FROM n",
    "INSERT INTO operations (id, payment_id, kind, phase, cause, gateway_key, message_id, "
    "claimed_at)"
    " SELECT @, @, 'create', CASE WHEN i % 1000 = 0 THEN 'unknown' ELSE 'done' END, "
    "'client',"
    " 'k', @, i FROM n",
    "INSERT INTO refunds (id, payment_id, amount, status, created_at, updated_at)"
    " SELECT @, @, 1, 'failed', i, i FROM n",
    "INSERT INTO reconciliation_seen (day, payment_id) SELECT '2026-11-16', @ FROM n",
    "INSERT INTO reconciliation_checks (day, key, gateway) SELECT '2026-11-16', 'k' || i, 'g' FROM "
    "n",
};

/* SCAN x: the list of values that a statement was given. */
static bool is_bad(const char *plan)
{
    return walks_a_table(plan, "SCAN x") || strstr(plan, "TEMP B-TREE FOR ORDER BY");
}

static const struct plan_rules rules = {
    .schema = "plans_books",
    .walks = walks,
    .walk_count = COUNT(walks),
    .lookups = lookups,
    .lookup_count = COUNT(lookups),
    .fill = fill,
    .fill_count = COUNT(fill),
    .bad_walk = is_bad,
    .bad_lookup = is_bad,
};

static void p7_e11_what_is_looked_for_has_its_index_on_sqlite(void **state)
{
    (void)state;
    plans_hold_on_sqlite(&rules);
}

static void p7_e11_what_is_looked_for_has_its_index_on_postgres(void **state)
{
    (void)state;
    plans_hold_on_postgres(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(p7_e11_what_is_looked_for_has_its_index_on_sqlite),
        TEST(p7_e11_what_is_looked_for_has_its_index_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
