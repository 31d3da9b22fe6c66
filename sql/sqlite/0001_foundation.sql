-- The provider's events as they came, the queue, its dead letters, and the audit lines.
-- Times are integer milliseconds since 1970 (UTC). Ids are 16-byte UUIDv7.

-- Immutable: what becomes of an event is a row of webhook_outcomes, so that a 3 KB row is never
-- rewritten for the sake of one word.
CREATE TABLE webhook_events (
    seq             INTEGER PRIMARY KEY,
    provider        TEXT NOT NULL CHECK (provider IN ('stripe', 'paypay')),
    stripe_event_id TEXT NOT NULL UNIQUE,  -- evt_..., or sha256:... of a body that names none
    type            TEXT,                  -- NULL: the body names none
    livemode        INTEGER CHECK (livemode IN (0, 1)),
    created_at      INTEGER,               -- the provider's own time
    received_at     INTEGER NOT NULL,
    message_id      BLOB NOT NULL,         -- the queue message that it became
    request_id      TEXT NOT NULL,
    trace           TEXT NOT NULL,         -- traceparent of the request that brought it
    body            BLOB NOT NULL          -- byte for byte
) STRICT;

-- Keyed by the message, not by the event: UUIDv7 keys append, event ids are random.
CREATE TABLE webhook_outcomes (
    message_id      BLOB PRIMARY KEY,
    outcome         TEXT NOT NULL CHECK (outcome IN
                    ('processed', 'applied', 'superseded', 'ignored', 'wrong_mode', 'dead')),
    detail          TEXT,
    at              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_duplicates (
    stripe_event_id TEXT PRIMARY KEY,
    times           INTEGER NOT NULL,
    last_at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Live messages only. due_at is delay, retry time and lease expiry in one.
CREATE TABLE message (
    seq      INTEGER PRIMARY KEY,
    id       BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    kind     TEXT NOT NULL,
    lane     INTEGER,                      -- messages of one lane run in order, one at a time
    gate     TEXT,
    ready    INTEGER NOT NULL CHECK (ready IN (0, 1)), -- 0: waits for its lane's turn
    due_at   INTEGER NOT NULL,
    attempt  INTEGER NOT NULL DEFAULT 0,   -- with id the fence: rises at every lease
    owner    BLOB,                         -- the node that holds the lease
    added_at INTEGER NOT NULL,
    ref      TEXT,                         -- what it is about: an event id, a payment id
    body     TEXT,
    last_error TEXT
) STRICT;
CREATE INDEX message_due ON message (due_at, seq) WHERE ready = 1;
CREATE INDEX message_lane ON message (lane, seq) WHERE lane IS NOT NULL;

CREATE TABLE dead_letters (
    id       BLOB PRIMARY KEY CHECK (length(id) = 16),
    kind     TEXT NOT NULL,
    lane     INTEGER,
    ref      TEXT,
    body     TEXT,
    reason   TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    added_at INTEGER NOT NULL,
    died_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letters_by_time ON dead_letters (died_at);

-- Append-only.
CREATE TABLE audit (
    seq       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    operation TEXT NOT NULL,
    subject   TEXT,
    result    TEXT NOT NULL,
    times     INTEGER NOT NULL DEFAULT 1,
    detail    TEXT
) STRICT;

-- One row a node, written by /readyz: the proof that the store takes writes.
CREATE TABLE node_seen (
    node BLOB PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
