/* json.c - collections and participants as their organizer sees them: totals, and pages of
 * participants. A page ends at an id and the next one begins after it, so nothing is skipped or shown
 * twice because a participant was added meanwhile. */
#include "auth/base64url.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "collection/collection.h"
#include "payment/rows.h"

#include <string.h>

static void out_cursor(struct buf *b, const struct uuid *last)
{
    out_name(b, "nextCursor");
    if (!last) {
        buf_add(b, S("null"));
        return;
    }
    buf_char(b, '"');
    base64url_add(b, uuid_bytes(last));
    buf_char(b, '"');
}

/* --- participants --- */

void participant_out(struct buf *b, const struct participant *p)
{
    out_uuid(b, "id", p->id);
    out_uuid(b, "collectionId", p->collection);
    out_text(b, "name", p->name);
    out_text(b, "email", p->email);
    if (p->has_user)
        out_uuid(b, "userId", p->user);
    else
        out_json(b, "userId", S("null"));
    out_int(b, "amount", p->amount);
    out_text(b, "currency", str_of(p->currency));
    out_text(b, "status", p->paid ? S("paid") : S("unpaid"));
    minor_out(b, "paidAmount", p->paid_amount);
    minor_out(b, "refundedAmount", p->refunded_amount);
    out_time(b, "paidAt", p->paid_ms);
    if (p->has_payment)
        out_uuid(b, "paymentId", p->payment);
    else
        out_json(b, "paymentId", S("null"));
    out_time(b, "createdAt", p->created_ms);
    out_time(b, "updatedAt", p->updated_ms);
}

enum { SESSION_STATUS = 2, SESSION_URL = 6, SESSION_EXPIRES = 7 }; /* columns of session_get */

enum err checkout_out(struct tx *tx, struct buf *b, const struct payment *p)
{
    struct row row;
    enum err e = ERR_NOT_FOUND;

    if (p->checkout_session_id.n)
        e = TX_ROW(tx, STMT_session_get, &row, V_TEXT(p->checkout_session_id));
    if (e) {
        out_json(b, "checkout", S("null"));
        return e == ERR_NOT_FOUND ? OK : e;
    }
    out_json(b, "checkout", S("{"));
    out_text(b, "sessionId", p->checkout_session_id);
    out_text(b, "url", row.col[SESSION_URL].s);
    out_time(b, "expiresAt",
             row.col[SESSION_EXPIRES].type == VAL_INT ? row.col[SESSION_EXPIRES].i : 0);
    out_text(b, "status", row.col[SESSION_STATUS].s);
    buf_char(b, '}');
    return OK;
}

static enum err out_payment(struct tx *tx, struct arena *a, struct buf *b,
                            const struct participant *p)
{
    struct payment payment;
    enum err e;

    if (!p->has_payment) {
        out_json(b, "paymentStatus", S("null"));
        out_json(b, "checkout", S("null"));
        return OK;
    }
    e = payment_read(tx, a, p->payment, false, &payment);
    if (e)
        return e;
    out_text(b, "paymentStatus", str_of(payment_status_name(payment.status)));
    return checkout_out(tx, b, &payment);
}

enum err participant_json(struct tx *tx, struct arena *a, struct uuid id, struct uuid who,
                          bool may_any, struct str *ret_json)
{
    struct participant p;
    struct buf b;
    enum err e = participant_read(tx, id, &p);

    if (e)
        return e;
    if (!may_any && !participant_is_of(&p, who))
        return ERR_FORBIDDEN;
    buf_init(&b, LIMIT_REQUEST_ARENA);
    buf_char(&b, '{');
    participant_out(&b, &p);
    e = out_payment(tx, a, &b, &p);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e || ret_json->p ? e : ERR_NO_MEMORY;
}

/* --- a collection --- */

/* The days are stored as they stand in JSON. */
static void out_reminders(struct buf *b, const struct collection *c)
{
    if (!c->has_reminders) {
        out_json(b, "reminders", S("null"));
        return;
    }
    out_json(b, "reminders", S("{"));
    out_name(b, "days");
    buf_fmt(b, "[" STR_FMT "]", STR_ARG(c->reminder_days));
    out_text(b, "time", c->reminder_time);
    buf_char(b, '}');
}

static void out_collection(struct buf *b, const struct collection *c)
{
    out_uuid(b, "id", c->id);
    out_uuid(b, "ownerId", c->owner);
    out_text(b, "title", c->title);
    out_text(b, "description", c->description);
    out_text(b, "currency", str_of(c->currency));
    out_time(b, "dueAt", c->due_ms);
    out_text(b, "timeZone", c->time_zone);
    out_reminders(b, c);
    out_time(b, "nextReminderAt", c->reminder_ms);
    out_time(b, "createdAt", c->created_ms);
    out_time(b, "updatedAt", c->updated_ms);
}

