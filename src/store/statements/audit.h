/* audit.h - audit/: the log's chain, and reading the log (O6). */

#define AUDIT_COLUMNS                                                                              \
    "a.seq, a.at, a.operation, a.subject, a.result, a.times, a.detail, a.user_id, a.payment_id,"   \
    " a.amount, a.idempotency_key"

/* --- sealing --- */

SQL2(audit_marks, /* the last row; xmin and xmax of the snapshot (SQLite: 0) */
     "SELECT coalesce(max(seq), 0), 0, 0 FROM audit",
     "SELECT coalesce((SELECT max(seq) FROM audit), 0),"
     " pg_snapshot_xmin(pg_current_snapshot())::text::bigint,"
     " pg_snapshot_xmax(pg_current_snapshot())::text::bigint")

SQL(audit_window, /* the end of the next $2 rows; NULL: there are none */
    "SELECT max(w.seq) FROM (SELECT seq FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2) AS w")

/* PostgreSQL: only rows before which no older transaction can still add one (M14). A visible row with
 * a transaction id above the snapshot comes from the cluster of which this is a restored dump: its
 * transaction has ended. */
SQL2(audit_unsealed, /* of one window; no row: all of it is sealed */
     "SELECT " AUDIT_COLUMNS " FROM audit a WHERE a.seq > $1 AND a.seq <= $2 AND NOT EXISTS (SELECT"
     " 1 FROM audit_seals s WHERE s.audit_seq = a.seq) ORDER BY a.seq LIMIT $3",
     /* a subquery with LIMIT and not EXISTS, which may be planned as one hash over all seals */
     "SELECT " AUDIT_COLUMNS " FROM audit a WHERE a.seq > $1 AND a.seq <= $2 AND (SELECT s.n FROM"
     " audit_seals s WHERE s.audit_seq = a.seq LIMIT 1) IS NULL"
     " AND (a.xid < (SELECT pg_snapshot_xmin(pg_current_snapshot()))"
     " OR a.xid >= (SELECT pg_snapshot_xmax(pg_current_snapshot()))) ORDER BY a.seq LIMIT $3")

SQL2(audit_waiting, /* of the last $2 rows up to $1: those that audit_unsealed skips */
     "SELECT 0 * $1 * $2",
     "SELECT count(*) FROM (SELECT xid FROM audit WHERE seq <= $1 ORDER BY seq DESC LIMIT $2) AS w"
     " WHERE w.xid >= (SELECT pg_snapshot_xmin(pg_current_snapshot()))"
     " AND w.xid < (SELECT pg_snapshot_xmax(pg_current_snapshot()))")

SQL2(audit_chain_hold,
     "SELECT n, hash, low, place, sure, mark_seq, mark_xid, mark_at FROM audit_chain WHERE id = 1",
     "SELECT n, hash, low, place, sure, mark_seq, mark_xid, mark_at FROM audit_chain WHERE id = 1"
     " FOR UPDATE")

SQL(audit_chain_get,
    "SELECT n, hash, low, place, sure, mark_seq, mark_xid, mark_at FROM audit_chain WHERE id = 1")

SQL(audit_chain_put, /* no row: another node changed it first */
    "UPDATE audit_chain SET n = $1, hash = $2, low = $3, place = $4, sure = $5, mark_seq = $6,"
    " mark_xid = $7, mark_at = $8 WHERE id = 1 AND n = $9 AND place = $10")

SQL(audit_chain_make, /* the chain's row was deleted */
    "INSERT INTO audit_chain (id, n, hash, low, place, sure, mark_seq, mark_xid, mark_at)"
    " VALUES (1, $1, $2, 0, 0, 0, 0, 0, 0)")

SQL(audit_seal_last, "SELECT n, hash FROM audit_seals ORDER BY n DESC LIMIT 1")

SQL2(audit_seal_add, /* bulk */
     "INSERT INTO audit_seals (n, audit_seq, hash) VALUES ($1, $2, $3)",
     "INSERT INTO audit_seals (n, audit_seq, hash)"
     " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])")

/* --- verifying --- */

