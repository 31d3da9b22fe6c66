/* qstash_read.h - part of all.h: read its rules there. No include guard: read many times.
 * The QStash API's calls that read and clear, and its retention.
 *
 * Scans (find.c): each continues along one index where the last one ended, a page at a time; what
 * the index cannot decide is decided by qstash_facts. Columns: seq, id, then what is compared.
 *
 * "key = $1 ORDER BY seq LIMIT $2" has another plan: along the primary key past all the others, until
 * enough are found. It looks good while a table is small, or the key has many rows, and takes seconds
 * for one that has few of a million. So it is not left to the planner: SQLite is told the index, and
 * PostgreSQL is asked for an order that only the index has: (key, seq), from one end to the other. (It
 * begins where a pair says, but ends only by what the first of them says.) */

#define NEWEST "9223372036854775807"

/* --- live ones, the newest first: messages that wait behind others come before them --- */

#define LIVE "SELECT seq, id FROM qstash_live"
#define LIVE_SQLITE(index, key)                                                                    \
    LIVE " INDEXED BY " index " WHERE " key " = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
#define LIVE_POSTGRES(key)                                                                         \
    LIVE " WHERE " key " IS NOT NULL AND (" key ", seq) < ($1, $2) AND (" key ", seq) > ($1, 0)"   \
    " ORDER BY " key " DESC, seq DESC LIMIT $3"
#define LIVE_SQLITE_TWO(index, first, second)                                                      \
    LIVE " INDEXED BY " index " WHERE " first " = $1 AND " second " = $2 AND seq < $3"             \
    " ORDER BY seq DESC LIMIT $4"
#define LIVE_POSTGRES_TWO(first, second)                                                           \
    LIVE " WHERE " first " = $1 AND (" second ", seq) < ($2, $3) AND " second " >= $2"             \
    " ORDER BY " second " DESC, seq DESC LIMIT $4"

SQL(qstash_live_walk, LIVE " WHERE seq < $1 ORDER BY seq DESC LIMIT $2")
SQL2(qstash_live_of_queue, LIVE_SQLITE_TWO("qstash_live_queue", "queue_id", "place"),
     LIVE_POSTGRES_TWO("queue_id", "place"))
SQL2(qstash_live_of_flow, LIVE_SQLITE_TWO("qstash_live_flow", "flow_key", "place"),
     LIVE_POSTGRES_TWO("flow_key", "place"))
SQL2(qstash_live_of_address, LIVE_SQLITE_TWO("qstash_live_address", "host_hash", "path_hash"),
     LIVE_POSTGRES_TWO("host_hash", "path_hash"))
SQL2(qstash_live_of_path, LIVE_SQLITE("qstash_live_path", "path_hash"), LIVE_POSTGRES("path_hash"))
SQL2(qstash_live_of_schedule, LIVE_SQLITE("qstash_live_schedule", "schedule_id"), LIVE_POSTGRES("schedule_id"))
SQL2(qstash_live_of_topic, LIVE_SQLITE("qstash_live_topic", "topic"), LIVE_POSTGRES("topic"))
SQL2(qstash_live_of_caller, LIVE_SQLITE("qstash_live_caller", "caller_ip"), LIVE_POSTGRES("caller_ip"))

/* In the order of the index. SQLite finds no place within pairs by (a, seq) < (x, y) where seq is its
 * rowid: it would step over all that have x. So what is left of x, then what is behind it. */
#define HOSTS "SELECT seq, id, path_hash FROM qstash_live"
SQL2(qstash_live_of_host,
     "SELECT seq, id, path_hash FROM (SELECT * FROM (" HOSTS " INDEXED BY qstash_live_address"
     " WHERE host_hash = $1 AND path_hash = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4)"
     " UNION ALL SELECT * FROM (" HOSTS " INDEXED BY qstash_live_address"
     " WHERE host_hash = $1 AND path_hash < $2 ORDER BY path_hash DESC, seq DESC LIMIT $4))"
     " ORDER BY path_hash DESC, seq DESC LIMIT $4",
     HOSTS " WHERE (host_hash, path_hash, seq) < ($1, $2, $3) AND (host_hash, path_hash, seq) >"
     " ($1, 0, 0) ORDER BY host_hash DESC, path_hash DESC, seq DESC LIMIT $4")
#undef HOSTS

SQL(qstash_live_of_time, /* an id begins with when it was made */
    LIVE " WHERE id < $1 AND id >= $2 ORDER BY id DESC LIMIT $3")
SQL(qstash_live_of_label,
    "SELECT seq, id FROM qstash_labels WHERE label = $1 AND dead = 0 AND seq = 0"
    " AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4")

