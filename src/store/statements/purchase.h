/* purchase.h - part of all.h: read its rules there. No include guard: read many times.
 *
 * PostgreSQL: a purchase's row changes only under the lock of its payment. Then come position,
 * user, campaign, layer, always in this order; a claim locks its buyer and the position first.
 * Campaign and layer are the most contended rows: each transaction locks them last, and as
 * briefly as possible (src/payment/README.md). */

/* For tx_row(): a row, if it changed one. */
#define SQL_CHANGE(name, text) SQL2(name, text, text " RETURNING 1")

#define PURCHASE_COLUMNS                                                                           \
    "purchase_id, campaign_id, layer_id, position_id, user_id, payment_id, amount, currency,"      \
    " method_type, status, revenue, expires_at, created_at, completed_at, failed_at,"              \
    " cancelled_at, refunded_at"

/* --- positions: each statement names the present holder --- */

SQL2(buyer_lock, /* a statement of its own, so that the next one sees what others committed */
     "SELECT $1 WHERE 0", "SELECT pg_advisory_xact_lock(2, hashtext(encode($1, 'hex')))")

SQL(position_offer, /* with how many of its campaign $1 has reserved, as far as $2 */
    "SELECT p.status, p.user_id, p.purchase_id, p.campaign_id, p.layer_id, l.price, c.currency,"
    " c.status, (SELECT count(*) FROM (SELECT 1 FROM purchases u WHERE u.user_id = $1"
    " AND u.campaign_id = p.campaign_id AND u.status = 'pending' LIMIT $2) held)"
    " FROM positions p JOIN layers l ON l.layer_id = p.layer_id"
    " JOIN campaigns c ON c.campaign_id = p.campaign_id WHERE p.position_id = $3")

SQL2(position_lock, "SELECT status, purchase_id FROM positions WHERE position_id = $1",
     "SELECT status, purchase_id FROM positions WHERE position_id = $1 FOR UPDATE")

SQL_CHANGE(position_reserve,
           "UPDATE positions SET status = 'reserved', user_id = $1, purchase_id = $2,"
           " reserved_at = $3 WHERE position_id = $4 AND status = 'available'")

SQL_CHANGE(position_release, /* never another buyer's (D15) */
           "UPDATE positions SET status = 'available', user_id = NULL, purchase_id = NULL,"
           " reserved_at = NULL WHERE position_id = $1 AND purchase_id = $2"
           " AND status = 'reserved'")

SQL_CHANGE(position_sell,
           "UPDATE positions SET status = 'sold', sold_at = $1 WHERE position_id = $2"
           " AND purchase_id = $3 AND status = 'reserved'")

SQL_CHANGE(position_take_back, /* it was released, and no other buyer has it (E8) */
           "UPDATE positions SET status = 'sold', user_id = $1, purchase_id = $2, reserved_at = $3,"
           " sold_at = $3 WHERE position_id = $4 AND status = 'available'")

/* --- purchases --- */

SQL(purchase_add,
    "INSERT INTO purchases (purchase_id, campaign_id, layer_id, position_id, user_id, payment_id,"
    " amount, currency, method_type, status, expires_at, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', $10, $11, $11)")

SQL(purchase_get, "SELECT " PURCHASE_COLUMNS " FROM purchases WHERE purchase_id = $1")

SQL(purchase_store, /* under its payment's lock */
    "UPDATE purchases SET status = $1, revenue = $2, expires_at = $3, completed_at = $4,"
    " failed_at = $5, cancelled_at = $6, refunded_at = $7, updated_at = $8 WHERE purchase_id = $9")

SQL(purchases_of_user,
    "SELECT " PURCHASE_COLUMNS " FROM purchases WHERE user_id = $1 AND purchase_id < $2"
    " ORDER BY purchase_id DESC LIMIT $3")
SQL(purchases_all, "SELECT " PURCHASE_COLUMNS " FROM purchases WHERE purchase_id < $1"
                   " ORDER BY purchase_id DESC LIMIT $2")

/* --- what a user bought --- */

SQL(user_bought, /* one purchase more, which brought $3 */
    "INSERT INTO users (user_id, currency, purchases, total_spent, created_at, updated_at)"
    " VALUES ($1, $2, 1, $3, $4, $4) ON CONFLICT (user_id, currency) DO UPDATE SET"
    " purchases = users.purchases + 1, total_spent = users.total_spent + excluded.total_spent,"
    " updated_at = excluded.updated_at")

SQL(user_spent, /* more or less than before, with the same purchases */
    "UPDATE users SET total_spent = total_spent + $1, updated_at = $2 WHERE user_id = $3"
    " AND currency = $4")

#undef SQL_CHANGE
#undef PURCHASE_COLUMNS
