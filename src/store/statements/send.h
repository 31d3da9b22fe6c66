/* send.h - part of all.h: read its rules there. No include guard: read many times.
 * Contacts of people (N1), and what was sent to them.
 *
 * PostgreSQL: a contact is locked before its devices, those by their tokens; a send only by its own
 * job and by the statements that forget its person. */

/* --- contacts --- */

SQL(contact_get,
    "SELECT email, language, channels, created_at, updated_at FROM contacts WHERE user_id = $1")

SQL2(contact_hold, /* two of one person wait for each other */
     "SELECT email, language, channels, created_at, updated_at FROM contacts WHERE user_id = $1",
     "SELECT email, language, channels, created_at, updated_at FROM contacts WHERE user_id = $1"
     " FOR UPDATE")

SQL(contact_put,
    "INSERT INTO contacts (user_id, email, language, channels, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (user_id) DO UPDATE SET email = excluded.email,"
    " language = excluded.language, channels = excluded.channels, updated_at = excluded.updated_at")

SQL(contact_remove, "DELETE FROM contacts WHERE user_id = $1 RETURNING 1")

SQL2(devices_of, /* by bytes, as the program sorts them: every transaction locks them in one order */
     "SELECT token FROM devices WHERE user_id = $1 ORDER BY token",
     "SELECT token FROM devices WHERE user_id = $1 ORDER BY token COLLATE \"C\"")

SQL2(devices_of_many, /* bulk */
     "SELECT user_id, token FROM devices WHERE user_id = $1 ORDER BY token",
     "SELECT user_id, token FROM devices WHERE user_id = ANY ($1::bytea[])"
     " ORDER BY token COLLATE \"C\"")

SQL2(device_put, /* bulk, sorted by token; it belongs to the user that registered it last */
     "INSERT INTO devices (token, user_id, created_at) VALUES ($1, $2, $3)"
     " ON CONFLICT (token) DO UPDATE SET user_id = excluded.user_id,"
     " created_at = excluded.created_at WHERE devices.user_id <> excluded.user_id",
     "INSERT INTO devices (token, user_id, created_at)"
     " SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[])"
     " ON CONFLICT (token) DO UPDATE SET user_id = excluded.user_id,"
     " created_at = excluded.created_at WHERE devices.user_id <> excluded.user_id")

SQL2(device_drop, /* bulk, sorted by token, of one user */
     "DELETE FROM devices WHERE token = $1 AND user_id = $2",
     "DELETE FROM devices WHERE token = ANY ($1::text[]) AND user_id = ($2::bytea[])[1]")

SQL(device_gone, "DELETE FROM devices WHERE token = $1") /* of any user */

SQL(devices_forget, "DELETE FROM devices WHERE user_id = $1")

/* --- nodes with notification channels --- */

SQL(teller_seen, "INSERT INTO tellers (node, seen_at) VALUES ($1, $2)"
                 " ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at")

SQL(tellers_forget, "DELETE FROM tellers WHERE seen_at <= $1") /* a node has a new id at each start */

/* --- what is sent --- */

SQL2(notify_read, /* bulk: the recipients. No contact: its user_id is NULL */
     "SELECT n.id, coalesce(n.user_id, p.user_id), c.user_id, c.channels, c.email, p.email"
     " FROM notifications n LEFT JOIN participants p ON p.participant_id = n.participant_id"
     " LEFT JOIN contacts c ON c.user_id = coalesce(n.user_id, p.user_id) WHERE n.id = $1",
     "SELECT n.id, coalesce(n.user_id, p.user_id), c.user_id, c.channels, c.email, p.email"
     " FROM notifications n LEFT JOIN participants p ON p.participant_id = n.participant_id"
     " LEFT JOIN contacts c ON c.user_id = coalesce(n.user_id, p.user_id)"
     " WHERE n.id = ANY ($1::bytea[])")

SQL2(send_add, /* bulk; returns the id of each that is new */
     "INSERT INTO sends (id, notification_id, channel, target, user_id, status, tries, created_at,"
     " updated_at) VALUES ($1, $2, $3, $4, $5, 'waiting', 0, $6, $6)"
     " ON CONFLICT (notification_id, channel, target) DO NOTHING RETURNING id",
     "INSERT INTO sends (id, notification_id, channel, target, user_id, status, tries, created_at,"
     " updated_at) SELECT n.id, n.notification_id, n.channel, n.target, n.user_id, 'waiting', 0,"
     " n.at, n.at FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::text[], $5::bytea[],"
     " $6::bigint[]) AS n (id, notification_id, channel, target, user_id, at)"
     " ON CONFLICT (notification_id, channel, target) DO NOTHING RETURNING id")

