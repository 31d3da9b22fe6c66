/* campaign.c - how a campaign is made, and its counters. It is shown by json.c, cancelled by
 * cancel.c and drawn by lottery_job.c.
 *
 * A campaign is made in one commit with its layers, positions, seed and audit line; a crash before it
 * leaves nothing. If two requests put the same campaign at once, the row decides, and the second one
 * compares the hash of its input. */
#include "campaign/campaign.h"

#include "base/limits.h"
#include "campaign/lottery.h"
#include "payment/rows.h"

#include <openssl/crypto.h>

enum { HASHED_MAX = 256 * 1024, POSITION_COLUMNS = 4 };

/* --- the input --- */

/* Hashed as JSON, so that different inputs never give the same bytes. */
static enum err campaign_hash_input(const struct campaign_input *in, char ret_hash[DRAW_HEX + 1])
{
    enum err e = ERR_NO_MEMORY;
    struct buf b;

    buf_init(&b, HASHED_MAX);
    buf_char(&b, '[');
    buf_json(&b, in->title);
    buf_fmt(&b, ",\"%s\",%lld", in->currency, (long long)in->winners);
    for (size_t i = 0; i < in->layer_count; i++) {
        const struct layer_input *l = &in->layers[i];

        buf_add(&b, S(",["));
        buf_json(&b, l->name);
        buf_fmt(&b, ",%lld,%lld]", (long long)l->price, (long long)l->positions);
    }
    buf_char(&b, ']');
    if (!b.failed) {
        draw_sha256(buf_str(&b), ret_hash);
        e = OK;
    }
    buf_release(&b);
    return e;
}

static int64_t count_positions(const struct campaign_input *in)
{
    int64_t n = 0;

    for (size_t i = 0; i < in->layer_count; i++)
        n += in->layers[i].positions;
    return n;
}

/* --- making it --- */

/* NOT_FOUND: a campaign with this id exists. */
static enum err campaign_insert(struct tx *tx, const struct campaign_input *in, const char *hash,
                                int64_t now_ms)
{
    unsigned char seed[DRAW_SEED];
    char commitment[DRAW_HEX + 1];
    struct row row;
    enum err e;

    rng_bytes(&tx_env(tx)->rng, seed, sizeof(seed));
    draw_commit(seed, commitment);
    e = TX_ROW(tx, STMT_campaign_add, &row, v_uuid(&in->id), V_TEXT(in->title),
               V_TEXT(str_of(in->currency)), V_INT(in->winners), V_INT(count_positions(in)),
               V_TEXT(str_of(hash)), V_BLOB(((struct str){ (const char *)seed, sizeof(seed) })),
               V_TEXT(str_of(commitment)), v_uuid(&in->created_by), V_INT(now_ms));
    OPENSSL_cleanse(seed, sizeof(seed)); /* it says who will win */
    return e;
}

static enum err campaign_add_positions(struct tx *tx, struct uuid campaign, struct uuid layer,
                                       int64_t first, int64_t count)
{
    struct uuid ids[LIMIT_STATEMENT_ROWS];
    struct val v[LIMIT_STATEMENT_ROWS * POSITION_COLUMNS];
    int64_t n;
    enum err e = OK;

    for (int64_t done = 0; !e && done < count; done += n) {
        for (n = 0; n < LIMIT_STATEMENT_ROWS && done + n < count; n++) {
            struct val *row = &v[n * POSITION_COLUMNS];

            ids[n] = env_uuid(tx_env(tx));
            row[0] = v_uuid(&ids[n]);
            row[1] = v_uuid(&campaign);
            row[2] = v_uuid(&layer);
            row[3] = V_INT(first + done + n);
        }
        e = tx_bulk(tx, STMT_position_add, v, (size_t)n, POSITION_COLUMNS, NULL, NULL);
    }
    return e;
}

