/* dead_letter.c - dead letters as they are shown, whom they are about, and the end of old attempts.
 */
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

static bool is_of_event(struct str kind)
{
    return str_eq(kind, S("stripe.event")) || str_eq(kind, S("stripe.refetch")) ||
           str_eq(kind, S("paypay.refetch"));
}

static void out_letter(struct buf *b, const struct dead_letter *d)
{
    out_uuid(b, "id", d->id);
    out_text(b, "kind", d->kind);
    out_text(b, "ref", d->ref);
    out_text(b, "eventId", is_of_event(d->kind) ? d->ref : (struct str){ 0 });
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

static void out_cursor(struct buf *b, const char *name, const struct dead_cursor *c)
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

/* The lower of the two: a cursor of another filter must not lead beyond this one's time. */
static struct dead_cursor start_of(const struct dead_filter *f, const struct dead_cursor *cursor)
{
    struct dead_cursor newest = dead_from_newest(f);

    return cursor && cursor->at_ms < newest.at_ms ? *cursor : newest;
}

static struct dead_cursor after_letter(const struct dead_letter *d)
{
    return (struct dead_cursor){ .at_ms = d->died_ms, .id = d->id };
}

static struct str page_json(struct arena *a, const struct dead_find *f, size_t limit)
{
    size_t shown = f->count < limit ? f->count : limit;
    struct dead_cursor next = f->at;
    bool more = f->count > limit || !f->end;
    struct buf b;

    if (f->count > limit)
        next = after_letter(&f->found[limit - 1]);
    buf_init(&b, SHOWN_MAX);
    buf_add(&b, S("{\"data\":["));
    for (size_t i = 0; i < shown; i++) {
        buf_add(&b, i ? S(",{") : S("{"));
        out_letter(&b, &f->found[i]);
        buf_char(&b, '}');
    }
    buf_char(&b, ']');
    out_cursor(&b, "nextCursor", more ? &next : NULL);
    buf_char(&b, '}');
    return out_done(&b, a);
}

enum err dead_page(struct tx *tx, struct arena *a, const struct dead_filter *f,
                   const struct dead_cursor *cursor, int limit, struct str *ret_json)
{
    struct dead_find find = { .filter = f,
                              .at = start_of(f, cursor),
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
    *ret_json = page_json(a, &find, (size_t)limit);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- one --- */

static void out_hidden(struct buf *b, const char *name, struct str text)
{
    struct buf shown;

    buf_init(&shown, text.n + 1);
    redact_text(&shown, text);
    b->failed |= shown.failed;
    out_text(b, name, buf_str(&shown));
    buf_release(&shown);
}

static enum err out_payload(struct tx *tx, struct buf *b, const struct dead_letter *d)
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
        out_hidden(b, "payload", row.col[0].s);
    return OK;
}

/* Not its body: that has what a customer's card and address look like (A6). It stands in
 * failed_webhook_events, for who may read the database. */
static enum err out_event(struct tx *tx, struct buf *b, const struct dead_letter *d)
{
    struct row row;
    const struct val *v = row.col;
    enum err e = ERR_NOT_FOUND;

    if (is_of_event(d->kind) && d->ref.n)
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

struct failures {
    struct row rows[FAILURES_SHOWN];
    size_t n;
};

static enum err keep_failure(void *ctx, const struct row *row)
{
    struct failures *f = ctx;

    if (f->n < FAILURES_SHOWN)
        f->rows[f->n++] = *row;
    return OK;
}

/* The newest of them, the oldest of those first. */
static enum err out_failures(struct tx *tx, struct arena *a, struct buf *b,
                             const struct dead_letter *d)
{
    struct val v[] = { V_BLOB(uuid_bytes(&d->id)), V_INT(FAILURES_SHOWN) };
    struct failures *f = arena_alloc(a, 1, sizeof(*f));
    enum err e =
        f ? tx_each(tx, STMT_message_failures_of, v, COUNT(v), keep_failure, f) : ERR_NO_MEMORY;

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

static enum err out_details(struct tx *tx, struct arena *a, struct buf *b,
                            const struct dead_letters *l, const struct dead_letter *d)
{
    const struct dead_kind *k = dead_kind_of(l, d->kind);
    enum err e = k && k->show ? k->show(tx, k->ctx, d, b) : ERR_NOT_FOUND;

    if (e != ERR_NOT_FOUND)
        return e;
    e = out_payload(tx, b, d);
    return e ? e : out_failures(tx, a, b, d);
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
    buf_char(&b, '{');
    out_letter(&b, &d);
    e = out_details(tx, a, &b, l, &d);
    if (!e)
        e = out_event(tx, &b, &d);
    if (!e)
        e = dead_edit_show(tx, &b, l, &d);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return !e && !ret_json->p ? ERR_NO_MEMORY : e;
}

/* --- what an act answers --- */

static void out_refusals(struct buf *b, const struct dead_act *act)
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
    out_refusals(&b, act);
    out_bool(&b, "dryRun", act->dry_run);
    out_cursor(&b, "cursor", act->more ? &act->cursor : NULL);
    buf_char(&b, '}');
    return out_done(&b, a);
}

/* --- whom it is about --- */

enum about {
    ABOUT_REF,
    ABOUT_BODY,
    ABOUT_DOMAIN_EVENT,
    ABOUT_NOTIFICATION,
    ABOUT_NOTIFICATION_REF,
    ABOUT_NOBODY,
};

/* Where a kind's message names its payment. */
static enum about dead_letter_about(struct str kind)
{
    static const struct {
        const char *kind;
        enum about where;
    } rows[] = {
        { "stripe.event", ABOUT_BODY },
        { "stripe.refetch", ABOUT_BODY },
        { "paypay.refetch", ABOUT_BODY },
        { "paypay.poll", ABOUT_REF },
        { "booking.confirm", ABOUT_BODY },
        { "op", ABOUT_REF },
        { "payment.abandon", ABOUT_REF },
        { "payment.lapse", ABOUT_REF },
        { "payment.lapsed", ABOUT_REF },
        { "refund.again", ABOUT_REF },
        { "charge.fee", ABOUT_REF },
        { "charge.refunds", ABOUT_REF },
        { "notify", ABOUT_NOTIFICATION },
        { "event.deliver", ABOUT_DOMAIN_EVENT },
        { "notify.mail", ABOUT_NOTIFICATION_REF },
        { "notify.push", ABOUT_NOTIFICATION_REF },
        { "notify.webhook", ABOUT_NOTIFICATION_REF },
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(kind, str_of(rows[i].kind)))
            return rows[i].where;
    return ABOUT_NOBODY;
}

static bool body_names(struct str body, struct uuid *ret_payment)
{
    static const char *const path[] = { "payment" };
    struct json_value v;

    return body.n && !json_pick(body, path, 1, &v, NULL) && v.type == JSON_STRING &&
           uuid_parse(v.raw, ret_payment);
}

static enum err dead_letter_ask(struct tx *tx, enum stmt stmt, const struct uuid *id,
                                struct uuid *ret_payment)
{
    struct row row;
    enum err e = TX_ROW(tx, stmt, &row, V_BLOB(uuid_bytes(id)));

    if (!e && !uuid_of_bytes(row.col[0].s, ret_payment))
        return ERR_NOT_FOUND;
    return e;
}

static enum err payment_of(struct tx *tx, const struct message *m, struct uuid *ret_payment)
{
    struct uuid id;

    switch (dead_letter_about(m->kind)) {
    case ABOUT_REF: return uuid_parse(m->ref, ret_payment) ? OK : ERR_NOT_FOUND;
    case ABOUT_BODY: return body_names(m->body, ret_payment) ? OK : ERR_NOT_FOUND;
    case ABOUT_NOTIFICATION:
        return dead_letter_ask(tx, STMT_payment_of_notification, &m->id, ret_payment);
    case ABOUT_NOTIFICATION_REF:
        return uuid_parse(m->ref, &id)
                   ? dead_letter_ask(tx, STMT_payment_of_notification, &id, ret_payment)
                   : ERR_NOT_FOUND;
    case ABOUT_DOMAIN_EVENT:
        return uuid_parse(m->ref, &id)
                   ? dead_letter_ask(tx, STMT_payment_of_domain_event, &id, ret_payment)
                   : ERR_NOT_FOUND;
    case ABOUT_NOBODY: break;
    }
    return ERR_NOT_FOUND;
}

enum err dead_letter_note(struct tx *tx, const struct message *m)
{
    struct uuid payment;
    enum err e = payment_of(tx, m, &payment);

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
