-- Finding payments (O8). Whoever makes a payment pays for these, so there is one for all of them, and two for what is
-- not found otherwise.

-- By gateway, by context, or by both: there are three contexts and a handful of gateways, whose walks are merged.
CREATE INDEX payments_kind ON payments (context, gateway, id);

-- By the gateway's id, while no row of payment_transactions has it: the customer has yet to act, or never did.
CREATE INDEX payments_intent ON payments (gateway_transaction_id)
    WHERE gateway_transaction_id IS NOT NULL AND status IN ('PENDING', 'FAILED');

-- Which operation a client's key did. What made a payment is found by the payment's own column; a checkout that goes
-- on with a payment (of_subject) has a key of its own.
CREATE INDEX operations_key ON operations (idempotency_key, payment_id)
    WHERE idempotency_key IS NOT NULL AND (kind <> 'create' OR of_subject = 1);

-- The indexes of 004 end with the id, as SQLite's do: a page walks them in its own order, however many payments a user
-- or a key has. Their names and columns stay.
DROP INDEX idx_payments_booking_id;
DROP INDEX idx_payments_user_id;
DROP INDEX idx_payments_idempotency_key;
DROP INDEX idx_payments_status_created;
CREATE INDEX idx_payments_booking_id ON payments (booking_id, id);
CREATE INDEX idx_payments_user_id ON payments (user_id, id);
CREATE INDEX idx_payments_idempotency_key ON payments (idempotency_key, id);
CREATE INDEX idx_payments_status_created ON payments (status, created_at, id);
