-- The highest version that a sender gave as a number, 0: none did. `version` holds times in milliseconds too, and
-- numbers and times are not compared with each other (B1). What is no time of this century was a number.
ALTER TABLE bookings ADD COLUMN sender_version bigint NOT NULL DEFAULT 0;
UPDATE bookings SET sender_version = version WHERE version < 1000000000000;

-- A search through the gateway's list that is longer than one ask: the last id that was looked at, and when the
-- search began (D6). It belongs to the last send: behind another one it begins anew.
ALTER TABLE operations ADD COLUMN list_after text;
ALTER TABLE operations ADD COLUMN list_at bigint NOT NULL DEFAULT 0;
