-- The audit log's chain (O6): each row is sealed once, behind the rows that were sealed before it. The log itself
-- is never touched, so the chain stands beside it and is written later (M15).

CREATE TABLE audit_seals (
    n         INTEGER PRIMARY KEY,        -- 1, 2, 3 ... without a gap
    audit_seq INTEGER NOT NULL UNIQUE,
    hash      BLOB NOT NULL CHECK (length(hash) = 32) -- SHA-256 of the hash before, and of the row
) STRICT;

-- Where the next seal goes on. One row.
CREATE TABLE audit_chain (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    n         INTEGER NOT NULL,           -- the last seal, also where somebody took it away
    hash      BLOB NOT NULL CHECK (length(hash) = 32),
    low       INTEGER NOT NULL,           -- up to this seq all is sealed, and nothing can come any more
    place     INTEGER NOT NULL,           -- the walk goes on behind this one
    sure      INTEGER NOT NULL,           -- up to this seq everything had ended when the walk began
    mark_seq  INTEGER NOT NULL,           -- PostgreSQL: what becomes sure once everything before mark_xid has ended
    mark_xid  INTEGER NOT NULL,
    mark_at   INTEGER NOT NULL
) STRICT;
INSERT INTO audit_chain VALUES (1, 0, zeroblob(32), 0, 0, 0, 0, 0, 0);

CREATE TRIGGER audit_keep BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;
CREATE TRIGGER audit_hold BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are never deleted'); END;
-- REPLACE deletes without asking the trigger for it. -1 is what a row without a number has here.
CREATE TRIGGER audit_new BEFORE INSERT ON audit WHEN NEW.seq <> -1 AND EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
    BEGIN SELECT RAISE(ABORT, 'audit rows are never replaced'); END;
CREATE TRIGGER audit_seals_new BEFORE INSERT ON audit_seals
    WHEN EXISTS (SELECT 1 FROM audit_seals WHERE n = NEW.n) OR EXISTS (SELECT 1 FROM audit_seals WHERE audit_seq = NEW.audit_seq)
    BEGIN SELECT RAISE(ABORT, 'audit seals are never replaced'); END;
CREATE TRIGGER audit_seals_keep BEFORE UPDATE ON audit_seals BEGIN SELECT RAISE(ABORT, 'audit seals are never changed'); END;
CREATE TRIGGER audit_seals_hold BEFORE DELETE ON audit_seals BEGIN SELECT RAISE(ABORT, 'audit seals are never deleted'); END;

-- Newest first, by what somebody looks for. None by user: people come in any order, and each row of a payment would
-- touch a page of its own (17 us instead of 1); who looks for one walks. What went well is most of the log.
DROP INDEX audit_payment;
CREATE INDEX audit_payment ON audit (payment_id, at) WHERE payment_id IS NOT NULL;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_operation ON audit (operation, at);
CREATE INDEX audit_subject ON audit (subject, at) WHERE subject IS NOT NULL;
CREATE INDEX audit_failures ON audit (result, at) WHERE result <> 'success';
