-- Payments that happen once: bookings, payments, their operations and keys, refunds, what the gateway
-- has of them, the domain events, and who subscribes to them. Enums are text with a CHECK.

-- What can be paid. `version` only rises: the sender's own version, or its time in milliseconds.
CREATE TABLE bookings (
    id         BLOB PRIMARY KEY CHECK (length(id) = 16),
    user_id    BLOB NOT NULL CHECK (length(user_id) = 16),
    amount     INTEGER NOT NULL CHECK (amount > 0),
    currency   TEXT NOT NULL CHECK (length(currency) = 3),
    status     TEXT NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'CANCELLED')),
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- CloudEvents that came, so that one counts once. key: source, a blank, id.
CREATE TABLE inbound_events (
    key         TEXT PRIMARY KEY,
    type        TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per claim of a client's key (D3, D4). Only finished claims expire (D5).
CREATE TABLE idempotency_records (
    user_id         BLOB NOT NULL,
    operation       TEXT NOT NULL CHECK (operation IN ('CREATE', 'CAPTURE', 'REFUND', 'VOID')),
    idempotency_key BLOB NOT NULL CHECK (length(idempotency_key) = 16),
    request_hash    TEXT NOT NULL CHECK (length(request_hash) = 64),
    state           TEXT NOT NULL CHECK (state IN ('running', 'done')),
    response_status INTEGER,
    response_body   TEXT,                  -- the very bytes: a jsonb would not give them back
    payment_id      BLOB NOT NULL,
    operation_id    BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    PRIMARY KEY (user_id, operation, idempotency_key),
    CHECK ((state = 'done') = (response_status IS NOT NULL AND response_body IS NOT NULL))
) STRICT;
CREATE INDEX idx_idempotency_records_expires_at ON idempotency_records (expires_at);

CREATE TABLE payments (
    id               BLOB PRIMARY KEY CHECK (length(id) = 16),
    context          TEXT NOT NULL CHECK (context IN ('booking', 'purchase', 'participant')),
    subject_id       BLOB NOT NULL,       -- of the booking, purchase or participant
    booking_id       BLOB,
    user_id          BLOB NOT NULL,
    amount           INTEGER NOT NULL CHECK (amount > 0),
    captured_amount  INTEGER,
    refunded_amount  INTEGER,
    currency         TEXT NOT NULL CHECK (length(currency) = 3),
    status           TEXT NOT NULL DEFAULT 'PENDING'
                     CHECK (status IN ('PENDING', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'FAILED')),
    description      TEXT CHECK (length(description) <= 200),
    gateway          TEXT NOT NULL,
    gateway_transaction_id TEXT,           -- pi_...
    failure_reason   TEXT CHECK (length(failure_reason) <= 500),
    idempotency_key  BLOB NOT NULL,
    claim_id         BLOB NOT NULL UNIQUE, -- the operation that made it (D3)
    version          INTEGER NOT NULL DEFAULT 1, -- rises with every change
    open_op          BLOB,                -- the operation under way or unknown: no other one starts
    given_up         INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)), -- money that lands goes back (D2)
    place_held       INTEGER NOT NULL DEFAULT 0 CHECK (place_held IN (0, 1)), -- FAILED, but its intent may still live (D1)
    action           TEXT,                 -- what the customer has to do, as JSON, while PENDING
    checkout_session_id TEXT,           -- cs_..., the last one (D18)
    disputed         INTEGER NOT NULL DEFAULT 0 CHECK (disputed IN (0, 1)), -- no refunds meanwhile (D22)
    capture_before   INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    CHECK ((context = 'booking') = (booking_id IS NOT NULL)),
    CHECK (captured_amount IS NULL OR captured_amount BETWEEN 1 AND amount),
    CHECK (refunded_amount IS NULL OR
           (captured_amount IS NOT NULL AND refunded_amount BETWEEN 0 AND captured_amount))
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_payments_booking_id ON payments (booking_id);
CREATE INDEX idx_payments_user_id ON payments (user_id);
CREATE INDEX idx_payments_idempotency_key ON payments (idempotency_key);
CREATE INDEX idx_payments_status_created ON payments (status, created_at);
CREATE UNIQUE INDEX payments_one_live ON payments (context, subject_id)
    WHERE status IN ('PENDING', 'AUTHORIZED', 'CAPTURED');
CREATE INDEX payments_place_held ON payments (context, subject_id) WHERE place_held = 1;
CREATE INDEX payments_of_participant ON payments (subject_id) WHERE context = 'participant';

