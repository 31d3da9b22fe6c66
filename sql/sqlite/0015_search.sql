-- Finding payments (O8). Whoever makes a payment pays for these, so there is one for all of them, and two for what is
-- not found otherwise. Ids are in the order of time, and every index of `payments` ends with the id (it
-- is the key of a table WITHOUT ROWID), so those of 004 walk in the order of a page as they are.

-- By gateway, by context, or by both: there are three contexts and a handful of gateways, whose walks are merged.
CREATE INDEX payments_kind ON payments (context, gateway);

-- By the gateway's id, while no row of payment_transactions has it: the customer has yet to act, or never did.
CREATE INDEX payments_intent ON payments (gateway_transaction_id)
    WHERE gateway_transaction_id IS NOT NULL AND status IN ('PENDING', 'FAILED');

-- Which operation a client's key did. What made a payment is found by the payment's own column; a checkout that goes
-- on with a payment (of_subject) has a key of its own.
CREATE INDEX operations_key ON operations (idempotency_key, payment_id)
    WHERE idempotency_key IS NOT NULL AND (kind <> 'create' OR of_subject = 1);
