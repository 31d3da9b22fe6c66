/* payments.h - part of all.h: read its rules there. No include guard: read many times.
 *
 * PostgreSQL locks rows in one order: key, booking, payment, refund, operation, message (M5). */

#define PAYMENT_COLUMNS                                                                            \
    "id, context, subject_id, user_id, amount, captured_amount, refunded_amount,"                  \
    " currency, status, description, gateway, gateway_transaction_id, failure_reason,"             \
    " idempotency_key, claim_id, version, open_op, given_up, place_held, action,"                  \
    " checkout_session_id, disputed, capture_before, created_at, updated_at"
#define OPERATION_COLUMNS                                                                          \
    "id, payment_id, kind, phase, cause, gateway_key, amount, refund_id, method, user_id,"         \
    " idempotency_key, message_id, claimed_at, sent_at, sends, asks, intent_id, details,"          \
    " of_subject, list_after, list_at"
#define REFUND_COLUMNS                                                                             \
    "id, payment_id, amount, status, reason, gateway_refund_id, failure_reason, automatic,"        \
    " created_at, updated_at"

/* --- keys --- */

SQL(key_find,
    "SELECT k.request_hash, k.state, k.response_status, k.response_body, k.payment_id,"
    " k.operation_id, k.created_at, o.phase, o.message_id FROM idempotency_records k"
    " LEFT JOIN operations o ON o.id = k.operation_id"
    " WHERE k.user_id = $1 AND k.operation = $2 AND k.idempotency_key = $3")

SQL2(key_claim, /* a row: it is ours. None: it exists, and is running or not yet expired */
     "INSERT INTO idempotency_records (user_id, operation, idempotency_key, request_hash, state,"
     " payment_id, operation_id, created_at, expires_at)"
     " VALUES ($1, $2, $3, $4, 'running', $5, $6, $7, $8)"
     " ON CONFLICT (user_id, operation, idempotency_key) DO UPDATE SET"
     " request_hash = excluded.request_hash, state = 'running', response_status = NULL,"
     " response_body = NULL, payment_id = excluded.payment_id, operation_id = excluded.operation_id,"
     " created_at = excluded.created_at, expires_at = excluded.expires_at"
     " WHERE idempotency_records.state = 'done' AND idempotency_records.created_at < $9",
     "INSERT INTO idempotency_records (user_id, operation, idempotency_key, request_hash, state,"
     " payment_id, operation_id, created_at, expires_at)"
     " VALUES ($1, $2, $3, $4, 'running', $5, $6, $7, $8)"
     " ON CONFLICT (user_id, operation, idempotency_key) DO UPDATE SET"
     " request_hash = excluded.request_hash, state = 'running', response_status = NULL,"
     " response_body = NULL, payment_id = excluded.payment_id, operation_id = excluded.operation_id,"
     " created_at = excluded.created_at, expires_at = excluded.expires_at"
     " WHERE idempotency_records.state = 'done' AND idempotency_records.created_at < $9"
     " RETURNING 1")

SQL(key_name_payment,
    "UPDATE idempotency_records SET payment_id = $1 WHERE user_id = $2 AND operation = $3"
    " AND idempotency_key = $4 AND state = 'running'")

SQL(key_done,
    "UPDATE idempotency_records SET state = 'done', response_status = $1, response_body = $2"
    " WHERE user_id = $3 AND operation = $4 AND idempotency_key = $5 AND operation_id = $6"
    " AND state = 'running'")

SQL(key_release, /* nothing happened, so the same key may be used again */
    "DELETE FROM idempotency_records WHERE user_id = $1 AND operation = $2"
    " AND idempotency_key = $3 AND operation_id = $4 AND state = 'running'")

SQL2(keys_expire, /* only finished ones (D5); some at a time */
     "DELETE FROM idempotency_records WHERE rowid IN (SELECT rowid FROM idempotency_records"
     " WHERE expires_at < $1 AND state = 'done' ORDER BY expires_at LIMIT $2) RETURNING 1",
     "DELETE FROM idempotency_records WHERE ctid = ANY (ARRAY (SELECT ctid FROM idempotency_records"
     " WHERE expires_at < $1 AND state = 'done' ORDER BY expires_at LIMIT $2"
     " FOR UPDATE SKIP LOCKED)) RETURNING 1")

