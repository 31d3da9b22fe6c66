-- What else can be paid for: positions of a campaign, and what participants of a collection owe. And
-- what is told to people, sessions of Checkout, disputes. Enums are text with a CHECK.

-- positions_sold counts reserved and sold ones (D14), positions_paid only sold ones: when that is all
-- of them, the campaign is sold out. Counters always equal a count of the rows.
CREATE TABLE campaigns (
    campaign_id     BLOB PRIMARY KEY CHECK (length(campaign_id) = 16),
    title           TEXT NOT NULL,
    currency        TEXT NOT NULL CHECK (length(currency) = 3),
    status          TEXT NOT NULL CHECK (status IN ('active', 'sold_out', 'drawn', 'cancelled')),
    winners         INTEGER NOT NULL CHECK (winners >= 0), -- how many the draw picks
    positions_total INTEGER NOT NULL CHECK (positions_total > 0),
    positions_sold  INTEGER NOT NULL DEFAULT 0 CHECK (positions_sold BETWEEN 0 AND positions_total),
    positions_paid  INTEGER NOT NULL DEFAULT 0 CHECK (positions_paid BETWEEN 0 AND positions_sold),
    total_revenue   INTEGER NOT NULL DEFAULT 0 CHECK (total_revenue >= 0),
    request_hash    TEXT NOT NULL,          -- of what it was made from: the same PUT again changes nothing
    draw_seed       BLOB NOT NULL,          -- secret until it is drawn
    draw_commitment TEXT NOT NULL,          -- SHA-256 of the seed, published at once
    created_by      BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    sold_out_at     INTEGER,
    drawn_at        INTEGER,
    cancelled_at    INTEGER,
    updated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX campaigns_created ON campaigns (created_at, campaign_id);

CREATE TABLE layers (
    layer_id        BLOB PRIMARY KEY CHECK (length(layer_id) = 16),
    campaign_id     BLOB NOT NULL,
    ordinal         INTEGER NOT NULL,
    name            TEXT NOT NULL,
    price           INTEGER NOT NULL CHECK (price > 0),
    positions_total INTEGER NOT NULL CHECK (positions_total > 0),
    positions_sold  INTEGER NOT NULL DEFAULT 0 CHECK (positions_sold BETWEEN 0 AND positions_total),
    UNIQUE (campaign_id, ordinal)
) STRICT, WITHOUT ROWID;

-- purchase_id: whose it is while reserved or sold; a release names it, so that nobody loses a position
-- by somebody else's failure (D15).
CREATE TABLE positions (
    position_id BLOB PRIMARY KEY CHECK (length(position_id) = 16),
    campaign_id BLOB NOT NULL,
    layer_id    BLOB NOT NULL,
    number      INTEGER NOT NULL,           -- 1, 2, ... within the campaign
    status      TEXT NOT NULL DEFAULT 'available' CHECK (status IN ('available', 'reserved', 'sold')),
    user_id     BLOB,
    purchase_id BLOB,
    reserved_at INTEGER,
    sold_at     INTEGER,
    UNIQUE (campaign_id, number),
    CHECK ((status = 'available') = (purchase_id IS NULL)),
    CHECK ((status = 'available') = (user_id IS NULL))
) STRICT, WITHOUT ROWID;

-- revenue: what this purchase brought into its campaign's total_revenue and the user's total_spent;
-- a refund takes it out again, once (D22).
CREATE TABLE purchases (
    purchase_id  BLOB PRIMARY KEY CHECK (length(purchase_id) = 16),
    campaign_id  BLOB NOT NULL,
    layer_id     BLOB NOT NULL,
    position_id  BLOB NOT NULL,
    user_id      BLOB NOT NULL,
    payment_id   BLOB NOT NULL UNIQUE,
    amount       INTEGER NOT NULL CHECK (amount > 0),
    currency     TEXT NOT NULL CHECK (length(currency) = 3),
    method_type  TEXT NOT NULL CHECK (method_type IN ('card', 'konbini')),
    status       TEXT NOT NULL CHECK (status IN
                 ('pending', 'completed', 'failed', 'cancelled', 'refunded')),
    revenue      INTEGER NOT NULL DEFAULT 0 CHECK (revenue BETWEEN 0 AND amount),
    expires_at   INTEGER NOT NULL,          -- of the reservation (D19)
    created_at   INTEGER NOT NULL,
    completed_at INTEGER,
    failed_at    INTEGER,
    cancelled_at INTEGER,
    refunded_at  INTEGER,
    updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX purchases_campaign ON purchases (campaign_id, purchase_id);
CREATE INDEX purchases_user ON purchases (user_id, purchase_id);

-- What somebody bought, by currency: sums of two currencies mean nothing.
CREATE TABLE users (
    user_id     BLOB NOT NULL CHECK (length(user_id) = 16),
    currency    TEXT NOT NULL CHECK (length(currency) = 3),
    purchases   INTEGER NOT NULL CHECK (purchases >= 0),
    total_spent INTEGER NOT NULL CHECK (total_spent >= 0),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, currency)
) STRICT, WITHOUT ROWID;

-- The draw: one row a campaign, so it is drawn once (C6).
CREATE TABLE draws (
    campaign_id    BLOB PRIMARY KEY,
    entries        INTEGER NOT NULL,
    entries_digest TEXT NOT NULL,
    drawn_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE draw_entries (               -- who took part, in the order of the positions
    campaign_id BLOB NOT NULL,
    number      INTEGER NOT NULL,         -- of the position
    purchase_id BLOB NOT NULL,
    rank        INTEGER,                  -- 1: the first winner; NULL: none
    PRIMARY KEY (campaign_id, number)
) STRICT, WITHOUT ROWID;

-- Money that a group collects.
CREATE TABLE collections (
    collection_id BLOB PRIMARY KEY CHECK (length(collection_id) = 16),
    owner_id      BLOB NOT NULL,            -- the organiser, whose payments they are
    title         TEXT NOT NULL,
    description   TEXT,
    currency      TEXT NOT NULL CHECK (length(currency) = 3),
    due_at        INTEGER,
    time_zone     TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX collections_owner ON collections (owner_id, collection_id);

CREATE TABLE participants (
    participant_id BLOB PRIMARY KEY CHECK (length(participant_id) = 16),
    collection_id  BLOB NOT NULL,
    name           TEXT NOT NULL,
    email          TEXT,
    user_id        BLOB,                    -- who may pay it himself; NULL: only by the organiser's link
    amount         INTEGER NOT NULL CHECK (amount > 0),
    status         TEXT NOT NULL CHECK (status IN ('unpaid', 'paid')),
    paid_amount    INTEGER NOT NULL DEFAULT 0,
    refunded_amount INTEGER NOT NULL DEFAULT 0,
    paid_at        INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    CHECK (paid_amount BETWEEN 0 AND amount AND refunded_amount BETWEEN 0 AND paid_amount),
    CHECK ((status = 'paid') = (paid_amount > 0))
) STRICT, WITHOUT ROWID;
CREATE INDEX participants_collection ON participants (collection_id, participant_id);

-- Sessions of the gateway's own page (E1, D18). status only climbs: open, expired, complete.
CREATE TABLE checkout_sessions (
    session_id     TEXT PRIMARY KEY,      -- cs_...
    payment_id     BLOB NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('open', 'expired', 'complete')),
    payment_status TEXT,                  -- unpaid, paid, no_payment_required: informs only
    intent_id      TEXT,
    customer_id    TEXT,
    url            TEXT,
    expires_at     INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX checkout_sessions_payment ON checkout_sessions (payment_id);

-- Disputes by the gateway's id (E9). Closed ones never open again.
CREATE TABLE disputes (
    dispute_id TEXT PRIMARY KEY,          -- dp_... or du_...
    payment_id BLOB NOT NULL,
    status     TEXT NOT NULL,             -- the gateway's own word
    closed     INTEGER NOT NULL CHECK (closed IN (0, 1)),
    lost       INTEGER NOT NULL CHECK (lost IN (0, 1)),
    reason     TEXT,
    amount     INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX disputes_payment ON disputes (payment_id);

-- What people are told: one row a message to somebody, once (E10). A transport takes it from here.
CREATE TABLE notifications (
    id          BLOB PRIMARY KEY CHECK (length(id) = 16),
    dedupe      TEXT NOT NULL UNIQUE,     -- subject, type, attempt or charge
    user_id     BLOB,                     -- or, of a collection:
    participant_id BLOB,
    payment_id  BLOB,
    type        TEXT NOT NULL,
    language    TEXT NOT NULL,
    title       TEXT NOT NULL,
    body        TEXT NOT NULL,
    data        TEXT NOT NULL,            -- a JSON object
    created_at  INTEGER NOT NULL,
    recorded_at INTEGER                   -- when its queue message ran
) STRICT, WITHOUT ROWID;
CREATE INDEX notifications_payment ON notifications (payment_id);

-- Which payment an event was about, for its history.
ALTER TABLE webhook_outcomes ADD COLUMN payment_id BLOB;
ALTER TABLE webhook_outcomes ADD COLUMN event_id TEXT;
CREATE INDEX webhook_outcomes_payment ON webhook_outcomes (payment_id) WHERE payment_id IS NOT NULL;
