-- The queue's own door (QStash v2): messages that are delivered to a URL of the publisher's choice.
-- What is said once never changes (qstash_messages); what moves is small and leaves when the message
-- ends (qstash_live); what happened is a line each (qstash_log).

-- Immutable. body stands last, so that the other columns are read without it.
CREATE TABLE qstash_messages (
    seq          INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16), -- its first 48 bits are created_at
    webhook_id   BLOB,                    -- of the message that it repeats (a dead letter retried)
    source_id    BLOB,                    -- the message whose callback this is
    created_at   INTEGER NOT NULL,
    not_before   INTEGER NOT NULL,
    method       TEXT NOT NULL,
    url          TEXT NOT NULL,           -- byte for byte; of a schedule's template its destination
    host         TEXT NOT NULL,
    path         TEXT NOT NULL,
    header       TEXT,                    -- {"Name":["value"]}: what is forwarded, and Content-Type
    retries      INTEGER NOT NULL,
    retry_delay  TEXT,                    -- an expression
    timeout_ms   INTEGER NOT NULL,        -- 0: ours
    callbacks    TEXT,                    -- {"callback":{...},"failure":{...}}
    labels       TEXT,                    -- "a,b"
    redact       TEXT,
    queue        TEXT,                    -- its name
    flow_key     TEXT,
    flow         TEXT,                    -- {"parallelism":1,"rate":1,"period":1}: those given
    schedule_id  TEXT,
    topic        TEXT,                    -- the URL group, and which of its endpoints
    endpoint     TEXT,
    caller_ip    TEXT NOT NULL,
    body         BLOB
) STRICT;

-- One row for each message that has not ended. Its place: 0 given to the queue (there is a row in
-- `message` with the same id), 1 waits for its queue's turn, 2 waits for its flow key, 3 held because
-- its queue was paused between two tries.
CREATE TABLE qstash_live (
    seq        INTEGER PRIMARY KEY,       -- the order in which they were taken
    id         BLOB NOT NULL UNIQUE,
    place      INTEGER NOT NULL CHECK (place BETWEEN 0 AND 3),
    due_at     INTEGER NOT NULL,          -- where it waits: not before that
    retried    INTEGER NOT NULL DEFAULT 0,
    cancel     INTEGER NOT NULL DEFAULT 0, -- asked for while an attempt was under way
    queue_id   INTEGER,
    slot       INTEGER NOT NULL DEFAULT 0, -- 1: counted in its queue's running
    counts     INTEGER NOT NULL DEFAULT 0, -- 1: counted in its queue's lag (a callback is not)
    flow_key   TEXT,
    token      INTEGER NOT NULL DEFAULT 0, -- 1: counted in its flow's running
    bytes      INTEGER NOT NULL,
    host_hash  INTEGER NOT NULL,          -- for filters; the text itself is compared too
    path_hash  INTEGER NOT NULL,
    caller_ip  TEXT NOT NULL,
    schedule_id TEXT,
    topic      TEXT
) STRICT;
CREATE INDEX qstash_live_address ON qstash_live (host_hash, path_hash, seq);
CREATE INDEX qstash_live_path ON qstash_live (path_hash, seq);
CREATE INDEX qstash_live_caller ON qstash_live (caller_ip, seq);
CREATE INDEX qstash_live_queue ON qstash_live (queue_id, place, seq) WHERE queue_id IS NOT NULL;
CREATE INDEX qstash_live_flow ON qstash_live (flow_key, place, seq) WHERE flow_key IS NOT NULL;
CREATE INDEX qstash_live_schedule ON qstash_live (schedule_id, seq) WHERE schedule_id IS NOT NULL;
CREATE INDEX qstash_live_topic ON qstash_live (topic, seq) WHERE topic IS NOT NULL;

