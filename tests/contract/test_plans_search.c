/* An operator looks for one payment in a million (O8): every walk takes its own index in its own
 * order and sorts nothing, and whatever he has in his hand is looked up by a key. The database is
 * asked, with the tables empty and full: plans are kept. */
#include "contract/plans.h"

#define BY_ID "PRIMARY KEY (id>? AND id<?)"
#define BY_KIND "payments_kind (context=? AND gateway=? AND id>? AND id<?)"
#define BY_STATUS                                                                                  \
    "idx_payments_status_created (status=? AND (created_at,id)>(?,?) AND (created_at,id)<(?,?))"
#define BY(name, column) "idx_payments_" name " (" column "=? AND id>? AND id<?)"

static const struct plan_walk walks[] = {
    { STMT_found_rows, BY_ID, "payments_pkey" },
    { STMT_found_edge, BY_ID, "payments_pkey" },
    { STMT_found_rows_kind, BY_KIND, "payments_kind" },
    { STMT_found_edge_kind, BY_KIND, "payments_kind" },
    { STMT_found_next_gateway, "payments_kind (context=? AND gateway>?)", "payments_kind" },
    { STMT_found_rows_user, BY("user_id", "user_id"), "idx_payments_user_id" },
    { STMT_found_edge_user, BY("user_id", "user_id"), "idx_payments_user_id" },
    { STMT_found_rows_booking, BY("booking_id", "booking_id"), "idx_payments_booking_id" },
    { STMT_found_edge_booking, BY("booking_id", "booking_id"), "idx_payments_booking_id" },
    { STMT_found_rows_key, BY("idempotency_key", "idempotency_key"),
      "idx_payments_idempotency_key" },
    { STMT_found_edge_key, BY("idempotency_key", "idempotency_key"),
      "idx_payments_idempotency_key" },
    { STMT_found_rows_status, BY_STATUS, "idx_payments_status_created" },
    { STMT_found_edge_status, BY_STATUS, "idx_payments_status_created" },
    { STMT_find_by_operation_key, "operations_key (idempotency_key=? AND payment_id<?)",
      "operations_key" },
};

/* By a key: nothing is walked. */
static const enum stmt lookups[] = {
    STMT_found_one,
    STMT_refunds_any,
    STMT_find_by_id,
    STMT_find_by_purchase,
    STMT_find_by_participant,
    STMT_find_by_refund,
    STMT_find_by_intent,
    STMT_find_by_own_intent,
    STMT_find_by_charge,
    STMT_find_by_session,
    STMT_find_by_gateway_refund,
    STMT_find_by_dispute,
    STMT_find_by_event,
    STMT_find_by_letter,
    STMT_find_by_reference,
    STMT_operation_word,
    STMT_operations_shown,
    STMT_transactions_shown,
    STMT_disputes_shown,
    STMT_key_uses_created,
    STMT_key_uses_other,
};

/* In SQL that both understand, n(i) being the numbers. All payments have one user, one key, one
 * gateway and no booking: the worst that statistics can say. */
static const char *const fill[] = {
    "INSERT INTO payments (id, context, subject_id, user_id, amount, currency, status, gateway,"
    " idempotency_key, claim_id, created_at, updated_at)"
    " SELECT @, CASE WHEN i % 2 = 0 THEN 'purchase' ELSE 'participant' END, @,"
    " (SELECT @ FROM n LIMIT 1), 1, 'JPY', 'FAILED', 'g', (SELECT @ FROM n LIMIT 1), @, i, i FROM "
    "n",
    "INSERT INTO operations (id, payment_id, kind, phase, cause, gateway_key, message_id,"
    " idempotency_key, claimed_at) SELECT @, @, CASE WHEN i % 2 = 0 THEN 'create' ELSE 'refund' "
    "END,"
    " 'done', 'client', 'k', @, (SELECT @ FROM n LIMIT 1), i FROM n",
    "INSERT INTO payment_transactions (id, payment_id, gateway, stripe_payment_intent_id,"
    " stripe_charge_id, status, created_at, updated_at)"
    " SELECT @, @, 'g', 'pi_' || i, 'ch_' || i, 'failed', i, i FROM n",
    "INSERT INTO refunds (id, payment_id, amount, status, gateway_refund_id, created_at,"
    " updated_at) SELECT @, @, 1, 'failed', 're_' || i, i, i FROM n",
    "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id, request_id,"
    " trace, body) SELECT 'stripe', 'evt_' || i, i, @, '', '', @ FROM n",
    "INSERT INTO webhook_outcomes (message_id, outcome, at, payment_id)"
    " SELECT @, 'applied', i, @ FROM n",
    "INSERT INTO dead_letters (id, kind, ref, payment_id, reason, attempts, added_at, died_at)"
    " SELECT @, 'k' || (i % 5), 'evt_' || i, @, 'r', 1, i, i FROM n",
    "INSERT INTO idempotency_records (user_id, operation, idempotency_key, request_hash, state,"
    " payment_id, operation_id, created_at, expires_at)"
    " SELECT @, 'REFUND', @,"
    " '0123456789012345678901234567890123456789012345678901234567890123', 'running', @, @, i, i"
    " FROM n",
};

/* LIMIT 1 walks and pages sort nothing. */
static bool is_bad_walk(const char *plan)
{
    return walks_a_table(plan, NULL) || strstr(plan, "TEMP B-TREE");
}

/* The few rows of one payment may be sorted. */
static bool is_bad_lookup(const char *plan)
{
    return walks_a_table(plan, "SCAN newest") || strstr(plan, "AUTOMATIC");
}

static const struct plan_rules rules = {
    .schema = "plans_search",
    .walks = walks,
    .walk_count = COUNT(walks),
    .lookups = lookups,
    .lookup_count = COUNT(lookups),
    .fill = fill,
    .fill_count = COUNT(fill),
    .bad_walk = is_bad_walk,
    .bad_lookup = is_bad_lookup,
};

static void o8_whatever_is_looked_for_has_its_index_on_sqlite(void **state)
{
    (void)state;
    plans_hold_on_sqlite(&rules);
}

static void o8_whatever_is_looked_for_has_its_index_on_postgres(void **state)
{
    (void)state;
    plans_hold_on_postgres(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(o8_whatever_is_looked_for_has_its_index_on_sqlite),
        TEST(o8_whatever_is_looked_for_has_its_index_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
