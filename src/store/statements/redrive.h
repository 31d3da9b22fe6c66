/* redrive.h - part of all.h: read its rules there. No include guard: read many times.
 * Edited bodies, redrives and replays (Q6, O8). */

/* --- bodies that an operator wrote --- */

SQL(message_edit_add,
    "INSERT INTO message_edits (message_id, at, user_id, by_name, original, body, sha256_before,"
    " sha256_after) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")

SQL(message_edit_newest, "SELECT body FROM message_edits WHERE message_id = $1"
                         " ORDER BY seq DESC LIMIT 1")
SQL(message_edit_first, "SELECT original FROM message_edits WHERE message_id = $1"
                        " ORDER BY seq LIMIT 1")
SQL(message_edits_move, /* to the id that it has from now on */
    "UPDATE message_edits SET message_id = $1 WHERE message_id = $2")

/* Neither the message nor the one that queries the gateway for it exists: their ids differ in the last
 * byte (refetch_id), so one seek finds both. */
#define NONE_IN(table)                                                                             \
    "coalesce(substr((SELECT x.id FROM " table " x WHERE x.id > substr(m.message_id, 1, 15)"       \
    " ORDER BY x.id LIMIT 1), 1, 15), m.message_id) <> substr(m.message_id, 1, 15)"
SQL2(message_edits_expire, /* old ones of what is neither dead nor waiting */
     "DELETE FROM message_edits WHERE seq IN (SELECT m.seq FROM message_edits m WHERE m.at < $1"
     " AND " NONE_IN("dead_letters") " AND " NONE_IN("message") " ORDER BY m.at LIMIT $2)"
     " RETURNING 1",
     "DELETE FROM message_edits WHERE seq = ANY (ARRAY (SELECT m.seq FROM message_edits m"
     " WHERE m.at < $1 AND " NONE_IN("dead_letters") " AND " NONE_IN("message")
     " ORDER BY m.at LIMIT $2)) RETURNING 1")

SQL(letter_body_put, "UPDATE dead_letters SET body = $1 WHERE id = $2")

/* --- redrives --- */

#define REDRIVE_COLUMNS                                                                            \
    "id, what, state, rate, ids, kind, ref, reason, cause, payment_id, from_at, to_at, next_id,"   \
    " place_at, place_id, until_at, alone, due_at, matched, exact, done, refused, refusals,"       \
    " user_id, by_name, created_at, updated_at, ended_at"

SQL(redrive_add,
    "INSERT INTO redrives (id, what, state, rate, ids, kind, ref, reason, cause, payment_id, from_at,"
    " to_at, next_id, place_at, place_id, until_at, due_at, matched, exact, user_id, by_name,"
    " created_at, updated_at) VALUES ($1, $2, 'running', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,"
    " $13, $14, $15, $16, $17, $18, $19, $20, $16, $16)")

SQL(redrive_get, "SELECT " REDRIVE_COLUMNS " FROM redrives WHERE id = $1")
SQL2(redrive_lock, "SELECT " REDRIVE_COLUMNS " FROM redrives WHERE id = $1",
     "SELECT " REDRIVE_COLUMNS " FROM redrives WHERE id = $1 FOR UPDATE")
SQL(redrives_page, /* ids grow with the time */
    "SELECT " REDRIVE_COLUMNS " FROM redrives WHERE id < $1 ORDER BY id DESC LIMIT $2")

SQL(redrives_running, "SELECT id FROM redrives WHERE state = 'running' ORDER BY id LIMIT $1")

SQL(redrive_move, /* under its lock */
    "UPDATE redrives SET state = $1, next_id = $2, place_at = $3, place_id = $4, alone = $5,"
    " due_at = $6, matched = $7, exact = $8, done = $9, refused = $10, refusals = $11,"
    " updated_at = $12, ended_at = $13 WHERE id = $14")

