#include "ops/overview.h"

#include "base/limits.h"
#include "store/values.h"

#include <string.h>

/* Ids begin with the time of their creation. */
static struct uuid overview_first_id(int64_t at_ms)
{
    struct uuid id = { 0 };

    for (int i = 0; i < 6; i++)
        id.b[i] = (unsigned char)((uint64_t)at_ms >> (8 * (5 - i)));
    return id;
}

static enum err overview_add_money(void *ctx, const struct row *row)
{
    struct overview *o = ctx;
    const struct val *c = row->col;
    struct overview_money *m = &o->money[o->money_count];

    o->payments += c[1].i;
    if (o->money_count == OVERVIEW_CURRENCIES || c[0].s.n != 3)
        return OK;
    memcpy(m->currency, c[0].s.p, 3);
    m->captured = minor_of(&c[2]);
    m->refunded = minor_of(&c[3]);
    o->money_count++;
    return OK;
}

static enum err overview_read_today(struct tx *tx, int64_t since_ms, struct overview *o)
{
    struct uuid first = overview_first_id(since_ms);
    struct val v[] = { v_uuid(&first), V_INT(LIMIT_TODAY_SEEN) };

    return tx_each(tx, STMT_today_payments, v, COUNT(v), overview_add_money, o);
}

enum err overview_read(struct tx *tx, int64_t now_ms, int64_t since_ms, struct overview *ret)
{
    struct row row;
    enum err e;

    *ret = (struct overview){ 0 };
    e = queue_read_state(tx, now_ms, &ret->queue);
    if (e)
        return e;
    e = unknown_read_state(tx, now_ms, &ret->unknown);
    if (e)
        return e;
    e = tx_row(tx, STMT_alerts_firing, NULL, 0, &row);
    if (e)
        return e;
    ret->firing = row.col[0].i;
    return overview_read_today(tx, since_ms, ret);
}
