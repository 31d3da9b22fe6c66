/* sandbox_events.h - part of all.h: read its rules there. No include guard: read many times.
 * */

/* --- sandbox/stripe/event_list.c --- */

SQL2(sandbox_events_newest, /* $3: a JSON array of patterns, or empty for all */
     "SELECT id, body FROM sandbox_events WHERE id > $1 AND id < $2 AND ($3 = '' OR EXISTS (SELECT 1"
     " FROM json_each($3) t WHERE sandbox_events.type GLOB t.value)) ORDER BY id DESC LIMIT $4",
     "")

SQL2(sandbox_events_oldest, /* for a page before another */
     "SELECT id, body FROM sandbox_events WHERE id > $1 AND id < $2 AND ($3 = '' OR EXISTS (SELECT 1"
     " FROM json_each($3) t WHERE sandbox_events.type GLOB t.value)) ORDER BY id LIMIT $4",
     "")

SQL2(sandbox_event_type,
     "SELECT type FROM sandbox_events WHERE id = $1",
     "")

SQL2(sandbox_message_known,
     "SELECT 1 FROM message WHERE id = $1",
     "")

/* --- sandbox/stripe/rows_events.c: all columns in its order --- */

SQL2(sandbox_hook_write,
     "INSERT OR REPLACE INTO sandbox_endpoints (id, created_at, url, events, description, metadata, disabled, api_version, secret,"
     " previous, previous_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
     "")

SQL2(sandbox_hook_read,
     "SELECT id, created_at, url, events, description, metadata, disabled, api_version, secret,"
     " previous, previous_until"
     " FROM sandbox_endpoints WHERE id = $1",
     "")

SQL2(sandbox_hooks_newest,
     "SELECT id, created_at, url, events, description, metadata, disabled, api_version, secret,"
     " previous, previous_until"
     " FROM sandbox_endpoints WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3",
     "")

SQL2(sandbox_hooks_oldest,
     "SELECT id, created_at, url, events, description, metadata, disabled, api_version, secret,"
     " previous, previous_until"
     " FROM sandbox_endpoints WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3",
     "")

SQL2(sandbox_hook_delete,
     "DELETE FROM sandbox_endpoints WHERE id = $1",
     "")

SQL2(sandbox_hooks_told,
     "SELECT id, events FROM sandbox_endpoints WHERE disabled = 0 ORDER BY id",
     "")

SQL2(sandbox_hooks_count,
     "SELECT count(*) FROM sandbox_endpoints",
     "")

SQL2(sandbox_customer_write,
     "INSERT OR REPLACE INTO sandbox_customers (id, created_at, name, email, phone, description,"
     " address, shipping, metadata, deleted, cash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
     "")

SQL2(sandbox_customer_read,
     "SELECT id, created_at, name, email, phone, description, address, shipping, metadata,"
     " deleted, cash FROM sandbox_customers WHERE id = $1",
     "")

SQL2(sandbox_customers_newest, /* $3: an e-mail address, or empty for all */
     "SELECT id, created_at, name, email, phone, description, address, shipping, metadata,"
     " deleted, cash FROM sandbox_customers WHERE id > $1 AND id < $2 AND ($3 = '' OR email = $3) AND"
     " deleted = 0 ORDER BY id DESC LIMIT $4",
     "")

SQL2(sandbox_customers_oldest,
     "SELECT id, created_at, name, email, phone, description, address, shipping, metadata,"
     " deleted, cash FROM sandbox_customers WHERE id > $1 AND id < $2 AND ($3 = '' OR email = $3) AND"
     " deleted = 0 ORDER BY id LIMIT $4",
     "")

SQL2(sandbox_transfer_write,
     "INSERT OR REPLACE INTO sandbox_transfers (intent, customer, funded) VALUES ($1, $2, $3)",
     "")

SQL2(sandbox_transfer_read,
     "SELECT intent, customer, funded FROM sandbox_transfers WHERE intent = $1",
     "")

SQL2(sandbox_transfer_waiting, /* the oldest of a customer's that is not paid yet */
     "SELECT t.intent, t.customer, t.funded FROM sandbox_transfers t JOIN sandbox_intents i ON i.id ="
     " t.intent WHERE t.customer = $1 AND i.status = 'requires_action' AND i.card ="
     " 'customer_balance' ORDER BY t.intent LIMIT 1",
     "")

/* --- sandbox/control/secrets.c, sandbox/stripe/strict.c --- */

SQL2(sandbox_roll_read,
     "SELECT secret, previous, previous_until FROM sandbox_rolls WHERE base = $1",
     "")

SQL2(sandbox_roll_write,
     "INSERT OR REPLACE INTO sandbox_rolls (base, secret, previous, previous_until) VALUES ($1, $2,"
     " $3, $4)",
     "")

SQL2(sandbox_mark_read,
     "SELECT value FROM sandbox_marks WHERE name = $1",
     "")

SQL2(sandbox_mark_write,
     "INSERT OR REPLACE INTO sandbox_marks (name, value) VALUES ($1, $2)",
     "")
