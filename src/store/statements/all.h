/* all.h - every SQL statement, under the name that the code uses. $1..$n come in the order of
 * their first use (SQLite numbers them so); a test prepares all of them on both databases. SQL2
 * where the two must differ: first SQLite's, then PostgreSQL's. No include guard: read many times.
 *
 * "bulk" marks those for tx_bulk: SQLite runs its text once a row, PostgreSQL takes arrays. */

/* --- webhook events --- */

SQL2(webhook_event_add, /* bulk, sorted by event id; returns the message_id of each that is new */
     "INSERT INTO webhook_events (provider, stripe_event_id, type, livemode, created_at, received_at,"
     " message_id, request_id, trace, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
     " ON CONFLICT (stripe_event_id) DO NOTHING RETURNING message_id",
     "INSERT INTO webhook_events (provider, stripe_event_id, type, livemode, created_at, received_at,"
     " message_id, request_id, trace, body) SELECT * FROM unnest($1::text[], $2::text[], $3::text[],"
     " $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::text[], $9::text[], $10::bytea[])"
     " ON CONFLICT (stripe_event_id) DO NOTHING RETURNING message_id")

SQL2(webhook_event_find, /* bulk; the outcome of events that are known */
     "SELECT stripe_event_id, message_id FROM webhook_events WHERE stripe_event_id = $1",
     "SELECT stripe_event_id, message_id FROM webhook_events"
     " WHERE stripe_event_id = ANY ($1::text[])")

SQL2(webhook_duplicate_add, /* bulk, sorted by event id, each id once */
     "INSERT INTO webhook_duplicates (stripe_event_id, times, last_at) VALUES ($1, $2, $3)"
     " ON CONFLICT (stripe_event_id) DO UPDATE SET times = webhook_duplicates.times + excluded.times,"
     " last_at = excluded.last_at",
     "INSERT INTO webhook_duplicates (stripe_event_id, times, last_at)"
     " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])"
     " ON CONFLICT (stripe_event_id) DO UPDATE SET times = webhook_duplicates.times + excluded.times,"
     " last_at = excluded.last_at")

SQL2(webhook_outcome_add, /* bulk; only a dead one may be replaced. No row: the event had an effect before */
     "INSERT INTO webhook_outcomes (message_id, outcome, detail, at, payment_id, event_id)"
     " VALUES ($1, $2, $3, $4, $5, $6)"
     " ON CONFLICT (message_id) DO UPDATE SET outcome = excluded.outcome, detail = excluded.detail,"
     " at = excluded.at, payment_id = coalesce(excluded.payment_id, webhook_outcomes.payment_id),"
     " event_id = coalesce(excluded.event_id, webhook_outcomes.event_id)"
     " WHERE webhook_outcomes.outcome = 'dead'",
     "INSERT INTO webhook_outcomes (message_id, outcome, detail, at, payment_id, event_id)"
     " SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::bytea[],"
     " $6::text[])"
     " ON CONFLICT (message_id) DO UPDATE SET outcome = excluded.outcome, detail = excluded.detail,"
     " at = excluded.at, payment_id = coalesce(excluded.payment_id, webhook_outcomes.payment_id),"
     " event_id = coalesce(excluded.event_id, webhook_outcomes.event_id)"
     " WHERE webhook_outcomes.outcome = 'dead' RETURNING message_id")

/* --- the queue --- */

SQL2(lane_lock, /* bulk, sorted; a statement of its own, so that the next one sees what others committed */
     "SELECT $1 WHERE 0",
     "SELECT pg_advisory_xact_lock(lane) FROM unnest($1::bigint[]) AS lane")

