/* purchase.c - purchases as rows and as JSON. What payments do to them: purchase_payable.c. */
#include "campaign/purchase.h"

#include "auth/base64url.h"
#include "base/json/write.h"
#include "store/values.h"

#include <string.h>

enum { PURCHASE_JSON_MAX = 2 * 1024 };

static const char *const status_names[PURCHASE_STATUSES] = {
    [PURCHASE_PENDING] = "pending",     [PURCHASE_FAILED] = "failed",
    [PURCHASE_CANCELLED] = "cancelled", [PURCHASE_COMPLETED] = "completed",
    [PURCHASE_REFUNDED] = "refunded",
};

static bool purchase_status_parse(struct str name, enum purchase_status *ret_status)
{
    for (int i = 0; i < PURCHASE_STATUSES; i++)
        if (str_eq(name, str_of(status_names[i]))) {
            *ret_status = (enum purchase_status)i;
            return true;
        }
    return false;
}

struct str purchase_method(const struct purchase *p)
{
    return p->konbini ? S("konbini") : S("card");
}

/* --- rows --- */

static int64_t time_or_0(const struct val *v)
{
    return v->type == VAL_INT ? v->i : 0;
}

static bool purchase_of_row(const struct row *row, struct purchase *p)
{
    struct uuid *const ids[] = { &p->id,          &p->campaign_id, &p->layer_id,
                                 &p->position_id, &p->user_id,     &p->payment_id };
    const struct val *v = row->col;

    for (size_t i = 0; i < COUNT(ids); i++)
        if (!uuid_of_bytes((v++)->s, ids[i]))
            return false;
    if (!money_make(v[0].i, v[1].s, &p->money) || !purchase_status_parse(v[3].s, &p->status))
        return false;
    p->konbini = str_eq(v[2].s, S("konbini"));
    p->revenue = minor_of(&v[4]);
    p->expires_ms = v[5].i;
    p->created_ms = v[6].i;
    p->completed_ms = time_or_0(&v[7]);
    p->failed_ms = time_or_0(&v[8]);
    p->cancelled_ms = time_or_0(&v[9]);
    p->refunded_ms = time_or_0(&v[10]);
    return true;
}

enum err purchase_read(struct tx *tx, struct uuid id, struct purchase *ret_purchase)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_purchase_get, &row, v_uuid(&id));

    if (e)
        return e;
    return purchase_of_row(&row, ret_purchase) ? OK : ERR_INTERNAL;
}

enum err purchase_payment(struct tx *tx, struct uuid id, struct uuid *ret_payment)
{
    struct purchase p;
    enum err e = purchase_read(tx, id, &p);

    if (!e)
        *ret_payment = p.payment_id;
    return e;
}

enum err purchase_add(struct tx *tx, const struct purchase *p)
{
    return TX_DO(tx, STMT_purchase_add, 1, v_uuid(&p->id), v_uuid(&p->campaign_id),
                 v_uuid(&p->layer_id), v_uuid(&p->position_id), v_uuid(&p->user_id),
                 v_uuid(&p->payment_id), V_MONEY(p->money), V_TEXT(purchase_method(p)),
                 V_INT(p->expires_ms), V_INT(p->created_ms));
}

static struct val v_time(int64_t ms) /* 0: NULL */
{
    return ms ? V_INT(ms) : V_NULL;
}

enum err purchase_store(struct tx *tx, const struct purchase *p, int64_t now_ms)
{
    return TX_DO(tx, STMT_purchase_store, 1, V_TEXT(str_of(status_names[p->status])),
                 v_minor(p->revenue), V_INT(p->expires_ms), v_time(p->completed_ms),
                 v_time(p->failed_ms), v_time(p->cancelled_ms), v_time(p->refunded_ms),
                 V_INT(now_ms), v_uuid(&p->id));
}

/* --- JSON --- */

static void write_purchase(struct buf *b, const struct purchase *p)
{
    buf_char(b, '{');
    out_uuid(b, "id", p->id);
    out_uuid(b, "campaignId", p->campaign_id);
    out_uuid(b, "layerId", p->layer_id);
    out_uuid(b, "positionId", p->position_id);
    out_uuid(b, "userId", p->user_id);
    out_uuid(b, "paymentId", p->payment_id);
    money_out(b, p->money);
    out_text(b, "paymentMethodType", purchase_method(p));
    out_text(b, "status", str_of(status_names[p->status]));
    out_time(b, "expiresAt", p->expires_ms);
    out_time(b, "createdAt", p->created_ms);
    out_time(b, "completedAt", p->completed_ms);
    out_time(b, "failedAt", p->failed_ms);
    out_time(b, "cancelledAt", p->cancelled_ms);
    out_time(b, "refundedAt", p->refunded_ms);
    buf_char(b, '}');
}

struct str purchase_json(struct arena *a, const struct purchase *p, struct str payment)
{
    struct buf b;

    buf_init(&b, PURCHASE_JSON_MAX + payment.n);
    buf_add(&b, S("{\"purchase\":"));
    write_purchase(&b, p);
    out_json(&b, "payment", payment);
    buf_char(&b, '}');
    return out_done(&b, a);
}

/* --- pages --- */

struct purchase_page {
    struct buf out;
    int shown, limit;
    bool more;
    struct uuid last;
};

/* One row more than the limit says that there is another page. */
static enum err purchase_page_add(void *ctx, const struct row *row)
{
    struct purchase_page *g = ctx;
    struct purchase p;

    g->more = g->shown == g->limit;
    if (g->more)
        return OK;
    if (!purchase_of_row(row, &p))
        return ERR_INTERNAL;
    if (g->shown++)
        buf_char(&g->out, ',');
    write_purchase(&g->out, &p);
    g->last = p.id;
    return OK;
}

static enum err purchase_page_read(struct tx *tx, const struct purchase_filter *f,
                                   struct purchase_page *g)
{
    struct val limit = V_INT(f->limit + 1), before;
    struct uuid last;

    memset(last.b, 0xff, sizeof(last.b));
    before = v_uuid(f->has_before ? &f->before : &last);
    if (f->has_user) {
        struct val v[] = { v_uuid(&f->user), before, limit };

        return tx_each(tx, STMT_purchases_of_user, v, COUNT(v), purchase_page_add, g);
    }
    struct val v[] = { before, limit };

    return tx_each(tx, STMT_purchases_all, v, COUNT(v), purchase_page_add, g);
}

enum err purchases_json(struct tx *tx, struct arena *a, const struct purchase_filter *f,
                        struct str *ret_json)
{
    struct purchase_page g = { .limit = f->limit };
    enum err e;

    buf_init(&g.out, (size_t)(f->limit + 1) * PURCHASE_JSON_MAX);
    buf_add(&g.out, S("{\"data\":["));
    e = purchase_page_read(tx, f, &g);
    buf_char(&g.out, ']');
    out_name(&g.out, "nextCursor");
    if (g.more) {
        buf_char(&g.out, '"');
        base64url_add(&g.out, uuid_bytes(&g.last));
        buf_add(&g.out, S("\"}"));
    } else {
        buf_add(&g.out, S("null}"));
    }
    *ret_json = out_done(&g.out, a);
    return e || ret_json->p ? e : ERR_NO_MEMORY;
}
