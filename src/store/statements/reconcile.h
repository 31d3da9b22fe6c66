/* reconcile.h - part of all.h: read its rules there. No include guard: read many times.
 * Backfill of missing events, unknown outcomes, and the provider's ledger (E11, P7). */

/* --- backfill --- */

SQL(heal_get,
    "SELECT done_at, coalesce(until_at, 0), coalesce(after_id, '') FROM heal_cursor"
    " WHERE provider = $1")

SQL(heal_put, /* a late backfill only repeats work */
    "INSERT INTO heal_cursor (provider, done_at, until_at, after_id, updated_at)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (provider) DO UPDATE SET done_at = excluded.done_at,"
    " until_at = excluded.until_at, after_id = excluded.after_id, updated_at = excluded.updated_at")

/* --- unknown outcomes --- */

SQL(unknown_state, /* how many, $1 at most; since when the oldest is claimed. Ids grow with time */
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM operations WHERE phase = 'unknown' LIMIT $1) x),"
    " coalesce((SELECT claimed_at FROM operations WHERE phase = 'unknown' ORDER BY id LIMIT 1), 0)")

#define UNKNOWN_COLUMNS                                                                            \
    "SELECT o.id, o.payment_id, o.kind, o.cause, o.claimed_at, o.sent_at, o.sends, o.asks,"        \
    " o.result, p.amount, p.currency, p.gateway, p.gateway_transaction_id, p.status, p.context"    \
    " FROM operations o JOIN payments p ON p.id = o.payment_id WHERE o.phase = 'unknown'"

SQL(unknown_untold, /* reported long ago or never, and old enough */
    UNKNOWN_COLUMNS " AND o.told_at <= $1 AND o.claimed_at <= $2 ORDER BY o.told_at, o.id LIMIT $3")

SQL(unknown_page, UNKNOWN_COLUMNS " AND o.id > $1 ORDER BY o.id LIMIT $2")

SQL2(unknown_told, /* bulk, sorted by id */
     "UPDATE operations SET told_at = $1 WHERE id = $2 AND phase = 'unknown'",
     "UPDATE operations SET told_at = ($1::bigint[])[1] WHERE id = ANY ($2::bytea[])"
     " AND phase = 'unknown'")

/* --- reconciliation: a day --- */

#define RUN_COLUMNS                                                                                \
    "SELECT day, time_zone, from_at, to_at, phase, place, run_id, asked_by, theirs, ours, checked," \
    " differences, healed, error, started_at, updated_at, ended_at, failures, anew"                  \
    " FROM reconciliations"

SQL(reconcile_get, RUN_COLUMNS " WHERE day = $1")
SQL(reconcile_page, RUN_COLUMNS " WHERE day < $1 ORDER BY day DESC LIMIT $2")
SQL(reconcile_last, "SELECT coalesce(max(day), '') FROM reconciliations")

#define RECONCILE_ADD                                                                              \
    "INSERT INTO reconciliations (day, time_zone, from_at, to_at, phase, place, run_id, asked_by," \
    " started_at, updated_at) VALUES ($1, $2, $3, $4, 'clear', '', $5, $6, $7, $7)"                \
    " ON CONFLICT (day) DO UPDATE SET time_zone = excluded.time_zone, from_at = excluded.from_at,"  \
    " to_at = excluded.to_at, phase = 'clear', place = '', run_id = excluded.run_id,"              \
    " asked_by = excluded.asked_by, theirs = 0, ours = 0, checked = 0, differences = 0,"           \
    " healed = 0, failures = 0, anew = 0, error = NULL, started_at = excluded.started_at,"         \
    " updated_at = excluded.updated_at, ended_at = NULL WHERE reconciliations.phase = 'done'"

SQL2(reconcile_add, RECONCILE_ADD, RECONCILE_ADD " RETURNING 1") /* no row: it is being worked on */

/* No node works on it, since its message is gone. Runs after reconcile_add, which holds the row's
 * lock: a single statement would not see the message of the lock's previous holder. */
#define RECONCILE_ABANDON                                                                          \
    "UPDATE reconciliations SET phase = 'done' WHERE day = $1 AND phase <> 'done'"                 \
    " AND NOT EXISTS (SELECT 1 FROM message m WHERE m.id = reconciliations.run_id)"

SQL2(reconcile_abandon, RECONCILE_ABANDON, RECONCILE_ABANDON " RETURNING 1")

SQL(reconcile_step, /* one row, or another node works on it: its place was changed */
    "UPDATE reconciliations SET phase = $1, place = $2, theirs = theirs + $3, ours = ours + $4,"
    " checked = checked + $5, differences = differences + $6, healed = healed + $7,"
    " anew = anew + $8, failures = 0, error = NULL, updated_at = $9, ended_at = $10"
    " WHERE day = $11 AND run_id = $12 AND phase = $13 AND place = $14")

SQL(reconcile_error, /* where it stands is not changed by it */
    "UPDATE reconciliations SET error = $1, failures = failures + 1, updated_at = $2"
    " WHERE day = $3 AND run_id = $4"
    " AND phase <> 'done'")

/* --- what it compares --- */

