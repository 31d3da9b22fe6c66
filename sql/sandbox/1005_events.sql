-- Who is told of events besides the receiver of the options, secrets that are being rolled, switches
-- that stay; customers, and money that they send by bank transfer.

CREATE TABLE sandbox_endpoints (
    id             TEXT PRIMARY KEY,       -- we_...
    created_at     INTEGER NOT NULL,
    url            TEXT NOT NULL,
    events         TEXT NOT NULL,          -- a JSON array of types, or of "*" alone
    description    TEXT,
    metadata       TEXT NOT NULL,
    disabled       INTEGER NOT NULL,
    api_version    TEXT,
    secret         TEXT NOT NULL,
    previous       TEXT,                   -- signs, too,
    previous_until INTEGER                 -- for so long
) STRICT, WITHOUT ROWID;

-- What became of the secret of the options. By that secret: who sets another one begins anew.
CREATE TABLE sandbox_rolls (
    base           TEXT PRIMARY KEY,
    secret         TEXT NOT NULL,
    previous       TEXT NOT NULL,
    previous_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_marks (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_customers (
    id          TEXT PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    name        TEXT,
    email       TEXT,
    phone       TEXT,
    description TEXT,
    address     TEXT,                      -- a JSON object
    shipping    TEXT,                      -- a JSON object
    metadata    TEXT NOT NULL,
    deleted     INTEGER NOT NULL,          -- the id stays known
    cash        INTEGER NOT NULL CHECK (cash >= 0) -- yen that no payment has taken yet
) STRICT, WITHOUT ROWID;

-- One an intent that is paid by bank transfer.
CREATE TABLE sandbox_transfers (
    intent   TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    funded   INTEGER NOT NULL CHECK (funded >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX sandbox_transfers_customer ON sandbox_transfers (customer, intent);

ALTER TABLE sandbox_methods ADD COLUMN iban TEXT;
ALTER TABLE sandbox_methods ADD COLUMN set_up INTEGER NOT NULL DEFAULT 0; -- answered for, off session
