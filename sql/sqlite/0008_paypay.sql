-- PayPay's notifications (W8) are events, and their dead letters failed webhook events: paypay.refetch is
-- all there is of one, with the event's id as its ref.

DROP VIEW failed_webhook_events;

CREATE VIEW failed_webhook_events AS
    SELECT d.ref AS event_id, e.type AS event_type, e.body AS payload, d.reason AS error,
           d.attempts, d.payment_id, d.id AS message_id, d.kind, e.received_at,
           d.died_at AS created_at
    FROM dead_letters d LEFT JOIN webhook_events e ON e.stripe_event_id = d.ref
    WHERE d.kind IN ('stripe.event', 'stripe.refetch', 'paypay.refetch');
