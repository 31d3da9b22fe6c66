-- The audit log's chain (O6): each row is sealed once, behind the rows that were sealed before it. The log itself
-- is never touched, so the chain stands beside it and is written later (M15).

-- Who wrote a row, so that it is sealed only when nothing older can come any more (M14). 0: before this column was.
ALTER TABLE audit ADD COLUMN xid xid8 NOT NULL DEFAULT '0'::xid8;
ALTER TABLE audit ALTER COLUMN xid SET DEFAULT pg_current_xact_id();

CREATE TABLE audit_seals (
    n         bigint PRIMARY KEY,         -- 1, 2, 3 ... without a gap
    audit_seq bigint NOT NULL UNIQUE,
    hash      bytea NOT NULL CHECK (length(hash) = 32) -- SHA-256 of the hash before, and of the row
);

-- Where the next seal goes on. One row.
CREATE TABLE audit_chain (
    id        bigint PRIMARY KEY CHECK (id = 1),
    n         bigint NOT NULL,            -- the last seal, also where somebody took it away
    hash      bytea NOT NULL CHECK (length(hash) = 32),
    low       bigint NOT NULL,            -- up to this seq all is sealed, and nothing can come any more
    place     bigint NOT NULL,            -- the walk goes on behind this one
    sure      bigint NOT NULL,            -- up to this seq everything had ended when the walk began
    mark_seq  bigint NOT NULL,            -- what becomes sure once everything before mark_xid has ended
    mark_xid  bigint NOT NULL,
    mark_at   bigint NOT NULL
);
INSERT INTO audit_chain VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, 0, 0, 0, 0, 0);

CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();
CREATE TRIGGER audit_seals_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();

-- Newest first, by what somebody looks for. None by user: people come in any order, and each row of a payment would
-- touch a page of its own (17 us instead of 1); who looks for one walks. What went well is most of the log.
DROP INDEX audit_payment;
CREATE INDEX audit_payment ON audit (payment_id, at, seq) WHERE payment_id IS NOT NULL;
CREATE INDEX audit_at ON audit (at, seq);
CREATE INDEX audit_operation ON audit (operation, at, seq);
CREATE INDEX audit_subject ON audit (subject, at, seq) WHERE subject IS NOT NULL;
CREATE INDEX audit_failures ON audit (result, at, seq) WHERE result <> 'success';
