-- The queue's own door (QStash v2): messages that are delivered to a URL of the publisher's choice.
-- What is said once never changes (qstash_messages); what moves is small and leaves when the message
-- ends (qstash_live); what happened is a line each (qstash_log).

-- Immutable. body stands last, so that the other columns are read without it.
CREATE TABLE qstash_messages (
    seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           bytea NOT NULL UNIQUE CHECK (length(id) = 16), -- its first 48 bits are created_at
    webhook_id   bytea,                    -- of the message that it repeats (a dead letter retried)
    source_id    bytea,                    -- the message whose callback this is
    created_at   bigint NOT NULL,
    not_before   bigint NOT NULL,
    method       text NOT NULL,
    url          text NOT NULL,           -- byte for byte; of a schedule's template its destination
    host         text NOT NULL,
    path         text NOT NULL,
    header       text,                    -- {"Name":["value"]}: what is forwarded, and Content-Type
    retries      bigint NOT NULL,
    retry_delay  text,                    -- an expression
    timeout_ms   bigint NOT NULL,        -- 0: ours
    callbacks    text,                    -- {"callback":{...},"failure":{...}}
    labels       text,                    -- "a,b"
    redact       text,
    queue        text,                    -- its name
    flow_key     text,
    flow         text,                    -- {"parallelism":1,"rate":1,"period":1}: those given
    schedule_id  text,
    topic        text,                    -- the URL group, and which of its endpoints
    endpoint     text,
    caller_ip    text NOT NULL,
    body         bytea
);

-- One row for each message that has not ended. Its place: 0 given to the queue (there is a row in
-- `message` with the same id), 1 waits for its queue's turn, 2 waits for its flow key, 3 held because
-- its queue was paused between two tries.
CREATE TABLE qstash_live (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,       -- the order in which they were taken
    id         bytea NOT NULL UNIQUE,
    place      bigint NOT NULL CHECK (place BETWEEN 0 AND 3),
    due_at     bigint NOT NULL,          -- where it waits: not before that
    retried    bigint NOT NULL DEFAULT 0,
    cancel     bigint NOT NULL DEFAULT 0, -- asked for while an attempt was under way
    queue_id   bigint,
    slot       bigint NOT NULL DEFAULT 0, -- 1: counted in its queue's running
    counts     bigint NOT NULL DEFAULT 0, -- 1: counted in its queue's lag (a callback is not)
    flow_key   text,
    token      bigint NOT NULL DEFAULT 0, -- 1: counted in its flow's running
    bytes      bigint NOT NULL,
    host_hash  bigint NOT NULL,          -- for filters; the text itself is compared too
    path_hash  bigint NOT NULL,
    caller_ip  text NOT NULL,
    schedule_id text,
    topic      text
);
CREATE INDEX qstash_live_address ON qstash_live (host_hash, path_hash, seq);
CREATE INDEX qstash_live_path ON qstash_live (path_hash, seq);
CREATE INDEX qstash_live_caller ON qstash_live (caller_ip, seq);
CREATE INDEX qstash_live_queue ON qstash_live (queue_id, place, seq) WHERE queue_id IS NOT NULL;
CREATE INDEX qstash_live_flow ON qstash_live (flow_key, place, seq) WHERE flow_key IS NOT NULL;
CREATE INDEX qstash_live_schedule ON qstash_live (schedule_id, seq) WHERE schedule_id IS NOT NULL;
CREATE INDEX qstash_live_topic ON qstash_live (topic, seq) WHERE topic IS NOT NULL;

-- Labels of live and of dead messages.
CREATE TABLE qstash_labels (
    label  text NOT NULL,
    dead   bigint NOT NULL CHECK (dead IN (0, 1)),
    seq    bigint NOT NULL,              -- of a dead one that of qstash_dead, else 0
    id     bytea NOT NULL,
    PRIMARY KEY (label, dead, seq, id)
);

CREATE TABLE qstash_log (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       bigint NOT NULL,
    id       bytea NOT NULL,
    state    bigint NOT NULL,            -- enum qstash_state
    next_at  bigint,
    status   bigint,
    error    text,
    response_header text,
    response_body   bytea
);
CREATE INDEX qstash_log_id ON qstash_log (id, seq);

