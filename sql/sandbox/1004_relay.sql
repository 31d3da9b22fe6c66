-- The other end of `stripe listen`: who listens, and what each has not said yes to.

-- A device's secret stays the same, so that nobody has to change his settings at every start.
CREATE TABLE sandbox_relay_devices (
    name    TEXT PRIMARY KEY,
    secret  TEXT NOT NULL,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sandbox_relay_devices_used ON sandbox_relay_devices (used_at);

CREATE TABLE sandbox_relay_sessions (
    id         TEXT PRIMARY KEY,
    secret     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    until      INTEGER,                    -- it is forgotten then; NULL: it is connected,
    link       TEXT,                       -- by this connection
    last       INTEGER NOT NULL            -- number of its newest event; none ever comes again
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_relay_waiting (
    session TEXT NOT NULL,
    seq     INTEGER NOT NULL,              -- counts the session's events
    event   TEXT NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
