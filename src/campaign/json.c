/* json.c - campaigns and their positions as the API shows them. The holder of a position is shown only
 * to the holder and to operators; the seed is never shown here (lottery_job.c, after the draw). */
#include "base/json/write.h"
#include "base/limits.h"
#include "campaign/campaign.h"
#include "store/values.h"

enum {
    CAMPAIGN_JSON_MAX = 256 * 1024,
    LIST_JSON_MAX = 1024 * 1024,
    POSITION_BYTES = 512, /* one position needs less */
};

static int64_t time_or_0(const struct val *v)
{
    return v->type == VAL_INT ? v->i : 0;
}

/* --- campaigns --- */

/* The columns of campaign_get; the object stays open. */
static enum err out_campaign(struct buf *b, const struct row *row)
{
    struct uuid id;

    if (!uuid_of_bytes(row->col[0].s, &id))
        return ERR_INTERNAL;
    buf_char(b, '{');
    out_uuid(b, "id", id);
    out_text(b, "title", row->col[1].s);
    out_text(b, "currency", row->col[2].s);
    out_text(b, "status", row->col[3].s);
    out_int(b, "winners", row->col[4].i);
    out_int(b, "positionsTotal", row->col[5].i);
    out_int(b, "positionsSold", row->col[6].i);
    out_int(b, "positionsPaid", row->col[7].i);
    out_int(b, "totalRevenue", row->col[8].i);
    out_text(b, "drawCommitment", row->col[9].s);
    out_time(b, "createdAt", row->col[10].i);
    out_time(b, "soldOutAt", time_or_0(&row->col[11]));
    out_time(b, "drawnAt", time_or_0(&row->col[12]));
    out_time(b, "cancelledAt", time_or_0(&row->col[13]));
    out_time(b, "updatedAt", row->col[14].i);
    return OK;
}

static enum err out_layer(void *ctx, const struct row *row)
{
    struct buf *b = ctx;
    struct uuid id;

    if (!uuid_of_bytes(row->col[0].s, &id))
        return ERR_INTERNAL;
    if (b->n && b->p[b->n - 1] == '}')
        buf_char(b, ',');
    buf_char(b, '{');
    out_uuid(b, "id", id);
    out_text(b, "name", row->col[1].s);
    out_int(b, "price", row->col[2].i);
    out_int(b, "positionsTotal", row->col[3].i);
    out_int(b, "positionsSold", row->col[4].i);
    buf_char(b, '}');
    return OK;
}

static enum err json_finish(struct buf *b, struct arena *a, enum err e, struct str *ret_json)
{
    struct str text = out_done(b, a);

    if (e)
        return e;
    if (!text.p)
        return ERR_NO_MEMORY;
    *ret_json = text;
    return OK;
}

enum err campaign_json(struct tx *tx, struct arena *a, struct uuid id, struct str *ret_json)
{
    struct val key = v_uuid(&id);
    struct row row;
    struct buf b;
    enum err e = tx_row(tx, STMT_campaign_get, &key, 1, &row);

    if (e)
        return e;
    buf_init(&b, CAMPAIGN_JSON_MAX);
    e = out_campaign(&b, &row);
    out_name(&b, "layers");
    buf_char(&b, '[');
    if (!e)
        e = tx_each(tx, STMT_campaign_layers, &key, 1, out_layer, &b);
    buf_add(&b, S("]}"));
    return json_finish(&b, a, e, ret_json);
}

/* --- pages: one row more than the limit says that there is another page --- */

struct json_page {
    struct buf b;
    int limit, n;
    const struct position_filter *filter; /* of positions */
    struct uuid last_id;
    int64_t last_number;
};

static void json_page_begin(struct json_page *p, size_t max)
{
    buf_init(&p->b, max);
    buf_add(&p->b, S("{\"data\":["));
}

