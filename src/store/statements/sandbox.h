/* sandbox.h - part of all.h: read its rules there. No include guard: read many times. */

/* --- sandbox/stripe/rows.c: all columns in the order of rows.c --- */

SQL2(sandbox_intent_write,
     "INSERT OR REPLACE INTO sandbox_intents (id, created_at, amount, amount_capturable,"
     " amount_received, currency, status, capture_method, confirmation_method, client_secret,"
     " customer, description, metadata, payment_method, card, authenticated, latest_charge,"
     " canceled_at, cancellation_reason, return_url, last_error, receipt_email,"
     " statement_descriptor, descriptor_suffix, setup_future_usage, shipping, transfer_group,"
     " method_types, automatic_methods, session) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
     " $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27,"
     " $28, $29, $30)",
     "")

SQL2(sandbox_intent_read,
     "SELECT id, created_at, amount, amount_capturable, amount_received, currency, status,"
     " capture_method, confirmation_method, client_secret, customer, description, metadata,"
     " payment_method, card, authenticated, latest_charge, canceled_at, cancellation_reason,"
     " return_url, last_error, receipt_email, statement_descriptor, descriptor_suffix,"
     " setup_future_usage, shipping, transfer_group, method_types, automatic_methods, session FROM"
     " sandbox_intents WHERE id = $1",
     "")

SQL2(sandbox_charge_write,
     "INSERT OR REPLACE INTO sandbox_charges (id, intent, created_at, amount, amount_captured,"
     " amount_refunded, captured, status, currency, payment_method, card, authenticated,"
     " failure_code, decline_code, balanced_at, capture_before, metadata, description,"
     " customer, receipt_email, statement_descriptor, descriptor_suffix, shipping,"
     " transfer_group, dispute) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
     " $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)",
     "")

SQL2(sandbox_charge_read,
     "SELECT id, intent, created_at, amount, amount_captured, amount_refunded, captured,"
     " status, currency, payment_method, card, authenticated, failure_code, decline_code,"
     " balanced_at, capture_before, metadata, description, customer, receipt_email,"
     " statement_descriptor, descriptor_suffix, shipping, transfer_group, dispute FROM sandbox_charges"
     " WHERE id = $1",
     "")

SQL2(sandbox_method_write,
     "INSERT OR REPLACE INTO sandbox_methods (id, created_at, card, customer, billing,"
     " metadata, exp_month, exp_year, iban, set_up) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
     " $10)",
     "")

SQL2(sandbox_method_read,
     "SELECT id, created_at, card, customer, billing, metadata, exp_month, exp_year, iban, set_up"
     " FROM sandbox_methods WHERE id = $1",
     "")

SQL2(sandbox_refund_write,
     "INSERT INTO sandbox_refunds (id, charge, intent, created_at, amount, currency, status,"
     " reason, metadata, payment_method, failure_reason, returned_at) VALUES ($1, $2, $3, $4,"
     " $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO UPDATE SET status ="
     " excluded.status, metadata = excluded.metadata, failure_reason = excluded.failure_reason,"
     " returned_at = excluded.returned_at",
     "")

SQL2(sandbox_refund_read,
     "SELECT id, charge, intent, created_at, amount, currency, status, reason, metadata,"
     " payment_method, failure_reason, returned_at FROM sandbox_refunds WHERE id = $1",
     "")

SQL2(sandbox_intents_newest,
     "SELECT id, created_at, amount, amount_capturable, amount_received, currency, status,"
     " capture_method, confirmation_method, client_secret, customer, description, metadata,"
     " payment_method, card, authenticated, latest_charge, canceled_at, cancellation_reason,"
     " return_url, last_error, receipt_email, statement_descriptor, descriptor_suffix,"
     " setup_future_usage, shipping, transfer_group, method_types, automatic_methods, session FROM"
     " sandbox_intents WHERE id > $1 AND id < $2 AND ($3 = '' OR customer = $3) ORDER BY id"
     " DESC LIMIT $4",
     "")

