/* transfer.h - part of all.h: read its rules there. No include guard: read many times.
 * Bank transfers (G4): transfers that wait for money, deposits that the bank reports, and returns.
 *
 * PostgreSQL locks: lines, payments (in the order of their ids), transfers, returns. */

#define TRANSFER_COLUMNS                                                                           \
    "payment_id, reference, amount, currency, received, state, account, expires_at, received_on,"  \
    " line_id, cancel_reason, created_at, updated_at"
#define LINE_COLUMNS                                                                               \
    "id, import_id, line, booked_on, amount, currency, text, balance, bank_id, payer, state,"      \
    " reason, payment_id, note, decided_at, created_at"
#define RETURN_COLUMNS                                                                             \
    "id, kind, payment_id, line_id, amount, currency, state, paid_on, note, created_at, updated_at"

/* --- the gateway's ledger --- */

SQL2(transfer_add, /* no row: the payment has one, or the reference is taken */
     "INSERT INTO bank_transfers (payment_id, reference, amount, currency, account, expires_at,"
     " created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING",
     "INSERT INTO bank_transfers (payment_id, reference, amount, currency, account, expires_at,"
     " created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING"
     " RETURNING 1")

SQL(transfer_get, "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE payment_id = $1")

SQL2(transfer_lock, "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE payment_id = $1",
     "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE payment_id = $1 FOR UPDATE")

SQL(transfer_of_reference, "SELECT payment_id FROM bank_transfers WHERE reference = $1")

SQL(transfer_cancel, /* no row: its money arrived, or it was cancelled before */
    "UPDATE bank_transfers SET state = 'canceled', cancel_reason = $1, updated_at = $2"
    " WHERE payment_id = $3 AND state = 'open'")

SQL(transfer_receive, /* under the payment's lock */
    "UPDATE bank_transfers SET state = $1, received = amount, received_on = $2, line_id = $3,"
    " updated_at = $4 WHERE payment_id = $5 AND received = 0")

SQL(transfer_explain, /* the bank confirms what an operator had confirmed */
    "UPDATE bank_transfers SET line_id = $1, updated_at = $2 WHERE payment_id = $3"
    " AND received > 0 AND line_id IS NULL")

SQL(transfers_by_state,
    "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE state = $1 AND payment_id < $2"
    " ORDER BY payment_id DESC LIMIT $3")
SQL(transfers_all,
    "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE payment_id < $1"
    " ORDER BY payment_id DESC LIMIT $2")
SQL(transfers_by_reference, /* one at most */
    "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE reference = $1")

/* --- payments that a line may be for --- */

SQL(transfers_of_amount, /* the newest that wait for this amount */
    "SELECT " TRANSFER_COLUMNS " FROM bank_transfers WHERE state = 'open' AND currency = $1"
    " AND amount = $2 ORDER BY payment_id DESC LIMIT $3")

/* Both look at the newest $2 and no further: a page asks this for each of its lines. CROSS JOIN:
 * SQLite would begin with all payments, or with all that are open. */

SQL(users_of_payer, /* users whose payments were paid under the same name before */
    "SELECT DISTINCT p.user_id FROM (SELECT payment_id FROM bank_lines WHERE payer = $1"
    " AND payment_id IS NOT NULL ORDER BY id DESC LIMIT $2) l CROSS JOIN payments p"
    " WHERE p.id = l.payment_id LIMIT $3")

SQL(transfers_of_user,
    "SELECT t.payment_id, t.reference, t.amount, t.currency, t.received, t.state, t.account,"
    " t.expires_at, t.received_on, t.line_id, t.cancel_reason, t.created_at, t.updated_at"
    " FROM (SELECT id FROM payments WHERE user_id = $1 ORDER BY id DESC LIMIT $2) p"
    " CROSS JOIN bank_transfers t WHERE t.payment_id = p.id AND t.state = 'open'"
    " ORDER BY t.payment_id DESC LIMIT $3")

/* --- imports --- */

SQL2(import_add, /* no row: the file is known */
     "INSERT INTO bank_imports (id, file_hash, name, account, currency, user_id, deposits, ignored,"
     " first_on, last_on, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
     " ON CONFLICT (file_hash) DO NOTHING",
     "INSERT INTO bank_imports (id, file_hash, name, account, currency, user_id, deposits, ignored,"
     " first_on, last_on, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
     " ON CONFLICT (file_hash) DO NOTHING RETURNING 1")

SQL(import_of_hash, "SELECT id, finished_at FROM bank_imports WHERE file_hash = $1")

