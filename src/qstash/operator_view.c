/* operator_view.c - queues and schedules as rows of the admin API: read-only, of one statement
 * each. */
#include "qstash/operator_view.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "base/url_mask.h"
#include "qstash/publish/input.h"
#include "store/json_values.h"

bool qstash_name_can_be(struct str name)
{
    return input_name_is_valid(name);
}

/* --- queues --- */

struct view_rows {
    struct buf *out;
    struct arena *arena;
    struct str last;
    int count;
};

static void view_rows_begin(struct view_rows *s)
{
    buf_add(s->out, s->count++ ? S(",{") : S("{"));
}

static enum err add_queue(void *ctx, const struct row *row)
{
    struct view_rows *s = ctx;
    const struct val *c = row->col;

    view_rows_begin(s);
    out_text(s->out, "name", c[0].s);
    out_int(s->out, "parallelism", c[1].i);
    out_bool(s->out, "paused", c[2].i);
    out_int(s->out, "lag", c[3].i);
    out_int(s->out, "running", c[4].i);
    buf_char(s->out, '}');
    return OK;
}

enum err qstash_queues_seen(struct tx *tx, struct buf *out)
{
    struct val v[] = { V_INT(LIMIT_QSTASH_QUEUES) };
    struct view_rows s = { .out = out };

    return tx_each(tx, STMT_qstash_queues_seen, v, COUNT(v), add_queue, &s);
}

enum err qstash_queue_seen(struct tx *tx, struct str name, struct buf *out)
{
    struct view_rows s = { .out = out };
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_queue_seen, &row, V_TEXT(name));

    return e ? e : add_queue(&s, &row);
}

/* --- schedules --- */

/* A destination may contain a password or a token, so it is masked. */
static void out_destination(struct buf *b, struct str url)
{
    struct buf shown;

    buf_init(&shown, 2 * LIMIT_QSTASH_URL);
    url_mask(&shown, url, false);
    out_text(b, "destination", buf_str(&shown));
    b->failed |= shown.failed;
    buf_release(&shown);
}

static void out_val_time(struct buf *b, const char *name, const struct val *v)
{
    out_time(b, name, v->type == VAL_NULL ? 0 : v->i);
}

static enum err add_schedule(void *ctx, const struct row *row)
{
    struct view_rows *s = ctx;
    const struct val *c = row->col;

    view_rows_begin(s);
    out_text(s->out, "id", c[0].s);
    out_text(s->out, "source", S("qstash"));
    out_text(s->out, "cron", c[1].s);
    out_destination(s->out, c[2].s);
    out_json(s->out, "kind", S("null"));
    out_bool(s->out, "paused", c[3].i);
    out_val_time(s->out, "nextAt", &c[4]);
    out_val_time(s->out, "lastAt", &c[5]);
    out_val_text(s->out, "error", &c[6]);
    buf_char(s->out, '}');
    if (!s->arena)
        return OK;
    s->last = arena_str(s->arena, c[0].s);
    return s->last.p ? OK : ERR_NO_MEMORY;
}

enum err qstash_schedules_seen(struct tx *tx, struct arena *a, struct str after, int limit,
                               struct buf *out, int *ret_count, struct str *ret_last)
{
    struct val v[] = { V_TEXT(after), V_INT(limit) };
    struct view_rows s = { .out = out, .arena = a };
    enum err e = tx_each(tx, STMT_qstash_schedules_seen, v, COUNT(v), add_schedule, &s);

    *ret_count = s.count;
    *ret_last = s.last;
    return e;
}

enum err qstash_schedule_seen(struct tx *tx, struct str id, struct buf *out)
{
    struct view_rows s = { .out = out };
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_schedule_seen, &row, V_TEXT(id));

    return e ? e : add_schedule(&s, &row);
}
