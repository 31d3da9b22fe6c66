-- Dead letters as records (Q6): every failed attempt is kept, a letter can be found by what it is about,
-- and failed_webhook_events is what 001 asks for.

-- One row for each attempt that failed, written in the commit that says so. A message that goes well
-- leaves none. seq grows with the time, so that the oldest are found without an index on `at`.
CREATE TABLE message_failures (
    seq        INTEGER PRIMARY KEY,
    message_id BLOB NOT NULL,
    attempt    INTEGER NOT NULL,      -- begins at 1 again when a dead letter is retried
    at         INTEGER NOT NULL,
    error      TEXT NOT NULL
) STRICT;
CREATE INDEX message_failures_message ON message_failures (message_id, seq);

-- seq: of the message that died. A retried one gets a greater one, so that whoever still holds a lease
-- of its earlier life fails at the fence (seq, id, attempt): SQLite would give the same seq again.
ALTER TABLE dead_letters ADD COLUMN seq INTEGER;
ALTER TABLE dead_letters ADD COLUMN payment_id BLOB; -- that it is about, where it is about one

-- Letters from before: events know their payment from their outcome.
UPDATE dead_letters SET payment_id = (SELECT o.payment_id FROM webhook_outcomes o
    WHERE o.message_id = dead_letters.id) WHERE kind = 'stripe.event';

-- One for each filter, in the order of the pages. (dead_letters_by_time: SQLite adds the id itself.)
CREATE INDEX dead_letters_kind ON dead_letters (kind, died_at, id);
CREATE INDEX dead_letters_ref ON dead_letters (ref, died_at, id) WHERE ref IS NOT NULL;
CREATE INDEX dead_letters_payment ON dead_letters (payment_id, died_at, id)
    WHERE payment_id IS NOT NULL;

-- A view and no table: it cannot disagree with the dead letters, whatever crashes between two
-- statements and whoever deletes a letter. stripe.refetch is the second half of an event (E2), with the
-- event's id as its ref; its death is the event's. LEFT JOIN: a letter is listed even where the event
-- itself is gone. The payload is bytes, since what could not be read may not be text.
CREATE VIEW failed_webhook_events AS
    SELECT d.ref AS event_id, e.type AS event_type, e.body AS payload, d.reason AS error,
           d.attempts, d.payment_id, d.id AS message_id, d.kind, e.received_at,
           d.died_at AS created_at
    FROM dead_letters d LEFT JOIN webhook_events e ON e.stripe_event_id = d.ref
    WHERE d.kind IN ('stripe.event', 'stripe.refetch');
