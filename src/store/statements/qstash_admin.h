/* The administration of the QStash API: queues, URL groups, flow keys, signing keys, schedules. */

/* --- queues: their limiters are in qstash.h --- */

SQL(qstash_queue_count, "SELECT count(*) FROM qstash_queues WHERE name IS NOT NULL")
SQL(qstash_queues_all,
    "SELECT name, parallelism, paused, lag, created_at, updated_at FROM qstash_queues"
    " WHERE name IS NOT NULL ORDER BY id")
SQL(qstash_queue_show,
    "SELECT name, parallelism, paused, lag, created_at, updated_at FROM qstash_queues WHERE name = $1")
SQL(qstash_queue_set, /* under its lock */
    "UPDATE qstash_queues SET parallelism = $1, paused = $2, updated_at = $3 WHERE id = $4")
SQL(qstash_queue_unname, /* deleted: it can no longer be found, and none of its messages starts */
    "UPDATE qstash_queues SET name = NULL, paused = 1, updated_at = $1 WHERE id = $2")

/* --- URL groups --- */

SQL(qstash_members, "SELECT url, name FROM qstash_endpoints WHERE group_name = $1 ORDER BY seq")
SQL(qstash_members_remove, "DELETE FROM qstash_endpoints WHERE group_name = $1")
SQL2(qstash_member_add, /* bulk; the order of the rows is the order of the members */
     "INSERT INTO qstash_endpoints (group_name, url, name) VALUES ($1, $2, $3)",
     "INSERT INTO qstash_endpoints (group_name, url, name) SELECT n.group_name, n.url, n.name"
     " FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS n (group_name, url, name, ord)"
     " ORDER BY n.ord")
SQL(qstash_group_count, "SELECT count(*) FROM qstash_groups")
SQL(qstash_group_put,
    "INSERT INTO qstash_groups (name, created_at, updated_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at")
SQL(qstash_group_remove, "DELETE FROM qstash_groups WHERE name = $1")
SQL(qstash_groups_all, /* a row for each member */
    "SELECT g.name, g.created_at, g.updated_at, e.url, e.name FROM qstash_groups g"
    " JOIN qstash_endpoints e ON e.group_name = g.name ORDER BY g.created_at, g.name, e.seq")
SQL(qstash_group_show,
    "SELECT g.name, g.created_at, g.updated_at, e.url, e.name FROM qstash_groups g"
    " JOIN qstash_endpoints e ON e.group_name = g.name WHERE g.name = $1 ORDER BY e.seq")

/* --- flow keys: qstash_flow_read and _save stand in qstash.h --- */

SQL(qstash_flow_set, /* under its lock; what it counts is written by qstash_flow_save */
    "UPDATE qstash_flows SET parallelism = $1, rate = $2, period_s = $3, paused = $4,"
    " pinned_parallelism = $5, pinned_rate = $6 WHERE key = $7")
SQL2(qstash_flows_all, /* $1 at most; those that have $2 in their name */
     "SELECT parallelism, rate, period_s, paused, pinned_parallelism, pinned_rate, running, waiting,"
     " started, period_from, wake_at, key FROM qstash_flows WHERE instr(key, $1) > 0 ORDER BY key"
     " LIMIT $2",
     "SELECT parallelism, rate, period_s, paused, pinned_parallelism, pinned_rate, running, waiting,"
     " started, period_from, wake_at, key FROM qstash_flows WHERE strpos(key, $1) > 0 ORDER BY key"
     " LIMIT $2")

/* --- signing keys --- */

SQL(qstash_keys_read, "SELECT current, next, from_settings, rotated_at FROM qstash_keys WHERE one = 1")
SQL(qstash_keys_put, /* as the settings have them */
    "INSERT INTO qstash_keys (one, current, next, from_settings, rotated_at)"
    " VALUES (1, $1, $2, $3, NULL) ON CONFLICT (one) DO UPDATE SET current = excluded.current,"
    " next = excluded.next, from_settings = excluded.from_settings, rotated_at = NULL")
SQL(qstash_keys_rotate, "UPDATE qstash_keys SET current = $1, next = $2, rotated_at = $3 WHERE one = 1")

/* --- schedules --- */

#define SCHEDULE_COLUMNS \
    "id, version, template, cron, delay_ms, paused, created_at, next_at, last_at, last_ids, error"

SQL(qstash_schedule_count, "SELECT count(*) FROM qstash_schedules")
SQL(qstash_schedule_read, "SELECT " SCHEDULE_COLUMNS " FROM qstash_schedules WHERE id = $1")
SQL(qstash_schedules_page,
    "SELECT " SCHEDULE_COLUMNS " FROM qstash_schedules WHERE id > $1 ORDER BY id LIMIT $2")
SQL(qstash_schedule_put, /* what it overwrites keeps its age, its pause and its last firing */
    "INSERT INTO qstash_schedules (id, version, template, cron, delay_ms, created_at, next_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET version = excluded.version,"
    " template = excluded.template, cron = excluded.cron, delay_ms = excluded.delay_ms,"
    " next_at = excluded.next_at, error = NULL")
SQL(qstash_schedule_pause, "UPDATE qstash_schedules SET paused = $1 WHERE id = $2")
SQL(qstash_schedule_remove, "DELETE FROM qstash_schedules WHERE id = $1")
SQL(qstash_schedule_save, /* after a wake-up */
    "UPDATE qstash_schedules SET next_at = $1, last_at = $2, last_ids = $3, error = $4 WHERE id = $5")
SQL(qstash_template_remove, "DELETE FROM qstash_messages WHERE id = $1")
SQL2(qstash_templates, /* bulk */
     "SELECT " PARCEL_COLUMNS " FROM qstash_messages c WHERE c.id = $1",
     "SELECT " PARCEL_COLUMNS " FROM qstash_messages c WHERE c.id = ANY ($1::bytea[])")
SQL2(qstash_templates_all, /* bulk; with their bodies */
     "SELECT " PARCEL_COLUMNS ", c.body FROM qstash_messages c WHERE c.id = $1",
     "SELECT " PARCEL_COLUMNS ", c.body FROM qstash_messages c WHERE c.id = ANY ($1::bytea[])")
SQL2(qstash_last_states, /* bulk; the state of each message, by its newest log line; no row: it was deleted */
     "SELECT id, state FROM qstash_log WHERE id = $1 ORDER BY seq DESC LIMIT 1",
     "SELECT n.id, (SELECT l.state FROM qstash_log l WHERE l.id = n.id ORDER BY l.seq DESC LIMIT 1)"
     " FROM unnest($1::bytea[]) AS n (id)")
