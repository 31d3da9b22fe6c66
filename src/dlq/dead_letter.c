/* dead_letter.c - dead letters as JSON, the payment that each one concerns, and the deletion of old
 * attempts. */
#include "dlq/dead_letter.h"

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "dlq/find.h"
#include "observe/redact.h"

#include <assert.h>

#define DAY_MS INT64_C(86400000)

enum { FAILURES_SHOWN = 100, SHOWN_MAX = 3 * 1024 * 1024 };

/* --- as JSON --- */

static bool dead_letter_is_event(struct str kind)
{
    return str_eq(kind, S("stripe.event")) || str_eq(kind, S("stripe.refetch")) ||
           str_eq(kind, S("paypay.refetch"));
}

static void dead_letter_out(struct buf *b, const struct dead_letter *d)
{
    out_uuid(b, "id", d->id);
    out_text(b, "kind", d->kind);
    out_text(b, "ref", d->ref);
    out_text(b, "eventId", dead_letter_is_event(d->kind) ? d->ref : (struct str){ 0 });
    if (d->has_payment)
        out_uuid(b, "paymentId", d->payment);
    else
        out_json(b, "paymentId", S("null"));
    out_text(b, "reason", d->reason);
    out_text(b, "cause", d->cause);
    out_int(b, "attempts", d->attempts);
    out_time(b, "addedAt", d->added_ms);
    out_time(b, "diedAt", d->died_ms);
}

static void dead_cursor_out(struct buf *b, const char *name, const struct dead_cursor *c)
{
    out_name(b, name);
    if (!c) {
        buf_add(b, S("null"));
        return;
    }
    buf_char(b, '"');
    dead_cursor_write(b, c);
    buf_char(b, '"');
}

/* --- a page --- */

/* The lower of the two: a cursor of another filter must not start after this filter's time. */
static struct dead_cursor dead_page_start(const struct dead_filter *f,
                                          const struct dead_cursor *cursor)
{
    struct dead_cursor newest = dead_from_newest(f);

    return cursor && cursor->at_ms < newest.at_ms ? *cursor : newest;
}

static struct dead_cursor dead_cursor_after(const struct dead_letter *d)
{
    return (struct dead_cursor){ .at_ms = d->died_ms, .id = d->id };
}

static struct str dead_page_json(struct arena *a, const struct dead_find *f, size_t limit)
{
    size_t shown = f->count < limit ? f->count : limit;
    struct dead_cursor next = f->at;
    bool more = f->count > limit || !f->end;
    struct buf b;

    if (f->count > limit)
        next = dead_cursor_after(&f->found[limit - 1]);
    buf_init(&b, SHOWN_MAX);
    buf_add(&b, S("{\"data\":["));
    for (size_t i = 0; i < shown; i++) {
        buf_add(&b, i ? S(",{") : S("{"));
        dead_letter_out(&b, &f->found[i]);
        buf_char(&b, '}');
    }
    buf_char(&b, ']');
    dead_cursor_out(&b, "nextCursor", more ? &next : NULL);
    buf_char(&b, '}');
    return out_done(&b, a);
}

enum err dead_page(struct tx *tx, struct arena *a, const struct dead_filter *f,
                   const struct dead_cursor *cursor, int limit, struct str *ret_json)
{
    struct dead_find find = { .filter = f,
                              .at = dead_page_start(f, cursor),
                              .max = (size_t)limit + 1,
                              .budget = LIMIT_DEAD_LOOKED };
    enum err e;

    assert(limit > 0 && limit <= LIMIT_PAGE);
    find.found = arena_alloc(a, find.max, sizeof(*find.found));
    if (!find.found)
        return ERR_NO_MEMORY;
    e = dead_find(tx, &find);
    if (e)
        return e;
    *ret_json = dead_page_json(a, &find, (size_t)limit);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- one --- */

static void dead_letter_out_redacted(struct buf *b, const char *name, struct str text)
{
    struct buf shown;

    buf_init(&shown, text.n + 1);
    redact_text(&shown, text);
    b->failed |= shown.failed;
    out_text(b, name, buf_str(&shown));
    buf_release(&shown);
}

static enum err dead_letter_out_payload(struct tx *tx, struct buf *b, const struct dead_letter *d)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_letter_body, &row, V_BLOB(uuid_bytes(&d->id)));

    if (e)
        return e;
    if (row.col[0].type != VAL_TEXT)
        out_json(b, "payload", S("null"));
    else if (!json_check(row.col[0].s, NULL)) {
        out_name(b, "payload");
        redact_json(b, row.col[0].s);
    } else
        dead_letter_out_redacted(b, "payload", row.col[0].s);
    return OK;
}

/* Without the event's body, which has card and address data (A6). The body is readable in
 * failed_webhook_events, with access to the database. */
static enum err dead_letter_out_event(struct tx *tx, struct buf *b, const struct dead_letter *d)
{
    struct row row;
    const struct val *v = row.col;
    enum err e = ERR_NOT_FOUND;

