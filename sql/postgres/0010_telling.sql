-- How people are reached (N1), what was handed to which transport, reminders (S2), and alerts (O4).

CREATE TABLE contacts (
    user_id    BYTEA PRIMARY KEY CHECK (length(user_id) = 16),
    email      TEXT,
    language   TEXT CHECK (language IN ('ja', 'en')), -- NULL: the server's
    channels   TEXT NOT NULL,             -- of mail,push,webhook, separated by commas; may be empty
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE devices (                    -- a device is told what one user is told: the last who named it
    token      TEXT PRIMARY KEY,
    user_id    BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX devices_user ON devices (user_id, token);

-- One notification on one channel to one target: told once. `sending` is committed before anything is
-- sent; who finds it at a new start does not know whether it was (unknown), and does not tell twice.
CREATE TABLE sends (
    id              BYTEA PRIMARY KEY CHECK (length(id) = 16), -- its queue message has the same
    notification_id BYTEA NOT NULL,
    channel         TEXT NOT NULL CHECK (channel IN ('mail', 'push', 'webhook')),
    target          TEXT NOT NULL,        -- an address, a device's token; empty: the only one. Of what was
                                          -- skipped, or whose person was forgotten: the id, in hex
    user_id         BYTEA,                 -- whose it is; NULL: of a participant without a user
    status          TEXT NOT NULL CHECK (status IN ('waiting', 'sending', 'sent', 'failed', 'unknown', 'skipped')),
    tries           BIGINT NOT NULL,     -- begun since it was made, or called back from the dead letters
    why             TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    UNIQUE (notification_id, channel, target)
);
CREATE INDEX sends_user ON sends (user_id);
-- Who is forgotten is looked for among the participants too.
CREATE INDEX participants_user ON participants (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX notifications_participant ON notifications (participant_id) WHERE participant_id IS NOT NULL;

ALTER TABLE notifications ADD COLUMN trace TEXT; -- traceparent of what it tells of

-- NULL: the server's settings. Days from the due date, like -3,0,7; the hour in the collection's zone.
ALTER TABLE collections ADD COLUMN reminder_days TEXT;
ALTER TABLE collections ADD COLUMN reminder_time TEXT;
-- Which plan of reminders is the present one: a message of an older plan does nothing.
ALTER TABLE collections ADD COLUMN reminder_plan BIGINT NOT NULL DEFAULT 0;
-- What it was made by: -3,0,7@10:00, or empty for nobody is reminded. NULL: no plan was made yet.
ALTER TABLE collections ADD COLUMN reminder_rule TEXT;
ALTER TABLE collections ADD COLUMN reminder_at BIGINT; -- the next of them; NULL: there is none
CREATE INDEX collections_due ON collections (due_at, collection_id) WHERE due_at IS NOT NULL;

-- scope: a node's id, or empty for what is true of all of them. Who changes a row names the version
-- that it saw: of several nodes one wins, and only that one tells.
CREATE TABLE alerts (
    name    TEXT NOT NULL,
    scope   TEXT NOT NULL,
    status  TEXT NOT NULL CHECK (status IN ('ok', 'pending', 'firing')),
    value   BIGINT NOT NULL,             -- in thousandths of what the rule counts
    since   BIGINT NOT NULL,             -- of this status
    calm_at BIGINT NOT NULL,             -- firing, and well below the threshold since then; 0: not
    told_at BIGINT NOT NULL,             -- when people last heard of it; 0: never
    seen_at BIGINT NOT NULL,             -- a node that has gone is not looked at for ever
    version BIGINT NOT NULL,
    PRIMARY KEY (name, scope)
);
