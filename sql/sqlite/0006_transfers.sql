-- Bank transfers (G4): what a customer was told to pay, what the bank says came in, and what has to go
-- back. These rows are the manual gateway's own truth, as a provider's books are theirs.

-- A payment that waits for its money. A reference is never given twice, so that money which comes years
-- later still finds whom it was meant for, and nobody else.
CREATE TABLE bank_transfers (
    payment_id  BLOB PRIMARY KEY CHECK (length(payment_id) = 16),
    reference   TEXT NOT NULL UNIQUE CHECK (length(reference) = 9),
    amount      INTEGER NOT NULL CHECK (amount > 0),
    currency    TEXT NOT NULL CHECK (length(currency) = 3),
    received    INTEGER NOT NULL DEFAULT 0 CHECK (received IN (0, amount)),
    state       TEXT NOT NULL DEFAULT 'open'
                CHECK (state IN ('open', 'received', 'returning', 'canceled')),
    account     TEXT NOT NULL,              -- as the customer was told
    expires_at  INTEGER NOT NULL,
    received_on TEXT,                       -- the bank's day: 2026-11-16
    line_id     BLOB,                       -- that brought it; NULL: an operator said so
    cancel_reason TEXT,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    CHECK ((received = 0) = (state IN ('open', 'canceled')))
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_transfers_state ON bank_transfers (state, payment_id);
CREATE INDEX bank_transfers_amount ON bank_transfers (currency, amount, payment_id) WHERE state = 'open';

-- One row per file. finished_at NULL: it was interrupted; the same file again goes on.
CREATE TABLE bank_imports (
    id          BLOB PRIMARY KEY CHECK (length(id) = 16),
    file_hash   TEXT NOT NULL UNIQUE CHECK (length(file_hash) = 64),
    name        TEXT NOT NULL,
    account     TEXT NOT NULL,
    currency    TEXT NOT NULL CHECK (length(currency) = 3),
    user_id     BLOB NOT NULL,              -- who did it
    deposits    INTEGER NOT NULL,
    ignored     INTEGER NOT NULL,           -- rows that brought nothing in
    lines       INTEGER NOT NULL DEFAULT 0, -- those that no earlier file had,
    matched     INTEGER NOT NULL DEFAULT 0, -- and of these those that found their payment by themselves
    first_on    TEXT,
    last_on     TEXT,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT, WITHOUT ROWID;

-- What came in, each line once, whatever files it stands in.
CREATE TABLE bank_lines (
    id         BLOB PRIMARY KEY CHECK (length(id) = 16),
    identity   BLOB NOT NULL UNIQUE CHECK (length(identity) = 32),
    import_id  BLOB NOT NULL,               -- the first file that had it
    line       INTEGER NOT NULL,
    booked_on  TEXT NOT NULL CHECK (length(booked_on) = 10),
    amount     INTEGER NOT NULL CHECK (amount > 0),
    currency   TEXT NOT NULL CHECK (length(currency) = 3),
    text       TEXT NOT NULL,
    balance    INTEGER,
    bank_id    TEXT,
    payer      TEXT,                        -- the name alone, to find the same payer again
    state      TEXT NOT NULL
               CHECK (state IN ('open', 'matched', 'assigned', 'set_aside', 'to_return', 'returned')),
    reason     TEXT NOT NULL,               -- why it is what it is
    payment_id BLOB,
    note       TEXT,                        -- the operator's
    user_id    BLOB,                        -- who decided
    decided_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_lines_state ON bank_lines (state, id);
CREATE INDEX bank_lines_import ON bank_lines (import_id, state);
CREATE INDEX bank_lines_payer ON bank_lines (payer) WHERE payer IS NOT NULL AND payment_id IS NOT NULL;

-- Money that an operator has to send back: refunds of transfers, and lines that nobody could use.
CREATE TABLE bank_returns (
    id         BLOB PRIMARY KEY CHECK (length(id) = 16), -- of the refund or of the line
    kind       TEXT NOT NULL CHECK (kind IN ('refund', 'line')),
    payment_id BLOB,
    line_id    BLOB,                        -- that brought the money, where that is known
    amount     INTEGER NOT NULL CHECK (amount > 0),
    currency   TEXT NOT NULL CHECK (length(currency) = 3),
    state      TEXT NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'paid')),
    paid_on    TEXT,
    note       TEXT,
    user_id    BLOB,                        -- who sent it
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((kind = 'refund') = (payment_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_returns_state ON bank_returns (state, id);
