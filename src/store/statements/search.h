/* search.h - part of all.h: read its rules there. No include guard: read many times.
 *
 * Searching payments (O8). A scan follows an index in its order, newest first; `edge` returns where
 * a bounded number of its rows ends, `rows` reads the matching rows between two places. The filter
 * is the same everywhere: an empty value matches all. +created_at: no index is chosen for it. */

#define FOUND_COLUMNS                                                                              \
    "id, context, subject_id, user_id, amount, captured_amount, refunded_amount,"                  \
    " currency, status, description, gateway, gateway_transaction_id, failure_reason,"             \
    " idempotency_key, claim_id, version, open_op, given_up, place_held, action,"                  \
    " checkout_session_id, disputed, capture_before, created_at, updated_at"
#define FOUND_FILTER(status, context, gateway, user, booking, from, to)                                    \
    " AND (status = " status " OR " status " = '') AND (context = " context " OR " context " = '')" \
    " AND (gateway = " gateway " OR " gateway " = '')"                                             \
    " AND (user_id = " user " OR length(" user ") = 0)"                                            \
    " AND (booking_id = " booking " OR length(" booking ") = 0)"                                   \
    " AND +created_at >= " from " AND +created_at < " to

/* A planner with statistics chooses the primary key where most payments have this user, key or
 * gateway, and scans the whole table for a rare one. So SQLite is told the index, and PostgreSQL
 * orders by all of its columns, an order that no other index has. There a bound on all columns would
 * not end the scan (only the first column counts), so the last parameter limits the number of rows,
 * and rows beyond the bound are dropped. */
#define FOUND_IS_1(column, index)                                                                  \
    " FROM payments INDEXED BY " index " WHERE " column " = $1 AND id < $2 AND id >= $3"
#define FOUND_RUN_1(columns, column, end)                                                          \
    " FROM (SELECT " columns " FROM payments WHERE (" column ", id) < ($1, $2)"                    \
    " ORDER BY " column " DESC, id DESC LIMIT " end ") run WHERE " column " = $1 AND id >= $3"
#define FOUND_IS_KIND                                                                              \
    " FROM payments INDEXED BY payments_kind WHERE context = $1 AND gateway = $2 AND id < $3"      \
    " AND id >= $4"
#define FOUND_RUN_KIND(columns, end)                                                               \
    " FROM (SELECT " columns " FROM payments WHERE (context, gateway, id) < ($1, $2, $3)"          \
    " ORDER BY context DESC, gateway DESC, id DESC LIMIT " end ") run"                             \
    " WHERE context = $1 AND gateway = $2 AND id >= $4"
#define FOUND_FILTER_1 FOUND_FILTER("$4", "$5", "$6", "$7", "$8", "$9", "$10")
#define FOUND_FILTER_KIND FOUND_FILTER("$5", "$6", "$7", "$8", "$9", "$10", "$11")

#define FOUND_BY_1(rows, edge, column, index)                                                      \
    SQL2(rows,                                                                                     \
         "SELECT " FOUND_COLUMNS FOUND_IS_1(column, index) FOUND_FILTER_1                          \
         " ORDER BY id DESC LIMIT min($11, $12)",                                                  \
         "SELECT " FOUND_COLUMNS FOUND_RUN_1(FOUND_COLUMNS ", booking_id", column, "$12")          \
         FOUND_FILTER_1 " ORDER BY " column " DESC, id DESC LIMIT $11")                            \
    SQL2(edge, "SELECT id" FOUND_IS_1(column, index) " ORDER BY id DESC LIMIT 1 OFFSET $4",        \
         "SELECT id" FOUND_RUN_1(column ", id", column, "1 OFFSET $4"))
#define FOUND_ROWS_STATUS(hint)                                                                    \
    "SELECT " FOUND_COLUMNS " FROM payments" hint " WHERE status = $1"                             \
    " AND (created_at, id) < ($2, $3) AND (created_at, id) >= ($4, $5)"                            \
    FOUND_FILTER("$6", "$7", "$8", "$9", "$10", "$11", "$12")                                      \
    " ORDER BY created_at DESC, id DESC LIMIT $13"
#define FOUND_EDGE_STATUS(hint)                                                                    \
    "SELECT id, created_at FROM payments" hint " WHERE status = $1"                                \
    " AND (created_at, id) < ($2, $3) AND (created_at, id) >= ($4, $5)"                            \
    " ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $6"

SQL(found_rows,
    "SELECT " FOUND_COLUMNS " FROM payments WHERE id < $1 AND id >= $2"
    FOUND_FILTER("$3", "$4", "$5", "$6", "$7", "$8", "$9") " ORDER BY id DESC LIMIT $10")
