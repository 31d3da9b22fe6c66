-- What is found out by asking: webhooks that never came (E11), outcomes that nobody knows (P7), and the
-- provider's books beside ours, day by day.

-- How far the provider's list of events was looked through. A walk goes from the newest event of its
-- window to the oldest, so what is done is known only when its end is reached.
CREATE TABLE heal_cursor (
    provider   text PRIMARY KEY,
    done_at    bigint NOT NULL,           -- events made before that were looked at
    until_at   bigint,                    -- the window under way ends there; NULL: none is
    after_id   text,                       -- the last event of it that was looked at
    updated_at bigint NOT NULL
);

-- Operations of unknown outcome are few among millions: found by themselves, the oldest first (ids are
-- in the order of time), and those first that nobody was told of for the longest time.
ALTER TABLE operations ADD COLUMN told_at bigint NOT NULL DEFAULT 0;
CREATE INDEX operations_unknown ON operations (id) WHERE phase = 'unknown';
CREATE INDEX operations_untold ON operations (told_at, id) WHERE phase = 'unknown';

-- One row a day. A run that was ended by a crash goes on at its place; a new run of the same day takes
-- the place of the old one.
CREATE TABLE reconciliations (
    day         text PRIMARY KEY CHECK (length(day) = 10),
    time_zone   text NOT NULL,
    from_at     bigint NOT NULL,
    to_at       bigint NOT NULL,
    phase       text NOT NULL CHECK (phase IN ('clear', 'theirs', 'ours', 'pause', 'check',
                'sum', 'forget', 'done')),
    place       text NOT NULL,             -- how far the phase has come
    run_id      bytea NOT NULL CHECK (octet_length(run_id) = 16), -- the message that works on it
    asked_by    text NOT NULL CHECK (asked_by IN ('schedule', 'admin')),
    theirs      bigint NOT NULL DEFAULT 0, -- payments that were looked at, of each side, and once more
    ours        bigint NOT NULL DEFAULT 0,
    checked     bigint NOT NULL DEFAULT 0,
    differences bigint NOT NULL DEFAULT 0,
    healed      bigint NOT NULL DEFAULT 0,
    error       text,                      -- why it does not go on at the moment
    started_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    ended_at    bigint
);

CREATE TABLE reconciliation_totals (
    day      text NOT NULL,
    gateway  text NOT NULL,
    side     text NOT NULL CHECK (side IN ('ours', 'theirs', 'foreign')),
    currency text NOT NULL,
    payments bigint NOT NULL,
    captured bigint NOT NULL,
    refunded bigint NOT NULL,
    fees     bigint NOT NULL,
    PRIMARY KEY (day, gateway, side, currency)
);

-- While a day is being worked on: our payments that the provider named, and what is to be looked at once
-- more, since it may only have been under way. `key`: the intent's id, or our payment's.
CREATE TABLE reconciliation_seen (
    day        text NOT NULL,
    payment_id bytea NOT NULL,
    PRIMARY KEY (day, payment_id)
);

CREATE TABLE reconciliation_checks (
    day        text NOT NULL,
    key        text NOT NULL,
    gateway    text NOT NULL,
    payment_id bytea,
    intent_id  text,
    PRIMARY KEY (day, key)
);

CREATE TABLE reconciliation_differences (
    day        text NOT NULL,
    key        text NOT NULL,
    kind       text NOT NULL,
    gateway    text NOT NULL,
    payment_id bytea,
    intent_id  text,
    currency   text,
    ours       text,
    theirs     text,
    state      text NOT NULL CHECK (state IN ('open', 'healed')),
    at         bigint NOT NULL,
    PRIMARY KEY (day, key, kind)
);
