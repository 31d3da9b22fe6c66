-- Codes that wait for a customer, for the front page; the rest of them, which grows, is not in it.
CREATE INDEX sandbox_paypay_open ON sandbox_paypay_codes (created_at) WHERE status = 'open';
