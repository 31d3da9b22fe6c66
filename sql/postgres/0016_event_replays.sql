-- Events that an operator had applied once more (O7). What became of an event the first time stays in webhook_outcomes;
-- what became of it this time stands here. A message has one row without an outcome at most: it is in the queue then.
CREATE TABLE event_replays (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id bytea NOT NULL CHECK (length(message_id) = 16),
    event_id   text NOT NULL,
    redrive_id bytea NOT NULL,
    user_id    bytea,
    payment_id bytea,
    was        text NOT NULL,             -- the outcome until then
    at         bigint NOT NULL,
    outcome    text,                      -- 'retried': it was dead, and what became of it is its first outcome
    detail     text,
    ended_at   bigint
);
CREATE INDEX event_replays_message ON event_replays (message_id, seq);
CREATE INDEX event_replays_payment ON event_replays (payment_id, at) WHERE payment_id IS NOT NULL;
CREATE INDEX event_replays_time ON event_replays (at);
