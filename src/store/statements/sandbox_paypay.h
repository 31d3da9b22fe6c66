/* sandbox_paypay.h - part of all.h: read its rules there. No include guard: read many times. */

/* --- sandbox/paypay/rows.c: all columns in the order of that file. A merchant's id that another row
 * has is a CONFLICT. --- */

SQL2(sandbox_paypay_code_write,
     "INSERT INTO sandbox_paypay_codes (id, merchant_payment_id, created_at, expires_at, status,"
     " amount, is_authorization, authorized_until, requested_at, description, redirect_url,"
     " redirect_type, items, metadata, store_id, terminal_id) VALUES ($1, $2, $3, $4, $5, $6, $7,"
     " $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (id) DO UPDATE SET status ="
     " excluded.status",
     "")

SQL2(sandbox_paypay_code_read,
     "SELECT id, merchant_payment_id, created_at, expires_at, status, amount, is_authorization,"
     " authorized_until, requested_at, description, redirect_url, redirect_type, items, metadata,"
     " store_id, terminal_id FROM sandbox_paypay_codes WHERE id = $1",
     "")

SQL2(sandbox_paypay_code_of,
     "SELECT id, merchant_payment_id, created_at, expires_at, status, amount, is_authorization,"
     " authorized_until, requested_at, description, redirect_url, redirect_type, items, metadata,"
     " store_id, terminal_id FROM sandbox_paypay_codes WHERE merchant_payment_id = $1",
     "")

SQL2(sandbox_paypay_payment_write,
     "INSERT INTO sandbox_paypay_payments (id, merchant_payment_id, code, user_authorization,"
     " status, is_authorization, amount, captured, refunded, requested_at, accepted_at,"
     " authorized_at, completed_at, expires_at, canceled_at, store_id, terminal_id, receipt,"
     " description, items, metadata, revert_id, revert_requested_at, revert_reason) VALUES ($1, $2,"
     " $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,"
     " $23, $24) ON CONFLICT (id) DO UPDATE SET status = excluded.status, captured ="
     " excluded.captured, refunded = excluded.refunded, completed_at = excluded.completed_at,"
     " canceled_at = excluded.canceled_at, revert_id = excluded.revert_id, revert_requested_at ="
     " excluded.revert_requested_at, revert_reason = excluded.revert_reason",
     "")

SQL2(sandbox_paypay_payment_read,
     "SELECT id, merchant_payment_id, code, user_authorization, status, is_authorization, amount,"
     " captured, refunded, requested_at, accepted_at, authorized_at, completed_at, expires_at,"
     " canceled_at, store_id, terminal_id, receipt, description, items, metadata, revert_id,"
     " revert_requested_at, revert_reason FROM sandbox_paypay_payments WHERE id = $1",
     "")

SQL2(sandbox_paypay_payment_of,
     "SELECT id, merchant_payment_id, code, user_authorization, status, is_authorization, amount,"
     " captured, refunded, requested_at, accepted_at, authorized_at, completed_at, expires_at,"
     " canceled_at, store_id, terminal_id, receipt, description, items, metadata, revert_id,"
     " revert_requested_at, revert_reason FROM sandbox_paypay_payments WHERE merchant_payment_id ="
     " $1",
     "")

SQL2(sandbox_paypay_similar, /* a payment of this user over this amount, after $3, not failed or canceled */
     "SELECT id FROM sandbox_paypay_payments WHERE user_authorization = $1 AND amount = $2 AND"
     " accepted_at > $3 AND status NOT IN ('FAILED', 'CANCELED') LIMIT 1",
     "")

SQL2(sandbox_paypay_capture_write,
     "INSERT INTO sandbox_paypay_captures (payment, id, status, amount, requested_at, accepted_at,"
     " expires_at, description) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (payment) DO"
     " UPDATE SET status = excluded.status, accepted_at = excluded.accepted_at, expires_at ="
     " excluded.expires_at",
     "")

SQL2(sandbox_paypay_capture_read,
     "SELECT payment, id, status, amount, requested_at, accepted_at, expires_at, description FROM"
     " sandbox_paypay_captures WHERE payment = $1",
     "")

SQL2(sandbox_paypay_capture_forget, "DELETE FROM sandbox_paypay_captures WHERE payment = $1", "")

SQL2(sandbox_paypay_capture_known, "SELECT payment FROM sandbox_paypay_captures WHERE id = $1", "")

SQL2(sandbox_paypay_revert_known, "SELECT id FROM sandbox_paypay_payments WHERE revert_id = $1", "")

SQL2(sandbox_paypay_refund_write,
     "INSERT INTO sandbox_paypay_refunds (id, payment, status, amount, requested_at, accepted_at,"
     " reason) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET status ="
     " excluded.status",
     "")

SQL2(sandbox_paypay_refund_read,
     "SELECT id, payment, status, amount, requested_at, accepted_at, reason FROM"
     " sandbox_paypay_refunds WHERE id = $1",
     "")

SQL2(sandbox_paypay_refunds_of, /* oldest first */
     "SELECT id, payment, status, amount, requested_at, accepted_at, reason FROM"
     " sandbox_paypay_refunds WHERE payment = $1 ORDER BY accepted_at, id",
     "")

/* --- sandbox/paypay_books.c --- */

SQL2(sandbox_paypay_books, /* $1: a merchant's id, or empty for all; $2: payments behind this id */
     "SELECT p.id, p.merchant_payment_id, p.status, p.amount,"
     " CASE WHEN p.status IN ('AUTHORIZED', 'REAUTHORIZING') THEN p.amount ELSE 0 END, p.captured,"
     " (SELECT coalesce(sum(r.amount), 0) FROM sandbox_paypay_refunds r WHERE r.payment = p.id),"
     " (SELECT count(*) FROM sandbox_paypay_refunds r WHERE r.payment = p.id)"
     " FROM sandbox_paypay_payments p WHERE ($1 = '' OR p.merchant_payment_id = $1) AND p.id > $2"
     " ORDER BY p.id LIMIT $3",
     "")

/* --- sandbox/paypay/switches.c --- */

SQL2(sandbox_paypay_switches_read,
     "SELECT webhooks, webhook_delay_ms, webhook_url, refunds, refund_delay_ms, confirm_capture,"
     " notices FROM sandbox_paypay_switches",
     "")

SQL2(sandbox_paypay_switches_write,
     "UPDATE sandbox_paypay_switches SET webhooks = $1, webhook_delay_ms = $2, webhook_url = $3,"
     " refunds = $4, refund_delay_ms = $5, confirm_capture = $6",
     "")

SQL2(sandbox_paypay_notice_count, "UPDATE sandbox_paypay_switches SET notices = notices + 1", "")

SQL2(sandbox_paypay_fault_add,
     "INSERT INTO sandbox_paypay_faults (fault, method, path, skip, times, ms)"
     " VALUES ($1, $2, $3, $4, $5, $6)",
     "")

SQL2(sandbox_paypay_faults, /* oldest first */
     "SELECT seq, fault, method, path, skip, times, ms FROM sandbox_paypay_faults ORDER BY seq", "")

SQL2(sandbox_paypay_fault_count,
     "UPDATE sandbox_paypay_faults SET skip = $1, times = $2 WHERE seq = $3", "")

SQL2(sandbox_paypay_fault_forget, "DELETE FROM sandbox_paypay_faults WHERE seq = $1", "")

SQL2(sandbox_paypay_faults_clear, "DELETE FROM sandbox_paypay_faults", "")
