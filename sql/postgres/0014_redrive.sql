-- Dead letters by cause, and redriving them (Q6).

-- The reason with its ids, numbers and quotes made equal (domain/cause.c): what died of the same thing has the
-- same. '': of a letter from before, until the job dlq.causes has been there.
ALTER TABLE dead_letters ADD COLUMN cause text COLLATE "C" NOT NULL DEFAULT '';
-- Bytewise, so that what asks for it bytewise has no other index to choose: dead_letters_kind would do for the
-- planner while the table is empty, and that plan is kept.
CREATE INDEX dead_letters_cause ON dead_letters (kind COLLATE "C", cause, died_at, id);
CREATE INDEX dead_letters_nameless ON dead_letters (id) WHERE cause = '';

-- Bodies that an operator wrote, the newest is the one that counts. What a provider sent stays in webhook_events as
-- it came (decision 0006); of other messages the body before stands here.
CREATE TABLE message_edits (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id bytea NOT NULL CHECK (length(message_id) = 16),
    at         bigint NOT NULL,
    user_id    bytea,                      -- NULL: by the admin token
    by_name    text,
    original   bytea,                      -- NULL: it is in webhook_events, or there was none
    body       bytea NOT NULL,
    sha256_before text,                   -- hex; NULL: there was nothing before
    sha256_after  text NOT NULL
);
CREATE INDEX message_edits_message ON message_edits (message_id, seq);
CREATE INDEX message_edits_time ON message_edits (at);

-- Acts on many letters, some a second. The place and the counts are written in the commit that moves the letters.
CREATE TABLE redrives (
    id         bytea PRIMARY KEY CHECK (length(id) = 16), -- of its message, too
    what       text NOT NULL CHECK (what IN ('dlq', 'replay')),
    state      text NOT NULL CHECK (state IN ('running', 'done', 'cancelled', 'failed')),
    rate       bigint NOT NULL,          -- letters a second, at most
    ids        bytea,                      -- 16 bytes each; NULL: by the filter
    kind       text,                      -- the filter; of a replay kind is the type of events, and ref an event's id
    ref        text,
    reason     text,
    cause      text,
    payment_id bytea,
    from_at    bigint NOT NULL,          -- 0: open
    to_at      bigint NOT NULL,
    next_id    bigint NOT NULL,          -- of ids; of a replay the seq of the last event
    place_at   bigint NOT NULL,          -- of the last letter that was looked at
    place_id   bytea NOT NULL,
    until_at   bigint NOT NULL,          -- what died or came later is not taken
    alone      bigint NOT NULL DEFAULT 0, -- so many go one by one
    due_at     bigint NOT NULL,          -- the next step
    matched    bigint NOT NULL,
    exact      bigint NOT NULL CHECK (exact IN (0, 1)),
    done       bigint NOT NULL DEFAULT 0,
    refused    bigint NOT NULL DEFAULT 0,
    refusals   text NOT NULL DEFAULT '[]', -- the first of them
    user_id    bytea,
    by_name    text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ended_at   bigint
);
CREATE INDEX redrives_running ON redrives (id) WHERE state = 'running';
