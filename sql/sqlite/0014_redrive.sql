-- Dead letters by cause, and redriving them (Q6).

-- The reason with its ids, numbers and quotes made equal (domain/cause.c): what died of the same thing has the
-- same. '': of a letter from before, until the job dlq.causes has been there.
ALTER TABLE dead_letters ADD COLUMN cause TEXT NOT NULL DEFAULT '';
CREATE INDEX dead_letters_cause ON dead_letters (kind, cause, died_at, id);
CREATE INDEX dead_letters_nameless ON dead_letters (id) WHERE cause = '';

-- Bodies that an operator wrote, the newest is the one that counts. What a provider sent stays in webhook_events as
-- it came (decision 0006); of other messages the body before stands here.
CREATE TABLE message_edits (
    seq        INTEGER PRIMARY KEY,
    message_id BLOB NOT NULL CHECK (length(message_id) = 16),
    at         INTEGER NOT NULL,
    user_id    BLOB,                      -- NULL: by the admin token
    by_name    TEXT,
    original   BLOB,                      -- NULL: it is in webhook_events, or there was none
    body       BLOB NOT NULL,
    sha256_before TEXT,                   -- hex; NULL: there was nothing before
    sha256_after  TEXT NOT NULL
) STRICT;
CREATE INDEX message_edits_message ON message_edits (message_id, seq);
CREATE INDEX message_edits_time ON message_edits (at);

-- Acts on many letters, some a second. The place and the counts are written in the commit that moves the letters.
CREATE TABLE redrives (
    id         BLOB PRIMARY KEY CHECK (length(id) = 16), -- of its message, too
    what       TEXT NOT NULL CHECK (what IN ('dlq', 'replay')),
    state      TEXT NOT NULL CHECK (state IN ('running', 'done', 'cancelled', 'failed')),
    rate       INTEGER NOT NULL,          -- letters a second, at most
    ids        BLOB,                      -- 16 bytes each; NULL: by the filter
    kind       TEXT,                      -- the filter; of a replay kind is the type of events, and ref an event's id
    ref        TEXT,
    reason     TEXT,
    cause      TEXT,
    payment_id BLOB,
    from_at    INTEGER NOT NULL,          -- 0: open
    to_at      INTEGER NOT NULL,
    next_id    INTEGER NOT NULL,          -- of ids; of a replay the seq of the last event
    place_at   INTEGER NOT NULL,          -- of the last letter that was looked at
    place_id   BLOB NOT NULL,
    until_at   INTEGER NOT NULL,          -- what died or came later is not taken
    alone      INTEGER NOT NULL DEFAULT 0, -- so many go one by one
    due_at     INTEGER NOT NULL,          -- the next step
    matched    INTEGER NOT NULL,
    exact      INTEGER NOT NULL CHECK (exact IN (0, 1)),
    done       INTEGER NOT NULL DEFAULT 0,
    refused    INTEGER NOT NULL DEFAULT 0,
    refusals   TEXT NOT NULL DEFAULT '[]', -- the first of them
    user_id    BLOB,
    by_name    TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX redrives_running ON redrives (id) WHERE state = 'running';