SQL2(message_add, /* bulk, under the lane's lock; $8: the first of its lane within this call */
     "INSERT INTO message (id, kind, lane, due_at, added_at, ref, body, ready)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7,"
     " $8 = 1 AND NOT EXISTS (SELECT 1 FROM message WHERE lane = $3))",
     /* LIMIT 1 and not EXISTS, which may be planned as one hash over the whole table */
     "INSERT INTO message (id, kind, lane, due_at, added_at, ref, body, ready)"
     " SELECT n.id, n.kind, n.lane, n.due_at, n.added_at, n.ref, n.body, CASE WHEN n.first = 1 AND"
     " (SELECT m.seq FROM message m WHERE m.lane = n.lane ORDER BY m.seq LIMIT 1) IS NULL"
     " THEN 1 ELSE 0 END FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bigint[],"
     " $5::bigint[], $6::text[], $7::text[], $8::bigint[]) WITH ORDINALITY"
     " AS n (id, kind, lane, due_at, added_at, ref, body, first, ord) ORDER BY n.ord")

SQL(message_add_leased, /* leased from the start: no lane, attempt 1 */
    "INSERT INTO message (id, kind, due_at, added_at, ref, body, owner, ready, attempt)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 1) RETURNING seq")

SQL2(message_due, /* to be leased; on PostgreSQL the rows stay locked until the commit */
     "SELECT seq, id, kind, lane, attempt, added_at, ref, body, last_error, owner IS NOT NULL"
     " FROM message WHERE ready = 1 AND due_at <= $1 ORDER BY due_at, seq LIMIT $2",
     "SELECT seq, id, kind, lane, attempt, added_at, ref, body, last_error, owner IS NOT NULL"
     " FROM message"
     " WHERE ready = 1 AND due_at <= $1 ORDER BY due_at, seq LIMIT $2 FOR UPDATE SKIP LOCKED")

/* PostgreSQL, here and below: seq = ANY and not a join with unnest. A plan is made while the queue is
 * short and used when it is long; a join may have been planned as a scan of the whole table. */
SQL2(message_take, /* bulk; the attempt that message_due saw is part of the condition */
     "UPDATE message SET due_at = $1, owner = $2, attempt = attempt + 1"
     " WHERE seq = $3 AND attempt = $4",
     "UPDATE message SET due_at = ($1::bigint[])[1], owner = ($2::bytea[])[1], attempt = attempt + 1"
     " WHERE seq = ANY ($3::bigint[])"
     " AND attempt = ($4::bigint[])[array_position($3::bigint[], seq)]")

SQL2(message_take_one, /* due or not; no row: it is under way, waits for its lane, or is gone */
     "UPDATE message SET due_at = $1, owner = $2, attempt = attempt + 1"
     " WHERE id = $3 AND ready = 1 AND (owner IS NULL OR due_at <= $4)"
     " RETURNING seq, id, kind, lane, attempt, added_at, ref, body, last_error",
     "UPDATE message SET due_at = $1, owner = $2, attempt = attempt + 1 WHERE seq = (SELECT seq"
     " FROM message WHERE id = $3 AND ready = 1 AND (owner IS NULL OR due_at <= $4)"
     " FOR UPDATE SKIP LOCKED)"
     " RETURNING seq, id, kind, lane, attempt, added_at, ref, body, last_error")

SQL2(message_renew, /* bulk; skips a locked row, which is being finished or taken, and one without an
                       owner, which was given back for a retry meanwhile */
     "UPDATE message SET due_at = $1 WHERE seq = $2 AND id = $3 AND attempt = $4"
     " AND owner IS NOT NULL",
     "UPDATE message SET due_at = ($1::bigint[])[1] WHERE seq = ANY (ARRAY (SELECT seq FROM message"
     " WHERE seq = ANY ($2::bigint[]) AND id = ($3::bytea[])[array_position($2::bigint[], seq)]"
     " AND attempt = ($4::bigint[])[array_position($2::bigint[], seq)] AND owner IS NOT NULL"
     " FOR UPDATE SKIP LOCKED))")

