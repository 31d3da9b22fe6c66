/* However long the audit log is, looking at it and sealing it walk along an index (O6). */
#include "contract/plans.h"

#define SCHEMA "plans_audit"

static const struct plan_walk walks[] = {
    { STMT_audit_by_time, "USING INDEX audit_at", "audit_at" },
    { STMT_audit_time_window, "USING COVERING INDEX audit_at", "audit_at" },
    { STMT_audit_by_user, "USING INDEX audit_at", "audit_at" },
    { STMT_audit_by_operation, "USING INDEX audit_operation", "audit_operation" },
    { STMT_audit_by_payment, "USING INDEX audit_payment", "audit_payment" },
    { STMT_audit_by_subject, "USING INDEX audit_subject", "audit_subject" },
    { STMT_audit_by_failure, "USING INDEX audit_failures", "audit_failures" },
    { STMT_audit_unsealed, "SEARCH a USING INTEGER PRIMARY KEY", "audit_pkey" },
    { STMT_audit_rows_look, "SEARCH a USING INTEGER PRIMARY KEY", "audit_pkey" },
    { STMT_audit_sealed, "SEARCH s USING INTEGER PRIMARY KEY", "audit_seals_pkey" },
    { STMT_audit_rows_sealed, "SEARCH a USING INTEGER PRIMARY KEY", "audit_pkey" },
};

static const char *const fill[] = {
    "INSERT INTO audit (at, operation, subject, result, payment_id) SELECT 1760000000000 + i,"
    " CASE i % 3 WHEN 0 THEN 'CREATE' WHEN 1 THEN 'CAPTURE' ELSE 'RECEIPT' END, 's' || (i % 5000),"
    " CASE i % 20 WHEN 0 THEN 'failure' ELSE 'success' END, @ FROM n",
    "INSERT INTO audit_seals (n, audit_seq, hash) SELECT seq, seq, (SELECT hash FROM audit_chain)"
    " FROM audit WHERE seq IN (SELECT i FROM n)",
};

static bool sorts(const char *plan)
{
    return strstr(plan, "TEMP B-TREE") != NULL || walks_a_table(plan, "tail");
}

static const struct plan_rules rules = {
    .schema = SCHEMA,
    .walks = walks,
    .walk_count = COUNT(walks),
    .fill = fill,
    .fill_count = COUNT(fill),
    .bad_walk = sorts,
    .never = "Merge", /* it would begin at the first row, wherever the walk is */
};

static void o6_the_log_is_walked_by_its_indexes_on_sqlite(void **state)
{
    (void)state;
    plans_hold_on_sqlite(&rules);
}

static void o6_the_log_is_walked_by_its_indexes_on_postgres(void **state)
{
    (void)state;
    plans_hold_on_postgres(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(o6_the_log_is_walked_by_its_indexes_on_sqlite),
        cmocka_unit_test(o6_the_log_is_walked_by_its_indexes_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
