/* history.c - two lists, newest first. A page of events searches at most LIMIT_HISTORY_ROWS rows,
 * so a filter that matches few events may give a short or empty page whose nextCursor continues. */
#include "admin/history.h"

#include "admin/notifications.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"
#include "store/json_values.h"

#include <string.h>

enum { PAGE_DEFAULT = 20, TYPE_MAX = 255 };

struct history_call { /* one request, in its own arena */
    struct api_answer answer;
    int limit;
    int64_t before_seq; /* 0: from the newest on */
    bool has_payment;
    struct uuid payment, before_id; /* before_id: exclusive */
    struct str type, outcome;       /* empty: any */
    struct buf out;
    int64_t count, last_seq;
};

/* --- the query --- */

/* A NUL is rejected: PostgreSQL's text cannot hold it. */
static bool history_read_type(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct history_call *)ctx)->type = value;
    return value.n && value.n <= TYPE_MAX && str_is_utf8(value) && !memchr(value.p, '\0', value.n);
}

static bool history_read_outcome(struct request *r, void *ctx, struct str value)
{
    static const char *const words[] = { "applied", "duplicate", "superseded",
                                         "ignored", "failed",    "pending" };

    (void)r;
    ((struct history_call *)ctx)->outcome = value;
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_eq(value, str_of(words[i])))
            return true;
    return false;
}

static bool history_read_payment(struct request *r, void *ctx, struct str value)
{
    struct history_call *c = ctx;

    (void)r;
    c->has_payment = uuid_parse(value, &c->payment);
    return c->has_payment;
}

static bool history_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct history_call *)ctx)->limit);
}

static bool history_read_seq(struct request *r, void *ctx, struct str value)
{
    struct history_call *c = ctx;

    (void)r;
    return str_to_i64(value, &c->before_seq) && c->before_seq > 0;
}

static bool history_read_id(struct request *r, void *ctx, struct str value)
{
    struct history_call *c = ctx;
    bool has;

    return query_cursor(&r->arena, value, &has, &c->before_id);
}

#define PAYMENT_PARAMETER                                                                          \
    {                                                                                              \
        "paymentId", history_read_payment, "must be a UUID", "UUID を指定してください"    \
    }

static const struct query_parameter event_parameters[] = {
    { "type", history_read_type, "must be the type of an event",
      "イベントの種類を指定してください" },
    { "outcome", history_read_outcome,
      "must be applied, duplicate, superseded, ignored, failed or pending",
      "applied、duplicate、superseded、ignored、failed、pending のいずれかにしてください" },
    PAYMENT_PARAMETER,
    QUERY_LIMIT(history_read_limit),
    QUERY_CURSOR(history_read_seq),
};

static const struct query_parameter notification_parameters[] = {
    PAYMENT_PARAMETER,
    QUERY_LIMIT(history_read_limit),
    QUERY_CURSOR(history_read_id),
};

/* --- one line --- */

/* Begins the next entry. False: the page is full, and this row only shows that another follows. */
static bool history_next_line(struct history_call *c)
{
    if (c->count++ == c->limit)
        return false;
    buf_add(&c->out, c->count > 1 ? S(",{") : S("{"));
    return true;
}

static enum err history_add_event(void *ctx, const struct row *row)
{
    struct history_call *c = ctx;
    const struct val *v = row->col;
    struct buf *b = &c->out;

    if (!history_next_line(c))
        return OK;
    c->last_seq = v[0].i;
    out_val_text(b, "id", &v[1]);
    out_val_text(b, "type", &v[2]);
    if (v[3].type == VAL_INT)
        out_bool(b, "livemode", v[3].i != 0);
    else
        out_json(b, "livemode", S("null"));
    history_out_time(b, "createdAt", &v[4]);
    history_out_time(b, "receivedAt", &v[5]);
    out_val_text(b, "outcome", &v[6]);
    out_val_text(b, "detail", &v[7]);
    history_out_time(b, "decidedAt", &v[8]);
    out_val_uuid(b, "paymentId", &v[9]);
    out_int(b, "duplicates", v[10].i);
    history_out_time(b, "lastDuplicateAt", &v[11]);
    out_bool(b, "edited", v[12].i != 0);
    buf_char(b, '}');
    return OK;
}