/* False: the row beyond the limit, which is not shown. */
static bool json_page_next(struct json_page *p)
{
    if (p->n++ == p->limit)
        return false;
    if (p->n > 1)
        buf_char(&p->b, ',');
    return true;
}

static enum err page_add_campaign(void *ctx, const struct row *row)
{
    struct json_page *p = ctx;
    enum err e;

    if (!json_page_next(p))
        return OK;
    e = out_campaign(&p->b, row);
    buf_char(&p->b, '}');
    return !e && !uuid_of_bytes(row->col[0].s, &p->last_id) ? ERR_INTERNAL : e;
}

enum err campaigns_json(struct tx *tx, struct arena *a, const struct uuid *before, int limit,
                        struct str *ret_json)
{
    struct json_page p = { .limit = limit };
    struct val v[] = { before ? v_uuid(before) : V_INT(limit + 1), V_INT(limit + 1) };
    enum err e;

    json_page_begin(&p, LIST_JSON_MAX);
    e = tx_each(tx, before ? STMT_campaigns_after : STMT_campaigns_first, v, before ? 2 : 1,
                page_add_campaign, &p);
    buf_char(&p.b, ']');
    if (p.n > limit)
        out_uuid(&p.b, "nextCursor", p.last_id);
    else
        out_json(&p.b, "nextCursor", S("null"));
    buf_char(&p.b, '}');
    return json_finish(&p.b, a, e, ret_json);
}

/* --- positions --- */

static enum err out_holder(struct buf *b, const struct row *row, const struct position_filter *f)
{
    struct uuid user = { 0 }, purchase = { 0 };
    bool held = row->col[5].type == VAL_BLOB, mine;

    if (held && (!uuid_of_bytes(row->col[5].s, &user) || !uuid_of_bytes(row->col[6].s, &purchase)))
        return ERR_INTERNAL;
    mine = held && uuid_eq(user, f->viewer);
    out_bool(b, "mine", mine);
    if (held && f->sees_all)
        out_uuid(b, "userId", user);
    if (held && (mine || f->sees_all))
        out_uuid(b, "purchaseId", purchase);
    return OK;
}

static enum err page_add_position(void *ctx, const struct row *row)
{
    struct json_page *p = ctx;
    struct uuid id, layer;
    enum err e;

    if (!json_page_next(p))
        return OK;
    if (!uuid_of_bytes(row->col[0].s, &id) || !uuid_of_bytes(row->col[1].s, &layer))
        return ERR_INTERNAL;
    p->last_number = row->col[2].i;
    buf_char(&p->b, '{');
    out_uuid(&p->b, "id", id);
    out_uuid(&p->b, "layerId", layer);
    out_int(&p->b, "number", p->last_number);
    out_text(&p->b, "status", row->col[3].s);
    out_int(&p->b, "price", row->col[4].i);
    e = out_holder(&p->b, row, p->filter);
    buf_char(&p->b, '}');
    return e;
}

enum err positions_json(struct tx *tx, struct arena *a, const struct position_filter *f,
                        struct str *ret_json)
{
    struct json_page p = { .limit = f->limit, .filter = f };
    struct val v[] = { v_uuid(&f->campaign), V_INT(f->after), V_TEXT(f->status),
                       f->has_layer ? v_uuid(&f->layer) : V_NULL, V_INT(f->limit + 1) };
    enum err e = campaign_exists(tx, f->campaign);

    if (e)
        return e;
    json_page_begin(&p, (size_t)f->limit * POSITION_BYTES + POSITION_BYTES);
    e = tx_each(tx, STMT_positions_page, v, COUNT(v), page_add_position, &p);
    buf_char(&p.b, ']');
    if (p.n > f->limit)
        buf_fmt(&p.b, ",\"nextCursor\":\"%lld\"}", (long long)p.last_number);
    else
        buf_add(&p.b, S(",\"nextCursor\":null}"));
    return json_finish(&p.b, a, e, ret_json);
}
