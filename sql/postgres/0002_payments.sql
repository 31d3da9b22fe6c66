-- Payments that happen once: bookings, payments, their operations and keys, refunds, what the gateway
-- has of them, the domain events, and who subscribes to them. Enums are text with a CHECK.

-- What can be paid. `version` only rises: the sender's own version, or its time in milliseconds.
CREATE TABLE bookings (
    id         bytea PRIMARY KEY CHECK (length(id) = 16),
    user_id    bytea NOT NULL CHECK (length(user_id) = 16),
    amount     bigint NOT NULL CHECK (amount > 0),
    currency   text NOT NULL CHECK (length(currency) = 3),
    status     text NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'CANCELLED')),
    version    bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

-- CloudEvents that came, so that one counts once. key: source, a blank, id.
CREATE TABLE inbound_events (
    key         text PRIMARY KEY,
    type        text NOT NULL,
    outcome     text NOT NULL,
    received_at bigint NOT NULL
);

-- One row per claim of a client's key (D3, D4). Only finished claims expire (D5).
CREATE TABLE idempotency_records (
    user_id         bytea NOT NULL,
    operation       text NOT NULL CHECK (operation IN ('CREATE', 'CAPTURE', 'REFUND', 'VOID')),
    idempotency_key bytea NOT NULL CHECK (length(idempotency_key) = 16),
    request_hash    text NOT NULL CHECK (length(request_hash) = 64),
    state           text NOT NULL CHECK (state IN ('running', 'done')),
    response_status bigint,
    response_body   text,                  -- the very bytes: a jsonb would not give them back
    payment_id      bytea NOT NULL,
    operation_id    bytea NOT NULL,
    created_at      bigint NOT NULL,
    expires_at      bigint NOT NULL,
    PRIMARY KEY (user_id, operation, idempotency_key),
    CHECK ((state = 'done') = (response_status IS NOT NULL AND response_body IS NOT NULL))
);
CREATE INDEX idx_idempotency_records_expires_at ON idempotency_records (expires_at);

CREATE TABLE payments (
    id               bytea PRIMARY KEY CHECK (length(id) = 16),
    context          text NOT NULL CHECK (context IN ('booking', 'purchase', 'participant')),
    subject_id       bytea NOT NULL,       -- of the booking, purchase or participant
    booking_id       bytea,
    user_id          bytea NOT NULL,
    amount           bigint NOT NULL CHECK (amount > 0),
    captured_amount  bigint,
    refunded_amount  bigint,
    currency         text NOT NULL CHECK (length(currency) = 3),
    status           text NOT NULL DEFAULT 'PENDING'
                     CHECK (status IN ('PENDING', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'FAILED')),
    description      text CHECK (length(description) <= 200),
    gateway          text NOT NULL,
    gateway_transaction_id text,           -- pi_...
    failure_reason   text CHECK (length(failure_reason) <= 500),
    idempotency_key  bytea NOT NULL,
    claim_id         bytea NOT NULL UNIQUE, -- the operation that made it (D3)
    version          bigint NOT NULL DEFAULT 1, -- rises with every change
    open_op          bytea,                -- the operation under way or unknown: no other one starts
    given_up         bigint NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1)), -- money that lands goes back (D2)
    place_held       bigint NOT NULL DEFAULT 0 CHECK (place_held IN (0, 1)), -- FAILED, but its intent may still live (D1)
    action           text,                 -- what the customer has to do, as JSON, while PENDING
    checkout_session_id text,           -- cs_..., the last one (D18)
    disputed         bigint NOT NULL DEFAULT 0 CHECK (disputed IN (0, 1)), -- no refunds meanwhile (D22)
    capture_before   bigint,
    created_at       bigint NOT NULL,
    updated_at       bigint NOT NULL,
    CHECK ((context = 'booking') = (booking_id IS NOT NULL)),
    CHECK (captured_amount IS NULL OR captured_amount BETWEEN 1 AND amount),
    CHECK (refunded_amount IS NULL OR
           (captured_amount IS NOT NULL AND refunded_amount BETWEEN 0 AND captured_amount))
);
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
    id          bytea PRIMARY KEY CHECK (length(id) = 16),
    payment_id  bytea NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('create', 'capture', 'refund', 'void')),
    phase       text NOT NULL CHECK (phase IN ('send', 'unknown', 'done')),
    cause       text NOT NULL,             -- 'client', or why we do it ourselves
    gateway_key text NOT NULL,             -- what every call of it carries (D5)
    amount      bigint,                    -- of a capture or a refund
    refund_id   bytea,
    method      text,                      -- the payment method's token
    intent_id   text,                      -- where it is not the payment's own: money of another intent (D2)
    details     text,                      -- what its subject needs for the call, as JSON
    of_subject  bigint NOT NULL DEFAULT 0 CHECK (of_subject IN (0, 1)), -- answered with the subject
    user_id     bytea,                     -- whose key; NULL: no client waits for it
    idempotency_key bytea,
    message_id  bytea NOT NULL,
    claimed_at  bigint NOT NULL,
    sent_at     bigint,                    -- the last time that something may have reached the gateway
    sends       bigint NOT NULL DEFAULT 0,
    asks        bigint NOT NULL DEFAULT 0,
    result      text,
    ended_at    bigint
);
CREATE INDEX operations_payment ON operations (payment_id);