#undef LIVE
#undef LIVE_SQLITE
#undef LIVE_SQLITE_TWO
#undef LIVE_POSTGRES
#undef LIVE_POSTGRES_TWO

/* --- dead ones, the oldest first --- */

#define DEAD "SELECT seq, id, died_at, status FROM qstash_dead"
#define DEAD_SQLITE(index, key)                                                                    \
    DEAD " INDEXED BY " index " WHERE " key " = $1 AND seq > $2 ORDER BY seq LIMIT $3"
#define DEAD_POSTGRES(key)                                                                         \
    DEAD " WHERE " key " IS NOT NULL AND (" key ", seq) > ($1, $2) AND (" key ", seq) < ($1, "     \
    NEWEST ") ORDER BY " key ", seq LIMIT $3"

SQL(qstash_dead_walk, DEAD " WHERE seq > $1 ORDER BY seq LIMIT $2")
SQL(qstash_dead_of_id, DEAD " WHERE id = $1 AND seq > $2 LIMIT $3")
SQL2(qstash_dead_of_url, DEAD_SQLITE("qstash_dead_url", "url_hash"), DEAD_POSTGRES("url_hash"))
SQL2(qstash_dead_of_status, DEAD_SQLITE("qstash_dead_status", "status"), DEAD_POSTGRES("status"))
SQL2(qstash_dead_of_caller, DEAD_SQLITE("qstash_dead_caller", "caller_ip"), DEAD_POSTGRES("caller_ip"))
SQL2(qstash_dead_of_queue, DEAD_SQLITE("qstash_dead_queue", "queue"), DEAD_POSTGRES("queue"))
SQL2(qstash_dead_of_topic, DEAD_SQLITE("qstash_dead_topic", "topic"), DEAD_POSTGRES("topic"))
SQL2(qstash_dead_of_schedule, DEAD_SQLITE("qstash_dead_schedule", "schedule_id"), DEAD_POSTGRES("schedule_id"))
SQL2(qstash_dead_of_flow, DEAD_SQLITE("qstash_dead_flow", "flow_key"), DEAD_POSTGRES("flow_key"))
SQL2(qstash_dead_of_time, /* see qstash_live_of_host */
     "SELECT seq, id, died_at, status FROM (SELECT * FROM (" DEAD " INDEXED BY qstash_dead_time"
     " WHERE died_at = $1 AND seq > $2 ORDER BY seq LIMIT $3)"
     " UNION ALL SELECT * FROM (" DEAD " INDEXED BY qstash_dead_time"
     " WHERE died_at > $1 AND died_at <= $4 ORDER BY died_at, seq LIMIT $3))"
     " ORDER BY died_at, seq LIMIT $3",
     DEAD " WHERE (died_at, seq) > ($1, $2) AND died_at <= $4 ORDER BY died_at, seq LIMIT $3")
SQL(qstash_dead_of_label,
    "SELECT b.seq, b.id, (SELECT d.died_at FROM qstash_dead d WHERE d.seq = b.seq),"
    " (SELECT d.status FROM qstash_dead d WHERE d.seq = b.seq) FROM qstash_labels b"
    " WHERE b.label = $1 AND b.dead = 1 AND b.seq > $2 ORDER BY b.seq, b.id LIMIT $3")

#undef DEAD_SQLITE
#undef DEAD_POSTGRES

/* --- the log, the newest first --- */

#define LINES "SELECT seq, id, at, state FROM qstash_log"

SQL(qstash_log_walk, LINES " WHERE seq < $1 ORDER BY seq DESC LIMIT $2")
SQL2(qstash_log_of_id,
     LINES " INDEXED BY qstash_log_id WHERE id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
     LINES " WHERE (id, seq) < ($1, $2) AND (id, seq) > ($1, 0) ORDER BY id DESC, seq DESC LIMIT $3")
SQL(qstash_log_near, "SELECT seq, at FROM qstash_log WHERE seq <= $1 ORDER BY seq DESC LIMIT 1")
SQL(qstash_log_line,
    "SELECT id, at, state, next_at, status, error, response_header, response_body"
    " FROM qstash_log WHERE seq = $1")

#undef LINES
#undef NEWEST

/* --- contents --- */

#define FACTS "SELECT c.id, c.created_at, c.url, c.host, c.path, c.labels, c.queue, c.flow_key," \
    " c.schedule_id, c.topic, c.caller_ip FROM qstash_messages c WHERE c.id = "

SQL2(qstash_facts, /* bulk; the order of enum filter_key */
     FACTS "$1",
     FACTS "ANY ($1::bytea[])")

#undef FACTS