/* --- payments --- */

SQL(payment_add,
    "INSERT INTO payments (id, context, subject_id, booking_id, user_id, amount, currency, status,"
    " description, gateway, idempotency_key, claim_id, open_op, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, 'PENDING', $8, $9, $10, $11, $11, $12, $12)")

SQL(payment_get, "SELECT " PAYMENT_COLUMNS " FROM payments WHERE id = $1")

SQL2(payment_lock, "SELECT " PAYMENT_COLUMNS " FROM payments WHERE id = $1",
     "SELECT " PAYMENT_COLUMNS " FROM payments WHERE id = $1 FOR UPDATE")

SQL2(payments_lock, /* bulk; in the order of their ids, on every node */
     "SELECT $1 WHERE 0",
     "SELECT id FROM payments WHERE id = ANY ($1::bytea[]) ORDER BY id FOR UPDATE")

SQL(payment_of_intent,
    "SELECT payment_id FROM payment_transactions WHERE stripe_payment_intent_id = $1")

SQL2(intents_known, /* bulk; those that belong to a payment of ours */
     "SELECT stripe_payment_intent_id FROM payment_transactions WHERE stripe_payment_intent_id = $1",
     "SELECT stripe_payment_intent_id FROM payment_transactions"
     " WHERE stripe_payment_intent_id = ANY ($1::text[])")

SQL(payment_of_place, /* the payment that holds the place of a booking, if any (D1) */
    "SELECT id FROM payments WHERE context = $1 AND subject_id = $2"
    " AND status IN ('PENDING', 'AUTHORIZED', 'CAPTURED')"
    " UNION ALL SELECT id FROM payments WHERE context = $1 AND subject_id = $2 AND place_held = 1"
    " LIMIT 1")

SQL(payment_store, /* under its lock; the version is what was read */
    "UPDATE payments SET status = $1, captured_amount = $2, refunded_amount = $3,"
    " gateway_transaction_id = $4, failure_reason = $5, open_op = $6, given_up = $7,"
    " place_held = $8, action = $9, checkout_session_id = $10, disputed = $11,"
    " capture_before = $12, updated_at = $13, version = version + 1"
    " WHERE id = $14 AND version = $15")

SQL(payments_by_user,
    "SELECT " PAYMENT_COLUMNS " FROM payments WHERE user_id = $1 AND id < $2"
    " AND ($3 = '' OR status = $3) ORDER BY id DESC LIMIT $4")
SQL(payments_by_booking,
    "SELECT " PAYMENT_COLUMNS " FROM payments WHERE booking_id = $1 AND id < $2"
    " AND ($3 = '' OR status = $3) ORDER BY id DESC LIMIT $4")
SQL(payments_by_both,
    "SELECT " PAYMENT_COLUMNS " FROM payments WHERE booking_id = $1 AND id < $2"
    " AND ($3 = '' OR status = $3) AND user_id = $5 ORDER BY id DESC LIMIT $4")
SQL(payments_all,
    "SELECT " PAYMENT_COLUMNS " FROM payments WHERE id < $1"
    " AND ($2 = '' OR status = $2) ORDER BY id DESC LIMIT $3")

/* --- operations --- */

SQL(operation_add,
    "INSERT INTO operations (id, payment_id, kind, phase, cause, gateway_key, amount, refund_id,"
    " method, user_id, idempotency_key, message_id, claimed_at, sent_at, intent_id, details,"
    " of_subject)"
    " VALUES ($1, $2, $3, 'send', $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15)")

SQL(operation_get, "SELECT " OPERATION_COLUMNS " FROM operations WHERE id = $1")