-- What failed for good, with the last answer. Each has a row of dead_letters with its id.
CREATE TABLE qstash_dead (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,        -- with died_at it is the dlqId
    id        bytea NOT NULL UNIQUE,
    died_at   bigint NOT NULL,
    retried   bigint NOT NULL,
    status    bigint NOT NULL,           -- 0: there was no answer
    url_hash  bigint NOT NULL,           -- a URL may be longer than an index takes
    queue     text,
    topic     text,
    schedule_id text,
    flow_key  text,
    caller_ip text NOT NULL,
    response_header text,
    response_body   bytea
);
CREATE INDEX qstash_dead_time ON qstash_dead (died_at, seq);
CREATE INDEX qstash_dead_url ON qstash_dead (url_hash, seq);
CREATE INDEX qstash_dead_status ON qstash_dead (status, seq);
CREATE INDEX qstash_dead_caller ON qstash_dead (caller_ip, seq);
CREATE INDEX qstash_dead_queue ON qstash_dead (queue, seq) WHERE queue IS NOT NULL;
CREATE INDEX qstash_dead_topic ON qstash_dead (topic, seq) WHERE topic IS NOT NULL;
CREATE INDEX qstash_dead_schedule ON qstash_dead (schedule_id, seq) WHERE schedule_id IS NOT NULL;
CREATE INDEX qstash_dead_flow ON qstash_dead (flow_key, seq) WHERE flow_key IS NOT NULL;

-- Within the window the first message's id is answered.
CREATE TABLE qstash_dedup (
    key        bytea PRIMARY KEY,          -- SHA-256
    message_id bytea NOT NULL,
    until      bigint NOT NULL
);
CREATE INDEX qstash_dedup_until ON qstash_dedup (until);

-- running and lag are counted along; recount: the slots and counts of qstash_live. A queue that was
-- deleted keeps its row, without a name, until its messages are cancelled.
CREATE TABLE qstash_queues (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text UNIQUE,
    parallelism bigint NOT NULL,
    paused      bigint NOT NULL DEFAULT 0,
    running     bigint NOT NULL DEFAULT 0,
    lag         bigint NOT NULL DEFAULT 0,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL
);

CREATE TABLE qstash_flows (
    key          text PRIMARY KEY,
    parallelism  bigint NOT NULL DEFAULT 0, -- 0: no limit
    rate         bigint NOT NULL DEFAULT 0, -- starts in a period; 0: no limit
    period_s     bigint NOT NULL DEFAULT 1,
    paused       bigint NOT NULL DEFAULT 0,
    pinned_parallelism bigint NOT NULL DEFAULT 0,
    pinned_rate  bigint NOT NULL DEFAULT 0,
    running      bigint NOT NULL DEFAULT 0, -- the tokens of qstash_live
    waiting      bigint NOT NULL DEFAULT 0, -- those in place 2
    started      bigint NOT NULL DEFAULT 0, -- in this period
    period_from  bigint NOT NULL DEFAULT 0,
    wake_at      bigint,                    -- a qstash.window message is due then
    used_at      bigint NOT NULL
);
CREATE INDEX qstash_flows_idle ON qstash_flows (used_at, key) WHERE running = 0 AND waiting = 0
    AND paused = 0 AND pinned_parallelism = 0 AND pinned_rate = 0;

CREATE TABLE qstash_groups (
    name       text PRIMARY KEY,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE qstash_endpoints (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,       -- the order in which they were added
    group_name text NOT NULL,
    url        text NOT NULL,
    name       text,
    UNIQUE (group_name, url)
);

CREATE TABLE qstash_schedules (
    id         text PRIMARY KEY,
    version    bigint NOT NULL,          -- rises when it is overwritten: older wake-ups do nothing
    template   bytea NOT NULL,             -- a row of qstash_messages that is copied
    cron       text NOT NULL,
    delay_ms   bigint NOT NULL DEFAULT 0,
    paused     bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    next_at    bigint,
    last_at    bigint,
    last_ids   text,                      -- JSON array of message ids
    error      text                       -- why the last trigger made nothing
);
CREATE INDEX qstash_schedules_template ON qstash_schedules (template);

-- One row. from_settings: what the settings said when it was written, hashed; where they say something
-- else now, they win.
CREATE TABLE qstash_keys (
    one        bigint PRIMARY KEY CHECK (one = 1),
    current    text NOT NULL,
    next       text NOT NULL,
    from_settings bytea,
    rotated_at bigint
);
ALTER TABLE qstash_messages ALTER COLUMN body SET STORAGE EXTERNAL;
