/* The QStash API: its messages, where each one is, and the limiters. Statements that only its reading
 * calls use are in qstash_read.h, those of its administration in qstash_admin.h. */

/* The columns of parcel_of_row(), in this order; the body stands behind them where it is asked for. */
#define PARCEL_COLUMNS \
    "c.id, c.webhook_id, c.source_id, c.created_at, c.not_before, c.method, c.url, c.host, c.path," \
    " c.header, c.retries, c.retry_delay, c.timeout_ms, c.callbacks, c.labels, c.redact, c.queue," \
    " c.flow_key, c.flow, c.schedule_id, c.topic, c.endpoint, c.caller_ip"

SQL2(qstash_message_add, /* bulk */
     "INSERT INTO qstash_messages (id, webhook_id, source_id, created_at, not_before, method, url,"
     " host, path, header, retries, retry_delay, timeout_ms, callbacks, labels, redact, queue,"
     " flow_key, flow, schedule_id, topic, endpoint, caller_ip, body) VALUES ($1, $2, $3, $4, $5, $6,"
     " $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)",
     "INSERT INTO qstash_messages (id, webhook_id, source_id, created_at, not_before, method, url,"
     " host, path, header, retries, retry_delay, timeout_ms, callbacks, labels, redact, queue,"
     " flow_key, flow, schedule_id, topic, endpoint, caller_ip, body)"
     " SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[],"
     " $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[],"
     " $13::bigint[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[],"
     " $20::text[], $21::text[], $22::text[], $23::text[], $24::bytea[])")

SQL2(qstash_live_add, /* bulk; the order of the rows is the order of the messages */
     "INSERT INTO qstash_live (id, place, due_at, queue_id, slot, counts, flow_key, bytes, host_hash,"
     " path_hash, caller_ip, schedule_id, topic)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
     "INSERT INTO qstash_live (id, place, due_at, queue_id, slot, counts, flow_key, bytes, host_hash,"
     " path_hash, caller_ip, schedule_id, topic)"
     " SELECT n.id, n.place, n.due_at, n.queue_id, n.slot, n.counts, n.flow_key, n.bytes, n.host_hash,"
     " n.path_hash, n.caller_ip, n.schedule_id, n.topic FROM unnest($1::bytea[], $2::bigint[],"
     " $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[],"
     " $10::bigint[], $11::text[], $12::text[], $13::text[]) WITH ORDINALITY AS n (id, place, due_at,"
     " queue_id, slot, counts, flow_key, bytes, host_hash, path_hash, caller_ip, schedule_id, topic,"
     " ord) ORDER BY n.ord")

SQL2(qstash_log_add, /* bulk */
     "INSERT INTO qstash_log (at, id, state, next_at, status, error, response_header, response_body)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
     "INSERT INTO qstash_log (at, id, state, next_at, status, error, response_header, response_body)"
     " SELECT n.at, n.id, n.state, n.next_at, n.status, n.error, n.response_header, n.response_body"
     " FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],"
     " $7::text[], $8::bytea[]) WITH ORDINALITY"
     " AS n (at, id, state, next_at, status, error, response_header, response_body, ord)"
     " ORDER BY n.ord")

SQL2(qstash_label_add, /* bulk; a label may stand twice in a list */
     "INSERT INTO qstash_labels (label, dead, seq, id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
     "INSERT INTO qstash_labels (label, dead, seq, id) SELECT *"
     " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[]) ON CONFLICT DO NOTHING")

SQL(qstash_label_remove,
    "DELETE FROM qstash_labels WHERE label = $1 AND dead = $2 AND seq = $3 AND id = $4")

SQL(qstash_message_read, "SELECT " PARCEL_COLUMNS " FROM qstash_messages c WHERE c.id = $1")
SQL(qstash_message_read_all, "SELECT " PARCEL_COLUMNS ", c.body FROM qstash_messages c WHERE c.id = $1")

#define LIVE_COLUMNS "seq, place, due_at, retried, cancel, queue_id, slot, counts, flow_key, token, bytes"
SQL(qstash_live_read, "SELECT " LIVE_COLUMNS " FROM qstash_live WHERE id = $1")
SQL(qstash_live_read_to_leave,
    "SELECT " LIVE_COLUMNS ", (SELECT c.labels FROM qstash_messages c WHERE c.id = qstash_live.id)"
    " FROM qstash_live WHERE id = $1")
#undef LIVE_COLUMNS

/* Subqueries and not joins, here and below: a join may be planned for a small table and run on a
 * large one. */
SQL2(qstash_begin_many, /* bulk; plain ones, with all of their content; then retried * 2 + cancel,
                             or NULL: it has ended */
     "SELECT " PARCEL_COLUMNS ", c.body, (SELECT l.retried * 2 + l.cancel FROM qstash_live l"
     " WHERE l.id = c.id) FROM qstash_messages c WHERE c.id = $1",
     "SELECT " PARCEL_COLUMNS ", c.body, (SELECT l.retried * 2 + l.cancel FROM qstash_live l"
     " WHERE l.id = c.id) FROM qstash_messages c WHERE c.id = ANY ($1::bytea[])")

SQL(qstash_live_remove, /* no row: it has ended */
    "DELETE FROM qstash_live WHERE id = $1")
SQL(qstash_live_retried, "UPDATE qstash_live SET retried = retried + 1, token = 0 WHERE id = $1")
SQL(qstash_live_token, "UPDATE qstash_live SET token = $1 WHERE id = $2")
SQL(qstash_live_move, /* where it waits from now on */
    "UPDATE qstash_live SET place = $1, due_at = $2, token = 0 WHERE id = $3")