SQL2(message_finish, /* bulk, sorted by seq; a row for each whose fence held */
     "DELETE FROM message WHERE seq = $1 AND id = $2 AND attempt = $3",
     "DELETE FROM message WHERE seq = ANY ($1::bigint[])"
     " AND id = ($2::bytea[])[array_position($1::bigint[], seq)]"
     " AND attempt = ($3::bigint[])[array_position($1::bigint[], seq)] RETURNING seq")

SQL2(lane_promote, /* bulk, under the lane's lock; returns when each new head is due, or (SQLite) that
                      there is one */
     "UPDATE message SET ready = 1 WHERE ready = 0"
     " AND seq = (SELECT min(seq) FROM message WHERE lane = $1)",
     "UPDATE message SET ready = 1 WHERE ready = 0 AND seq = ANY (ARRAY (SELECT (SELECT x.seq"
     " FROM message x WHERE x.lane = n.lane ORDER BY x.seq LIMIT 1)"
     " FROM unnest($1::bigint[]) AS n (lane))) RETURNING due_at")

SQL(message_retry, /* one row, or the fence did not hold */
    "UPDATE message SET due_at = $1, owner = NULL, last_error = $2"
    " WHERE seq = $3 AND id = $4 AND attempt = $5")

SQL2(message_put_off, /* the same without a failure; bulk, sorted by seq; a row for each whose fence
                         held */
     "UPDATE message SET due_at = $1, owner = NULL, last_error = NULL"
     " WHERE seq = $2 AND id = $3 AND attempt = $4",
     "UPDATE message SET due_at = ($1::bigint[])[array_position($2::bigint[], seq)], owner = NULL,"
     " last_error = NULL WHERE seq = ANY ($2::bigint[])"
     " AND id = ($3::bytea[])[array_position($2::bigint[], seq)]"
     " AND attempt = ($4::bigint[])[array_position($2::bigint[], seq)] RETURNING seq")

SQL(message_cancel, /* no row: it is under way, in a lane, or has ended */
    "DELETE FROM message WHERE id = $1 AND lane IS NULL AND (owner IS NULL OR due_at <= $2)"
    " RETURNING seq")

SQL(message_hasten, /* no row: it is due as soon anyway, is under way, or has ended */
    "UPDATE message SET due_at = $1 WHERE id = $2 AND ready = 1 AND due_at > $1 AND owner IS NULL"
    " RETURNING seq")

SQL(message_bury, /* then message_finish */
    "INSERT INTO dead_letters (id, kind, lane, ref, body, reason, cause, attempts, added_at, died_at,"
    " seq) SELECT id, kind, lane, ref, body, CAST($1 AS TEXT), CAST($2 AS TEXT), attempt, added_at,"
    " CAST($3 AS BIGINT), seq FROM message WHERE seq = $4 AND id = $5 AND attempt = $6"
    " ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, cause = excluded.cause,"
    " attempts = excluded.attempts, died_at = excluded.died_at, seq = excluded.seq")

SQL(dead_letter_add, /* of something that never was a message, since it cannot be run */
    "INSERT INTO dead_letters (id, kind, lane, ref, body, reason, cause, attempts, added_at, died_at)"
    " VALUES ($1, $2, NULL, $3, $4, $5, $6, 0, $7, $8)")

SQL(message_standing, /* does it exist, and does a dead letter of it */
    "SELECT (SELECT count(*) FROM message WHERE id = $1),"
    " (SELECT count(*) FROM dead_letters WHERE id = $1)")

SQL(message_release_all, /* SQLite at start: the owner of every lease is dead, except $2, this process */
    "UPDATE message SET due_at = $1 WHERE ready = 1 AND due_at > $1 AND owner <> $2")

SQL(message_next_due, /* skips leases of this node, which it renews */
    "SELECT due_at FROM message WHERE ready = 1 AND (owner IS NULL OR owner <> $1)"
    " ORDER BY due_at, seq LIMIT 1")

