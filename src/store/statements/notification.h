/* notification.h - part of all.h: read its rules there. No include guard: read many times.
 * Notifications, charges and disputes, and the history of events.
 *
 * PostgreSQL: a dispute is locked behind its payment; a notification is locked by nothing else. */

/* --- notifications --- */

/* The template is chosen by the person's language; a participant has the language of its user. */
#define IN_JAPANESE "CASE WHEN l.language = 'ja' THEN "
#define LANGUAGE_OF(user, participant, server)                                                     \
    " FROM (SELECT coalesce((SELECT c.language FROM contacts c WHERE c.user_id = coalesce(" user   \
    ", (SELECT p.user_id FROM participants p WHERE p.participant_id = " participant "))), " server \
    ") AS language) l"

/* $13 NULL: this node has notification channels, and adds the message that delivers the notification
 * itself. Else, on PostgreSQL, the statement adds the message if another node with channels was seen
 * since $13, which saves a round trip. SQLite has no other nodes. */
SQL2(notification_add, /* no row: it was emitted before (E10). recorded_at NULL: a message delivers it */
     "INSERT INTO notifications (id, dedupe, user_id, participant_id, payment_id, type, language,"
     " title, body, data, created_at, recorded_at, trace) SELECT $1, $2, $3, $4, $5, $6,"
     " l.language, " IN_JAPANESE "$7 ELSE $8 END, " IN_JAPANESE "$9 ELSE $10 END, $11, $12,"
     " CASE WHEN $13 IS NULL THEN NULL ELSE $12 END, $14"
     LANGUAGE_OF("$3", "$4", "$15") " WHERE true ON CONFLICT (dedupe) DO NOTHING",
     "WITH n AS (INSERT INTO notifications (id, dedupe, user_id, participant_id, payment_id, type,"
     " language, title, body, data, created_at, recorded_at, trace) SELECT $1::bytea, $2::text,"
     " $3::bytea, $4::bytea, $5::bytea, $6::text, l.language, " IN_JAPANESE "$7::text ELSE $8::text"
     " END, " IN_JAPANESE "$9::text ELSE $10::text END, $11::text, $12::bigint, CASE WHEN"
     " $13::bigint IS NULL OR EXISTS (SELECT 1 FROM tellers WHERE seen_at > $13::bigint) THEN NULL"
     " ELSE $12::bigint END, $14::text" LANGUAGE_OF("$3::bytea", "$4::bytea", "$15::text")
     " ON CONFLICT (dedupe) DO NOTHING RETURNING id, created_at, recorded_at), m AS (INSERT INTO"
     " message (id, kind, due_at, added_at, ready) SELECT id, 'notify', created_at, created_at, 1"
     " FROM n WHERE recorded_at IS NULL AND $13::bigint IS NOT NULL) SELECT 1 FROM n")

#undef IN_JAPANESE
#undef LANGUAGE_OF

SQL2(notification_recorded, /* bulk, sorted by id */
     "UPDATE notifications SET recorded_at = $1 WHERE id = $2 AND recorded_at IS NULL",
     "UPDATE notifications SET recorded_at = ($1::bigint[])[1] WHERE id = ANY ($2::bytea[])"
     " AND recorded_at IS NULL")

/* --- charges --- */

SQL(payment_of_charge, "SELECT payment_id, stripe_payment_intent_id FROM payment_transactions"
                       " WHERE stripe_charge_id = $1")

SQL(transaction_balance, /* what is known of an intent's balance transaction, its fee included */
    "SELECT balance_transaction, fee FROM payment_transactions"
    " WHERE stripe_payment_intent_id = $1")

SQL(transaction_receipt, /* only a charge has the address */
    "SELECT stripe_charge_id, receipt_url FROM payment_transactions"
    " WHERE stripe_payment_intent_id = $1 AND stripe_charge_id IS NOT NULL"
    " AND receipt_url IS NOT NULL")

SQL(transaction_fee, /* no row: it is known, or another charge has paid since */
    "UPDATE payment_transactions SET fee = $1, net = $2, receipt_url = coalesce(receipt_url, $3),"
    " updated_at = $4 WHERE stripe_payment_intent_id = $5 AND stripe_charge_id = $6"
    " AND fee IS NULL")