SQL(qstash_live_cancel, "UPDATE qstash_live SET cancel = 1 WHERE id = $1 AND cancel = 0")

SQL2(qstash_live_give_slot, /* bulk: to the queue, with a slot */
     "UPDATE qstash_live SET place = 0, slot = 1 WHERE id = $1",
     "UPDATE qstash_live SET place = 0, slot = 1 WHERE id = ANY ($1::bytea[])")
SQL2(qstash_live_give_token, /* bulk: to the queue, with a token of its flow key */
     "UPDATE qstash_live SET place = 0, token = 1 WHERE id = $1",
     "UPDATE qstash_live SET place = 0, token = 1 WHERE id = ANY ($1::bytea[])")

/* --- the two limiters; each is locked (queue_lock_lanes) before its row is read --- */

/* PostgreSQL is asked for an order that only the index has: by seq alone it would scan the primary key
 * (qstash_read.h). */
#define IN_LINE "SELECT l.id, l.due_at, l.bytes," \
    " (SELECT c.host FROM qstash_messages c WHERE c.id = l.id) FROM qstash_live l"
SQL2(qstash_queue_waiting, /* the next ones in line: place 1 waits for a slot, place 3 has one */
     IN_LINE " INDEXED BY qstash_live_queue WHERE l.queue_id = $1 AND l.place = $2 ORDER BY l.seq"
     " LIMIT $3",
     IN_LINE " WHERE l.queue_id = $1 AND (l.place, l.seq) > ($2, 0) AND l.place <= $2"
     " ORDER BY l.place, l.seq LIMIT $3")
SQL2(qstash_flow_waiting,
     IN_LINE " INDEXED BY qstash_live_flow WHERE l.flow_key = $1 AND l.place = 2 ORDER BY l.seq"
     " LIMIT $2",
     IN_LINE " WHERE l.flow_key = $1 AND (l.place, l.seq) > (2, 0) AND l.place <= 2"
     " ORDER BY l.place, l.seq LIMIT $2")
#undef IN_LINE

SQL(qstash_queue_find, "SELECT id FROM qstash_queues WHERE name = $1")
SQL(qstash_queue_make,
    "INSERT INTO qstash_queues (name, parallelism, paused, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO NOTHING")
SQL(qstash_queue_read,
    "SELECT id, name, parallelism, paused, running, lag, created_at, updated_at"
    " FROM qstash_queues WHERE id = $1")
SQL(qstash_queue_save, "UPDATE qstash_queues SET running = $1, lag = $2 WHERE id = $3")

SQL(qstash_flow_read,
    "SELECT parallelism, rate, period_s, paused, pinned_parallelism, pinned_rate, running, waiting,"
    " started, period_from, wake_at FROM qstash_flows WHERE key = $1")
SQL(qstash_flow_configure, /* the latest message's settings count, unless pinned */
    "INSERT INTO qstash_flows (key, parallelism, rate, period_s, used_at) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (key) DO UPDATE SET"
    " parallelism = CASE WHEN qstash_flows.pinned_parallelism = 1 THEN qstash_flows.parallelism"
    " ELSE excluded.parallelism END,"
    " rate = CASE WHEN qstash_flows.pinned_rate = 1 THEN qstash_flows.rate ELSE excluded.rate END,"
    " period_s = CASE WHEN qstash_flows.pinned_rate = 1 THEN qstash_flows.period_s"
    " ELSE excluded.period_s END, used_at = excluded.used_at")
SQL(qstash_flow_save,
    "UPDATE qstash_flows SET running = $1, waiting = $2, started = $3, period_from = $4, wake_at = $5"
    " WHERE key = $6")

/* --- ends --- */

SQL(qstash_dead_add,
    "INSERT INTO qstash_dead (id, died_at, retried, status, url_hash, queue, topic, schedule_id,"
    " flow_key, caller_ip, response_header, response_body)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING seq")

SQL(qstash_letter_add, /* it may exist already: the queue buried the message and then reported it */
    "INSERT INTO dead_letters (id, kind, lane, ref, body, reason, cause, attempts, added_at, died_at)"
    " VALUES ($1, $2, NULL, $3, NULL, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET"
    " ref = excluded.ref, body = NULL, reason = excluded.reason, cause = excluded.cause,"
    " attempts = excluded.attempts")

/* Under the keys' locks, so that no key is claimed between the two statements. */
SQL2(qstash_dedup_known, /* bulk */
     "SELECT key, message_id, until FROM qstash_dedup WHERE key = $1",
     "SELECT key, message_id, until FROM qstash_dedup WHERE key = ANY ($1::bytea[])")
SQL2(qstash_dedup_put, /* bulk; no key twice */
     "INSERT INTO qstash_dedup (key, message_id, until) VALUES ($1, $2, $3)"
     " ON CONFLICT (key) DO UPDATE SET message_id = excluded.message_id, until = excluded.until",
     "INSERT INTO qstash_dedup (key, message_id, until)"
     " SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[])"
     " ON CONFLICT (key) DO UPDATE SET message_id = excluded.message_id, until = excluded.until")

SQL(qstash_queue_left, /* those that wait first, so that none of them starts; no callbacks */
    "SELECT id FROM qstash_live WHERE queue_id = $1 AND cancel = 0 AND counts = 1"
    " ORDER BY place DESC, seq DESC LIMIT $2")
SQL(qstash_queue_gone, /* deleted, and nothing of it is left */
    "DELETE FROM qstash_queues WHERE id = $1 AND name IS NULL AND running = 0 AND lag = 0")
