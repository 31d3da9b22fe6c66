/* operator.h - part of all.h: read its rules there. No include guard: read many times.
 * People who log in, and their sessions (A3).
 *
 * PostgreSQL: a person is locked before their sessions, so that a login and a statement that ends
 * sessions wait for each other: the second sees what the first did. */

#define OPERATOR_COLUMNS                                                                           \
    "id, name, role, password, disabled_at, created_at, updated_at, last_login_at"

/* --- people --- */

SQL(operator_add,
    "INSERT INTO operators (id, name, role, password, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $5)")

SQL(operator_count, "SELECT count(*) FROM operators")

SQL(operator_by_name, "SELECT " OPERATOR_COLUMNS " FROM operators WHERE name = $1")

SQL2(operator_hold,
     "SELECT " OPERATOR_COLUMNS " FROM operators WHERE id = $1",
     "SELECT " OPERATOR_COLUMNS " FROM operators WHERE id = $1 FOR UPDATE")

SQL(operators_page, "SELECT " OPERATOR_COLUMNS " FROM operators WHERE id > $1 ORDER BY id LIMIT $2")

SQL(operator_put,
    "UPDATE operators SET role = $1, password = $2, disabled_at = $3, updated_at = $4 WHERE id = $5")

SQL(operator_came, /* no row: the login is disabled, or the password was changed meanwhile */
    "UPDATE operators SET last_login_at = $1 WHERE id = $2 AND password = $3"
    " AND disabled_at IS NULL")

SQL(operator_audit, /* user_id: the person; all zero: the admin token; NULL: the command line */
    "INSERT INTO audit (at, operation, subject, result, times, detail, user_id)"
    " VALUES ($1, $2, $3, 'success', 1, $4, $5)")

/* --- sessions --- */

SQL(session_add,
    "INSERT INTO operator_sessions (token, operator_id, name, role, created_at, seen_at, expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $5, $6)")

SQL(session_read, /* the person's present name and role; o.id NULL: no person's, or the admin token's */
    "SELECT s.token, s.operator_id, o.id, coalesce(o.name, s.name), coalesce(o.role, s.role),"
    " s.created_at, s.seen_at, s.expires_at FROM operator_sessions s"
    " LEFT JOIN operators o ON o.id = s.operator_id"
    " WHERE s.token IN ($1, $2) AND s.expires_at > $3 AND o.disabled_at IS NULL")

SQL(session_seen,
    "UPDATE operator_sessions SET seen_at = $1, expires_at = $2 WHERE token = $3 AND seen_at < $1")

SQL(session_end, "DELETE FROM operator_sessions WHERE token = $1 RETURNING 1")

SQL(session_replace, /* one that is over already is left to sessions_prune */
    "DELETE FROM operator_sessions WHERE token IN ($1, $2) AND expires_at > $3"
    " RETURNING operator_id, name")

SQL(sessions_end, "DELETE FROM operator_sessions WHERE operator_id = $1")

SQL(sessions_end_others, "DELETE FROM operator_sessions WHERE operator_id = $1 AND token <> $2")

SQL2(sessions_prune,
     "DELETE FROM operator_sessions WHERE token IN (SELECT token FROM operator_sessions"
     " WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)",
     "DELETE FROM operator_sessions WHERE token = ANY (ARRAY (SELECT token FROM operator_sessions"
     " WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))")

SQL2(sessions_trim, /* all but the newest of one person */
     "DELETE FROM operator_sessions WHERE token IN (SELECT token FROM operator_sessions"
     " WHERE operator_id = $1 ORDER BY created_at DESC LIMIT 1000 OFFSET $2)",
     "DELETE FROM operator_sessions WHERE token = ANY (ARRAY (SELECT token FROM operator_sessions"
     " WHERE operator_id = $1 ORDER BY created_at DESC OFFSET $2 FOR UPDATE SKIP LOCKED))")

#undef OPERATOR_COLUMNS
