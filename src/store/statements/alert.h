/* alert.h - part of all.h: read its rules there. No include guard: read many times.
 * Alerts (O4), and which of them are sent to which people.
 *
 * PostgreSQL: rows of all nodes first, in the order of the rules; then those of nodes that are gone,
 * in the order of alerts_read. */

#define ALERT_COLUMNS                                                                              \
    "SELECT name, scope, status, value, since, calm_at, told_at, seen_at, version FROM alerts"

SQL(alerts_read, ALERT_COLUMNS " ORDER BY scope, name LIMIT $1") /* the empty scope first */

SQL(alert_get, ALERT_COLUMNS " WHERE name = $1 AND scope = $2")

#undef ALERT_COLUMNS

#define ALERT_ADD                                                                                  \
    "INSERT INTO alerts (status, value, since, calm_at, told_at, seen_at, name, scope, version)"   \
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9 + 1) ON CONFLICT (name, scope) DO NOTHING"
#define ALERT_MOVE                                                                                 \
    "UPDATE alerts SET status = $1, value = $2, since = $3, calm_at = $4, told_at = $5,"           \
    " seen_at = $6, version = version + 1 WHERE name = $7 AND scope = $8 AND version = $9"

SQL2(alert_add, /* $9: 0. No row: another node added it first */
     ALERT_ADD,
     ALERT_ADD " RETURNING 1")
SQL2(alert_move, /* no row: another node moved it */
     ALERT_MOVE,
     ALERT_MOVE " RETURNING 1")
SQL2(alert_remove, /* no row: its node is alive, or another node removed it */
     "DELETE FROM alerts WHERE name = $1 AND scope = $2 AND version = $3",
     "DELETE FROM alerts WHERE name = $1 AND scope = $2 AND version = $3 RETURNING 1")

#define ALERT_ADOPT                                                                                \
    "UPDATE alerts SET scope = $1, seen_at = $2, version = version + 1"                            \
    " WHERE name = $3 AND scope = $4 AND version = $5"
SQL2(alert_adopt, /* the process that wrote it is dead: only where one node uses the database */
     ALERT_ADOPT,
     ALERT_ADOPT " RETURNING 1")
#undef ALERT_ADOPT
#undef ALERT_ADD
#undef ALERT_MOVE

/* --- how they are sent: one send each, marked and ended like sends of notifications --- */

SQL(alert_send_add,
    "INSERT INTO sends (id, notification_id, channel, target, status, tries, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, 'waiting', 0, $5, $5)")

SQL(alert_send_get, "SELECT channel, target, status FROM sends WHERE id = $1")
