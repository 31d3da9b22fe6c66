#include "payment/unknown.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "payment/rows.h"

enum { PAGE_BYTES = 256 * 1024 };

enum err unknown_read_state(struct tx *tx, int64_t now_ms, struct unknown_state *ret_state)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_unknown_state, &row, V_INT(LIMIT_UNKNOWN_SEEN));

    if (e)
        return e;
    *ret_state = (struct unknown_state){ .count = row.col[0].i };
    if (row.col[1].i && now_ms > row.col[1].i)
        ret_state->oldest_ms = now_ms - row.col[1].i;
    return OK;
}

/* --- shown --- */

struct unknown_list {
    struct buf *out;
    int64_t now_ms;
    int limit, count;
    bool more;
    struct uuid last;
};

static enum err unknown_list_add(void *ctx, const struct row *row)
{
    struct unknown_list *g = ctx;
    const struct val *c = row->col;
    struct buf *b = g->out;
    struct uuid id, payment;

    if (!uuid_of_bytes(c[UNKNOWN_ID].s, &id) || !uuid_of_bytes(c[UNKNOWN_PAYMENT].s, &payment))
        return ERR_INTERNAL;
    if (g->count == g->limit) {
        g->more = true;
        return OK;
    }
    buf_add(b, g->count++ ? S(",{") : S("{"));
    out_uuid(b, "operationId", id);
    out_uuid(b, "paymentId", payment);
    out_text(b, "operation", c[UNKNOWN_KIND].s);
    out_text(b, "cause", c[UNKNOWN_CAUSE].s);
    out_text(b, "status", c[UNKNOWN_STATUS].s);
    out_int(b, "amount", c[UNKNOWN_AMOUNT].i);
    out_text(b, "currency", c[UNKNOWN_CURRENCY].s);
    out_text(b, "gateway", c[UNKNOWN_GATEWAY].s);
    out_text(b, "gatewayTransactionId", c[UNKNOWN_INTENT].s);
    out_text(b, "lastError", c[UNKNOWN_RESULT].s);
    out_int(b, "sends", c[UNKNOWN_SENDS].i);
    out_int(b, "asks", c[UNKNOWN_ASKS].i);
    out_time(b, "claimedAt", c[UNKNOWN_CLAIMED].i);
    out_time(b, "lastSentAt", c[UNKNOWN_SENT].i);
    out_int(b, "ageMs", g->now_ms > c[UNKNOWN_CLAIMED].i ? g->now_ms - c[UNKNOWN_CLAIMED].i : 0);
    buf_char(b, '}');
    g->last = id;
    return OK;
}

enum err unknown_page(struct tx *tx, struct arena *a, int64_t now_ms, const struct uuid *after,
                      int limit, struct str *ret_json)
{
    static const struct uuid first = { 0 };
    const struct uuid *from = after ? after : &first;
    struct val v[] = { v_uuid(from), V_INT(limit + 1) };
    struct buf b;
    struct unknown_list g = { .out = &b, .now_ms = now_ms, .limit = limit };
    enum err e;

    buf_init(&b, PAGE_BYTES);
    buf_add(&b, S("{\"data\":["));
    e = tx_each(tx, STMT_unknown_page, v, COUNT(v), unknown_list_add, &g);
    buf_char(&b, ']');
    if (g.more)
        out_uuid(&b, "nextCursor", g.last);
    else
        out_json(&b, "nextCursor", S("null"));
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

const struct uuid unknown_watch_id = { { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 'u', 'n', 'k',
                                         'n', 0, 1 } };

enum err unknown_hasten(struct tx *tx, struct payments *pp, int64_t now_ms)
{
    return queue_hasten(pp->runtime.queue, tx, unknown_watch_id, now_ms + LIMIT_UNKNOWN_LOOK_MS);
}
