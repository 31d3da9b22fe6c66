-- Which nodes can tell people (N1): those with a transport. What a node without one commits is handed on where one of
-- these was seen within a day; where there is none, nobody waits for it.
CREATE TABLE tellers (
    node    bytea PRIMARY KEY CHECK (length(node) = 16), -- made at each start
    seen_at bigint NOT NULL
);
