/* sandbox_faults.h - part of all.h: read its rules there. No include guard: read many times.
 * */

/* --- sandbox/fault/switches_kept.c --- */

SQL2(sandbox_rule_add, "INSERT INTO sandbox_rules (skip, times, body) VALUES ($1, $2, $3) RETURNING seq", "")

SQL2(sandbox_rule_use, "UPDATE sandbox_rules SET skip = $1, times = $2 WHERE seq = $3", "")

SQL2(sandbox_rule_drop, "DELETE FROM sandbox_rules WHERE seq = $1", "")

SQL2(sandbox_rules_clear, "DELETE FROM sandbox_rules", "")

SQL2(sandbox_rules, "SELECT seq, skip, times, body FROM sandbox_rules ORDER BY seq", "")

SQL2(sandbox_switch_set, "INSERT OR REPLACE INTO sandbox_switches (name, body) VALUES ($1, $2)", "")

SQL2(sandbox_switches, "SELECT name, body FROM sandbox_switches ORDER BY name", "")

/* --- sandbox/page/home.c --- */

SQL2(sandbox_home_events, /* newest first: the events, and the state of their delivery */
     "SELECT e.id, e.type, e.created_at, json_extract(e.body, '$.data.object.id'),"
     " json_extract(e.body, '$.pending_webhooks') FROM sandbox_events e ORDER BY e.seq DESC LIMIT $1",
     "")

SQL2(sandbox_home_messages, /* of the newest events: those that are still on their way */
     "SELECT ref, attempt, due_at, last_error FROM message WHERE kind = 'sandbox.webhook' AND ref IN"
     " (SELECT id FROM sandbox_events ORDER BY seq DESC LIMIT $1)",
     "")

SQL2(sandbox_home_dead, /* ... and those that became dead letters */
     "SELECT ref, attempts, reason FROM dead_letters WHERE kind = 'sandbox.webhook' AND ref IN"
     " (SELECT id FROM sandbox_events ORDER BY seq DESC LIMIT $1)",
     "")

SQL2(sandbox_home_intents,
     "SELECT id, created_at, amount, currency, status, card, description FROM sandbox_intents"
     " ORDER BY id DESC LIMIT $1",
     "")

SQL2(sandbox_home_waiting,
     "SELECT id, created_at, amount, currency, status, card, description FROM sandbox_intents"
     " WHERE status = 'requires_action' ORDER BY id DESC LIMIT $1",
     "")

SQL2(sandbox_home_paypay,
     "SELECT id, accepted_at, amount, 'jpy', status, coalesce(code, ''), coalesce(description, '') FROM"
     " sandbox_paypay_payments ORDER BY id DESC LIMIT $1",
     "")

SQL2(sandbox_home_codes, /* that can still be paid */
     "SELECT id, created_at, amount, 'jpy', status, merchant_payment_id, coalesce(description, '') FROM"
     " sandbox_paypay_codes WHERE status = 'open' AND expires_at > $1 ORDER BY created_at DESC LIMIT $2",
     "")

SQL2(sandbox_home_sessions, /* scans only the newest */
     "SELECT id, created_at, amount, currency FROM (SELECT id, created_at, amount, currency, status"
     " FROM sandbox_sessions ORDER BY id DESC LIMIT $1) x WHERE status = 'open'",
     "")