SQL(operation_own_find, /* one of a cause is enough, unless it was refused, or its refund failed */
    "SELECT id FROM operations o WHERE payment_id = $1 AND kind = $2 AND cause = $3"
    " AND (phase <> 'done' OR result <> 'refused') AND NOT EXISTS (SELECT 1 FROM refunds r"
    " WHERE r.id = o.refund_id AND r.status IN ('failed', 'canceled'))")

SQL(refund_cause, /* the payment, and why the money goes back; no row: it was not made by an operation */
    "SELECT intent_id, cause FROM operations WHERE payment_id = $1 AND refund_id = $2")

SQL(refund_tries, /* of a cause: so many, and so many of them have not failed */
    "SELECT count(*), CAST(coalesce(sum(CASE WHEN r.status IN ('failed', 'canceled') THEN 0"
    " ELSE 1 END), 0) AS BIGINT) FROM operations o JOIN refunds r ON r.id = o.refund_id"
    " WHERE o.payment_id = $1 AND o.kind = 'refund' AND o.cause = $2")

SQL(refund_noted,
    "SELECT 1 FROM audit WHERE payment_id = $1 AND operation = 'REFUND' AND detail = $2 LIMIT 1")

SQL(operation_unknown,
    "UPDATE operations SET phase = 'unknown', sent_at = $1, sends = $2, asks = $3, result = $4,"
    " list_after = $5, list_at = $6 WHERE id = $7 AND phase <> 'done'")

SQL(operation_resend, /* it is submitted (again) from now on; its queries start from the beginning */
    "UPDATE operations SET phase = 'send', sent_at = $1, sends = $2, list_after = NULL"
    " WHERE id = $3 AND phase = 'unknown'")

SQL(operation_end,
    "UPDATE operations SET phase = 'done', sends = $1, asks = $2, result = $3, ended_at = $4"
    " WHERE id = $5 AND phase <> 'done'")

/* --- refunds --- */

SQL(refund_add,
    "INSERT INTO refunds (id, payment_id, amount, reason, status, gateway_refund_id, automatic,"
    " created_at, updated_at, failure_reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)")

SQL(refund_get, "SELECT " REFUND_COLUMNS " FROM refunds WHERE id = $1")

SQL(refund_of_gateway, "SELECT " REFUND_COLUMNS " FROM refunds WHERE gateway_refund_id = $1")

SQL(refund_store,
    "UPDATE refunds SET status = $1, gateway_refund_id = $2, failure_reason = $3, updated_at = $4"
    " WHERE id = $5 AND status = $6")

SQL(refunds_of_payment,
    "SELECT " REFUND_COLUMNS " FROM (SELECT " REFUND_COLUMNS " FROM refunds WHERE payment_id = $1"
    " ORDER BY id DESC LIMIT $2) newest ORDER BY id")

SQL(refund_sums, /* succeeded, all that still count, and their number; without those of unmatched money */
    "SELECT CAST(coalesce(sum(CASE WHEN status = 'succeeded' THEN amount ELSE 0 END), 0) AS BIGINT),"
    " CAST(coalesce(sum(CASE WHEN status IN ('failed', 'canceled') THEN 0 ELSE amount END), 0)"
    " AS BIGINT), CAST(coalesce(sum(CASE WHEN status IN ('failed', 'canceled') THEN 0 ELSE 1 END), 0)"
    " AS BIGINT) FROM refunds WHERE payment_id = $1 AND automatic = 0")

/* --- the gateway's objects --- */

#define INTENT_RANK(column)                                                                        \
    " CASE " column " WHEN 'pending' THEN 0 WHEN 'failed' THEN 1 WHEN 'authorized' THEN 2 ELSE 3 END"