SQL(qstash_message_show, /* a schedule's template is none */
    "SELECT " PARCEL_COLUMNS ", c.body FROM qstash_messages c WHERE c.id = $1"
    " AND (SELECT s.id FROM qstash_schedules s WHERE s.template = c.id LIMIT 1) IS NULL")

/* --- dead ones, one by one --- */

SQL(qstash_dead_show, /* by id: its content, and how it died */
    "SELECT " PARCEL_COLUMNS ", c.body, (SELECT d.seq FROM qstash_dead d WHERE d.id = c.id),"
    " (SELECT d.died_at FROM qstash_dead d WHERE d.id = c.id),"
    " (SELECT d.status FROM qstash_dead d WHERE d.id = c.id),"
    " (SELECT d.response_header FROM qstash_dead d WHERE d.id = c.id),"
    " (SELECT d.response_body FROM qstash_dead d WHERE d.id = c.id)"
    " FROM qstash_messages c WHERE c.id = $1")
SQL(qstash_dead_need, /* by id: how many bytes qstash_dead_show returns, and its limiters */
    "SELECT (SELECT q.id FROM qstash_queues q WHERE q.name = c.queue), c.flow_key, coalesce(length(c.body), 0) + 2 * coalesce(length(c.header), 0)"
    " + coalesce((SELECT length(d.response_body) FROM qstash_dead d WHERE d.id = c.id), 0)"
    " FROM qstash_messages c WHERE c.id = $1")
SQL2(qstash_dead_at, /* bulk, by seq */
     DEAD " WHERE seq = $1",
     DEAD " WHERE seq = ANY ($1::bigint[])")
SQL(qstash_dead_find, DEAD " WHERE id = $1")
SQL(qstash_dead_remove, "DELETE FROM qstash_dead WHERE seq = $1")

#undef DEAD

SQL(qstash_message_release, /* of one that is no longer a dead letter, once the log has no line of it */
    "DELETE FROM qstash_messages WHERE id = $1"
    " AND (SELECT l.seq FROM qstash_log l WHERE l.id = $1 ORDER BY l.seq LIMIT 1) IS NULL")

/* --- retention --- */

SQL(qstash_forget_known, "SELECT seq FROM message WHERE id = $1")

SQL(qstash_log_oldest, "SELECT seq, at, id, state FROM qstash_log ORDER BY seq LIMIT $1")
SQL2(qstash_log_forget, /* bulk */
     "DELETE FROM qstash_log WHERE seq = $1",
     "DELETE FROM qstash_log WHERE seq = ANY ($1::bigint[])")
SQL2(qstash_messages_forget, /* bulk; those whose last log line is deleted. A dead letter keeps its content */
     "DELETE FROM qstash_messages WHERE id = $1"
     " AND (SELECT l.seq FROM qstash_live l WHERE l.id = qstash_messages.id) IS NULL"
     " AND (SELECT d.seq FROM qstash_dead d WHERE d.id = qstash_messages.id) IS NULL",
     "DELETE FROM qstash_messages c WHERE c.id = ANY ($1::bytea[])"
     " AND (SELECT l.seq FROM qstash_live l WHERE l.id = c.id) IS NULL"
     " AND (SELECT d.seq FROM qstash_dead d WHERE d.id = c.id) IS NULL")
SQL(qstash_dead_oldest,
    "SELECT id FROM qstash_dead WHERE died_at < $1 ORDER BY died_at, seq LIMIT $2")
SQL2(qstash_dedup_forget,
     "DELETE FROM qstash_dedup WHERE key IN (SELECT key FROM qstash_dedup WHERE until <= $1"
     " ORDER BY until LIMIT $2)",
     "DELETE FROM qstash_dedup WHERE key = ANY (ARRAY (SELECT key FROM qstash_dedup WHERE until <= $1"
     " ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1")
SQL(qstash_flows_idle, /* by the index of that name */
    "SELECT key FROM qstash_flows WHERE running = 0 AND waiting = 0 AND paused = 0"
    " AND pinned_parallelism = 0 AND pinned_rate = 0 AND used_at < $1 ORDER BY used_at, key LIMIT $2")
SQL(qstash_flow_forget, /* under its lock; one that is delayed counts on its limits */
    "DELETE FROM qstash_flows WHERE key = $1 AND used_at < $2 AND running = 0 AND waiting = 0"
    " AND paused = 0 AND pinned_parallelism = 0 AND pinned_rate = 0"
    " AND (SELECT l.seq FROM qstash_live l WHERE l.flow_key = $1 LIMIT 1) IS NULL")
SQL(qstash_flow_used, /* behind qstash_flow_forget: it is still there */
    "UPDATE qstash_flows SET used_at = $1 WHERE key = $2 AND used_at < $3")