/* --- a page --- */

static void history_page_begin(struct history_call *c)
{
    c->count = 0;
    buf_init(&c->out, LIMIT_REQUEST_ARENA);
    buf_add(&c->out, S("{\"data\":["));
}

static enum err history_page_end(struct history_call *c, enum err e)
{
    buf_char(&c->out, '}');
    c->answer.text = e ? (struct str){ 0 } : arena_str(c->answer.unit.arena, buf_str(&c->out));
    if (!e && (c->out.failed || !c->answer.text.p))
        e = ERR_NO_MEMORY;
    buf_release(&c->out);
    return e;
}

static enum err history_find_newest(struct tx *tx, int64_t *ret_seq)
{
    struct row row;
    enum err e = tx_row(tx, STMT_events_end, NULL, 0, &row);

    *ret_seq = e ? 0 : row.col[0].i;
    return e;
}

static void history_end_events(struct history_call *c, int64_t from_seq)
{
    int64_t next = c->count > c->limit ? c->last_seq : from_seq > 1 ? from_seq : 0;

    if (next)
        buf_fmt(&c->out, "],\"nextCursor\":\"%lld\"", (long long)next);
    else
        query_next_cursor(&c->out, NULL);
}

static enum err history_list_events(struct tx *tx, struct history_call *c)
{
    int64_t before = c->before_seq, from = 0;
    struct val v[5] = {
        [2] = V_TEXT(c->type), [3] = V_TEXT(c->outcome), [4] = V_INT(c->limit + 1)
    };
    enum err e = before ? OK : history_find_newest(tx, &before);

    if (e)
        return e;
    if (c->has_payment) {
        v[0] = V_BLOB(uuid_bytes(&c->payment));
        v[1] = V_INT(before);
        e = tx_each(tx, STMT_events_of_payment, v, COUNT(v), history_add_event, c);
    } else {
        from = before > LIMIT_HISTORY_ROWS ? before - LIMIT_HISTORY_ROWS : 0;
        v[0] = V_INT(before);
        v[1] = V_INT(from);
        e = tx_each(tx, STMT_events_page, v, COUNT(v), history_add_event, c);
    }
    history_end_events(c, from);
    return e;
}

static enum err history_read_events(struct tx *tx, struct unit *u)
{
    struct history_call *c = CONTAINER_OF(u, struct history_call, answer.unit);

    history_page_begin(c);
    return history_page_end(c, history_list_events(tx, c));
}

static enum err history_read_notifications(struct tx *tx, struct unit *u)
{
    struct history_call *c = CONTAINER_OF(u, struct history_call, answer.unit);

    history_page_begin(c);
    return history_page_end(
        c, history_notification_page(
               tx, &(struct notification_page){ .arena = u->arena,
                                                .payment = c->has_payment ? &c->payment : NULL,
                                                .before = c->before_id,
                                                .limit = c->limit,
                                                .out = &c->out }));
}

/* --- the request --- */

static void history_post(struct request *r, struct store *store, const struct unit_kind *kind,
                         const struct query_parameter *parameters, size_t n)
{
    struct history_call *c = api_room(r, sizeof(*c));

    if (!c)
        return;
    c->limit = PAGE_DEFAULT;
    memset(c->before_id.b, 0xff, sizeof(c->before_id.b));
    if (query_read(r, parameters, n, c))
        api_answer_post(&c->answer, r, store, kind, api_answer_show);
}

void api_history_events(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "history.events", UNIT_READ, history_read_events, NULL };

    (void)p;
    history_post(r, ctx, &kind, event_parameters, COUNT(event_parameters));
}

void api_history_notifications(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "history.notices", UNIT_READ, history_read_notifications,
                                           NULL };

    (void)p;
    history_post(r, ctx, &kind, notification_parameters, COUNT(notification_parameters));
}