SQL2(sandbox_intents_oldest, /* for a page before another */
     "SELECT id, created_at, amount, amount_capturable, amount_received, currency, status,"
     " capture_method, confirmation_method, client_secret, customer, description, metadata,"
     " payment_method, card, authenticated, latest_charge, canceled_at, cancellation_reason,"
     " return_url, last_error, receipt_email, statement_descriptor, descriptor_suffix,"
     " setup_future_usage, shipping, transfer_group, method_types, automatic_methods, session FROM"
     " sandbox_intents WHERE id > $1 AND id < $2 AND ($3 = '' OR customer = $3) ORDER BY id"
     " LIMIT $4",
     "")

SQL2(sandbox_charges_newest,
     "SELECT id, intent, created_at, amount, amount_captured, amount_refunded, captured,"
     " status, currency, payment_method, card, authenticated, failure_code, decline_code,"
     " balanced_at, capture_before, metadata, description, customer, receipt_email,"
     " statement_descriptor, descriptor_suffix, shipping, transfer_group, dispute FROM sandbox_charges"
     " WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3",
     "")

SQL2(sandbox_charges_oldest, /* for a page before another */
     "SELECT id, intent, created_at, amount, amount_captured, amount_refunded, captured,"
     " status, currency, payment_method, card, authenticated, failure_code, decline_code,"
     " balanced_at, capture_before, metadata, description, customer, receipt_email,"
     " statement_descriptor, descriptor_suffix, shipping, transfer_group, dispute FROM sandbox_charges"
     " WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3",
     "")

SQL2(sandbox_refunds_newest, /* of all payments; the cursors are ids or empty */
     "SELECT id, charge, intent, created_at, amount, currency, status, reason, metadata,"
     " payment_method, failure_reason, returned_at FROM sandbox_refunds WHERE seq >"
     " coalesce((SELECT seq FROM sandbox_refunds WHERE id = $1), 0) AND seq < coalesce((SELECT"
     " seq FROM sandbox_refunds WHERE id = $2), 9223372036854775807) ORDER BY seq DESC LIMIT $3",
     "")

SQL2(sandbox_refunds_oldest,
     "SELECT id, charge, intent, created_at, amount, currency, status, reason, metadata,"
     " payment_method, failure_reason, returned_at FROM sandbox_refunds WHERE seq >"
     " coalesce((SELECT seq FROM sandbox_refunds WHERE id = $1), 0) AND seq < coalesce((SELECT"
     " seq FROM sandbox_refunds WHERE id = $2), 9223372036854775807) ORDER BY seq LIMIT $3",
     "")

SQL2(sandbox_refunds_of_newest, /* of one intent: ids share its stem */
     "SELECT id, charge, intent, created_at, amount, currency, status, reason, metadata,"
     " payment_method, failure_reason, returned_at FROM sandbox_refunds WHERE id > $1 AND id <"
     " $2 ORDER BY id DESC LIMIT $3",
     "")

SQL2(sandbox_refunds_of_oldest,
     "SELECT id, charge, intent, created_at, amount, currency, status, reason, metadata,"
     " payment_method, failure_reason, returned_at FROM sandbox_refunds WHERE id > $1 AND id <"
     " $2 ORDER BY id LIMIT $3",
     "")

/* --- sandbox/stripe/rows_checkout.c: all columns in its order --- */

SQL2(sandbox_product_write,
     "INSERT OR REPLACE INTO sandbox_products (id, created_at, name, description, active,"
     " metadata) VALUES ($1, $2, $3, $4, $5, $6)",
     "")

SQL2(sandbox_product_read,
     "SELECT id, created_at, name, description, active, metadata FROM sandbox_products WHERE"
     " id = $1",
     "")

SQL2(sandbox_products_newest,
     "SELECT id, created_at, name, description, active, metadata FROM sandbox_products WHERE"
     " id > $1 AND id < $2 AND ($3 = '' OR CAST(active AS TEXT) = $3) ORDER BY id DESC LIMIT"
     " $4",
     "")

SQL2(sandbox_products_oldest,
     "SELECT id, created_at, name, description, active, metadata FROM sandbox_products WHERE"
     " id > $1 AND id < $2 AND ($3 = '' OR CAST(active AS TEXT) = $3) ORDER BY id LIMIT $4",
     "")

