-- What happened in the sandbox, as it was told: the envelope with its snapshot never changes.
-- Ids grow with time, so that their index grows at its end.
CREATE TABLE sandbox_events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE, -- evt_3...
    type TEXT NOT NULL,
    created_at INTEGER NOT NULL, -- milliseconds
    body TEXT NOT NULL -- the whole event, compact
) STRICT;