/* $1 of tx_bulk is what it is found by. Refunds of unmatched money never were the payment's money (D22). */
#define OUR_COLUMNS                                                                                \
    "SELECT p.id, p.gateway, coalesce(p.gateway_transaction_id, ''), p.context, p.status,"         \
    " p.amount, p.currency, coalesce(p.captured_amount, -1), coalesce(t.fee, -1),"                 \
    " (SELECT CAST(coalesce(sum(r.amount), 0) AS BIGINT) FROM refunds r WHERE r.payment_id = p.id" \
    " AND r.automatic = 0 AND r.status = 'succeeded'),"                                            \
    " (SELECT CAST(coalesce(sum(r.amount), 0) AS BIGINT) FROM refunds r WHERE r.payment_id = p.id" \
    " AND r.automatic = 0 AND r.status NOT IN ('failed', 'canceled')),"                            \
    " CASE WHEN p.open_op IS NULL THEN 0 ELSE 1 END,"                                              \
    " coalesce(t.stripe_payment_intent_id, ''), p.created_at"
#define OUR_INTENTS                                                                                \
    " FROM payment_transactions t JOIN payments p ON p.id = t.payment_id"
#define OUR_PAYMENTS                                                                               \
    " FROM payments p LEFT JOIN payment_transactions t"                                            \
    " ON t.stripe_payment_intent_id = p.gateway_transaction_id"

SQL2(books_by_intent, /* bulk */
     OUR_COLUMNS OUR_INTENTS " WHERE t.stripe_payment_intent_id = $1",
     OUR_COLUMNS OUR_INTENTS " WHERE t.stripe_payment_intent_id = ANY ($1::text[])")

SQL2(books_by_payment, /* bulk */
     OUR_COLUMNS OUR_PAYMENTS " WHERE p.id = $1",
     OUR_COLUMNS OUR_PAYMENTS " WHERE p.id = ANY ($1::bytea[])")

SQL(books_of_day, /* ids grow with time; the last column: the provider named it */
    OUR_COLUMNS ", CASE WHEN s.payment_id IS NULL THEN 0 ELSE 1 END" OUR_PAYMENTS
    " LEFT JOIN reconciliation_seen s ON s.day = $1 AND s.payment_id = p.id"
    " WHERE p.id > $2 AND p.id < $3 ORDER BY p.id LIMIT $4")

/* --- what it keeps --- */

SQL(reconcile_total_add,
    "INSERT INTO reconciliation_totals (day, gateway, side, currency, payments, captured, refunded,"
    " fees) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (day, gateway, side, currency)"
    " DO UPDATE SET payments = reconciliation_totals.payments + excluded.payments,"
    " captured = reconciliation_totals.captured + excluded.captured,"
    " refunded = reconciliation_totals.refunded + excluded.refunded,"
    " fees = reconciliation_totals.fees + excluded.fees")

SQL2(reconcile_seen_add, /* bulk */
     "INSERT INTO reconciliation_seen (day, payment_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
     "INSERT INTO reconciliation_seen (day, payment_id)"
     " SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING")

SQL2(reconcile_check_add, /* bulk */
     "INSERT INTO reconciliation_checks (day, key, gateway, payment_id, intent_id)"
     " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
     "INSERT INTO reconciliation_checks (day, key, gateway, payment_id, intent_id)"
     " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[])"
     " ON CONFLICT DO NOTHING")

SQL(reconcile_check_next,
    "SELECT key, gateway, payment_id, intent_id FROM reconciliation_checks"
    " WHERE day = $1 AND key > $2 ORDER BY key LIMIT 1")

SQL(reconcile_difference_add,
    "INSERT INTO reconciliation_differences (day, key, kind, gateway, payment_id, intent_id,"
    " currency, ours, theirs, state, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    " ON CONFLICT (day, key, kind) DO UPDATE SET ours = excluded.ours, theirs = excluded.theirs,"
    " state = excluded.state, at = excluded.at")

SQL(reconcile_totals_read,
    "SELECT gateway, side, currency, payments, captured, refunded, fees FROM reconciliation_totals"
    " WHERE day = $1 ORDER BY gateway, currency, side")

SQL(reconcile_differences_read,
    "SELECT key, kind, gateway, payment_id, intent_id, currency, ours, theirs, state, at"
    " FROM reconciliation_differences WHERE day = $1 ORDER BY state DESC, key, kind LIMIT $2")

/* --- retention: some rows at a time, a row for each --- */

#define FORGET(table, column)                                                                      \
    "DELETE FROM " table " WHERE day = $1 AND " column " IN (SELECT " column " FROM " table        \
    " WHERE day = $1 LIMIT $2)"

SQL2(reconcile_seen_forget, FORGET("reconciliation_seen", "payment_id"),
     FORGET("reconciliation_seen", "payment_id") " RETURNING 1")
SQL2(reconcile_checks_forget, FORGET("reconciliation_checks", "key"),
     FORGET("reconciliation_checks", "key") " RETURNING 1")
SQL2(reconcile_differences_forget, FORGET("reconciliation_differences", "key"),
     FORGET("reconciliation_differences", "key") " RETURNING 1")
SQL(reconcile_totals_forget, "DELETE FROM reconciliation_totals WHERE day = $1")
SQL(reconcile_oldest, /* before $1 */
    "SELECT day FROM reconciliations WHERE day < $1 AND phase = 'done' ORDER BY day LIMIT 1")
SQL(reconcile_forget, "DELETE FROM reconciliations WHERE day = $1 AND phase = 'done'")

#undef UNKNOWN_COLUMNS
#undef RUN_COLUMNS
#undef RECONCILE_ADD
#undef RECONCILE_ABANDON
#undef OUR_COLUMNS
#undef OUR_INTENTS
#undef OUR_PAYMENTS
#undef FORGET