SQL(import_count, /* the last statement of a step: two imports of one file wait for each other here */
    "UPDATE bank_imports SET lines = lines + $1, matched = matched + $2,"
    " finished_at = coalesce(finished_at, $3) WHERE id = $4")

SQL(imports_page, /* newest first; what is open as it is now */
    "SELECT i.id, i.name, i.account, i.currency, i.deposits, i.ignored, i.first_on, i.last_on,"
    " i.created_at, i.finished_at, i.user_id, i.lines,"
    " (SELECT count(*) FROM bank_lines l WHERE l.import_id = i.id AND l.state = 'open'), i.matched"
    " FROM bank_imports i WHERE i.id < $1 ORDER BY i.id DESC LIMIT $2")

/* --- lines --- */

SQL2(line_add, /* no row: it is known */
     "INSERT INTO bank_lines (id, identity, import_id, line, booked_on, amount, currency, text, balance,"
     " bank_id, payer, state, reason, created_at)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'open', $12, $13)"
     " ON CONFLICT (identity) DO NOTHING",
     "INSERT INTO bank_lines (id, identity, import_id, line, booked_on, amount, currency, text, balance,"
     " bank_id, payer, state, reason, created_at)"
     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'open', $12, $13)"
     " ON CONFLICT (identity) DO NOTHING RETURNING 1")

SQL(line_known, "SELECT import_id FROM bank_lines WHERE identity = $1") /* the import that added it */

SQL(line_get, "SELECT " LINE_COLUMNS " FROM bank_lines WHERE id = $1")

SQL2(line_lock, "SELECT " LINE_COLUMNS " FROM bank_lines WHERE id = $1",
     "SELECT " LINE_COLUMNS " FROM bank_lines WHERE id = $1 FOR UPDATE")

SQL(line_decide, /* the state is what was read */
    "UPDATE bank_lines SET state = $1, reason = $2, payment_id = $3, note = $4, user_id = $5,"
    " decided_at = $6 WHERE id = $7 AND state = $8")

SQL(lines_by_state,
    "SELECT " LINE_COLUMNS " FROM bank_lines WHERE state = $1 AND id < $2 ORDER BY id DESC LIMIT $3")
SQL(lines_all, "SELECT " LINE_COLUMNS " FROM bank_lines WHERE id < $1 ORDER BY id DESC LIMIT $2")

/* --- what goes back --- */

SQL2(return_add, /* no row: it is known */
     "INSERT INTO bank_returns (id, kind, payment_id, line_id, amount, currency, note, created_at,"
     " updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT (id) DO NOTHING",
     "INSERT INTO bank_returns (id, kind, payment_id, line_id, amount, currency, note, created_at,"
     " updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT (id) DO NOTHING"
     " RETURNING 1")

SQL(return_get, "SELECT " RETURN_COLUMNS " FROM bank_returns WHERE id = $1")

SQL2(return_lock, "SELECT " RETURN_COLUMNS " FROM bank_returns WHERE id = $1",
     "SELECT " RETURN_COLUMNS " FROM bank_returns WHERE id = $1 FOR UPDATE")

SQL(return_paid,
    "UPDATE bank_returns SET state = 'paid', paid_on = $1, note = coalesce($2, note), user_id = $3,"
    " updated_at = $4 WHERE id = $5 AND state = 'due'")

#define RETURN_PAGE                                                                                \
    "SELECT r.id, r.kind, r.payment_id, coalesce(r.line_id, t.line_id), r.amount, r.currency,"     \
    " r.state, r.paid_on, r.note, r.created_at, r.updated_at, l.text FROM bank_returns r"          \
    " LEFT JOIN bank_transfers t ON t.payment_id = r.payment_id"                                   \
    " LEFT JOIN bank_lines l ON l.id = coalesce(r.line_id, t.line_id) WHERE "
SQL(returns_by_state,
    RETURN_PAGE "r.state = $1 AND r.id < $2 ORDER BY r.id DESC LIMIT $3")
SQL(returns_all, RETURN_PAGE "r.id < $1 ORDER BY r.id DESC LIMIT $2")

/* --- audit --- */

SQL(audit_bank, /* an operator's act that concerns no payment */
    "INSERT INTO audit (at, operation, subject, result, times, detail, user_id, amount)"
    " VALUES ($1, $2, $3, 'success', 1, $4, $5, $6)")

#undef TRANSFER_COLUMNS
#undef LINE_COLUMNS
#undef RETURN_COLUMNS
#undef RETURN_PAGE
