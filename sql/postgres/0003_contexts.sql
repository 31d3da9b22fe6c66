-- What else can be paid for: positions of a campaign, and what participants of a collection owe. And
-- what is told to people, sessions of Checkout, disputes. Enums are text with a CHECK.

-- positions_sold counts reserved and sold ones (D14), positions_paid only sold ones: when that is all
-- of them, the campaign is sold out. Counters always equal a count of the rows.
CREATE TABLE campaigns (
    campaign_id     bytea PRIMARY KEY CHECK (length(campaign_id) = 16),
    title           text NOT NULL,
    currency        text NOT NULL CHECK (length(currency) = 3),
    status          text NOT NULL CHECK (status IN ('active', 'sold_out', 'drawn', 'cancelled')),
    winners         bigint NOT NULL CHECK (winners >= 0), -- how many the draw picks
    positions_total bigint NOT NULL CHECK (positions_total > 0),
    positions_sold  bigint NOT NULL DEFAULT 0 CHECK (positions_sold BETWEEN 0 AND positions_total),
    positions_paid  bigint NOT NULL DEFAULT 0 CHECK (positions_paid BETWEEN 0 AND positions_sold),
    total_revenue   bigint NOT NULL DEFAULT 0 CHECK (total_revenue >= 0),
    request_hash    text NOT NULL,          -- of what it was made from: the same PUT again changes nothing
    draw_seed       bytea NOT NULL,          -- secret until it is drawn
    draw_commitment text NOT NULL,          -- SHA-256 of the seed, published at once
    created_by      bytea NOT NULL,
    created_at      bigint NOT NULL,
    sold_out_at     bigint,
    drawn_at        bigint,
    cancelled_at    bigint,
    updated_at      bigint NOT NULL
);

CREATE INDEX campaigns_created ON campaigns (created_at, campaign_id);

CREATE TABLE layers (
    layer_id        bytea PRIMARY KEY CHECK (length(layer_id) = 16),
    campaign_id     bytea NOT NULL,
    ordinal         bigint NOT NULL,
    name            text NOT NULL,
    price           bigint NOT NULL CHECK (price > 0),
    positions_total bigint NOT NULL CHECK (positions_total > 0),
    positions_sold  bigint NOT NULL DEFAULT 0 CHECK (positions_sold BETWEEN 0 AND positions_total),
    UNIQUE (campaign_id, ordinal)
);

-- purchase_id: whose it is while reserved or sold; a release names it, so that nobody loses a position
-- by somebody else's failure (D15).
CREATE TABLE positions (
    position_id bytea PRIMARY KEY CHECK (length(position_id) = 16),
    campaign_id bytea NOT NULL,
    layer_id    bytea NOT NULL,
    number      bigint NOT NULL,           -- 1, 2, ... within the campaign
    status      text NOT NULL DEFAULT 'available' CHECK (status IN ('available', 'reserved', 'sold')),
    user_id     bytea,
    purchase_id bytea,
    reserved_at bigint,
    sold_at     bigint,
    UNIQUE (campaign_id, number),
    CHECK ((status = 'available') = (purchase_id IS NULL)),
    CHECK ((status = 'available') = (user_id IS NULL))
);

-- revenue: what this purchase brought into its campaign's total_revenue and the user's total_spent;
-- a refund takes it out again, once (D22).
CREATE TABLE purchases (
    purchase_id  bytea PRIMARY KEY CHECK (length(purchase_id) = 16),
    campaign_id  bytea NOT NULL,
    layer_id     bytea NOT NULL,
    position_id  bytea NOT NULL,
    user_id      bytea NOT NULL,
    payment_id   bytea NOT NULL UNIQUE,
    amount       bigint NOT NULL CHECK (amount > 0),
    currency     text NOT NULL CHECK (length(currency) = 3),
    method_type  text NOT NULL CHECK (method_type IN ('card', 'konbini')),
    status       text NOT NULL CHECK (status IN
                 ('pending', 'completed', 'failed', 'cancelled', 'refunded')),
    revenue      bigint NOT NULL DEFAULT 0 CHECK (revenue BETWEEN 0 AND amount),
    expires_at   bigint NOT NULL,          -- of the reservation (D19)
    created_at   bigint NOT NULL,
    completed_at bigint,
    failed_at    bigint,
    cancelled_at bigint,
    refunded_at  bigint,
    updated_at   bigint NOT NULL
);
CREATE INDEX purchases_campaign ON purchases (campaign_id, purchase_id);
CREATE INDEX purchases_user ON purchases (user_id, purchase_id);

