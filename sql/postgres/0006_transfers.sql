-- Bank transfers (G4): what a customer was told to pay, what the bank says came in, and what has to go
-- back. These rows are the manual gateway's own truth, as a provider's books are theirs.

-- A payment that waits for its money. A reference is never given twice, so that money which comes years
-- later still finds whom it was meant for, and nobody else.
CREATE TABLE bank_transfers (
    payment_id  bytea PRIMARY KEY CHECK (length(payment_id) = 16),
    reference   text NOT NULL UNIQUE CHECK (length(reference) = 9),
    amount      bigint NOT NULL CHECK (amount > 0),
    currency    text NOT NULL CHECK (length(currency) = 3),
    received    bigint NOT NULL DEFAULT 0 CHECK (received IN (0, amount)),
    state       text NOT NULL DEFAULT 'open'
                CHECK (state IN ('open', 'received', 'returning', 'canceled')),
    account     text NOT NULL,              -- as the customer was told
    expires_at  bigint NOT NULL,
    received_on text,                       -- the bank's day: 2026-11-16
    line_id     bytea,                       -- that brought it; NULL: an operator said so
    cancel_reason text,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    CHECK ((received = 0) = (state IN ('open', 'canceled')))
);
CREATE INDEX bank_transfers_state ON bank_transfers (state, payment_id);
CREATE INDEX bank_transfers_amount ON bank_transfers (currency, amount, payment_id) WHERE state = 'open';

-- One row per file. finished_at NULL: it was interrupted; the same file again goes on.
CREATE TABLE bank_imports (
    id          bytea PRIMARY KEY CHECK (length(id) = 16),
    file_hash   text NOT NULL UNIQUE CHECK (length(file_hash) = 64),
    name        text NOT NULL,
    account     text NOT NULL,
    currency    text NOT NULL CHECK (length(currency) = 3),
    user_id     bytea NOT NULL,              -- who did it
    deposits    bigint NOT NULL,
    ignored     bigint NOT NULL,           -- rows that brought nothing in
    lines       bigint NOT NULL DEFAULT 0, -- those that no earlier file had,
    matched     bigint NOT NULL DEFAULT 0, -- and of these those that found their payment by themselves
    first_on    text,
    last_on     text,
    created_at  bigint NOT NULL,
    finished_at bigint
);

-- What came in, each line once, whatever files it stands in.
CREATE TABLE bank_lines (
    id         bytea PRIMARY KEY CHECK (length(id) = 16),
    identity   bytea NOT NULL UNIQUE CHECK (length(identity) = 32),
    import_id  bytea NOT NULL,               -- the first file that had it
    line       bigint NOT NULL,
    booked_on  text NOT NULL CHECK (length(booked_on) = 10),
    amount     bigint NOT NULL CHECK (amount > 0),
    currency   text NOT NULL CHECK (length(currency) = 3),
    text       text NOT NULL,
    balance    bigint,
    bank_id    text,
    payer      text,                        -- the name alone, to find the same payer again
    state      text NOT NULL
               CHECK (state IN ('open', 'matched', 'assigned', 'set_aside', 'to_return', 'returned')),
    reason     text NOT NULL,               -- why it is what it is
    payment_id bytea,
    note       text,                        -- the operator's
    user_id    bytea,                        -- who decided
    decided_at bigint,
    created_at bigint NOT NULL
);
CREATE INDEX bank_lines_state ON bank_lines (state, id);
CREATE INDEX bank_lines_import ON bank_lines (import_id, state);
CREATE INDEX bank_lines_payer ON bank_lines (payer) WHERE payer IS NOT NULL AND payment_id IS NOT NULL;

-- Money that an operator has to send back: refunds of transfers, and lines that nobody could use.
CREATE TABLE bank_returns (
    id         bytea PRIMARY KEY CHECK (length(id) = 16), -- of the refund or of the line
    kind       text NOT NULL CHECK (kind IN ('refund', 'line')),
    payment_id bytea,
    line_id    bytea,                        -- that brought the money, where that is known
    amount     bigint NOT NULL CHECK (amount > 0),
    currency   text NOT NULL CHECK (length(currency) = 3),
    state      text NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'paid')),
    paid_on    text,
    note       text,
    user_id    bytea,                        -- who sent it
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CHECK ((kind = 'refund') = (payment_id IS NOT NULL))
);
CREATE INDEX bank_returns_state ON bank_returns (state, id);