SQL(found_edge,
    "SELECT id FROM payments WHERE id < $1 AND id >= $2 ORDER BY id DESC LIMIT 1 OFFSET $3")

SQL2(found_rows_kind,
     "SELECT " FOUND_COLUMNS FOUND_IS_KIND FOUND_FILTER_KIND " ORDER BY id DESC LIMIT min($12, $13)",
     "SELECT " FOUND_COLUMNS FOUND_RUN_KIND(FOUND_COLUMNS ", booking_id", "$13") FOUND_FILTER_KIND
     " ORDER BY context DESC, gateway DESC, id DESC LIMIT $12")
SQL2(found_edge_kind, "SELECT id" FOUND_IS_KIND " ORDER BY id DESC LIMIT 1 OFFSET $5",
     "SELECT id" FOUND_RUN_KIND("context, gateway, id", "1 OFFSET $5"))
SQL(found_next_gateway, /* the gateways of a context, one after the other */
    "SELECT gateway FROM payments WHERE context = $1 AND gateway > $2 ORDER BY gateway LIMIT 1")

FOUND_BY_1(found_rows_user, found_edge_user, "user_id", "idx_payments_user_id")
FOUND_BY_1(found_rows_booking, found_edge_booking, "booking_id", "idx_payments_booking_id")
FOUND_BY_1(found_rows_key, found_edge_key, "idempotency_key", "idx_payments_idempotency_key")

/* In the order of created_at, as its index is. */
SQL2(found_rows_status, FOUND_ROWS_STATUS(" INDEXED BY idx_payments_status_created"),
     FOUND_ROWS_STATUS(""))
SQL2(found_edge_status, FOUND_EDGE_STATUS(" INDEXED BY idx_payments_status_created"),
     FOUND_EDGE_STATUS(""))

SQL(found_one,
    "SELECT " FOUND_COLUMNS " FROM payments WHERE id = $1"
    FOUND_FILTER("$2", "$3", "$4", "$5", "$6", "$7", "$8"))

/* --- which payment is it: ids of payments below $2, the newest $3 of them --- */

SQL(find_by_id, "SELECT id FROM payments WHERE id = $1 AND id < $2 LIMIT $3")
SQL(find_by_purchase,
    "SELECT payment_id FROM purchases WHERE purchase_id = $1 AND payment_id < $2 LIMIT $3")
SQL(find_by_participant,
    "SELECT id FROM payments WHERE context = 'participant' AND subject_id = $1 AND id < $2"
    " ORDER BY id DESC LIMIT $3")
SQL(find_by_refund,
    "SELECT payment_id FROM refunds WHERE id = $1 AND payment_id < $2 LIMIT $3")
SQL2(find_by_operation_key,
     "SELECT payment_id FROM operations INDEXED BY operations_key WHERE idempotency_key = $1"
     " AND (kind <> 'create' OR of_subject = 1) AND payment_id < $2"
     " ORDER BY payment_id DESC LIMIT $3",
     "SELECT payment_id FROM operations WHERE (idempotency_key, payment_id) < ($1, $2)"
     " AND (idempotency_key, payment_id) >= ($1, ''::bytea) AND idempotency_key IS NOT NULL"
     " AND (kind <> 'create' OR of_subject = 1)"
     " ORDER BY idempotency_key DESC, payment_id DESC LIMIT $3")
SQL(find_by_intent,
    "SELECT payment_id FROM payment_transactions WHERE stripe_payment_intent_id = $1"
    " AND payment_id < $2 LIMIT $3")
SQL(find_by_own_intent, /* of which only the existence was reported yet */
    "SELECT id FROM payments WHERE gateway_transaction_id = $1"
    " AND status IN ('PENDING', 'FAILED') AND id < $2 LIMIT $3")
SQL(find_by_charge,
    "SELECT payment_id FROM payment_transactions WHERE stripe_charge_id = $1 AND payment_id < $2"
    " LIMIT $3")
SQL(find_by_session,
    "SELECT payment_id FROM checkout_sessions WHERE session_id = $1 AND payment_id < $2 LIMIT $3")
SQL(find_by_gateway_refund,
    "SELECT payment_id FROM refunds WHERE gateway_refund_id = $1 AND payment_id < $2 LIMIT $3")
SQL(find_by_dispute,
    "SELECT payment_id FROM disputes WHERE dispute_id = $1 AND payment_id < $2 LIMIT $3")
SQL(find_by_event,
    "SELECT o.payment_id FROM webhook_events e JOIN webhook_outcomes o ON o.message_id = e.message_id"
    " WHERE e.stripe_event_id = $1 AND o.payment_id < $2 LIMIT $3")
