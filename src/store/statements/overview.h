/* overview.h - part of all.h: read its rules there. No include guard: read many times.
 * The overview (O8). Each statement is bounded: it reads a limited number of rows, however many
 * exist. */

SQL(today_payments, /* by currency: the newest $2 of those that were made since the id $1 */
    "SELECT p.currency, count(*), CAST(sum(coalesce(p.captured_amount, 0)) AS BIGINT),"
    " CAST(sum(coalesce(p.refunded_amount, 0)) AS BIGINT) FROM (SELECT currency, captured_amount,"
    " refunded_amount FROM payments WHERE id >= $1 ORDER BY id DESC LIMIT $2) p"
    " GROUP BY p.currency ORDER BY p.currency")

SQL(alerts_firing, "SELECT count(*) FROM alerts WHERE status = 'firing'")

/* By kind, of the oldest $2: all that wait or are under way; those that are due and not leased; the
 * first due time. */
SQL(messages_by_kind,
    "SELECT m.kind, count(*), CAST(sum(CASE WHEN m.ready = 1 AND m.due_at <= $1 THEN 1 ELSE 0 END)"
    " AS BIGINT), min(m.due_at) FROM (SELECT kind, ready, due_at FROM message ORDER BY seq LIMIT $2) m"
    " GROUP BY m.kind ORDER BY m.kind")

#define STANDING                                                                                   \
    "SELECT kind, due_at, last_error FROM message WHERE id >= $1 AND id <= $2 ORDER BY kind"
SQL2(messages_standing, /* those with an id of ops/standing_jobs.h */
     STANDING " LIMIT 100", STANDING " COLLATE \"C\" LIMIT 100")
#undef STANDING

SQL(qstash_queues_seen,
    "SELECT name, parallelism, paused, lag, running FROM qstash_queues WHERE name IS NOT NULL"
    " ORDER BY name LIMIT $1")
SQL(qstash_queue_seen,
    "SELECT name, parallelism, paused, lag, running FROM qstash_queues WHERE name = $1")

SQL(qstash_schedules_seen, /* behind $1; with their destinations */
    "SELECT s.id, s.cron, (SELECT c.url FROM qstash_messages c WHERE c.id = s.template), s.paused,"
    " s.next_at, s.last_at, s.error FROM qstash_schedules s WHERE s.id > $1 ORDER BY s.id LIMIT $2")
SQL(qstash_schedule_seen,
    "SELECT s.id, s.cron, (SELECT c.url FROM qstash_messages c WHERE c.id = s.template), s.paused,"
    " s.next_at, s.last_at, s.error FROM qstash_schedules s WHERE s.id = $1")

SQL(audit_act, /* a person's act that concerns no payment */
    "INSERT INTO audit (at, operation, subject, result, times, detail, user_id)"
    " VALUES ($1, $2, $3, 'success', 1, $4, $5)")