    if (dead_letter_is_event(d->kind) && d->ref.n)
        e = TX_ROW(tx, STMT_letter_event, &row, V_TEXT(d->ref));
    if (e == ERR_NOT_FOUND)
        out_json(b, "event", S("null"));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    out_name(b, "event");
    buf_char(b, '{');
    out_text(b, "type", v[0].type == VAL_TEXT ? v[0].s : (struct str){ 0 });
    if (v[1].type == VAL_INT)
        out_bool(b, "livemode", v[1].i != 0);
    else
        out_json(b, "livemode", S("null"));
    out_time(b, "createdAt", v[2].type == VAL_INT ? v[2].i : 0);
    out_time(b, "receivedAt", v[3].i);
    buf_char(b, '}');
    return OK;
}

struct dead_attempts {
    struct row rows[FAILURES_SHOWN];
    size_t n;
};

static enum err dead_attempts_keep(void *ctx, const struct row *row)
{
    struct dead_attempts *f = ctx;

    if (f->n < FAILURES_SHOWN)
        f->rows[f->n++] = *row;
    return OK;
}

/* The newest attempts, in the order of time. */
static enum err dead_letter_out_attempts(struct tx *tx, struct arena *a, struct buf *b,
                                         const struct dead_letter *d)
{
    struct val v[] = { V_BLOB(uuid_bytes(&d->id)), V_INT(FAILURES_SHOWN) };
    struct dead_attempts *f = arena_alloc(a, 1, sizeof(*f));
    enum err e = f ? tx_each(tx, STMT_message_failures_of, v, COUNT(v), dead_attempts_keep, f)
                   : ERR_NO_MEMORY;

    if (e)
        return e;
    out_name(b, "failures");
    buf_char(b, '[');
    for (size_t i = f->n; i-- > 0;) {
        const struct val *col = f->rows[i].col;

        buf_add(b, i + 1 < f->n ? S(",{") : S("{"));
        out_int(b, "attempt", col[0].i);
        out_time(b, "at", col[1].i);
        out_text(b, "error", col[2].s);
        buf_char(b, '}');
    }
    buf_char(b, ']');
    return OK;
}

static enum err dead_letter_out_details(struct tx *tx, struct arena *a, struct buf *b,
                                        const struct dead_letters *l, const struct dead_letter *d)
{
    const struct dead_kind *k = dead_kind_of(l, d->kind);
    enum err e = k && k->show ? k->show(tx, k->ctx, d, b) : ERR_NOT_FOUND;

    if (e != ERR_NOT_FOUND)
        return e;
    e = dead_letter_out_payload(tx, b, d);
    return e ? e : dead_letter_out_attempts(tx, a, b, d);
}

static enum err dead_letter_out_all(struct tx *tx, struct arena *a, struct buf *b,
                                    const struct dead_letters *l, const struct dead_letter *d)
{
    enum err e;

    buf_char(b, '{');
    dead_letter_out(b, d);
    e = dead_letter_out_details(tx, a, b, l, d);
    if (e)
        return e;
    e = dead_letter_out_event(tx, b, d);
    if (e)
        return e;
    e = dead_edit_show(tx, b, l, d);
    buf_char(b, '}');
    return e;
}

enum err dead_show(struct tx *tx, struct arena *a, const struct dead_letters *l, struct uuid id,
                   struct str *ret_json)
{
    struct dead_letter d;
    struct row row;
    struct buf b;
    enum err e = TX_ROW(tx, STMT_letter_get, &row, V_BLOB(uuid_bytes(&id)));

    if (!e && !dead_letter_of_row(&row, &d))
        e = ERR_INTERNAL;
    if (e)
        return e;
    buf_init(&b, SHOWN_MAX);
    e = dead_letter_out_all(tx, a, &b, l, &d);
    *ret_json = out_done(&b, a);
    return !e && !ret_json->p ? ERR_NO_MEMORY : e;
}

/* --- the result of an act --- */

