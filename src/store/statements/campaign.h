/* campaign.h - part of all.h: read its rules there. No include guard: read many times.
 *
 * PostgreSQL locks rows in one order: payment, purchase, position, message, campaign, layer (M5).
 * Each counter changes by one UPDATE; the CHECKs of their tables keep them between zero and all. */

#define CAMPAIGN_COLUMNS                                                                           \
    "campaign_id, title, currency, status, winners, positions_total, positions_sold,"              \
    " positions_paid, total_revenue, draw_commitment, created_at, sold_out_at, drawn_at,"          \
    " cancelled_at, updated_at"

/* --- making one --- */

SQL(campaign_add, /* no row: it exists, and can be read now */
    "INSERT INTO campaigns (campaign_id, title, currency, status, winners, positions_total,"
    " request_hash, draw_seed, draw_commitment, created_by, created_at, updated_at)"
    " VALUES ($1, $2, $3, 'active', $4, $5, $6, $7, $8, $9, $10, $10)"
    " ON CONFLICT (campaign_id) DO NOTHING RETURNING 1")

SQL(campaign_hash, "SELECT request_hash FROM campaigns WHERE campaign_id = $1")

SQL(layer_add,
    "INSERT INTO layers (layer_id, campaign_id, ordinal, name, price, positions_total)"
    " VALUES ($1, $2, $3, $4, $5, $6)")

SQL2(position_add, /* bulk */
     "INSERT INTO positions (position_id, campaign_id, layer_id, number) VALUES ($1, $2, $3, $4)",
     "INSERT INTO positions (position_id, campaign_id, layer_id, number)"
     " SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[])")

SQL(campaign_audit,
    "INSERT INTO audit (at, operation, subject, result, times, detail, user_id)"
    " VALUES ($1, $2, $3, 'success', 1, $4, $5)")

/* --- reading --- */

SQL(campaign_get, "SELECT " CAMPAIGN_COLUMNS " FROM campaigns WHERE campaign_id = $1")

SQL(campaign_status_get, "SELECT status FROM campaigns WHERE campaign_id = $1")

SQL(campaign_layers,
    "SELECT layer_id, name, price, positions_total, positions_sold FROM layers"
    " WHERE campaign_id = $1 ORDER BY ordinal")

SQL(campaigns_first,
    "SELECT " CAMPAIGN_COLUMNS " FROM campaigns ORDER BY created_at DESC, campaign_id DESC LIMIT $1")

SQL(campaigns_after, /* ids are chosen by the operator and are not ordered by time */
    "SELECT " CAMPAIGN_COLUMNS " FROM campaigns WHERE (created_at, campaign_id) <"
    " (SELECT created_at, campaign_id FROM campaigns WHERE campaign_id = $1)"
    " ORDER BY created_at DESC, campaign_id DESC LIMIT $2")

SQL(positions_page,
    "SELECT p.position_id, p.layer_id, p.number, p.status, l.price, p.user_id, p.purchase_id"
    " FROM positions p JOIN layers l ON l.layer_id = p.layer_id"
    " WHERE p.campaign_id = $1 AND p.number > $2 AND (p.status = $3 OR $3 = '')"
    " AND (p.layer_id = $4 OR $4 IS NULL) ORDER BY p.number LIMIT $5")

/* --- counters --- */

SQL(layer_count, /* only under its campaign's lock: campaign_count comes first */
    "UPDATE layers SET positions_sold = positions_sold + CAST($1 AS BIGINT) WHERE layer_id = $2"
    " AND campaign_id = $3")

SQL2(campaign_count, /* no row: nothing more is sold there; releasing always works */
     "UPDATE campaigns SET positions_sold = positions_sold + $1, updated_at = $2"
     " WHERE campaign_id = $3 AND ($1 < 0 OR status = 'active')",
     "UPDATE campaigns SET positions_sold = positions_sold + CAST($1 AS BIGINT), updated_at = $2"
     " WHERE campaign_id = $3 AND (CAST($1 AS BIGINT) < 0 OR status = 'active') RETURNING 1")

SQL(campaign_sold, /* no row: it is not on sale any more */
    "UPDATE campaigns SET positions_paid = positions_paid + 1, updated_at = $1"
    " WHERE campaign_id = $2 AND status = 'active'"
    " RETURNING positions_total - positions_paid")