-- Refunds have a life of their own (D12).
CREATE TABLE refunds (
    id                bytea PRIMARY KEY CHECK (length(id) = 16),
    payment_id        bytea NOT NULL,
    amount            bigint NOT NULL CHECK (amount > 0),
    reason            text,
    status            text NOT NULL CHECK (status IN
                      ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
    gateway_refund_id text UNIQUE,         -- re_...
    failure_reason    text,
    automatic         bigint NOT NULL DEFAULT 0 CHECK (automatic IN (0, 1)), -- D2: never was revenue
    created_at        bigint NOT NULL,
    updated_at        bigint NOT NULL
);
CREATE INDEX refunds_payment ON refunds (payment_id);

-- One row per object at the gateway (D16).
CREATE TABLE payment_transactions (
    id                       bytea PRIMARY KEY CHECK (length(id) = 16),
    payment_id               bytea NOT NULL,
    gateway                  text NOT NULL,
    stripe_payment_intent_id text NOT NULL UNIQUE,
    stripe_charge_id         text,
    status                   text NOT NULL CHECK (status IN
                             ('pending', 'authorized', 'succeeded', 'failed', 'canceled')),
    amount                   bigint,
    amount_received          bigint,
    currency                 text,
    fee                      bigint,
    net                      bigint,
    balance_transaction      text,
    receipt_url              text,
    failure_code             text,
    failure_message          text,
    cancel_reason            text,
    konbini_number           text,
    konbini_store            text,
    konbini_expires_at       bigint,
    webhook_event_id         text,
    webhook_received_at      bigint,
    authorized_at            bigint,
    succeeded_at             bigint,
    failed_at                bigint,
    canceled_at              bigint,
    created_at               bigint NOT NULL,
    updated_at               bigint NOT NULL
);
CREATE INDEX payment_transactions_payment ON payment_transactions (payment_id);
CREATE INDEX payment_transactions_charge ON payment_transactions (stripe_charge_id)
    WHERE stripe_charge_id IS NOT NULL; -- disputes may name nothing else

-- The outbox: what happened, in the order of each payment's version, with a snapshot (B2, M14).
CREATE TABLE domain_events (
    id           bytea PRIMARY KEY CHECK (length(id) = 16),
    type         text NOT NULL,
    aggregate_id bytea NOT NULL,
    version      bigint NOT NULL,
    dedupe       text NOT NULL,            -- subject, transition, attempt: told once (E10)
    body         text NOT NULL,            -- the envelope as it is sent
    occurred_at  bigint NOT NULL,
    UNIQUE (aggregate_id, dedupe)
);

CREATE TABLE subscribers (
    id          bytea PRIMARY KEY CHECK (length(id) = 16),
    url         text NOT NULL,
    types       text NOT NULL,             -- comma-separated; '*': all
    secret      text NOT NULL,             -- whsec_...
    disabled_at bigint,                    -- it answered 410, or an operator said so
    created_at  bigint NOT NULL
);

ALTER TABLE audit ADD COLUMN user_id bytea;
ALTER TABLE audit ADD COLUMN payment_id bytea;
ALTER TABLE audit ADD COLUMN amount bigint;
ALTER TABLE audit ADD COLUMN idempotency_key bytea;
CREATE INDEX audit_payment ON audit (payment_id) WHERE payment_id IS NOT NULL;
