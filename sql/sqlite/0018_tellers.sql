-- Which nodes can tell people (N1): those with a transport. Here there is one node, which knows it by itself: only
-- PostgreSQL's rows are written.
CREATE TABLE tellers (
    node    BLOB PRIMARY KEY CHECK (length(node) = 16), -- made at each start
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
