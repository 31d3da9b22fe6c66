/* retention.h - ops/retention.c: what providers sent is deleted after some time (A6), and
 * so are addresses of people. */

SQL(retention_step, /* seq grows with the time */
    "SELECT seq, received_at FROM webhook_events WHERE seq > $1 ORDER BY seq LIMIT $2")

SQL2(retention_forget, /* only events that have an outcome and no dead letter */
     "UPDATE webhook_events SET body = x'' WHERE seq > $1 AND seq <= $2 AND length(body) > 0"
     " AND EXISTS (SELECT 1 FROM webhook_outcomes o WHERE o.message_id = webhook_events.message_id)"
     " AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.ref = webhook_events.stripe_event_id)",
     "UPDATE webhook_events e SET body = ''::bytea WHERE e.seq > $1 AND e.seq <= $2"
     " AND length(e.body) > 0"
     " AND EXISTS (SELECT 1 FROM webhook_outcomes o WHERE o.message_id = e.message_id)"
     " AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.ref = e.stripe_event_id)")

SQL(retention_sends, "SELECT id, created_at FROM sends WHERE id > $1 ORDER BY id LIMIT $2")

SQL2(retention_targets, /* except those of dead letters, which an operator can still retry */
     "UPDATE sends SET target = hex(id) WHERE id > $1 AND id <= $2 AND channel <> 'webhook'"
     " AND status IN ('sent', 'failed', 'unknown') AND target <> hex(id)"
     " AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.id = sends.id)",
     "UPDATE sends SET target = upper(encode(id, 'hex')) WHERE id > $1 AND id <= $2"
     " AND channel <> 'webhook' AND status IN ('sent', 'failed', 'unknown')"
     " AND target <> upper(encode(id, 'hex'))"
     " AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.id = sends.id)")

SQL(retention_place, "UPDATE message SET body = $1 WHERE id = $2")