static enum err campaign_add_layers(struct tx *tx, const struct campaign_input *in)
{
    int64_t number = 1;

    for (size_t i = 0; i < in->layer_count; i++) {
        const struct layer_input *l = &in->layers[i];
        struct uuid id = env_uuid(tx_env(tx));

        enum err e =
            TX_DO(tx, STMT_layer_add, 1, v_uuid(&id), v_uuid(&in->id), V_INT((int64_t)i + 1),
                  V_TEXT(l->name), V_INT(l->price), V_INT(l->positions));

        if (!e)
            e = campaign_add_positions(tx, in->id, id, number, l->positions);
        if (e)
            return e;
        number += l->positions;
    }
    return OK;
}

static enum err campaign_audit_made(struct tx *tx, const struct campaign_input *in, int64_t now_ms)
{
    char id[UUID_TEXT + 1];

    uuid_text(in->id, id);
    return TX_DO(tx, STMT_campaign_audit, 1, V_INT(now_ms), V_TEXT(S("CAMPAIGN_MAKE")),
                 V_TEXT(str_of(id)), V_TEXT(in->title), v_uuid(&in->created_by));
}

static enum err campaign_compare(struct tx *tx, const struct campaign_input *in, const char *hash,
                                 enum campaign_put *ret_put)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_hash, &row, v_uuid(&in->id));

    if (e)
        return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
    *ret_put = str_eq(row.col[0].s, str_of(hash)) ? CAMPAIGN_UNCHANGED : CAMPAIGN_DIFFERS;
    return OK;
}

enum err campaign_put(struct tx *tx, const struct campaign_input *in, int64_t now_ms,
                      enum campaign_put *ret_put)
{
    char hash[DRAW_HEX + 1];
    enum err e = campaign_hash_input(in, hash);

    if (!e)
        e = campaign_insert(tx, in, hash, now_ms);
    if (e == ERR_NOT_FOUND)
        return campaign_compare(tx, in, hash, ret_put);
    if (!e)
        e = campaign_add_layers(tx, in);
    if (!e)
        e = campaign_audit_made(tx, in, now_ms);
    *ret_put = CAMPAIGN_MADE;
    return e;
}

enum err campaign_exists(struct tx *tx, struct uuid id)
{
    struct row row;

    return TX_ROW(tx, STMT_campaign_status_get, &row, v_uuid(&id));
}

/* --- counters ---
 *
 * All purchases in a campaign wait for its row, so on PostgreSQL a statement whose row count is not
 * needed at once is pipelined with the next one, which shortens the time that the row is held. The
 * campaign is always locked before the layer: a bulk of events holds the campaign from its first sale
 * on and locks layers afterwards. */

enum err campaign_count(struct tx *tx, struct uuid campaign, struct uuid layer, int by,
                        int64_t now_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_count, &row, V_INT(by), V_INT(now_ms), v_uuid(&campaign));

    if (e)
        return e == ERR_NOT_FOUND ? ERR_UNAVAILABLE : e;
    return TX_DO(tx, STMT_layer_count, 1, V_INT(by), v_uuid(&layer), v_uuid(&campaign));
}

enum err campaign_sold(struct tx *tx, struct payments *pp, struct uuid campaign, int64_t now_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_campaign_sold, &row, V_INT(now_ms), v_uuid(&campaign));

    if (e)
        return e == ERR_NOT_FOUND ? ERR_UNAVAILABLE : e;
    if (row.col[0].i > 0) /* positions are left */
        return OK;
    e = TX_ROW(tx, STMT_campaign_sold_out, &row, V_INT(now_ms), v_uuid(&campaign));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return draw_later(tx, pp, campaign, now_ms);
}

enum err campaign_revenue(struct tx *tx, struct uuid campaign, int64_t by, int64_t now_ms)
{
    return TX_DO(tx, STMT_campaign_revenue, 1, V_INT(by), V_INT(now_ms), v_uuid(&campaign));
}
