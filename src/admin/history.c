/* history.c - two lists, newest first. A page of events looks at a stretch of the table and no
 * further: with a filter that fits little it may be short or empty, and nextCursor goes on. */
#include "admin/history.h"

#include "admin/notifications.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"
#include "store/json_values.h"

#include <string.h>

enum { PAGE_DEFAULT = 20, TYPE_MAX = 255 };

struct admin_history_look { /* one request, in its own arena */
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

/* PostgreSQL has no text with a NUL in it. */
static bool history_read_type(struct request *r, void *ctx, struct str value)
{
    (void)r;
    ((struct admin_history_look *)ctx)->type = value;
    return value.n && value.n <= TYPE_MAX && str_is_utf8(value) && !memchr(value.p, '\0', value.n);
}

static bool history_read_outcome(struct request *r, void *ctx, struct str value)
{
    static const char *const words[] = { "applied", "duplicate", "superseded",
                                         "ignored", "failed",    "pending" };

    (void)r;
    ((struct admin_history_look *)ctx)->outcome = value;
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_eq(value, str_of(words[i])))
            return true;
    return false;
}

static bool history_read_payment(struct request *r, void *ctx, struct str value)
{
    struct admin_history_look *l = ctx;

    (void)r;
    l->has_payment = uuid_parse(value, &l->payment);
    return l->has_payment;
}

static bool history_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct admin_history_look *)ctx)->limit);
}

static bool history_read_seq(struct request *r, void *ctx, struct str value)
{
    struct admin_history_look *l = ctx;

    (void)r;
    return str_to_i64(value, &l->before_seq) && l->before_seq > 0;
}

static bool history_read_id(struct request *r, void *ctx, struct str value)
{
    struct admin_history_look *l = ctx;
    bool has;

    return query_cursor(&r->arena, value, &has, &l->before_id);
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

static const struct query_parameter notice_parameters[] = {
    PAYMENT_PARAMETER,
    QUERY_LIMIT(history_read_limit),
    QUERY_CURSOR(history_read_id),
};

/* --- one line --- */

static void history_out_when(struct buf *b, const char *name, const struct val *v)
{
    out_time(b, name, v->type == VAL_INT ? v->i : 0);
}

/* One more than is shown says that there is another page. False: this is that one. */
static bool history_next_line(struct admin_history_look *l)
{
    if (l->count++ == l->limit)
        return false;
    buf_add(&l->out, l->count > 1 ? S(",{") : S("{"));
    return true;
}

static enum err add_event(void *ctx, const struct row *row)
{
    struct admin_history_look *l = ctx;
    const struct val *v = row->col;
    struct buf *b = &l->out;

    if (!history_next_line(l))
        return OK;
    l->last_seq = v[0].i;
    out_val_text(b, "id", &v[1]);
    out_val_text(b, "type", &v[2]);
    if (v[3].type == VAL_INT)
        out_bool(b, "livemode", v[3].i != 0);
    else
        out_json(b, "livemode", S("null"));
    history_out_when(b, "createdAt", &v[4]);
    history_out_when(b, "receivedAt", &v[5]);
    out_val_text(b, "outcome", &v[6]);
    out_val_text(b, "detail", &v[7]);
    history_out_when(b, "decidedAt", &v[8]);
    out_val_uuid(b, "paymentId", &v[9]);
    out_int(b, "duplicates", v[10].i);
    history_out_when(b, "lastDuplicateAt", &v[11]);
    out_bool(b, "edited", v[12].i != 0);
    buf_char(b, '}');
    return OK;
}

/* --- a page --- */

static void history_page_begin(struct admin_history_look *l)
{
    l->count = 0;
    buf_init(&l->out, LIMIT_REQUEST_ARENA);
    buf_add(&l->out, S("{\"data\":["));
}

static enum err history_page_end(struct admin_history_look *l, enum err e)
{
    buf_char(&l->out, '}');
    l->answer.text = e ? (struct str){ 0 } : arena_str(l->answer.unit.arena, buf_str(&l->out));
    if (!e && (l->out.failed || !l->answer.text.p))
        e = ERR_NO_MEMORY;
    buf_release(&l->out);
    return e;
}

static enum err history_find_newest(struct tx *tx, int64_t *ret_seq)
{
    struct row row;
    enum err e = tx_row(tx, STMT_events_end, NULL, 0, &row);

    *ret_seq = e ? 0 : row.col[0].i;
    return e;
}

static void end_events(struct admin_history_look *l, int64_t from_seq)
{
    int64_t next = l->count > l->limit ? l->last_seq : from_seq > 1 ? from_seq : 0;

    if (next)
        buf_fmt(&l->out, "],\"nextCursor\":\"%lld\"", (long long)next);
    else
        query_next_cursor(&l->out, NULL);
}

static enum err list_events(struct tx *tx, struct admin_history_look *l)
{
    int64_t before = l->before_seq, from = 0;
    struct val v[5] = {
        [2] = V_TEXT(l->type), [3] = V_TEXT(l->outcome), [4] = V_INT(l->limit + 1)
    };
    enum err e = before ? OK : history_find_newest(tx, &before);

    if (e)
        return e;
    if (l->has_payment) {
        v[0] = V_BLOB(uuid_bytes(&l->payment));
        v[1] = V_INT(before);
        e = tx_each(tx, STMT_events_of_payment, v, COUNT(v), add_event, l);
    } else {
        from = before > LIMIT_HISTORY_ROWS ? before - LIMIT_HISTORY_ROWS : 0;
        v[0] = V_INT(before);
        v[1] = V_INT(from);
        e = tx_each(tx, STMT_events_page, v, COUNT(v), add_event, l);
    }
    end_events(l, from);
    return e;
}

static enum err read_events(struct tx *tx, struct unit *u)
{
    struct admin_history_look *l = CONTAINER_OF(u, struct admin_history_look, answer.unit);

    history_page_begin(l);
    return history_page_end(l, list_events(tx, l));
}

static enum err read_notices(struct tx *tx, struct unit *u)
{
    struct admin_history_look *l = CONTAINER_OF(u, struct admin_history_look, answer.unit);

    history_page_begin(l);
    return history_page_end(
        l,
        history_notices(tx, &(struct notice_page){ .arena = u->arena,
                                                   .payment = l->has_payment ? &l->payment : NULL,
                                                   .before = l->before_id,
                                                   .limit = l->limit,
                                                   .out = &l->out }));
}

/* --- the request --- */

static void admin_history_look(struct request *r, struct store *store, const struct unit_kind *kind,
                               const struct query_parameter *parameters, size_t n)
{
    struct admin_history_look *l = api_room(r, sizeof(*l));

    if (!l)
        return;
    l->limit = PAGE_DEFAULT;
    memset(l->before_id.b, 0xff, sizeof(l->before_id.b));
    if (query_read(r, parameters, n, l))
        api_answer_post(&l->answer, r, store, kind, api_answer_show);
}

void api_history_events(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "history.events", UNIT_READ, read_events, NULL };

    (void)p;
    admin_history_look(r, ctx, &kind, event_parameters, COUNT(event_parameters));
}

void api_history_notifications(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "history.notices", UNIT_READ, read_notices, NULL };

    (void)p;
    admin_history_look(r, ctx, &kind, notice_parameters, COUNT(notice_parameters));
}
