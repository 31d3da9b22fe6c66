-- What goes wrong on demand: rules about calls, the webhook switches, chance with its seed. Kept so that a restart
-- forgets nothing. Bodies are JSON as the API has it.
CREATE TABLE sandbox_rules (
    seq   INTEGER PRIMARY KEY,
    skip  INTEGER NOT NULL,     -- calls that it still lets pass
    times INTEGER NOT NULL,     -- calls that it spoils then
    body  TEXT NOT NULL
) STRICT;

CREATE TABLE sandbox_switches (
    name TEXT PRIMARY KEY,      -- webhooks, chaos
    body TEXT NOT NULL          -- empty: off
) STRICT, WITHOUT ROWID;

-- For the page: what waits for its customer.
CREATE INDEX sandbox_intents_waiting ON sandbox_intents (id) WHERE status = 'requires_action';
