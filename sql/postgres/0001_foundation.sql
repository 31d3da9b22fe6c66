-- The provider's events as they came, the queue, its dead letters, and the audit lines.
-- Times are integer milliseconds since 1970 (UTC). Ids are 16-byte UUIDv7.

-- Immutable: what becomes of an event is a row of webhook_outcomes, so that a 3 KB row is never
-- rewritten for the sake of one word.
CREATE TABLE webhook_events (
    seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider        text NOT NULL CHECK (provider IN ('stripe', 'paypay')),
    stripe_event_id text NOT NULL UNIQUE,  -- evt_..., or sha256:... of a body that names none
    type            text,                  -- NULL: the body names none
    livemode        bigint CHECK (livemode IN (0, 1)),
    created_at      bigint,               -- the provider's own time
    received_at     bigint NOT NULL,
    message_id      bytea NOT NULL,         -- the queue message that it became
    request_id      text NOT NULL,
    trace           text NOT NULL,         -- traceparent of the request that brought it
    body            bytea NOT NULL          -- byte for byte
);

-- Keyed by the message, not by the event: UUIDv7 keys append, event ids are random.
CREATE TABLE webhook_outcomes (
    message_id      bytea PRIMARY KEY,
    outcome         text NOT NULL CHECK (outcome IN
                    ('processed', 'applied', 'superseded', 'ignored', 'wrong_mode', 'dead')),
    detail          text,
    at              bigint NOT NULL
);

CREATE TABLE webhook_duplicates (
    stripe_event_id text PRIMARY KEY,
    times           bigint NOT NULL,
    last_at         bigint NOT NULL
);

-- Live messages only. due_at is delay, retry time and lease expiry in one.
CREATE TABLE message (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id       bytea NOT NULL UNIQUE CHECK (length(id) = 16),
    kind     text NOT NULL,
    lane     bigint,                      -- messages of one lane run in order, one at a time
    gate     text,
    ready    bigint NOT NULL CHECK (ready IN (0, 1)), -- 0: waits for its lane's turn
    due_at   bigint NOT NULL,
    attempt  bigint NOT NULL DEFAULT 0,   -- with id the fence: rises at every lease
    owner    bytea,                         -- the node that holds the lease
    added_at bigint NOT NULL,
    ref      text,                         -- what it is about: an event id, a payment id
    body     text,
    last_error text
);
CREATE INDEX message_due ON message (due_at, seq) WHERE ready = 1;
CREATE INDEX message_lane ON message (lane, seq) WHERE lane IS NOT NULL;

CREATE TABLE dead_letters (
    id       bytea PRIMARY KEY CHECK (length(id) = 16),
    kind     text NOT NULL,
    lane     bigint,
    ref      text,
    body     text,
    reason   text NOT NULL,
    attempts bigint NOT NULL,
    added_at bigint NOT NULL,
    died_at  bigint NOT NULL
);
CREATE INDEX dead_letters_by_time ON dead_letters (died_at);

-- Append-only.
CREATE TABLE audit (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        bigint NOT NULL,
    operation text NOT NULL,
    subject   text,
    result    text NOT NULL,
    times     bigint NOT NULL DEFAULT 1,
    detail    text
);

-- One row a node, written by /readyz: the proof that the store takes writes.
CREATE TABLE node_seen (
    node bytea PRIMARY KEY,
    at   bigint NOT NULL
);

-- A Stripe event is larger than a page likes and does not compress enough to pay for the time.
ALTER TABLE webhook_events ALTER COLUMN body SET STORAGE EXTERNAL;
-- The queue's rows live for milliseconds: clean up early.
ALTER TABLE message SET (autovacuum_vacuum_scale_factor = 0.02,
                         autovacuum_vacuum_threshold = 1000);