static void dead_act_out_refusals(struct buf *b, const struct dead_act *act)
{
    out_name(b, "refusals");
    buf_char(b, '[');
    for (int64_t i = 0; i < act->refused && i < DEAD_REFUSALS; i++) {
        buf_add(b, i ? S(",{") : S("{"));
        out_uuid(b, "id", act->refusals[i].id);
        out_text(b, "reason", str_of(act->refusals[i].why));
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

struct str dead_act_json(const struct dead_act *act, struct arena *a)
{
    struct buf b;

    buf_init(&b, SHOWN_MAX);
    buf_char(&b, '{');
    out_int(&b, "matched", act->matched);
    out_int(&b, "done", act->done);
    out_int(&b, "refused", act->refused);
    dead_act_out_refusals(&b, act);
    out_bool(&b, "dryRun", act->dry_run);
    dead_cursor_out(&b, "cursor", act->more ? &act->cursor : NULL);
    buf_char(&b, '}');
    return out_done(&b, a);
}

/* --- the payment it concerns --- */

enum payment_place {
    PAYMENT_IN_REF,
    PAYMENT_IN_BODY,
    PAYMENT_OF_DOMAIN_EVENT,
    PAYMENT_OF_NOTIFICATION,
    PAYMENT_OF_NOTIFICATION_REF,
    PAYMENT_NOWHERE,
};

/* Where the messages of a kind name their payment. */
static enum payment_place dead_letter_payment_place(struct str kind)
{
    static const struct {
        const char *kind;
        enum payment_place where;
    } rows[] = {
        { "stripe.event", PAYMENT_IN_BODY },
        { "stripe.refetch", PAYMENT_IN_BODY },
        { "paypay.refetch", PAYMENT_IN_BODY },
        { "paypay.poll", PAYMENT_IN_REF },
        { "booking.confirm", PAYMENT_IN_BODY },
        { "op", PAYMENT_IN_REF },
        { "payment.abandon", PAYMENT_IN_REF },
        { "payment.lapse", PAYMENT_IN_REF },
        { "payment.lapsed", PAYMENT_IN_REF },
        { "refund.again", PAYMENT_IN_REF },
        { "charge.fee", PAYMENT_IN_REF },
        { "charge.refunds", PAYMENT_IN_REF },
        { "notify", PAYMENT_OF_NOTIFICATION },
        { "event.deliver", PAYMENT_OF_DOMAIN_EVENT },
        { "notify.mail", PAYMENT_OF_NOTIFICATION_REF },
        { "notify.push", PAYMENT_OF_NOTIFICATION_REF },
        { "notify.webhook", PAYMENT_OF_NOTIFICATION_REF },
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(kind, str_of(rows[i].kind)))
            return rows[i].where;
    return PAYMENT_NOWHERE;
}

static bool dead_letter_payment_of_body(struct str body, struct uuid *ret_payment)
{
    static const char *const path[] = { "payment" };
    struct json_value v;

    return body.n && !json_pick(body, path, 1, &v, NULL) && v.type == JSON_STRING &&
           uuid_parse(v.raw, ret_payment);
}

static enum err dead_letter_payment_of_row(struct tx *tx, enum stmt stmt, const struct uuid *id,
                                           struct uuid *ret_payment)
{
    struct row row;
    enum err e = TX_ROW(tx, stmt, &row, V_BLOB(uuid_bytes(id)));

    if (!e && !uuid_of_bytes(row.col[0].s, ret_payment))
        return ERR_NOT_FOUND;
    return e;
}

static enum err dead_letter_payment(struct tx *tx, const struct message *m,
                                    struct uuid *ret_payment)
{
    struct uuid id;

    switch (dead_letter_payment_place(m->kind)) {
    case PAYMENT_IN_REF: return uuid_parse(m->ref, ret_payment) ? OK : ERR_NOT_FOUND;
    case PAYMENT_IN_BODY:
        return dead_letter_payment_of_body(m->body, ret_payment) ? OK : ERR_NOT_FOUND;
    case PAYMENT_OF_NOTIFICATION:
        return dead_letter_payment_of_row(tx, STMT_payment_of_notification, &m->id, ret_payment);
    case PAYMENT_OF_NOTIFICATION_REF:
        return uuid_parse(m->ref, &id)
                   ? dead_letter_payment_of_row(tx, STMT_payment_of_notification, &id, ret_payment)
                   : ERR_NOT_FOUND;
    case PAYMENT_OF_DOMAIN_EVENT:
        return uuid_parse(m->ref, &id)
                   ? dead_letter_payment_of_row(tx, STMT_payment_of_domain_event, &id, ret_payment)
                   : ERR_NOT_FOUND;
    case PAYMENT_NOWHERE: break;
    }
    return ERR_NOT_FOUND;
}

enum err dead_letter_note(struct tx *tx, const struct message *m)
{
    struct uuid payment;
    enum err e = dead_letter_payment(tx, m, &payment);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return TX_DO(tx, STMT_letter_payment, 1, V_BLOB(uuid_bytes(&payment)),
                 V_BLOB(uuid_bytes(&m->id)));
}

/* --- old attempts --- */

static enum err dead_letter_count(void *ctx, const struct row *row)
{
    (void)row;
    (*(int64_t *)ctx)++;
    return OK;
}

enum err dead_failures_expire(struct tx *tx, int64_t now_ms, bool *ret_more)
{
    struct val v[] = { V_INT(LIMIT_STATEMENT_ROWS), V_INT(now_ms - LIMIT_FAILURES_DAYS * DAY_MS) };
    int64_t gone = 0;
    enum err e = tx_each(tx, STMT_message_failures_expire, v, COUNT(v), dead_letter_count, &gone);

    *ret_more = gone == LIMIT_STATEMENT_ROWS;
    return e;
}
