/* booking.h - part of all.h: read its rules there. No include guard: read many times.
 *
 * PostgreSQL: a booking is locked before a payment of it. A transaction that has locked the
 * payment only reads the booking, without a lock; so neither waits for the other. */

#define BOOKING_COLUMNS                                                                            \
    "id, user_id, amount, currency, status, version, created_at, updated_at, sender_version"

/* --- bookings --- */

SQL(booking_get, "SELECT " BOOKING_COLUMNS " FROM bookings WHERE id = $1")

SQL2(booking_lock, "SELECT " BOOKING_COLUMNS " FROM bookings WHERE id = $1",
     "SELECT " BOOKING_COLUMNS " FROM bookings WHERE id = $1 FOR UPDATE")

SQL(booking_add, /* no row: it exists by now, and can be read */
    "INSERT INTO bookings (" BOOKING_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)"
    " ON CONFLICT (id) DO NOTHING RETURNING 1")

SQL(booking_store, /* under its lock */
    "UPDATE bookings SET user_id = $1, amount = $2, currency = $3, status = $4, version = $5,"
    " sender_version = $6, updated_at = $7 WHERE id = $8")

SQL2(booking_confirm, /* bulk; not the version: that is the sender's. CANCELLED stays (B3) */
     "UPDATE bookings SET status = 'CONFIRMED', updated_at = $1 WHERE id = $2"
     " AND status = 'PENDING'",
     "UPDATE bookings SET status = 'CONFIRMED', updated_at = ($1::bigint[])[1]"
     " WHERE id = ANY ($2::bytea[]) AND status = 'PENDING'")

SQL(booking_cancel_noted,
    "SELECT 1 FROM audit WHERE payment_id = $1 AND operation = 'BOOKING_CANCELLED' LIMIT 1")

SQL(booking_payment, /* the one that holds its place or its money */
    "SELECT id, status FROM payments WHERE context = 'booking' AND subject_id = $1"
    " AND status IN ('PENDING', 'AUTHORIZED', 'CAPTURED')")

/* --- events that come in --- */

SQL(inbound_event_add, /* no row: it was received before */
    "INSERT INTO inbound_events (key, type, outcome, received_at) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (key) DO NOTHING RETURNING 1")

SQL(inbound_event_outcome, "UPDATE inbound_events SET outcome = $1 WHERE key = $2")

/* --- events that go out --- */

SQL2(domain_event_add, /* no row: this change was emitted before (E10) */
     "INSERT INTO domain_events (id, type, aggregate_id, version, dedupe, body, occurred_at)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (aggregate_id, dedupe) DO NOTHING",
     "INSERT INTO domain_events (id, type, aggregate_id, version, dedupe, body, occurred_at)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (aggregate_id, dedupe) DO NOTHING RETURNING 1")

SQL(delivery_read, /* no columns of a subscriber: it was removed */
    "SELECT e.body, s.url, s.secret, s.disabled_at FROM domain_events e"
    " LEFT JOIN subscribers s ON s.id = $1 WHERE e.id = $2")

/* --- subscribers --- */

SQL(subscribers_listening,
    "SELECT id, types FROM subscribers WHERE disabled_at IS NULL ORDER BY id LIMIT $1")

SQL(subscribers_all,
    "SELECT id, url, types, disabled_at, created_at FROM subscribers ORDER BY id LIMIT $1")

SQL(subscriber_count, "SELECT count(*) FROM subscribers")

SQL(subscriber_add,
    "INSERT INTO subscribers (id, url, types, secret, created_at) VALUES ($1, $2, $3, $4, $5)")

SQL(subscriber_remove, "DELETE FROM subscribers WHERE id = $1 RETURNING 1")

SQL(subscriber_disable,
    "UPDATE subscribers SET disabled_at = $1 WHERE id = $2 AND disabled_at IS NULL RETURNING 1")

#undef BOOKING_COLUMNS
