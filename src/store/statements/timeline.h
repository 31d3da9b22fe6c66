/* timeline.h - part of all.h: read its rules there. No include guard: read many times.
 * What one payment's timeline reads (O7), and what is stored only for it.
 *
 * PostgreSQL: rows of replays are locked in the order of their keys, after everything else. Pages are
 * sorted by times without an index of their own: by an indexed one the planner may scan a whole table to
 * find the few rows of a payment. */

/* --- tries of gateway calls --- */

#define ATTEMPT_COLUMNS                                                                            \
    "payment_id, at, operation_id, n, took_ms, ask, outcome, retried, status, detail, times"

SQL2(attempts_add, /* bulk; a unit that was run before has stored them already */
     "INSERT INTO gateway_attempts (" ATTEMPT_COLUMNS ")"
     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
     "INSERT INTO gateway_attempts (" ATTEMPT_COLUMNS ") SELECT * FROM unnest($1::bytea[],"
     " $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bigint[],"
     " $9::bigint[], $10::text[], $11::bigint[]) ON CONFLICT DO NOTHING")

SQL(attempts_of, /* the newest */
    "SELECT at, operation_id, n, took_ms, ask, outcome, retried, status, detail, times"
    " FROM gateway_attempts WHERE payment_id = $1"
    " ORDER BY at DESC, operation_id DESC, n DESC LIMIT $2")

SQL(attempts_walk, /* payments' ids grow with time */
    "SELECT payment_id, at FROM gateway_attempts WHERE payment_id > $1"
    " ORDER BY payment_id, at, operation_id, n LIMIT $2")

SQL(attempts_forget, /* of the payments that attempts_walk returned */
    "DELETE FROM gateway_attempts WHERE payment_id > $1 AND payment_id <= $2 AND at < $3")

#undef ATTEMPT_COLUMNS

/* --- replays of a key --- */

SQL2(replays_add, /* bulk, sorted by payment and operation */
     "INSERT INTO replays (payment_id, operation_id, operation, times, first_at, last_at)"
     " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (payment_id, operation_id) DO UPDATE SET"
     " times = replays.times + excluded.times, last_at = max(replays.last_at, excluded.last_at)",
     "INSERT INTO replays (payment_id, operation_id, operation, times, first_at, last_at)"
     " SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[],"
     " $6::bigint[]) ON CONFLICT (payment_id, operation_id) DO UPDATE SET times = replays.times +"
     " excluded.times, last_at = greatest(replays.last_at, excluded.last_at)")

SQL(replays_of,
    "SELECT operation_id, operation, times, first_at, last_at FROM replays WHERE payment_id = $1"
    " ORDER BY first_at DESC, operation_id DESC LIMIT $2")

SQL2(replays_forget, /* some at a time */
     "DELETE FROM replays WHERE (payment_id, operation_id) IN (SELECT payment_id, operation_id"
     " FROM replays WHERE last_at < $1 ORDER BY last_at LIMIT $2)",
     "DELETE FROM replays WHERE ctid = ANY (ARRAY (SELECT ctid FROM replays WHERE last_at < $1"
     " ORDER BY last_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1")

/* --- rows of other modules about one payment, the newest --- */

SQL(timeline_person, "SELECT name FROM operators WHERE id = $1")

SQL(timeline_operations,
    "SELECT id, kind, phase, cause, amount, user_id, idempotency_key, message_id, claimed_at, sends,"
    " asks, result, ended_at FROM operations WHERE payment_id = $1"
    " ORDER BY claimed_at DESC, id DESC LIMIT $2")

SQL(timeline_audit,
    "SELECT seq, at, operation, subject, result, times, detail, user_id, amount, idempotency_key"
    " FROM audit WHERE payment_id = $1 ORDER BY at DESC, seq DESC LIMIT $2")

SQL(timeline_changes,
    "SELECT id, type, version, occurred_at, dedupe FROM domain_events WHERE aggregate_id = $1"
    " ORDER BY version DESC, occurred_at DESC LIMIT $2")

SQL(timeline_refunds,
    "SELECT id, amount, reason, status, gateway_refund_id, failure_reason, automatic, created_at,"
    " updated_at FROM refunds WHERE payment_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2")

SQL(timeline_transactions,
    "SELECT stripe_payment_intent_id, gateway, status, amount, amount_received, fee, net,"
    " failure_code, cancel_reason, created_at, updated_at FROM payment_transactions"
    " WHERE payment_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2")

SQL(timeline_disputes,
    "SELECT dispute_id, status, closed, lost, reason, amount, created_at, updated_at FROM disputes"
    " WHERE payment_id = $1 ORDER BY created_at DESC, dispute_id DESC LIMIT $2")

#define OUTCOMES(newest)                                                                           \
    "SELECT e.stripe_event_id, e.type, e.created_at, e.received_at, o.outcome, o.detail, o.at,"    \
    " o.message_id, d.times, d.last_at FROM (SELECT message_id, outcome, detail, at, event_id"     \
    " FROM webhook_outcomes WHERE payment_id = $1 ORDER BY " newest " LIMIT $2) o"                 \
    " JOIN webhook_events e ON e.stripe_event_id = o.event_id"                                     \
    " LEFT JOIN webhook_duplicates d ON d.stripe_event_id = o.event_id"

SQL2(timeline_webhooks, /* SQLite's index has the message behind the payment */
     OUTCOMES("message_id DESC"), OUTCOMES("at DESC, message_id DESC"))

#undef OUTCOMES

SQL(timeline_event_replays,
    "SELECT p.event_id, e.type, p.at, p.ended_at, p.outcome, p.detail, p.was, p.user_id,"
    " p.redrive_id FROM event_replays p LEFT JOIN webhook_events e"
    " ON e.stripe_event_id = p.event_id WHERE p.payment_id = $1 ORDER BY p.at DESC, p.seq DESC"
    " LIMIT $2")

SQL(timeline_letters,
    "SELECT id, kind, ref, reason, attempts, added_at, died_at FROM dead_letters"
    " WHERE payment_id = $1 ORDER BY died_at DESC, id DESC LIMIT $2")

SQL(timeline_notices,
    "SELECT id, type, language, created_at, recorded_at FROM notifications WHERE payment_id = $1"
    " ORDER BY created_at DESC, id DESC LIMIT $2")

#define SENDS                                                                                      \
    "SELECT id, notification_id, channel, target, status, tries, why, created_at, updated_at"      \
    " FROM sends WHERE notification_id"

SQL2(timeline_sends, /* bulk */
     SENDS " = $1 ORDER BY created_at DESC, id DESC",
     SENDS " = ANY ($1::bytea[]) ORDER BY created_at DESC, id DESC")

#undef SENDS

SQL2(timeline_failures, /* bulk, by messages; the $2 newest of each */
     "SELECT message_id, attempt, at, error, seq FROM message_failures WHERE message_id = $1"
     " ORDER BY seq DESC LIMIT $2",
     "SELECT f.message_id, f.attempt, f.at, f.error, f.seq FROM unnest($1::bytea[]) AS m (id)"
     " CROSS JOIN LATERAL (SELECT message_id, attempt, at, error, seq FROM message_failures"
     " WHERE message_id = m.id ORDER BY seq DESC LIMIT ($2::bigint[])[1]) f"
     " ORDER BY f.seq DESC")