SQL2(sandbox_price_write,
     "INSERT OR REPLACE INTO sandbox_prices (id, created_at, product, currency, unit_amount,"
     " active, nickname, metadata) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
     "")

SQL2(sandbox_price_read,
     "SELECT id, created_at, product, currency, unit_amount, active, nickname, metadata FROM"
     " sandbox_prices WHERE id = $1",
     "")

SQL2(sandbox_prices_newest,
     "SELECT id, created_at, product, currency, unit_amount, active, nickname, metadata FROM"
     " sandbox_prices WHERE id > $1 AND id < $2 AND ($3 = '' OR CAST(active AS TEXT) = $3)"
     " AND ($4 = '' OR product = $4) ORDER BY id DESC LIMIT $5",
     "")

SQL2(sandbox_prices_oldest,
     "SELECT id, created_at, product, currency, unit_amount, active, nickname, metadata FROM"
     " sandbox_prices WHERE id > $1 AND id < $2 AND ($3 = '' OR CAST(active AS TEXT) = $3)"
     " AND ($4 = '' OR product = $4) ORDER BY id LIMIT $5",
     "")

SQL2(sandbox_session_write,
     "INSERT OR REPLACE INTO sandbox_sessions (id, created_at, expires_at, amount, currency,"
     " status, payment_status, success_url, cancel_url, client_reference, customer,"
     " customer_email, payer_email, metadata, method_types, intent, capture_method,"
     " intent_metadata, intent_description, receipt_email, descriptor_suffix,"
     " setup_future_usage, shipping) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
     " $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)",
     "")

SQL2(sandbox_session_read,
     "SELECT id, created_at, expires_at, amount, currency, status, payment_status,"
     " success_url, cancel_url, client_reference, customer, customer_email, payer_email,"
     " metadata, method_types, intent, capture_method, intent_metadata, intent_description,"
     " receipt_email, descriptor_suffix, setup_future_usage, shipping FROM sandbox_sessions"
     " WHERE id = $1",
     "")

SQL2(sandbox_sessions_newest,
     "SELECT id, created_at, expires_at, amount, currency, status, payment_status,"
     " success_url, cancel_url, client_reference, customer, customer_email, payer_email,"
     " metadata, method_types, intent, capture_method, intent_metadata, intent_description,"
     " receipt_email, descriptor_suffix, setup_future_usage, shipping FROM sandbox_sessions"
     " WHERE id > $1 AND id < $2 AND ($3 = '' OR status = $3) ORDER BY id DESC LIMIT $4",
     "")

SQL2(sandbox_sessions_oldest,
     "SELECT id, created_at, expires_at, amount, currency, status, payment_status,"
     " success_url, cancel_url, client_reference, customer, customer_email, payer_email,"
     " metadata, method_types, intent, capture_method, intent_metadata, intent_description,"
     " receipt_email, descriptor_suffix, setup_future_usage, shipping FROM sandbox_sessions"
     " WHERE id > $1 AND id < $2 AND ($3 = '' OR status = $3) ORDER BY id LIMIT $4",
     "")

SQL2(sandbox_dispute_write,
     "INSERT OR REPLACE INTO sandbox_disputes (id, created_at, charge, intent, amount,"
     " currency, reason, status, metadata) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
     "")

SQL2(sandbox_dispute_read,
     "SELECT id, created_at, charge, intent, amount, currency, reason, status, metadata FROM"
     " sandbox_disputes WHERE id = $1",
     "")

SQL2(sandbox_disputes_newest,
     "SELECT id, created_at, charge, intent, amount, currency, reason, status, metadata FROM"
     " sandbox_disputes WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3",
     "")

SQL2(sandbox_disputes_oldest,
     "SELECT id, created_at, charge, intent, amount, currency, reason, status, metadata FROM"
     " sandbox_disputes WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3",
     "")

SQL2(sandbox_item_write,
     "INSERT INTO sandbox_items (session, line, id, price, description, currency, quantity,"
     " amount) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
     "")

SQL2(sandbox_items_of,
     "SELECT session, line, id, price, description, currency, quantity, amount FROM"
     " sandbox_items WHERE session = $1 ORDER BY line",
     "")

