/* statements.h - every SQL statement, under the name that the code uses. $1..$n come in the order of
 * their first use (SQLite numbers them so); a test prepares all of them on both databases. SQL2
 * where the two must differ: first SQLite's, then PostgreSQL's. No include guard: read many times. */

/* --- webhook events --- */

SQL2(webhook_event_add, /* tx_bulk; returns the message_id of each event that is new */
     "INSERT INTO webhook_events (provider, stripe_event_id, type, livemode, created_at, received_at,"
     " message_id, request_id, trace, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
     " ON CONFLICT (stripe_event_id) DO NOTHING RETURNING message_id",
     "INSERT INTO webhook_events (provider, stripe_event_id, type, livemode, created_at, received_at,"
     " message_id, request_id, trace, body) SELECT * FROM unnest($1::text[], $2::text[], $3::text[],"
     " $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::text[], $9::text[], $10::bytea[])"
     " ON CONFLICT (stripe_event_id) DO NOTHING RETURNING message_id")