SQL(transaction_state, /* new, or moved; a lower status never replaces a higher one (E6) */
    "INSERT INTO payment_transactions (id, payment_id, gateway, stripe_payment_intent_id, amount,"
    " currency, status, amount_received, stripe_charge_id, failure_code, failure_message,"
    " cancel_reason, webhook_event_id, webhook_received_at, authorized_at, succeeded_at, failed_at,"
    " canceled_at, created_at, updated_at, konbini_number, konbini_store, konbini_expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,"
    " $19, $20, $21, $22) ON CONFLICT (stripe_payment_intent_id) DO UPDATE SET status = excluded.status,"
    " amount_received = coalesce(excluded.amount_received, payment_transactions.amount_received),"
    " stripe_charge_id = coalesce(excluded.stripe_charge_id, payment_transactions.stripe_charge_id),"
    " failure_code = excluded.failure_code, failure_message = excluded.failure_message,"
    " cancel_reason = coalesce(excluded.cancel_reason, payment_transactions.cancel_reason),"
    " webhook_event_id = coalesce(excluded.webhook_event_id, payment_transactions.webhook_event_id),"
    " webhook_received_at ="
    " coalesce(excluded.webhook_received_at, payment_transactions.webhook_received_at),"
    " authorized_at = coalesce(payment_transactions.authorized_at, excluded.authorized_at),"
    " succeeded_at = coalesce(payment_transactions.succeeded_at, excluded.succeeded_at),"
    " failed_at = coalesce(payment_transactions.failed_at, excluded.failed_at),"
    " canceled_at = coalesce(payment_transactions.canceled_at, excluded.canceled_at),"
    " konbini_number = coalesce(excluded.konbini_number, payment_transactions.konbini_number),"
    " konbini_store = coalesce(payment_transactions.konbini_store, excluded.konbini_store),"
    " konbini_expires_at ="
    " coalesce(excluded.konbini_expires_at, payment_transactions.konbini_expires_at),"
    " updated_at = excluded.updated_at"
    " WHERE" INTENT_RANK("payment_transactions.status") " <=" INTENT_RANK("excluded.status")
    " AND (payment_transactions.status NOT IN ('succeeded', 'canceled')"
    " OR payment_transactions.status = excluded.status)")

SQL(transaction_slip, /* a row: there is a slip, which may be paid until then */
    "SELECT konbini_expires_at FROM payment_transactions WHERE stripe_payment_intent_id = $1"
    " AND konbini_expires_at IS NOT NULL")

SQL(transaction_canceled, /* a row: this intent is canceled; 1: it never failed and was never authorized */
    "SELECT CASE WHEN failed_at IS NULL AND authorized_at IS NULL THEN 1 ELSE 0 END,"
    " coalesce(cancel_reason, 'canceled') FROM payment_transactions"
    " WHERE stripe_payment_intent_id = $1 AND status = 'canceled'")

SQL(transaction_charge, /* new, or completed; what is known stays: a null comes before the value (E3) */
    "INSERT INTO payment_transactions (id, payment_id, gateway, stripe_payment_intent_id, amount,"
    " currency, status, stripe_charge_id, balance_transaction, receipt_url, fee, net,"
    " webhook_event_id, webhook_received_at, created_at, updated_at, konbini_store)"
    " VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9, $10, $11, $12, $13, $14, $14, $15)"
    " ON CONFLICT (stripe_payment_intent_id) DO UPDATE SET"
    " stripe_charge_id = coalesce(excluded.stripe_charge_id, payment_transactions.stripe_charge_id),"
    " balance_transaction ="
    " coalesce(excluded.balance_transaction, payment_transactions.balance_transaction),"
    " receipt_url = coalesce(excluded.receipt_url, payment_transactions.receipt_url),"
    " fee = coalesce(excluded.fee, payment_transactions.fee),"
    " net = coalesce(excluded.net, payment_transactions.net),"
    " konbini_store = coalesce(excluded.konbini_store, payment_transactions.konbini_store),"
    " webhook_event_id = coalesce(excluded.webhook_event_id, payment_transactions.webhook_event_id),"
    " webhook_received_at ="
    " coalesce(excluded.webhook_received_at, payment_transactions.webhook_received_at),"
    " updated_at = excluded.updated_at")

/* --- audit of money --- */

SQL(audit_money,
    "INSERT INTO audit (at, operation, subject, result, times, detail, user_id, payment_id, amount,"
    " idempotency_key) VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9)")

#undef PAYMENT_COLUMNS
#undef OPERATION_COLUMNS
#undef REFUND_COLUMNS
#undef INTENT_RANK