SQL(transaction_konbini, /* reported late: fills only what is not known yet */
    "UPDATE payment_transactions SET konbini_number = coalesce(konbini_number, $1),"
    " konbini_store = coalesce(konbini_store, $2),"
    " konbini_expires_at = coalesce(konbini_expires_at, $3), updated_at = $4"
    " WHERE stripe_payment_intent_id = $5")

SQL(refunds_that_stand, /* all that the gateway may have counted, refunds of unmatched money included */
    "SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM refunds WHERE payment_id = $1"
    " AND status NOT IN ('failed', 'canceled')")

/* --- disputes --- */

SQL(dispute_get, "SELECT payment_id, status, closed, lost FROM disputes WHERE dispute_id = $1")

SQL(dispute_put, /* under the payment's lock */
    "INSERT INTO disputes (dispute_id, payment_id, status, closed, lost, reason, amount, "
    "created_at,"
    " updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT (dispute_id) DO UPDATE"
    " SET status = excluded.status, closed = excluded.closed, lost = excluded.lost,"
    " reason = coalesce(excluded.reason, disputes.reason),"
    " amount = coalesce(excluded.amount, disputes.amount), updated_at = excluded.updated_at")

SQL(disputes_that_count, /* open, or lost */
    "SELECT count(*) FROM disputes WHERE payment_id = $1 AND (closed = 0 OR lost = 1)")

/* --- history --- */

/* What became of an event, in the words of the API: a dead letter has failed; an event
 * that was stored and never applied is ignored. */
#define WORD                                                                                       \
    " CASE WHEN o.outcome IS NULL THEN 'pending' WHEN o.outcome = 'dead' THEN 'failed'"            \
    " WHEN o.outcome IN ('processed', 'wrong_mode') THEN 'ignored' ELSE o.outcome END"
#define HISTORY_COLUMNS                                                                            \
    "SELECT e.seq, e.stripe_event_id, e.type, e.livemode, e.created_at, e.received_at, (" WORD ")" \
    ", CASE WHEN o.outcome = 'wrong_mode' THEN 'wrong mode' ELSE o.detail END, o.at,"              \
    " o.payment_id, coalesce(d.times, 0), d.last_at, CASE WHEN EXISTS (SELECT 1 FROM"              \
    " message_edits m WHERE m.message_id = e.message_id) THEN 1 ELSE 0 END"
#define HISTORY_FILTER                                                                             \
    " AND ($3 = '' OR e.type = $3)"                                                                \
    " AND ($4 = '' OR $4 = (" WORD ") OR ($4 = 'duplicate' AND d.times > 0))"                      \
    " ORDER BY e.seq DESC LIMIT $5"
#define DUPLICATES " LEFT JOIN webhook_duplicates d ON d.stripe_event_id = e.stripe_event_id"

SQL(events_end, "SELECT coalesce(max(seq), 0) + 1 FROM webhook_events")

SQL(events_page, /* newest first; $2 bounds the rows read, so that a reader ends soon (M3) */
    HISTORY_COLUMNS
    " FROM webhook_events e LEFT JOIN webhook_outcomes o ON o.message_id = e.message_id" DUPLICATES
    " WHERE e.seq < $1 AND e.seq >= $2" HISTORY_FILTER)

SQL(events_of_payment, HISTORY_COLUMNS
    " FROM webhook_outcomes o JOIN webhook_events e ON e.stripe_event_id = o.event_id" DUPLICATES
    " WHERE o.payment_id = $1 AND e.seq < $2" HISTORY_FILTER)

#define NOTICE_COLUMNS                                                                             \
    "SELECT id, type, user_id, participant_id, payment_id, language, title, body, data,"           \
    " created_at, recorded_at FROM notifications"

SQL(notifications_page, NOTICE_COLUMNS " WHERE id < $1 ORDER BY id DESC LIMIT $2")

SQL(notifications_of_payment,
    NOTICE_COLUMNS " WHERE payment_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3")

#undef WORD
#undef HISTORY_COLUMNS
#undef HISTORY_FILTER
#undef DUPLICATES
#undef NOTICE_COLUMNS