SQL2(redrive_end, /* a row: it was running */
     "UPDATE redrives SET state = $1, updated_at = $2, ended_at = $2 WHERE id = $3"
     " AND state = 'running'",
     "UPDATE redrives SET state = $1, updated_at = $2, ended_at = $2 WHERE id = $3"
     " AND state = 'running' RETURNING id")

SQL(redrive_audit,
    "INSERT INTO audit (at, operation, subject, result, times, detail, user_id)"
    " VALUES ($1, $2, $3, $4, 1, $5, $6)")

/* --- events that are applied once more --- */

SQL(replay_near, "SELECT seq, received_at FROM webhook_events WHERE seq >= $1 ORDER BY seq LIMIT 1")
SQL(replay_walk,
    "SELECT seq, stripe_event_id, received_at, type FROM webhook_events WHERE seq > $1"
    " AND seq <= $2 ORDER BY seq LIMIT $3")
SQL(replay_event,
    "SELECT seq, stripe_event_id, received_at, type FROM webhook_events WHERE stripe_event_id = $1")
SQL(replay_source,
    "SELECT provider, message_id, received_at, trace, coalesce((SELECT m.body FROM message_edits m"
    " WHERE m.message_id = e.message_id ORDER BY m.seq DESC LIMIT 1), e.body), e.body"
    " FROM webhook_events e WHERE e.stripe_event_id = $1")
SQL(replay_outcome, "SELECT outcome, payment_id FROM webhook_outcomes WHERE message_id = $1")
SQL(replay_outcome_take, /* only a dead one is replaced */
    "DELETE FROM webhook_outcomes WHERE message_id = $1 AND outcome = 'dead'")

SQL(event_replay_add,
    "INSERT INTO event_replays (message_id, event_id, redrive_id, user_id, payment_id, was, at,"
    " outcome, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")

SQL2(event_replay_end, /* bulk; a row for each whose newest replay has no end, or died */
     "UPDATE event_replays SET outcome = $1, detail = $2, ended_at = $3,"
     " payment_id = coalesce(payment_id, $4) WHERE message_id = $5"
     " AND seq = (SELECT max(r.seq) FROM event_replays r WHERE r.message_id = $5)"
     " AND (outcome IS NULL OR outcome = 'dead')",
     "UPDATE event_replays SET outcome = n.outcome, detail = n.detail, ended_at = n.at,"
     " payment_id = coalesce(event_replays.payment_id, n.payment_id)"
     " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[])"
     " AS n (outcome, detail, at, payment_id, message_id)"
     " WHERE event_replays.message_id = n.message_id"
     " AND seq = (SELECT max(r.seq) FROM event_replays r WHERE r.message_id = n.message_id)"
     " AND (event_replays.outcome IS NULL OR event_replays.outcome = 'dead') RETURNING 1")

SQL2(event_replay_payment, /* bulk; the first time it was about none of ours */
     "UPDATE webhook_outcomes SET payment_id = $1, event_id = $2 WHERE message_id = $3"
     " AND payment_id IS NULL AND $1 IS NOT NULL",
     "UPDATE webhook_outcomes SET payment_id = n.payment_id, event_id = n.event_id"
     " FROM unnest($1::bytea[], $2::text[], $3::bytea[]) AS n (payment_id, event_id, message_id)"
     " WHERE webhook_outcomes.message_id = n.message_id AND webhook_outcomes.payment_id IS NULL"
     " AND n.payment_id IS NOT NULL")

SQL2(event_replays_forget, /* some at a time; what waits or is dead stays */
     "DELETE FROM event_replays WHERE seq IN (SELECT seq FROM event_replays WHERE at < $1"
     " AND outcome IS NOT NULL AND outcome <> 'dead' ORDER BY at LIMIT $2)",
     "DELETE FROM event_replays WHERE seq = ANY (ARRAY (SELECT seq FROM event_replays WHERE at < $1"
     " AND outcome IS NOT NULL AND outcome <> 'dead' ORDER BY at LIMIT $2"
     " FOR UPDATE SKIP LOCKED)) RETURNING 1")

#undef REDRIVE_COLUMNS
#undef NONE_IN
