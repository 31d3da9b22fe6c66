-- Who may look and act (A3).

CREATE TABLE operators (
    id            BLOB PRIMARY KEY CHECK (length(id) = 16),
    name          TEXT NOT NULL UNIQUE,   -- small letters: one spelling a person
    role          TEXT NOT NULL CHECK (role IN ('viewer', 'operator')),
    password      TEXT NOT NULL,          -- scrypt$15$8$1$salt$hash; never shown
    disabled_at   INTEGER,                -- NULL: may log in
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    last_login_at INTEGER                 -- NULL: never
) STRICT, WITHOUT ROWID;

-- The token itself is only in its owner's cookie: who reads this table cannot be anybody.
CREATE TABLE operator_sessions (
    token       BLOB PRIMARY KEY CHECK (length(token) = 32), -- its SHA-256
    operator_id BLOB NOT NULL CHECK (length(operator_id) = 16), -- all zero: by the admin token
    name        TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('viewer', 'operator')),
    created_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,         -- exact to the minute
    expires_at  INTEGER NOT NULL          -- of both ends (idle, absolute) the earlier one
) STRICT, WITHOUT ROWID;
CREATE INDEX operator_sessions_expiry ON operator_sessions (expires_at);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id, created_at);