static enum err out_totals(struct tx *tx, struct buf *b, struct uuid collection)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_collection_totals, &row, v_uuid(&collection));
    const struct val *v = row.col;
    int64_t net;

    if (e)
        return e;
    if (!minor_net(minor_of(&v[3]), minor_of(&v[4]), MINOR_NONE, &net))
        return ERR_SUM_TOO_LARGE;
    out_json(b, "totals", S("{"));
    out_int(b, "participants", v[0].i);
    out_int(b, "paid", v[1].i);
    out_int(b, "unpaid", v[0].i - v[1].i);
    out_int(b, "amountDue", v[2].i);
    out_int(b, "amountPaid", v[3].i);
    out_int(b, "amountRefunded", v[4].i);
    out_int(b, "amountNet", net);
    out_int(b, "amountOutstanding", v[5].i);
    buf_char(b, '}');
    return OK;
}

struct json_page { /* one row more than the limit says that there is another page */
    struct buf *out;
    int shown, limit;
    struct uuid last;
    bool has_more;
};

static enum err page_add_participant(void *ctx, const struct row *row)
{
    struct json_page *g = ctx;
    struct participant p;
    enum err e = OK;

    g->has_more = g->shown == g->limit;
    if (g->has_more)
        return OK;
    e = participant_of_row(row, &p);
    if (e)
        return e;
    g->last = p.id;
    buf_add(g->out, g->shown++ ? S(",{") : S("{"));
    participant_out(g->out, &p);
    buf_char(g->out, '}');
    return OK;
}

static enum err out_participants(struct tx *tx, struct buf *b, const struct collection_view *v)
{
    struct json_page g = { .out = b, .limit = v->limit };
    struct val values[] = { v_uuid(&v->id), v->has_after ? v_uuid(&v->after) : V_BLOB(S("")),
                            V_TEXT(v->status.n ? v->status : S("")), V_INT(v->limit + 1) };
    enum err e;

    out_json(b, "participants", S("{"));
    out_json(b, "data", S("["));
    e = tx_each(tx, STMT_participants_page, values, COUNT(values), page_add_participant, &g);
    buf_char(b, ']');
    out_cursor(b, g.has_more ? &g.last : NULL);
    buf_char(b, '}');
    return e;
}

enum err collection_json(struct tx *tx, struct arena *a, const struct collection_view *v,
                         struct str *ret_json)
{
    struct collection c;
    struct buf b;
    enum err e = collection_read(tx, v->id, &c);

    if (e)
        return e;
    if (!v->may_any && !uuid_eq(c.owner, v->who))
        return ERR_FORBIDDEN;
    buf_init(&b, LIMIT_REQUEST_ARENA);
    buf_char(&b, '{');
    out_collection(&b, &c);
    e = out_totals(tx, &b, c.id);
    if (!e)
        e = out_participants(tx, &b, v);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e || ret_json->p ? e : ERR_NO_MEMORY;
}

/* --- lists of collections --- */

static enum err page_add_collection(void *ctx, const struct row *row)
{
    struct json_page *g = ctx;
    struct collection c;
    enum err e = OK;

    g->has_more = g->shown == g->limit;
    if (g->has_more)
        return OK;
    e = collection_of_row(row, &c);
    if (e)
        return e;
    g->last = c.id;
    buf_add(g->out, g->shown++ ? S(",{") : S("{"));
    out_collection(g->out, &c);
    buf_char(g->out, '}');
    return OK;
}

enum err collections_json(struct tx *tx, struct arena *a, const struct uuid *owner,
                          const struct uuid *before, int limit, struct str *ret_json)
{
    static const char above_all[sizeof(struct uuid) + 1] = /* one byte longer than any id */
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    struct buf b;
    struct json_page g = { .out = &b, .limit = limit };
    static const struct uuid nobody;
    struct val values[] = { v_uuid(owner ? owner : &nobody),
                            before ? v_uuid(before)
                                   : V_BLOB(((struct str){ above_all, sizeof(above_all) })),
                            V_INT(limit + 1) };
    enum err e;

    buf_init(&b, LIMIT_REQUEST_ARENA);
    buf_add(&b, S("{\"data\":["));
    if (owner)
        e = tx_each(tx, STMT_collections_by_owner, values, COUNT(values), page_add_collection, &g);
    else
        e = tx_each(tx, STMT_collections_all, values + 1, COUNT(values) - 1, page_add_collection,
                    &g);
    buf_char(&b, ']');
    out_cursor(&b, g.has_more ? &g.last : NULL);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e || ret_json->p ? e : ERR_NO_MEMORY;
}
