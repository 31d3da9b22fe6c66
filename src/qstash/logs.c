/* logs.c - GET /v2/events and /v2/logs: the events of messages, the newest first. */
#include "base/limits.h"
#include "qstash/page.h"
#include "qstash/render.h"
#include "store/values.h"

struct content { /* of a message; the lines of one unit share it */
    struct content *next;
    struct uuid id;
    bool gone;
    struct parcel parcel;
};

static enum err read_content(struct tx *tx, struct page_step *s, struct uuid id,
                             struct content **ret_content)
{
    struct content *c = arena_alloc(&s->arena, 1, sizeof(*c));
    struct row row;
    enum err e;

    if (!c)
        return ERR_NO_MEMORY;
    c->id = id;
    e = TX_ROW(tx, STMT_qstash_message_read_all, &row, v_uuid(&id));
    c->gone = e == ERR_NOT_FOUND;
    if (!e)
        e = parcel_of_row(&s->arena, &row, 0, &c->parcel);
    if (!e) {
        c->parcel.body = row.col[PARCEL_COLUMN_COUNT].s; /* the unit's own memory */
        s->bytes += c->parcel.body.n + c->parcel.header.n + 4096;
    }
    *ret_content = c;
    return c->gone ? OK : e;
}

static enum err content_of(struct tx *tx, struct page_step *s, struct uuid id,
                           struct content **ret_content)
{
    struct content *c = s->cache;
    enum err e;

    while (c && !uuid_eq(c->id, id))
        c = c->next;
    *ret_content = c;
    if (c)
        return OK;
    e = read_content(tx, s, id, &c);
    if (e)
        return e;
    c->next = s->cache;
    s->cache = *ret_content = c;
    return OK;
}

static struct log_entry line_of_row(const struct row *row, struct uuid id)
{
    const struct val *c = row->col;

    return (struct log_entry){ .id = id,
                               .at_ms = c[1].i,
                               .state = (enum qstash_state)c[2].i,
                               .next_ms = c[3].type == VAL_NULL ? 0 : c[3].i,
                               .answered = c[4].type != VAL_NULL,
                               .status = (int)c[4].i,
                               .error = c[5].s,
                               .response_header = c[6].s,
                               .response_body = c[7].s };
}

static enum err logs_entry(struct tx *tx, struct page_step *s, const struct found *x,
                           struct buf *out)
{
    struct content *c;
    struct log_entry line;
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_log_line, &row, V_INT(x->seq));

    if (e)
        return e;
    line = line_of_row(&row, x->id);
    s->bytes += line.response_body.n + line.response_header.n + line.error.n;
    e = content_of(tx, s, x->id, &c);
    if (e)
        return e;
    buf_char(out, '{');
    render_log(out, &line, c->gone ? NULL : &c->parcel);
    buf_char(out, '}');
    return OK;
}

/* The list has two paths, and under /logs its array has a second name. */
static bool is_called_logs(const struct qstash_request *v)
{
    struct str path = v->r->target;

    path = str_cut(&path, '?');
    return str_ends(path, S("/logs")) || str_ends(path, S("/logs/"));
}

void qstash_logs(struct qstash_request *v)
{
    struct page rules = { .in = FIND_LOG,
                          .of = SELECT_LOG,
                          .most = LIMIT_QSTASH_LOG_PAGE,
                          .usual = LIMIT_QSTASH_PAGE,
                          .key = "events",
                          .entry = logs_entry };

    if (is_called_logs(v))
        rules.too = "logs";
    page_answer(v, &rules);
}