-- Labels of live and of dead messages.
CREATE TABLE qstash_labels (
    label  TEXT NOT NULL,
    dead   INTEGER NOT NULL CHECK (dead IN (0, 1)),
    seq    INTEGER NOT NULL,              -- of a dead one that of qstash_dead, else 0
    id     BLOB NOT NULL,
    PRIMARY KEY (label, dead, seq, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE qstash_log (
    seq      INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    id       BLOB NOT NULL,
    state    INTEGER NOT NULL,            -- enum qstash_state
    next_at  INTEGER,
    status   INTEGER,
    error    TEXT,
    response_header TEXT,
    response_body   BLOB
) STRICT;
CREATE INDEX qstash_log_id ON qstash_log (id, seq);

-- What failed for good, with the last answer. Each has a row of dead_letters with its id.
CREATE TABLE qstash_dead (
    seq       INTEGER PRIMARY KEY,        -- with died_at it is the dlqId
    id        BLOB NOT NULL UNIQUE,
    died_at   INTEGER NOT NULL,
    retried   INTEGER NOT NULL,
    status    INTEGER NOT NULL,           -- 0: there was no answer
    url_hash  INTEGER NOT NULL,           -- a URL may be longer than an index takes
    queue     TEXT,
    topic     TEXT,
    schedule_id TEXT,
    flow_key  TEXT,
    caller_ip TEXT NOT NULL,
    response_header TEXT,
    response_body   BLOB
) STRICT;
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
    key        BLOB PRIMARY KEY,          -- SHA-256
    message_id BLOB NOT NULL,
    until      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX qstash_dedup_until ON qstash_dedup (until);

-- running and lag are counted along; recount: the slots and counts of qstash_live. A queue that was
-- deleted keeps its row, without a name, until its messages are cancelled.
CREATE TABLE qstash_queues (
    id          INTEGER PRIMARY KEY,
    name        TEXT UNIQUE,
    parallelism INTEGER NOT NULL,
    paused      INTEGER NOT NULL DEFAULT 0,
    running     INTEGER NOT NULL DEFAULT 0,
    lag         INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE qstash_flows (
    key          TEXT PRIMARY KEY,
    parallelism  INTEGER NOT NULL DEFAULT 0, -- 0: no limit
    rate         INTEGER NOT NULL DEFAULT 0, -- starts in a period; 0: no limit
    period_s     INTEGER NOT NULL DEFAULT 1,
    paused       INTEGER NOT NULL DEFAULT 0,
    pinned_parallelism INTEGER NOT NULL DEFAULT 0,
    pinned_rate  INTEGER NOT NULL DEFAULT 0,
    running      INTEGER NOT NULL DEFAULT 0, -- the tokens of qstash_live
    waiting      INTEGER NOT NULL DEFAULT 0, -- those in place 2
    started      INTEGER NOT NULL DEFAULT 0, -- in this period
    period_from  INTEGER NOT NULL DEFAULT 0,
    wake_at      INTEGER,                    -- a qstash.window message is due then
    used_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX qstash_flows_idle ON qstash_flows (used_at, key) WHERE running = 0 AND waiting = 0
    AND paused = 0 AND pinned_parallelism = 0 AND pinned_rate = 0;

CREATE TABLE qstash_groups (
    name       TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE qstash_endpoints (
    seq        INTEGER PRIMARY KEY,       -- the order in which they were added
    group_name TEXT NOT NULL,
    url        TEXT NOT NULL,
    name       TEXT,
    UNIQUE (group_name, url)
) STRICT;

CREATE TABLE qstash_schedules (
    id         TEXT PRIMARY KEY,
    version    INTEGER NOT NULL,          -- rises when it is overwritten: older wake-ups do nothing
    template   BLOB NOT NULL,             -- a row of qstash_messages that is copied
    cron       TEXT NOT NULL,
    delay_ms   INTEGER NOT NULL DEFAULT 0,
    paused     INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    next_at    INTEGER,
    last_at    INTEGER,
    last_ids   TEXT,                      -- JSON array of message ids
    error      TEXT                       -- why the last trigger made nothing
) STRICT, WITHOUT ROWID;
CREATE INDEX qstash_schedules_template ON qstash_schedules (template);

-- One row. from_settings: what the settings said when it was written, hashed; where they say something
-- else now, they win.
CREATE TABLE qstash_keys (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    current    TEXT NOT NULL,
    next       TEXT NOT NULL,
    from_settings BLOB,
    rotated_at INTEGER
) STRICT;