-- One money operation: the client's, or our own (a cancel of what nobody wants any more).
CREATE TABLE operations (
    id          BLOB PRIMARY KEY CHECK (length(id) = 16),
    payment_id  BLOB NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('create', 'capture', 'refund', 'void')),
    phase       TEXT NOT NULL CHECK (phase IN ('send', 'unknown', 'done')),
    cause       TEXT NOT NULL,             -- 'client', or why we do it ourselves
    gateway_key TEXT NOT NULL,             -- what every call of it carries (D5)
    amount      INTEGER,                    -- of a capture or a refund
    refund_id   BLOB,
    method      TEXT,                      -- the payment method's token
    intent_id   TEXT,                      -- where it is not the payment's own: money of another intent (D2)
    details     TEXT,                      -- what its subject needs for the call, as JSON
    of_subject  INTEGER NOT NULL DEFAULT 0 CHECK (of_subject IN (0, 1)), -- answered with the subject
    user_id     BLOB,                     -- whose key; NULL: no client waits for it
    idempotency_key BLOB,
    message_id  BLOB NOT NULL,
    claimed_at  INTEGER NOT NULL,
    sent_at     INTEGER,                    -- the last time that something may have reached the gateway
    sends       INTEGER NOT NULL DEFAULT 0,
    asks        INTEGER NOT NULL DEFAULT 0,
    result      TEXT,
    ended_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX operations_payment ON operations (payment_id);

-- Refunds have a life of their own (D12).
CREATE TABLE refunds (
    id                BLOB PRIMARY KEY CHECK (length(id) = 16),
    payment_id        BLOB NOT NULL,
    amount            INTEGER NOT NULL CHECK (amount > 0),
    reason            TEXT,
    status            TEXT NOT NULL CHECK (status IN
                      ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
    gateway_refund_id TEXT UNIQUE,         -- re_...
    failure_reason    TEXT,
    automatic         INTEGER NOT NULL DEFAULT 0 CHECK (automatic IN (0, 1)), -- D2: never was revenue
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX refunds_payment ON refunds (payment_id);

-- One row per object at the gateway (D16).
CREATE TABLE payment_transactions (
    id                       BLOB PRIMARY KEY CHECK (length(id) = 16),
    payment_id               BLOB NOT NULL,
    gateway                  TEXT NOT NULL,
    stripe_payment_intent_id TEXT NOT NULL UNIQUE,
    stripe_charge_id         TEXT,
    status                   TEXT NOT NULL CHECK (status IN
                             ('pending', 'authorized', 'succeeded', 'failed', 'canceled')),
    amount                   INTEGER,
    amount_received          INTEGER,
    currency                 TEXT,
    fee                      INTEGER,
    net                      INTEGER,
    balance_transaction      TEXT,
    receipt_url              TEXT,
    failure_code             TEXT,
    failure_message          TEXT,
    cancel_reason            TEXT,
    konbini_number           TEXT,
    konbini_store            TEXT,
    konbini_expires_at       INTEGER,
    webhook_event_id         TEXT,
    webhook_received_at      INTEGER,
    authorized_at            INTEGER,
    succeeded_at             INTEGER,
    failed_at                INTEGER,
    canceled_at              INTEGER,
    created_at               INTEGER NOT NULL,
    updated_at               INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_transactions_payment ON payment_transactions (payment_id);
CREATE INDEX payment_transactions_charge ON payment_transactions (stripe_charge_id)
    WHERE stripe_charge_id IS NOT NULL; -- disputes may name nothing else

-- The outbox: what happened, in the order of each payment's version, with a snapshot (B2, M14).
CREATE TABLE domain_events (
    id           BLOB PRIMARY KEY CHECK (length(id) = 16),
    type         TEXT NOT NULL,
    aggregate_id BLOB NOT NULL,
    version      INTEGER NOT NULL,
    dedupe       TEXT NOT NULL,            -- subject, transition, attempt: told once (E10)
    body         TEXT NOT NULL,            -- the envelope as it is sent
    occurred_at  INTEGER NOT NULL,
    UNIQUE (aggregate_id, dedupe)
) STRICT, WITHOUT ROWID;

CREATE TABLE subscribers (
    id          BLOB PRIMARY KEY CHECK (length(id) = 16),
    url         TEXT NOT NULL,
    types       TEXT NOT NULL,             -- comma-separated; '*': all
    secret      TEXT NOT NULL,             -- whsec_...
    disabled_at INTEGER,                    -- it answered 410, or an operator said so
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE audit ADD COLUMN user_id BLOB;
ALTER TABLE audit ADD COLUMN payment_id BLOB;
ALTER TABLE audit ADD COLUMN amount INTEGER;
ALTER TABLE audit ADD COLUMN idempotency_key BLOB;
CREATE INDEX audit_payment ON audit (payment_id) WHERE payment_id IS NOT NULL;