-- What somebody bought, by currency: sums of two currencies mean nothing.
CREATE TABLE users (
    user_id     bytea NOT NULL CHECK (length(user_id) = 16),
    currency    text NOT NULL CHECK (length(currency) = 3),
    purchases   bigint NOT NULL CHECK (purchases >= 0),
    total_spent bigint NOT NULL CHECK (total_spent >= 0),
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (user_id, currency)
);

-- The draw: one row a campaign, so it is drawn once (C6).
CREATE TABLE draws (
    campaign_id    bytea PRIMARY KEY,
    entries        bigint NOT NULL,
    entries_digest text NOT NULL,
    drawn_at       bigint NOT NULL
);
CREATE TABLE draw_entries (               -- who took part, in the order of the positions
    campaign_id bytea NOT NULL,
    number      bigint NOT NULL,         -- of the position
    purchase_id bytea NOT NULL,
    rank        bigint,                  -- 1: the first winner; NULL: none
    PRIMARY KEY (campaign_id, number)
);

-- Money that a group collects.
CREATE TABLE collections (
    collection_id bytea PRIMARY KEY CHECK (length(collection_id) = 16),
    owner_id      bytea NOT NULL,            -- the organiser, whose payments they are
    title         text NOT NULL,
    description   text,
    currency      text NOT NULL CHECK (length(currency) = 3),
    due_at        bigint,
    time_zone     text NOT NULL,
    created_at    bigint NOT NULL,
    updated_at    bigint NOT NULL
);
CREATE INDEX collections_owner ON collections (owner_id, collection_id);

CREATE TABLE participants (
    participant_id bytea PRIMARY KEY CHECK (length(participant_id) = 16),
    collection_id  bytea NOT NULL,
    name           text NOT NULL,
    email          text,
    user_id        bytea,                    -- who may pay it himself; NULL: only by the organiser's link
    amount         bigint NOT NULL CHECK (amount > 0),
    status         text NOT NULL CHECK (status IN ('unpaid', 'paid')),
    paid_amount    bigint NOT NULL DEFAULT 0,
    refunded_amount bigint NOT NULL DEFAULT 0,
    paid_at        bigint,
    created_at     bigint NOT NULL,
    updated_at     bigint NOT NULL,
    CHECK (paid_amount BETWEEN 0 AND amount AND refunded_amount BETWEEN 0 AND paid_amount),
    CHECK ((status = 'paid') = (paid_amount > 0))
);
CREATE INDEX participants_collection ON participants (collection_id, participant_id);

-- Sessions of the gateway's own page (E1, D18). status only climbs: open, expired, complete.
CREATE TABLE checkout_sessions (
    session_id     text PRIMARY KEY,      -- cs_...
    payment_id     bytea NOT NULL,
    status         text NOT NULL CHECK (status IN ('open', 'expired', 'complete')),
    payment_status text,                  -- unpaid, paid, no_payment_required: informs only
    intent_id      text,
    customer_id    text,
    url            text,
    expires_at     bigint,
    created_at     bigint NOT NULL,
    updated_at     bigint NOT NULL
);
CREATE INDEX checkout_sessions_payment ON checkout_sessions (payment_id);

-- Disputes by the gateway's id (E9). Closed ones never open again.
CREATE TABLE disputes (
    dispute_id text PRIMARY KEY,          -- dp_... or du_...
    payment_id bytea NOT NULL,
    status     text NOT NULL,             -- the gateway's own word
    closed     bigint NOT NULL CHECK (closed IN (0, 1)),
    lost       bigint NOT NULL CHECK (lost IN (0, 1)),
    reason     text,
    amount     bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE INDEX disputes_payment ON disputes (payment_id);

-- What people are told: one row a message to somebody, once (E10). A transport takes it from here.
CREATE TABLE notifications (
    id          bytea PRIMARY KEY CHECK (length(id) = 16),
    dedupe      text NOT NULL UNIQUE,     -- subject, type, attempt or charge
    user_id     bytea,                     -- or, of a collection:
    participant_id bytea,
    payment_id  bytea,
    type        text NOT NULL,
    language    text NOT NULL,
    title       text NOT NULL,
    body        text NOT NULL,
    data        text NOT NULL,            -- a JSON object
    created_at  bigint NOT NULL,
    recorded_at bigint                   -- when its queue message ran
);
CREATE INDEX notifications_payment ON notifications (payment_id);

-- Which payment an event was about, for its history.
ALTER TABLE webhook_outcomes ADD COLUMN payment_id BYTEA;
ALTER TABLE webhook_outcomes ADD COLUMN event_id TEXT;
CREATE INDEX webhook_outcomes_payment ON webhook_outcomes (payment_id) WHERE payment_id IS NOT NULL;
