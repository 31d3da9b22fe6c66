-- What is found out by asking: webhooks that never came (E11), outcomes that nobody knows (P7), and the
-- provider's books beside ours, day by day.

-- How far the provider's list of events was looked through. A walk goes from the newest event of its
-- window to the oldest, so what is done is known only when its end is reached.
CREATE TABLE heal_cursor (
    provider   TEXT PRIMARY KEY,
    done_at    INTEGER NOT NULL,           -- events made before that were looked at
    until_at   INTEGER,                    -- the window under way ends there; NULL: none is
    after_id   TEXT,                       -- the last event of it that was looked at
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Operations of unknown outcome are few among millions: found by themselves, the oldest first (ids are
-- in the order of time), and those first that nobody was told of for the longest time.
ALTER TABLE operations ADD COLUMN told_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX operations_unknown ON operations (id) WHERE phase = 'unknown';
CREATE INDEX operations_untold ON operations (told_at, id) WHERE phase = 'unknown';

-- One row a day. A run that was ended by a crash goes on at its place; a new run of the same day takes
-- the place of the old one.
CREATE TABLE reconciliations (
    day         TEXT PRIMARY KEY CHECK (length(day) = 10),
    time_zone   TEXT NOT NULL,
    from_at     INTEGER NOT NULL,
    to_at       INTEGER NOT NULL,
    phase       TEXT NOT NULL CHECK (phase IN ('clear', 'theirs', 'ours', 'pause', 'check',
                'sum', 'forget', 'done')),
    place       TEXT NOT NULL,             -- how far the phase has come
    run_id      BLOB NOT NULL CHECK (length(run_id) = 16), -- the message that works on it
    asked_by    TEXT NOT NULL CHECK (asked_by IN ('schedule', 'admin')),
    theirs      INTEGER NOT NULL DEFAULT 0, -- payments that were looked at, of each side, and once more
    ours        INTEGER NOT NULL DEFAULT 0,
    checked     INTEGER NOT NULL DEFAULT 0,
    differences INTEGER NOT NULL DEFAULT 0,
    healed      INTEGER NOT NULL DEFAULT 0,
    error       TEXT,                      -- why it does not go on at the moment
    started_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE reconciliation_totals (
    day      TEXT NOT NULL,
    gateway  TEXT NOT NULL,
    side     TEXT NOT NULL CHECK (side IN ('ours', 'theirs', 'foreign')),
    currency TEXT NOT NULL,
    payments INTEGER NOT NULL,
    captured INTEGER NOT NULL,
    refunded INTEGER NOT NULL,
    fees     INTEGER NOT NULL,
    PRIMARY KEY (day, gateway, side, currency)
) STRICT, WITHOUT ROWID;

-- While a day is being worked on: our payments that the provider named, and what is to be looked at once
-- more, since it may only have been under way. `key`: the intent's id, or our payment's.
CREATE TABLE reconciliation_seen (
    day        TEXT NOT NULL,
    payment_id BLOB NOT NULL,
    PRIMARY KEY (day, payment_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE reconciliation_checks (
    day        TEXT NOT NULL,
    key        TEXT NOT NULL,
    gateway    TEXT NOT NULL,
    payment_id BLOB,
    intent_id  TEXT,
    PRIMARY KEY (day, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE reconciliation_differences (
    day        TEXT NOT NULL,
    key        TEXT NOT NULL,
    kind       TEXT NOT NULL,
    gateway    TEXT NOT NULL,
    payment_id BLOB,
    intent_id  TEXT,
    currency   TEXT,
    ours       TEXT,
    theirs     TEXT,
    state      TEXT NOT NULL CHECK (state IN ('open', 'healed')),
    at         INTEGER NOT NULL,
    PRIMARY KEY (day, key, kind)
) STRICT, WITHOUT ROWID;
