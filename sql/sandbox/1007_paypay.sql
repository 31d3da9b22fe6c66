-- The pretend PayPay: codes, payments, captures, refunds, and what goes wrong with it.
-- Times are milliseconds, except requested_at: the seconds that the merchant sent.

CREATE TABLE sandbox_paypay_codes (
    id                  TEXT PRIMARY KEY,
    merchant_payment_id TEXT NOT NULL UNIQUE,
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    status              TEXT NOT NULL CHECK (status IN ('open', 'used', 'deleted', 'expired')),
    amount              INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    is_authorization    INTEGER NOT NULL CHECK (is_authorization IN (0, 1)),
    authorized_until    INTEGER,           -- as asked for
    requested_at        INTEGER NOT NULL,
    description         TEXT,
    redirect_url        TEXT,
    redirect_type       TEXT,
    items               TEXT,              -- this and metadata: JSON
    metadata            TEXT,
    store_id            TEXT,
    terminal_id         TEXT
) STRICT, WITHOUT ROWID;

-- Ids grow with time. There is one only where somebody tried to pay.
CREATE TABLE sandbox_paypay_payments (
    id                  TEXT PRIMARY KEY,
    merchant_payment_id TEXT NOT NULL UNIQUE,
    code                TEXT,              -- NULL: by a user authorization
    user_authorization  TEXT,
    status              TEXT NOT NULL CHECK (status IN ('AUTHORIZED', 'REAUTHORIZING',
                        'COMPLETED', 'REFUNDED', 'FAILED', 'CANCELED', 'EXPIRED')),
    is_authorization    INTEGER NOT NULL CHECK (is_authorization IN (0, 1)),
    amount              INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 99999999999),
    captured            INTEGER NOT NULL,  -- what is the merchant's, refunds not taken off
    refunded            INTEGER NOT NULL,
    requested_at        INTEGER NOT NULL,
    accepted_at         INTEGER NOT NULL,
    authorized_at       INTEGER,
    completed_at        INTEGER,
    expires_at          INTEGER,           -- of the authorization
    canceled_at         INTEGER,
    store_id            TEXT,
    terminal_id         TEXT,
    receipt             TEXT,
    description         TEXT,
    items               TEXT,
    metadata            TEXT,
    revert_id           TEXT UNIQUE,
    revert_requested_at INTEGER,
    revert_reason       TEXT,
    CHECK (captured BETWEEN 0 AND amount),
    CHECK (refunded BETWEEN 0 AND captured),
    CHECK ((captured > 0) = (status IN ('COMPLETED', 'REFUNDED'))),
    CHECK ((status = 'REFUNDED') = (captured > 0 AND refunded = captured)),
    CHECK ((code IS NULL) <> (user_authorization IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX sandbox_paypay_similar ON sandbox_paypay_payments (user_authorization, amount, accepted_at)
    WHERE user_authorization IS NOT NULL;

-- One a payment: the one that was done, or that its user is asked about.
CREATE TABLE sandbox_paypay_captures (
    payment      TEXT PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,     -- the merchant's
    status       TEXT NOT NULL CHECK (status IN ('USER_REQUESTED', 'COMPLETED')),
    amount       INTEGER NOT NULL CHECK (amount > 0),
    requested_at INTEGER NOT NULL,
    accepted_at  INTEGER NOT NULL,
    expires_at   INTEGER,                  -- of the question
    description  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_paypay_refunds (
    id           TEXT PRIMARY KEY,         -- the merchant's
    payment      TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('CREATED', 'REFUNDED')),
    amount       INTEGER NOT NULL CHECK (amount > 0),
    requested_at INTEGER NOT NULL,
    accepted_at  INTEGER NOT NULL,
    reason       TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX sandbox_paypay_refunds_of ON sandbox_paypay_refunds (payment, accepted_at, id);

CREATE TABLE sandbox_paypay_switches (
    one              INTEGER PRIMARY KEY CHECK (one = 1),
    webhooks         TEXT NOT NULL CHECK (webhooks IN ('on', 'off', 'duplicate', 'delay')),
    webhook_delay_ms INTEGER NOT NULL,
    webhook_url      TEXT NOT NULL,        -- empty: where the server said
    refunds          TEXT NOT NULL CHECK (refunds IN ('one', 'many')),
    refund_delay_ms  INTEGER NOT NULL,     -- until CREATED becomes REFUNDED; 0: at once
    confirm_capture  INTEGER NOT NULL CHECK (confirm_capture IN (0, 1)),
    notices          INTEGER NOT NULL      -- told so far
) STRICT;

INSERT INTO sandbox_paypay_switches VALUES (1, 'on', 2000, '', 'one', 0, 0, 0);

CREATE TABLE sandbox_paypay_faults (
    seq    INTEGER PRIMARY KEY,
    fault  TEXT NOT NULL,
    method TEXT NOT NULL,                  -- empty: any
    path   TEXT NOT NULL,                  -- empty: any; with * behind it: what begins so
    skip   INTEGER NOT NULL CHECK (skip >= 0),
    times  INTEGER NOT NULL CHECK (times > 0),
    ms     INTEGER NOT NULL
) STRICT;
