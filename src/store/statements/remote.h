/* remote.h - part of all.h: read its rules there. No include guard: read many times.
 * Events that reach us, or leave us, through a QStash (Q4, Q5). */

SQL2(event_lock, /* held until the commit by a transaction that applies, queues or buries an event
                    outside of its message */
     "SELECT $1 WHERE 0", "SELECT pg_advisory_xact_lock(3, hashtext($1))")

SQL(event_names, "SELECT message_id, received_at FROM webhook_events WHERE stripe_event_id = $1")

SQL(event_whole, /* of Stripe's: of PayPay's only the name is taken from what came */
    "SELECT type, trace, body FROM webhook_events WHERE stripe_event_id = $1 AND provider = 'stripe'")

SQL(event_standing, /* one statement, so one snapshot; $2: the message that queries the gateway (E2) */
    "SELECT (SELECT outcome FROM webhook_outcomes WHERE message_id = $1),"
    " (SELECT count(*) FROM message WHERE id IN ($1, $2)),"
    " (SELECT count(*) FROM dead_letters WHERE id IN ($1, $2))")

SQL2(event_letter_take, /* a row for each that was there */
     "DELETE FROM dead_letters WHERE id IN ($1, $2)",
     "DELETE FROM dead_letters WHERE id IN ($1, $2) RETURNING 1")

SQL(event_letter_add,
    "INSERT INTO dead_letters (id, kind, lane, ref, body, reason, cause, attempts, added_at, died_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
