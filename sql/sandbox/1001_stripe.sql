-- The pretend Stripe's own books, in the sandbox's own file. Typed columns, no documents: an object's
-- JSON is made when it is asked for. Times are milliseconds. Ids grow with time (src/sandbox/stripe/ids.c),
-- so that their indexes grow at the end and a list is a walk along the key. NULL is Stripe's null.

CREATE TABLE sandbox_intents (
    id                   TEXT PRIMARY KEY,
    created_at           INTEGER NOT NULL,
    amount               INTEGER NOT NULL,
    amount_capturable    INTEGER NOT NULL,
    amount_received      INTEGER NOT NULL,
    currency             TEXT NOT NULL,
    status               TEXT NOT NULL CHECK (status IN
                         ('requires_payment_method', 'requires_confirmation', 'requires_action',
                          'processing', 'requires_capture', 'canceled', 'succeeded')),
    capture_method       TEXT NOT NULL,
    confirmation_method  TEXT NOT NULL,
    client_secret        TEXT NOT NULL,
    customer             TEXT,
    description          TEXT,
    metadata             TEXT NOT NULL,    -- a JSON object
    payment_method       TEXT,
    card                 TEXT,             -- which of the test cards that is (src/sandbox/stripe/cards.c)
    authenticated        INTEGER NOT NULL, -- the customer has answered for this method
    latest_charge        TEXT,
    canceled_at          INTEGER,
    cancellation_reason  TEXT,
    return_url           TEXT,
    last_error           TEXT,             -- last_payment_error, as JSON
    receipt_email        TEXT,
    statement_descriptor TEXT,
    descriptor_suffix    TEXT,
    setup_future_usage   TEXT,
    shipping             TEXT,             -- a JSON object
    transfer_group       TEXT,
    method_types         TEXT NOT NULL,    -- a JSON array
    automatic_methods    INTEGER NOT NULL,
    CHECK (amount_capturable BETWEEN 0 AND amount AND amount_received BETWEEN 0 AND amount)
) STRICT, WITHOUT ROWID;

-- A charge's id begins with the middle part of its intent's, so those of one intent stand together.
CREATE TABLE sandbox_charges (
    id                   TEXT PRIMARY KEY,
    intent               TEXT NOT NULL,
    created_at           INTEGER NOT NULL,
    amount               INTEGER NOT NULL,
    amount_captured      INTEGER NOT NULL,
    amount_refunded      INTEGER NOT NULL,
    captured             INTEGER NOT NULL,
    status               TEXT NOT NULL CHECK (status IN ('succeeded', 'pending', 'failed')),
    currency             TEXT NOT NULL,
    payment_method       TEXT NOT NULL,
    card                 TEXT NOT NULL,
    authenticated        INTEGER NOT NULL,
    failure_code         TEXT,
    decline_code         TEXT,
    balanced_at          INTEGER,          -- when its balance transaction came to be
    capture_before       INTEGER,
    metadata             TEXT NOT NULL,    -- this and the rest: as the intent had it then
    description          TEXT,
    customer             TEXT,
    receipt_email        TEXT,
    statement_descriptor TEXT,
    descriptor_suffix    TEXT,
    shipping             TEXT,
    transfer_group       TEXT,
    CHECK (amount_captured BETWEEN 0 AND amount),
    CHECK (amount_refunded BETWEEN 0 AND amount_captured)
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_refunds (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    charge         TEXT NOT NULL,
    intent         TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    amount         INTEGER NOT NULL CHECK (amount > 0),
    currency       TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN
                   ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
    reason         TEXT,
    metadata       TEXT NOT NULL,
    payment_method TEXT NOT NULL,
    failure_reason TEXT,
    returned_at    INTEGER                 -- when its money came back, because it failed
) STRICT;

CREATE TABLE sandbox_methods (
    id         TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    card       TEXT NOT NULL,
    customer   TEXT,
    billing    TEXT,                       -- billing_details, as JSON
    metadata   TEXT NOT NULL,
    exp_month  INTEGER NOT NULL,
    exp_year   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was answered under an Idempotency-Key.
CREATE TABLE sandbox_keys (
    seq        INTEGER PRIMARY KEY,        -- in the order of their end
    key        BLOB NOT NULL UNIQUE,       -- a hash of account and key
    request    BLOB NOT NULL,              -- a hash of method, path and parameters
    request_id TEXT NOT NULL,
    status     INTEGER NOT NULL,
    body       TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
