/* collection.h - part of all.h: read its rules there. No include guard: read many times.
 *
 * PostgreSQL locks: collection, participant. A payment is locked before its participant, except one
 * that is being created; so a transaction that has locked a participant only reads its payments. */

#define COLLECTION_COLUMNS                                                                         \
    "collection_id, owner_id, title, description, currency, due_at, time_zone, created_at,"        \
    " updated_at, reminder_days, reminder_time, reminder_plan, reminder_rule, reminder_at"
#define LIVE "status IN ('PENDING', 'AUTHORIZED', 'CAPTURED')"
/* Its payment is the one that holds its place; where that was refunded, the one that was captured. */
#define PARTICIPANT_PAYMENT                                                                        \
    "coalesce((SELECT y.id FROM payments y WHERE y.context = 'participant'"                        \
    " AND y.subject_id = p.participant_id AND y." LIVE "),"                                        \
    " CASE WHEN p.status = 'paid' AND p.refunded_amount = p.paid_amount THEN"                      \
    " (SELECT y.id FROM payments y WHERE y.context = 'participant'"                                \
    " AND y.subject_id = p.participant_id AND y.captured_amount IS NOT NULL LIMIT 1) END)"
#define PARTICIPANT_COLUMNS                                                                        \
    "p.participant_id, p.collection_id, p.name, p.email, p.user_id, p.amount, p.status,"           \
    " p.paid_amount, p.refunded_amount, p.paid_at, p.created_at, p.updated_at, c.owner_id,"        \
    " c.title, c.currency"
#define PARTICIPANT_TABLES                                                                         \
    " FROM participants p JOIN collections c ON c.collection_id = p.collection_id"

/* --- collections --- */

SQL(collection_get, "SELECT " COLLECTION_COLUMNS " FROM collections WHERE collection_id = $1")

SQL2(collection_lock, "SELECT " COLLECTION_COLUMNS " FROM collections WHERE collection_id = $1",
     "SELECT " COLLECTION_COLUMNS " FROM collections WHERE collection_id = $1 FOR UPDATE")

SQL2(collection_hold, /* as it is, until the commit: a payment of it is being made */
     "SELECT 1 FROM collections WHERE collection_id = $1",
     "SELECT 1 FROM collections WHERE collection_id = $1 FOR SHARE")

SQL(collection_add, /* no row: it exists by now, and can be read */
    "INSERT INTO collections (collection_id, owner_id, title, description, currency, due_at,"
    " time_zone, reminder_days, reminder_time, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)"
    " ON CONFLICT (collection_id) DO NOTHING RETURNING 1")

SQL(collection_store, /* under its lock */
    "UPDATE collections SET title = $1, description = $2, currency = $3, due_at = $4,"
    " time_zone = $5, reminder_days = $6, reminder_time = $7, updated_at = $8"
    " WHERE collection_id = $9")

SQL(collections_by_owner,
    "SELECT " COLLECTION_COLUMNS " FROM collections WHERE owner_id = $1 AND collection_id < $2"
    " ORDER BY collection_id DESC LIMIT $3")

SQL(collections_all, /* of all organisers */
    "SELECT " COLLECTION_COLUMNS " FROM collections WHERE collection_id < $1"
    " ORDER BY collection_id DESC LIMIT $2")

SQL(collection_totals, /* participants, paid; due, paid, refunded, still to come */
    "SELECT count(*), CAST(coalesce(sum(CASE WHEN status = 'paid' THEN 1 ELSE 0 END), 0) AS BIGINT),"
    " CAST(coalesce(sum(amount), 0) AS BIGINT), CAST(coalesce(sum(paid_amount), 0) AS BIGINT),"
    " CAST(coalesce(sum(refunded_amount), 0) AS BIGINT),"
    " CAST(coalesce(sum(CASE WHEN status = 'unpaid' THEN amount ELSE 0 END), 0) AS BIGINT)"
    " FROM participants WHERE collection_id = $1")

SQL(collection_has_money, /* paid, or under way */
    "SELECT 1 FROM participants p WHERE p.collection_id = $1 AND (p.status = 'paid' OR EXISTS"
    " (SELECT 1 FROM payments y WHERE y.context = 'participant' AND y.subject_id = p.participant_id"
    " AND y." LIVE ")) LIMIT 1")

/* --- reminders (S2) --- */

SQL2(collection_planned, /* no row: the plan, or its next reminder, is another one by now */
     "UPDATE collections SET reminder_plan = $1, reminder_rule = $2, reminder_at = $3"
     " WHERE collection_id = $4 AND reminder_plan = $5 AND reminder_at IS $6",
     "UPDATE collections SET reminder_plan = $1, reminder_rule = $2, reminder_at = $3"
     " WHERE collection_id = $4 AND reminder_plan = $5 AND reminder_at IS NOT DISTINCT FROM $6"
     " RETURNING 1")

SQL(collections_due, /* for any rule, so that the limit bounds how many rows are read */
    "SELECT " COLLECTION_COLUMNS " FROM collections WHERE due_at IS NOT NULL"
    " AND (due_at, collection_id) > ($1, $2) ORDER BY due_at, collection_id LIMIT $3")

/* A participant whose money is authorized has nothing left to do. */
SQL(reminder_people, /* participants that owed it at $4; with the page on which it can be paid, if open */
    "SELECT p.participant_id, p.user_id, p.amount, s.url FROM participants p"
    " LEFT JOIN payments y ON y.context = 'participant' AND y.subject_id = p.participant_id"
    " AND y." LIVE " LEFT JOIN checkout_sessions s ON s.session_id = y.checkout_session_id"
    " AND s.status = 'open' AND s.expires_at > $1 WHERE p.collection_id = $2"
    " AND p.participant_id > $3 AND p.status = 'unpaid' AND p.created_at <= $4"
    " AND (y.id IS NULL OR y.status = 'PENDING') ORDER BY p.participant_id LIMIT $5")

