-- What is sold, the pages where it is paid for, slips for the convenience store, and disputes.

ALTER TABLE sandbox_intents ADD COLUMN session TEXT;  -- whose payment this is
ALTER TABLE sandbox_charges ADD COLUMN dispute TEXT;  -- the latest one

CREATE TABLE sandbox_products (
    id          TEXT PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    description TEXT,
    active      INTEGER NOT NULL,
    metadata    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_prices (
    id          TEXT PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    product     TEXT NOT NULL,
    currency    TEXT NOT NULL,
    unit_amount INTEGER NOT NULL CHECK (unit_amount >= 0),
    active      INTEGER NOT NULL,
    nickname    TEXT,
    metadata    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_sessions (
    id                 TEXT PRIMARY KEY,
    created_at         INTEGER NOT NULL,
    expires_at         INTEGER NOT NULL,
    amount             INTEGER NOT NULL CHECK (amount > 0),
    currency           TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('open', 'complete', 'expired')),
    payment_status     TEXT NOT NULL CHECK (payment_status IN ('unpaid', 'paid')),
    success_url        TEXT NOT NULL,
    cancel_url         TEXT,
    client_reference   TEXT,
    customer           TEXT,
    customer_email     TEXT,
    payer_email        TEXT,               -- what the customer typed in
    metadata           TEXT NOT NULL,
    method_types       TEXT NOT NULL,      -- a JSON array
    intent             TEXT,               -- NULL until somebody tries to pay
    capture_method     TEXT NOT NULL,      -- this and the rest: for the intent
    intent_metadata    TEXT NOT NULL,
    intent_description TEXT,
    receipt_email      TEXT,
    descriptor_suffix  TEXT,
    setup_future_usage TEXT,
    shipping           TEXT,
    CHECK (payment_status = 'unpaid' OR status = 'complete')
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_items (
    session     TEXT NOT NULL,
    line        INTEGER NOT NULL,
    id          TEXT NOT NULL,
    price       TEXT NOT NULL,
    description TEXT NOT NULL,             -- the product's name then
    currency    TEXT NOT NULL,
    quantity    INTEGER NOT NULL CHECK (quantity > 0),
    amount      INTEGER NOT NULL,
    PRIMARY KEY (session, line)
) STRICT, WITHOUT ROWID;

-- One an intent: what was asked for, and the slip that the customer has.
CREATE TABLE sandbox_vouchers (
    intent              TEXT PRIMARY KEY,
    confirmation_number TEXT,              -- this and the next three: as asked for
    expires_after_days  INTEGER,
    asked_until         INTEGER,
    product_description TEXT,
    number              TEXT,              -- on the slip; NULL: there is none yet
    code                TEXT,
    shown_until         INTEGER,           -- what the customer is told
    lapses_at           INTEGER,           -- when it really ends
    store               TEXT               -- where it was paid
) STRICT, WITHOUT ROWID;

-- Like a charge's, a dispute's id begins with the middle part of its intent's.
CREATE TABLE sandbox_disputes (
    id         TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    charge     TEXT NOT NULL,
    intent     TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    status     TEXT NOT NULL,
    metadata   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
