-- Nothing to do here: in tables without a rowid bank_lines_payer and sends_user end with the id by themselves. PostgreSQL's
-- do from now on.
SELECT 1;
