-- These indexes end with the id, as SQLite's do: the newest rows of a payer, or of a person, are read from their end, however
-- many there are.
DROP INDEX bank_lines_payer;
CREATE INDEX bank_lines_payer ON bank_lines (payer, id) WHERE payer IS NOT NULL AND payment_id IS NOT NULL;
DROP INDEX sends_user;
CREATE INDEX sends_user ON sends (user_id, id);