SQL2(message_count, /* PostgreSQL: from 100,000 on what the last ANALYZE found; a scan of millions of
                       rows would exceed the statement timeout */
     "SELECT count(*) FROM message",
     "SELECT CASE WHEN n < 100000 THEN n ELSE greatest(n, (SELECT reltuples::bigint FROM pg_class"
     " WHERE oid = 'message'::regclass)) END"
     " FROM (SELECT count(*) AS n FROM (SELECT 1 FROM message LIMIT 100000) x) y")

SQL(queue_oldest_ready, /* the message that waits longest for its turn */
    "SELECT due_at FROM message WHERE ready = 1 AND due_at <= $1 ORDER BY due_at, seq LIMIT 1")

/* A dead letter of an alert is not counted, as in alert_dead. */
SQL(dead_count, /* $1 at most: /readyz and /metrics ask often */
    "SELECT count(*) FROM (SELECT 1 FROM dead_letters WHERE kind <> 'alert' LIMIT $1) x")

SQL(dead_oldest,
    "SELECT died_at FROM dead_letters WHERE kind <> 'alert' ORDER BY died_at, id LIMIT 1")

/* --- audit, health --- */

SQL(audit_add,
    "INSERT INTO audit (at, operation, subject, result, times, detail)"
    " VALUES ($1, $2, $3, $4, $5, $6)")

SQL(node_seen,
    "INSERT INTO node_seen (node, at) VALUES ($1, $2)"
    " ON CONFLICT (node) DO UPDATE SET at = excluded.at")

SQL2(node_seen_forget, /* a node has a new name at each start */
     "DELETE FROM node_seen WHERE at < $1",
     "DELETE FROM node_seen WHERE node = ANY (ARRAY (SELECT node FROM node_seen WHERE at < $1"
     " FOR UPDATE SKIP LOCKED))")

#include "store/statements/dead_letter.h" /* dlq/: failed attempts, dead letters */
#include "store/statements/redrive.h" /* dlq/: edited bodies, redrives, replays */

#include "store/statements/payments.h" /* payment/: payments, operations, keys, refunds */

#include "store/statements/search.h" /* payment/search/: payments that an operator searches */

#include "store/statements/booking.h" /* booking/, outbox/: bookings, domain events, subscribers */

#include "store/statements/campaign.h" /* campaign/: campaigns, layers, positions, draws */

#include "store/statements/purchase.h" /* campaign/: purchases, users */

#include "store/statements/collection.h" /* collection/: collections, participants, sessions */

#include "store/statements/notification.h" /* notify/: notifications, disputes */

#include "store/statements/send.h" /* notify/, api/: contacts, what is sent to them */

#include "store/statements/transfer.h" /* gateway/ and transfer/: bank transfers */

#include "store/statements/qstash.h" /* qstash/: messages and their limiters */
#include "store/statements/qstash_read.h" /* qstash/: the calls that read and clear */
#include "store/statements/qstash_admin.h" /* qstash/: administration, schedules */

#include "store/statements/remote.h" /* webhook/: events that come or go through a QStash */

#include "store/statements/reconcile.h" /* reconcile/, webhook/: backfill, unknown outcomes, reconciliation */

#include "store/statements/retention.h" /* ops/: what is deleted after some time */

#include "store/statements/timeline.h" /* timeline/: a payment's timeline */

#include "store/statements/audit.h" /* audit/: the log's chain, and reading it */

#include "store/statements/alert.h" /* ops/ and notify/: alerts, and how they are sent */

#include "store/statements/operator.h" /* auth/: people who log in, and their sessions */

#include "store/statements/overview.h" /* ops/, qstash/, api/: the overview */

#include "store/statements/sandbox.h" /* sandbox/: only in the sandbox's own SQLite file */
#include "store/statements/sandbox_events.h"
#include "store/statements/sandbox_relay.h" /* sandbox/: command lines that listen for webhooks */
#include "store/statements/sandbox_faults.h"
#include "store/statements/sandbox_paypay.h" /* sandbox/: the same for its PayPay */