SQL(reminder_owed, /* no row: it is not owed, or by no date. What it said, and what is so now */
    "SELECT n.dedupe, n.data, n.created_at, p.amount, c.currency, c.due_at, c.time_zone,"
    " c.reminder_rule FROM notifications n JOIN participants p ON p.participant_id = n.participant_id"
    " JOIN collections c ON c.collection_id = p.collection_id WHERE n.id = $1"
    " AND p.status = 'unpaid' AND c.due_at IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM payments y WHERE y.context = 'participant'"
    " AND y.subject_id = p.participant_id AND y.status IN ('AUTHORIZED', 'CAPTURED'))")

/* --- participants --- */

SQL(participant_get,
    "SELECT " PARTICIPANT_COLUMNS ", " PARTICIPANT_PAYMENT PARTICIPANT_TABLES
    " WHERE p.participant_id = $1")

SQL2(participant_lock, /* without its payment: that is looked for once the lock is held */
     "SELECT " PARTICIPANT_COLUMNS ", NULL" PARTICIPANT_TABLES " WHERE p.participant_id = $1",
     "SELECT " PARTICIPANT_COLUMNS ", NULL::bytea" PARTICIPANT_TABLES " WHERE p.participant_id = $1"
     " FOR UPDATE OF p")

SQL(participants_page,
    "SELECT " PARTICIPANT_COLUMNS ", " PARTICIPANT_PAYMENT PARTICIPANT_TABLES
    " WHERE p.collection_id = $1 AND p.participant_id > $2 AND ($3 = '' OR p.status = $3)"
    " ORDER BY p.participant_id LIMIT $4")

SQL2(participants_known, /* bulk, sorted; locked: no payment of them begins before the commit */
     "SELECT participant_id, collection_id, name, email, user_id, amount, status FROM participants"
     " WHERE participant_id = $1",
     "SELECT participant_id, collection_id, name, email, user_id, amount, status FROM participants"
     " WHERE participant_id = ANY ($1::bytea[]) ORDER BY participant_id FOR UPDATE")

SQL2(participants_paying, /* bulk; those with a payment under way, or with its money */
     "SELECT subject_id FROM payments WHERE context = 'participant' AND subject_id = $1"
     " AND " LIVE,
     "SELECT subject_id FROM payments WHERE context = 'participant'"
     " AND subject_id = ANY ($1::bytea[]) AND " LIVE)

SQL2(participant_put, /* bulk, sorted; a row each, but for those that another collection has */
     "INSERT INTO participants (participant_id, collection_id, name, email, user_id, amount, status,"
     " created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, 'unpaid', $7, $7)"
     " ON CONFLICT (participant_id) DO UPDATE SET name = excluded.name, email = excluded.email,"
     " user_id = excluded.user_id, amount = excluded.amount, updated_at = excluded.updated_at"
     " WHERE participants.collection_id = excluded.collection_id RETURNING participant_id",
     "INSERT INTO participants (participant_id, collection_id, name, email, user_id, amount, status,"
     " created_at, updated_at) SELECT n.id, n.collection, n.name, n.email, n.person, n.amount,"
     " 'unpaid', n.at, n.at FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::text[],"
     " $5::bytea[], $6::bigint[], $7::bigint[]) AS n (id, collection, name, email, person, amount, at)"
     " ON CONFLICT (participant_id) DO UPDATE SET name = excluded.name, email = excluded.email,"
     " user_id = excluded.user_id, amount = excluded.amount, updated_at = excluded.updated_at"
     " WHERE participants.collection_id = excluded.collection_id RETURNING participant_id")

SQL(participant_paid, /* the state of its payment: the only one that was ever captured (S1) */
    "UPDATE participants SET status = 'paid', paid_amount = $1, refunded_amount = $2,"
    " paid_at = coalesce(paid_at, $3), updated_at = $3 WHERE participant_id = $4")

/* --- sessions of the gateway's page; each is written under its payment's lock --- */

#define SESSION_COLUMNS                                                                            \
    "session_id, payment_id, status, payment_status, intent_id, customer_id, url, expires_at"

SQL(session_get, "SELECT " SESSION_COLUMNS " FROM checkout_sessions WHERE session_id = $1")

SQL(session_put,
    "INSERT INTO checkout_sessions (" SESSION_COLUMNS ", created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (session_id) DO UPDATE SET"
    " status = excluded.status, payment_status = excluded.payment_status,"
    " intent_id = excluded.intent_id, customer_id = excluded.customer_id, url = excluded.url,"
    " expires_at = excluded.expires_at, updated_at = excluded.updated_at")

SQL(transaction_lost, /* a row: this intent's try has failed, and no slip of it can be paid now */
    "SELECT 1 FROM payment_transactions WHERE stripe_payment_intent_id = $1 AND status = 'failed'"
    " AND (failure_code IN ('konbini_timeout', 'payment_intent_payment_attempt_expired')"
    " OR konbini_expires_at IS NULL OR konbini_expires_at <= $2)")

#undef COLLECTION_COLUMNS
#undef LIVE
#undef PARTICIPANT_PAYMENT
#undef PARTICIPANT_COLUMNS
#undef PARTICIPANT_TABLES
#undef SESSION_COLUMNS