SQL(find_by_letter, /* an event that died, and knows its payment; coalesce: the few are sorted, no
                       index in that order is walked for them */
    "SELECT payment_id FROM dead_letters WHERE ref = $1 AND payment_id < $2"
    " ORDER BY coalesce(payment_id, payment_id) DESC LIMIT $3")
SQL(find_by_reference,
    "SELECT payment_id FROM bank_transfers WHERE reference = $1 AND payment_id < $2 LIMIT $3")

/* --- one payment, and all that belongs to it --- */

SQL2(refunds_any, /* bulk; those that have any */
     "SELECT payment_id FROM refunds WHERE payment_id = $1 LIMIT 1",
     "SELECT DISTINCT payment_id FROM refunds WHERE payment_id = ANY ($1::bytea[])")

SQL(operation_word, "SELECT kind, phase FROM operations WHERE id = $1")
SQL(operations_shown, /* the newest, the oldest of them first; $1: the admin token, all zero */
    "SELECT * FROM (SELECT id, kind, phase, cause, amount, sends, asks, claimed_at, ended_at, result,"
    " CASE WHEN user_id IS NULL THEN 'system' WHEN user_id = $1 OR EXISTS (SELECT 1 FROM operators p"
    " WHERE p.id = operations.user_id) THEN 'operator' ELSE 'client' END AS made_by"
    " FROM operations WHERE payment_id = $2 ORDER BY id DESC LIMIT $3) newest ORDER BY id")
SQL(transactions_shown,
    "SELECT stripe_payment_intent_id, gateway, stripe_charge_id, status, amount, amount_received,"
    " currency, fee, net, balance_transaction, receipt_url, failure_code, failure_message,"
    " cancel_reason, konbini_store, konbini_expires_at, webhook_event_id, authorized_at,"
    " succeeded_at, failed_at, canceled_at, created_at, updated_at FROM payment_transactions"
    " WHERE payment_id = $1 ORDER BY created_at, id LIMIT $2")
SQL(disputes_shown,
    "SELECT dispute_id, status, closed, lost, reason, amount, created_at, updated_at FROM disputes"
    " WHERE payment_id = $1 ORDER BY created_at, dispute_id LIMIT $2")

/* --- what a key did --- */

#define KEY_USE                                                                                    \
    "SELECT o.id, o.user_id, o.kind, k.state, k.response_status, o.payment_id, o.claimed_at,"      \
    " k.expires_at"
#define KEY_RECORD                                                                                 \
    " LEFT JOIN idempotency_records k ON k.user_id = o.user_id AND k.operation = upper(o.kind)"    \
    " AND k.idempotency_key = o.idempotency_key AND k.operation_id = o.id"

#define KEY_LAST "'\\xffffffffffffffffffffffffffffffffff'::bytea"

SQL2(key_uses_created,
     KEY_USE " FROM (SELECT claim_id FROM payments INDEXED BY idx_payments_idempotency_key"
     " WHERE idempotency_key = $1 ORDER BY id DESC LIMIT $2) newest"
     " JOIN operations o ON o.id = newest.claim_id" KEY_RECORD,
     KEY_USE " FROM (SELECT claim_id FROM payments WHERE (idempotency_key, id) < ($1, " KEY_LAST ")"
     " AND (idempotency_key, id) >= ($1, ''::bytea) ORDER BY idempotency_key DESC, id DESC LIMIT $2)"
     " newest JOIN operations o ON o.id = newest.claim_id" KEY_RECORD)
SQL2(key_uses_other,
     KEY_USE " FROM (SELECT id FROM operations INDEXED BY operations_key WHERE idempotency_key = $1"
     " AND (kind <> 'create' OR of_subject = 1) ORDER BY payment_id DESC LIMIT $2) newest"
     " JOIN operations o ON o.id = newest.id" KEY_RECORD,
     KEY_USE " FROM (SELECT id FROM operations"
     " WHERE (idempotency_key, payment_id) < ($1, " KEY_LAST ")"
     " AND (idempotency_key, payment_id) >= ($1, ''::bytea) AND idempotency_key IS NOT NULL"
     " AND (kind <> 'create' OR of_subject = 1)"
     " ORDER BY idempotency_key DESC, payment_id DESC LIMIT $2) newest"
     " JOIN operations o ON o.id = newest.id" KEY_RECORD)

#undef FOUND_COLUMNS
#undef FOUND_FILTER
#undef FOUND_IS_1
#undef FOUND_RUN_1
#undef FOUND_IS_KIND
#undef FOUND_RUN_KIND
#undef FOUND_FILTER_1
#undef FOUND_FILTER_KIND
#undef FOUND_BY_1
#undef FOUND_ROWS_STATUS
#undef FOUND_EDGE_STATUS
#undef KEY_USE
#undef KEY_RECORD
#undef KEY_LAST