SQL2(audit_sealed, /* in the chain's order; without columns of the row where that is gone */
     "SELECT " AUDIT_COLUMNS ", s.n, s.audit_seq, s.hash FROM audit_seals s"
     " LEFT JOIN audit a ON a.seq = s.audit_seq WHERE s.n > $1 ORDER BY s.n LIMIT $2",
     /* LATERAL with LIMIT: a join may be planned as one scan of all rows */
     "SELECT " AUDIT_COLUMNS ", s.n, s.audit_seq, s.hash FROM (SELECT n, audit_seq, hash FROM"
     " audit_seals WHERE n > $1 ORDER BY n LIMIT $2) AS s LEFT JOIN LATERAL (SELECT * FROM audit r"
     " WHERE r.seq = s.audit_seq LIMIT 1) AS a ON true ORDER BY s.n")

SQL(audit_rows_sealed, /* each row, and its seal where it has one */
    "SELECT a.seq, (SELECT s.n FROM audit_seals s WHERE s.audit_seq = a.seq LIMIT 1) FROM audit a"
    " WHERE a.seq > $1 ORDER BY a.seq LIMIT $2")

/* --- reading --- */

#define AUDIT_LOOK                                                                                 \
    "SELECT " AUDIT_COLUMNS ", (SELECT s.n FROM audit_seals s WHERE s.audit_seq = a.seq),"         \
    " (SELECT o.name FROM operators o WHERE o.id = a.user_id) FROM audit a WHERE "
#define AUDIT_NEWEST " ORDER BY a.at DESC, a.seq DESC LIMIT "

SQL(audit_by_time,
    AUDIT_LOOK "(a.at, a.seq) < ($1, $2) AND a.at >= $3" AUDIT_NEWEST "$4")
SQL(audit_time_window, /* the row after the next $4; no row: there are no more */
    "SELECT at, seq FROM audit WHERE (at, seq) < ($1, $2) AND at >= $3"
    " ORDER BY at DESC, seq DESC LIMIT 1 OFFSET $4")
SQL(audit_by_user, /* of one window: there is no index by user */
    AUDIT_LOOK "a.user_id = $1 AND (a.at, a.seq) < ($2, $3) AND (a.at, a.seq) >= ($4, $5)"
               AUDIT_NEWEST "$6")
/* PostgreSQL, for values that many rows share: written so that only the value's own index has this
 * order. Otherwise the planner may choose the index by time, for a common operation, and scan the
 * whole log for a rare one. */
SQL2(audit_by_operation,
     AUDIT_LOOK "a.operation = $1 AND (a.at, a.seq) < ($2, $3) AND a.at >= $4" AUDIT_NEWEST "$5",
     AUDIT_LOOK "(a.operation, a.at, a.seq) < ($1, $2, $3) AND (a.operation, a.at) >= ($1, $4)"
                " ORDER BY a.operation DESC, a.at DESC, a.seq DESC LIMIT $5")
SQL(audit_by_payment,
    AUDIT_LOOK "a.payment_id = $1 AND (a.at, a.seq) < ($2, $3) AND a.at >= $4" AUDIT_NEWEST "$5")
SQL(audit_by_subject,
    AUDIT_LOOK "a.subject = $1 AND (a.at, a.seq) < ($2, $3) AND a.at >= $4" AUDIT_NEWEST "$5")
SQL2(audit_by_failure,
     AUDIT_LOOK "a.result <> 'success' AND a.result = $1 AND (a.at, a.seq) < ($2, $3)"
                " AND a.at >= $4" AUDIT_NEWEST "$5",
     AUDIT_LOOK "a.result <> 'success' AND (a.result, a.at, a.seq) < ($1, $2, $3)"
                " AND (a.result, a.at) >= ($1, $4)"
                " ORDER BY a.result DESC, a.at DESC, a.seq DESC LIMIT $5")

SQL(audit_rows_look, AUDIT_LOOK "a.seq > $1 ORDER BY a.seq LIMIT $2") /* for the export */

#undef AUDIT_COLUMNS
#undef AUDIT_LOOK
#undef AUDIT_NEWEST