SQL(send_read,
    "SELECT s.notification_id, s.channel, s.target, s.status, s.tries, s.why, n.type, n.language,"
    " n.title, n.body, n.data, n.created_at, n.trace, n.user_id, n.participant_id, p.user_id,"
    " s.updated_at FROM sends s JOIN notifications n ON n.id = s.notification_id"
    " LEFT JOIN participants p ON p.participant_id = n.participant_id WHERE s.id = $1")

SQL(send_mark, /* one row, or another job sends it, or it was cancelled */
    "UPDATE sends SET status = 'sending', tries = CASE WHEN status = 'failed' THEN 1"
    " ELSE tries + 1 END, why = NULL, updated_at = $1 WHERE id = $2 AND status = $3")

SQL(send_end, "UPDATE sends SET status = $1, why = $2, updated_at = $3 WHERE id = $4 AND status = $5")

SQL(send_revive, /* retried from the dead letters after it could not be sent */
    "UPDATE sends SET status = 'waiting', tries = 0, why = NULL, updated_at = $1 WHERE id = $2"
    " AND status = 'failed'")

SQL(sends_told, /* one of this notification and channel was sent, or may have been */
    "SELECT count(*) FROM sends WHERE notification_id = $1 AND channel = $2"
    " AND status IN ('sent', 'unknown', 'sending')")

SQL2(send_skip, /* deletes the address too */
     "UPDATE sends SET status = 'skipped', target = hex(id), why = $1, updated_at = $2 WHERE id = $3"
     " AND status IN ('waiting', 'failed', 'sending')",
     "UPDATE sends SET status = 'skipped', target = upper(encode(id, 'hex')), why = $1,"
     " updated_at = $2 WHERE id = $3 AND status IN ('waiting', 'failed', 'sending')")

#define FORGET(ID)                                                                                 \
    "UPDATE sends SET target = CASE WHEN channel = 'webhook' THEN target ELSE " ID " END,"         \
    " why = CASE WHEN status = 'waiting' THEN 'the person was removed' ELSE why END,"              \
    " updated_at = CASE WHEN status = 'waiting' THEN $1 ELSE updated_at END,"                      \
    " status = CASE WHEN status = 'waiting' THEN 'skipped' ELSE status END WHERE id"
#define OF_PARTICIPANT                                                                             \
    " FROM participants p JOIN notifications n ON n.participant_id = p.participant_id"             \
    " JOIN sends s ON s.notification_id = n.id WHERE p.user_id = $2"
#define STILL_THERE(ID)                                                                            \
    " s.created_at <= $3 AND (s.status = 'waiting' OR (s.channel <> 'webhook' AND s.target <> "    \
    ID ")) ORDER BY s.id DESC LIMIT $4"
#define SOME(FROM) FORGET("hex(id)") " IN (SELECT s.id" FROM " AND" STILL_THERE("hex(s.id)") ")"   \
    " RETURNING 1"
#define PG_SOME(FROM) FORGET("upper(encode(id, 'hex'))") " = ANY (ARRAY (SELECT s.id" FROM         \
    STILL_THERE("upper(encode(s.id, 'hex'))") ")) RETURNING 1"

SQL2(sends_forget, /* some at a time, the newest first: waiting ones are not sent, addresses are deleted */
     SOME(" FROM sends s WHERE s.user_id = $2"),
     PG_SOME(" FROM sends s WHERE s.user_id = $2 AND"))

/* The same for sends that organisers caused. OFFSET 0: uses the person's index also where the planner
 * would prefer a scan of all ids. */
SQL2(sends_forget_participant,
     SOME(OF_PARTICIPANT),
     PG_SOME(" FROM (SELECT s.*" OF_PARTICIPANT " OFFSET 0) s WHERE"))

#undef FORGET
#undef OF_PARTICIPANT
#undef STILL_THERE
#undef SOME
#undef PG_SOME

SQL2(sends_moved, /* bulk: participants whose address changed; waiting sends are checked later */
     "UPDATE sends SET target = 'moved ' || hex(id) WHERE channel = 'mail' AND target = $2"
     " AND status IN ('sent', 'failed', 'unknown')"
     " AND notification_id IN (SELECT n.id FROM notifications n WHERE n.participant_id = $1)",
     "UPDATE sends SET target = 'moved ' || upper(encode(sends.id, 'hex'))"
     " FROM unnest($1::bytea[], $2::text[]) AS m (participant, email)"
     " JOIN notifications n ON n.participant_id = m.participant"
     " WHERE sends.notification_id = n.id AND sends.channel = 'mail' AND sends.target = m.email"
     " AND sends.status IN ('sent', 'failed', 'unknown')")

SQL2(sends_of_many, /* bulk: for views of what was sent */
     "SELECT notification_id, channel, target, status, tries, why, created_at, updated_at FROM sends"
     " WHERE notification_id = $1 ORDER BY channel, id",
     "SELECT notification_id, channel, target, status, tries, why, created_at, updated_at FROM sends"
     " WHERE notification_id = ANY ($1::bytea[]) ORDER BY channel, id")
