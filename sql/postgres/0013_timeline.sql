-- What a payment's timeline needs (O7) and nobody else keeps.

-- Each try towards a gateway, written with the commit that says what came of all of them. In the order in
-- which a payment's timeline is read, and payments' ids grow with the time: new rows stand together.
CREATE TABLE gateway_attempts (
    payment_id   BYTEA NOT NULL,
    at           BIGINT NOT NULL,     -- when it was sent
    operation_id BYTEA NOT NULL,        -- or of the message that asked, where no operation did
    n            BIGINT NOT NULL,     -- 1, 2, ... of one run
    took_ms      BIGINT NOT NULL,
    ask          TEXT NOT NULL,        -- authorize, capture, fetch ...
    outcome      TEXT NOT NULL,        -- ok, declined, refused, absent, retry_later, uncertain, timeout, not_sent
    retried      BIGINT NOT NULL CHECK (retried IN (0, 1)), -- another try of the same ask came behind it
    status       BIGINT,              -- of the HTTP answer; NULL: there was none
    detail       TEXT,                 -- the gateway's word for what was wrong
    times        BIGINT NOT NULL,     -- more than 1: so many, of which only the first was looked at
    PRIMARY KEY (payment_id, at, operation_id, n)
);

-- The same key again, summed in memory and written from time to time (M16).
CREATE TABLE replays (
    payment_id   BYTEA NOT NULL,
    operation_id BYTEA NOT NULL,
    operation    TEXT NOT NULL CHECK (operation IN ('create', 'capture', 'refund', 'void')),
    times        BIGINT NOT NULL,
    first_at     BIGINT NOT NULL,
    last_at      BIGINT NOT NULL,
    PRIMARY KEY (payment_id, operation_id)
);
CREATE INDEX replays_last ON replays (last_at);
