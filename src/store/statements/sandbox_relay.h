/* sandbox_relay.h - part of all.h: read its rules there. No include guard: read many times.
 * */

/* --- sandbox/relay/rows.c --- */

SQL2(relay_device_secret, "SELECT secret FROM sandbox_relay_devices WHERE name = $1", "")

SQL2(relay_device_use,
     "INSERT INTO sandbox_relay_devices (name, secret, used_at) VALUES ($1, $2, $3)"
     " ON CONFLICT (name) DO UPDATE SET used_at = excluded.used_at",
     "")

SQL2(relay_devices_forget, /* all but the $1 that were used last */
     "DELETE FROM sandbox_relay_devices WHERE used_at < (SELECT used_at FROM sandbox_relay_devices"
     " ORDER BY used_at DESC LIMIT 1 OFFSET $1)",
     "")

SQL2(relay_session_add,
     "INSERT INTO sandbox_relay_sessions (id, secret, created_at, until, last) VALUES"
     " ($1, $2, $3, $4, 0)",
     "")

SQL2(relay_sessions, /* connected sessions come last */
     "SELECT id, created_at, until, last FROM sandbox_relay_sessions ORDER BY until IS NULL, until", "")

SQL2(relay_sessions_left, /* at start: no session can be connected */
     "UPDATE sandbox_relay_sessions SET until = $1, link = NULL WHERE until IS NULL", "")

SQL2(relay_session_find, "SELECT secret, until FROM sandbox_relay_sessions WHERE id = $1", "")

SQL2(relay_session_join, "UPDATE sandbox_relay_sessions SET until = NULL, link = $1 WHERE id = $2", "")

SQL2(relay_session_leave, /* no row: it is connected again, or was deleted */
     "UPDATE sandbox_relay_sessions SET until = $1, link = NULL WHERE id = $2 AND link = $3", "")

SQL2(relay_session_drop, "DELETE FROM sandbox_relay_sessions WHERE id = $1", "")

SQL2(relay_session_count, "UPDATE sandbox_relay_sessions SET last = $1 WHERE id = $2", "")

SQL2(relay_waiting_add,
     "INSERT INTO sandbox_relay_waiting (session, seq, event) VALUES ($1, $2, $3)", "")

SQL2(relay_waiting_trim, "DELETE FROM sandbox_relay_waiting WHERE session = $1 AND seq <= $2", "")

SQL2(relay_waiting_drop, "DELETE FROM sandbox_relay_waiting WHERE session = $1", "")

SQL2(relay_waiting, /* the next event; deleted ones are skipped */
     "SELECT w.seq, e.id, e.body FROM sandbox_relay_waiting w JOIN sandbox_events e ON e.id = w.event"
     " WHERE w.session = $1 AND w.seq > $2 ORDER BY w.seq LIMIT $3",
     "")

SQL2(relay_waiting_end, "DELETE FROM sandbox_relay_waiting WHERE session = $1 AND seq = $2", "")