SQL2(campaign_sold_out, /* once */
     "UPDATE campaigns SET status = 'sold_out', sold_out_at = $1 WHERE campaign_id = $2"
     " AND status = 'active' AND positions_paid = positions_total",
     "UPDATE campaigns SET status = 'sold_out', sold_out_at = $1 WHERE campaign_id = $2"
     " AND status = 'active' AND positions_paid = positions_total RETURNING 1")

SQL(campaign_revenue,
    "UPDATE campaigns SET total_revenue = total_revenue + CAST($1 AS BIGINT), updated_at = $2"
    " WHERE campaign_id = $3")

/* --- cancelling --- */

SQL(campaign_cancel, /* no row: it is cancelled or drawn, or there is none */
    "UPDATE campaigns SET status = 'cancelled', cancelled_at = $1, updated_at = $1"
    " WHERE campaign_id = $2 AND status IN ('active', 'sold_out') RETURNING 1")

SQL(campaign_purchases, /* with the state of their payments, read without a lock */
    "SELECT u.purchase_id, u.payment_id, p.status FROM purchases u"
    " JOIN payments p ON p.id = u.payment_id"
    " WHERE u.campaign_id = $1 AND u.purchase_id > $2 ORDER BY u.purchase_id LIMIT $3")

SQL(campaign_purchase, /* the same for one of them */
    "SELECT u.purchase_id, u.payment_id, p.status FROM purchases u"
    " JOIN payments p ON p.id = u.payment_id WHERE u.campaign_id = $1 AND u.purchase_id = $2")

SQL(campaign_tries, /* so often, the last one then, and so many of them have not ended */
    "SELECT count(*), CAST(coalesce(max(claimed_at), 0) AS BIGINT),"
    " CAST(coalesce(sum(CASE WHEN phase = 'done' THEN 0 ELSE 1 END), 0) AS BIGINT)"
    " FROM operations WHERE payment_id = $1 AND kind = $2 AND cause = $3")

SQL(campaign_cancel_noted,
    "SELECT 1 FROM audit WHERE payment_id = $1 AND operation = 'CAMPAIGN_CANCELLED'"
    " AND detail = $2 LIMIT 1")

/* --- the draw --- */

SQL(draw_begin, /* no row: it was drawn before, or is not to be drawn */
    "UPDATE campaigns SET status = 'drawn', drawn_at = $1, updated_at = $1"
    " WHERE campaign_id = $2 AND status = 'sold_out' RETURNING draw_seed, winners")

SQL(draw_candidates,
    "SELECT s.number, u.purchase_id FROM positions s"
    " JOIN purchases u ON u.purchase_id = s.purchase_id"
    " WHERE s.campaign_id = $1 AND s.number > $2 AND s.status = 'sold' AND u.status = 'completed'"
    " ORDER BY s.number LIMIT $3")

SQL(draw_add,
    "INSERT INTO draws (campaign_id, entries, entries_digest, drawn_at) VALUES ($1, $2, $3, $4)")

SQL2(draw_entry_add, /* bulk */
     "INSERT INTO draw_entries (campaign_id, number, purchase_id, rank) VALUES ($1, $2, $3, $4)",
     "INSERT INTO draw_entries (campaign_id, number, purchase_id, rank)"
     " SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[])")

SQL(draw_people, /* the people to notify, some at a time */
    "SELECT d.number, d.purchase_id, d.rank, u.user_id, u.payment_id FROM draw_entries d"
    " JOIN purchases u ON u.purchase_id = d.purchase_id"
    " WHERE d.campaign_id = $1 AND d.number > $2 ORDER BY d.number LIMIT $3")

SQL(draw_get,
    "SELECT c.draw_commitment, c.draw_seed, c.winners, d.entries, d.entries_digest, d.drawn_at"
    " FROM draws d JOIN campaigns c ON c.campaign_id = d.campaign_id WHERE d.campaign_id = $1")

SQL(draw_entries_of,
    "SELECT number, purchase_id, rank FROM draw_entries WHERE campaign_id = $1 ORDER BY number")

SQL(draw_winners_of,
    "SELECT number, purchase_id, rank FROM draw_entries WHERE campaign_id = $1"
    " AND rank IS NOT NULL ORDER BY rank")

#undef CAMPAIGN_COLUMNS
