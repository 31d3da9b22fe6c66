-- How often in a row a day could not go on, and how often its list had to be begun anew: of each day by
-- itself, since several may be under way at once.
ALTER TABLE reconciliations ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reconciliations ADD COLUMN anew INTEGER NOT NULL DEFAULT 0;