SQL2(sandbox_voucher_write,
     "INSERT OR REPLACE INTO sandbox_vouchers (intent, confirmation_number,"
     " expires_after_days, asked_until, product_description, number, code, shown_until,"
     " lapses_at, store) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
     "")

SQL2(sandbox_voucher_read,
     "SELECT intent, confirmation_number, expires_after_days, asked_until,"
     " product_description, number, code, shown_until, lapses_at, store FROM"
     " sandbox_vouchers WHERE intent = $1",
     "")

/* --- sandbox/stripe/idempotency_keys.c --- */

SQL2(sandbox_key_read,
     "SELECT request, request_id, status, body, expires_at FROM sandbox_keys WHERE key = $1",
     "")

SQL2(sandbox_key_write,
     "INSERT INTO sandbox_keys (key, request, request_id, status, body, expires_at) VALUES"
     " ($1, $2, $3, $4, $5, $6)",
     "")

SQL2(sandbox_key_drop,
     "DELETE FROM sandbox_keys WHERE key = $1",
     "")

SQL2(sandbox_keys_prune, /* looks at the oldest few alone */
     "DELETE FROM sandbox_keys WHERE seq IN (SELECT seq FROM (SELECT seq, expires_at FROM"
     " sandbox_keys ORDER BY seq LIMIT $1) x WHERE expires_at <= $2)",
     "")

/* --- sandbox/webhook/events.c, sandbox/control/control.c --- */

SQL2(sandbox_event_add,
     "INSERT INTO sandbox_events (id, type, created_at, body) VALUES ($1, $2, $3, $4)"
     " RETURNING seq", "")

SQL2(sandbox_event_forget, "DELETE FROM sandbox_events WHERE seq <= $1", "")

SQL2(sandbox_events_forget, /* looks at the oldest few alone */
     "DELETE FROM sandbox_events WHERE seq IN (SELECT seq FROM (SELECT seq, created_at FROM"
     " sandbox_events ORDER BY seq LIMIT $1) x WHERE created_at <= $2)",
     "")

SQL2(sandbox_event_body, "SELECT body FROM sandbox_events WHERE id = $1", "")

SQL2(sandbox_event_list, /* newest first; $1: a type, or empty for all */
     "SELECT body FROM sandbox_events WHERE $1 = '' OR type = $1 ORDER BY seq DESC LIMIT $2", "")

SQL2(sandbox_books, /* $1: a payment, or empty for all; $2: intents behind this id. What belongs to an
                       intent shares the middle of its id, so both sums are short scans along a key */
     "SELECT i.id, json_extract(i.metadata, '$.payment_id'), i.status, i.currency, i.amount,"
     " i.amount_capturable,"
     " (SELECT coalesce(sum(c.amount_captured), 0) FROM sandbox_charges c"
     " WHERE c.id BETWEEN 'ch_' || substr(i.id, 4, 17) AND 'ch_' || substr(i.id, 4, 17) || '~'"
     " AND c.captured = 1 AND c.status = 'succeeded'),"
     " (SELECT coalesce(sum(r.amount), 0) FROM sandbox_refunds r"
     " WHERE r.id BETWEEN 're_' || substr(i.id, 4, 17) AND 're_' || substr(i.id, 4, 17) || '~'"
     " AND r.status = 'succeeded'),"
     " (SELECT count(*) FROM sandbox_charges c"
     " WHERE c.id BETWEEN 'ch_' || substr(i.id, 4, 17) AND 'ch_' || substr(i.id, 4, 17) || '~'"
     " AND c.captured = 1 AND c.status = 'succeeded'),"
     " (SELECT count(*) FROM sandbox_refunds r"
     " WHERE r.id BETWEEN 're_' || substr(i.id, 4, 17) AND 're_' || substr(i.id, 4, 17) || '~'"
     " AND r.status = 'succeeded')"
     " FROM sandbox_intents i WHERE ($1 = '' OR json_extract(i.metadata, '$.payment_id') = $1)"
     " AND i.id > $2 ORDER BY i.id LIMIT $3", "")
