/* timeline.c - reads the sources of a timeline, sorts the entries and writes them as JSON. */
#include "timeline/timeline.h"

#include "timeline/entries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The entries, their details and the JSON fit into a request's arena. */
enum { TIMELINE_JSON = 2 * 1024 * 1024 };

/* --- sources --- */

static enum err timeline_keep_row(void *ctx, const struct row *row)
{
    struct timeline *t = ctx;

    assert(row->count <= TIMELINE_COLUMNS);
    if (t->row_count == LIMIT_TIMELINE_ROWS)
        t->truncated = true;
    else
        memcpy(t->rows[t->row_count++].v, row->col, sizeof(t->rows->v));
    return OK;
}

enum err timeline_each(struct timeline *t, enum stmt stmt, timeline_row each)
{
    struct val v[] = { v_uuid(&t->payment.id), V_INT(LIMIT_TIMELINE_ROWS + 1) };
    enum err e;

    t->row_count = 0;
    e = tx_each(t->tx, stmt, v, COUNT(v), timeline_keep_row, t);
    for (size_t i = 0; !e && i < t->row_count; i++) {
        each(t, t->rows[i].v);
        e = t->err;
    }
    return e;
}

enum err timeline_each_of(struct timeline *t, enum stmt stmt, const struct val *v, size_t rows,
                          size_t columns, timeline_row each)
{
    enum err e;

    t->row_count = 0;
    e = rows ? tx_bulk(t->tx, stmt, v, rows, columns, timeline_keep_row, t) : OK;
    for (size_t i = 0; !e && i < t->row_count; i++) {
        each(t, t->rows[i].v);
        e = t->err;
    }
    return e;
}

/* --- the order --- */

/* Sources are read newest first, so among equals the one that was read last happened first. */
static int entry_by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    if (x->kind->rank != y->kind->rank)
        return x->kind->rank - y->kind->rank;
    return x->order > y->order ? -1 : x->order < y->order;
}

/* --- JSON --- */

static void entry_out_title(struct buf *b, const char *name, const char *words, struct str about)
{
    struct buf title;

    buf_init(&title, TIMELINE_JSON);
    buf_add(&title, str_of(words));
    if (about.n) {
        buf_add(&title, S(": "));
        buf_add(&title, about);
    }
    out_text(b, name, buf_str(&title));
    buf_release(&title);
}

static void entry_out(struct buf *b, const struct entry *e)
{
    buf_char(b, '{');
    out_time(b, "at", e->at_ms);
    out_time(b, "endedAt", e->ended_ms);
    out_text(b, "lane", str_of(timeline_lane_name(e->kind->lane)));
    out_text(b, "kind", str_of(e->kind->name));
    out_text(b, "result", str_of(timeline_result_name(e->result)));
    out_int(b, "times", e->times);
    entry_out_title(b, "title", e->kind->en, e->about);
    entry_out_title(b, "titleJa", e->kind->ja, e->about);
    out_text(b, "ref", e->ref);
    out_amount(b, "ms", e->ms);
    out_json(b, "detail", e->detail.n ? e->detail : S("{}"));
    buf_char(b, '}');
}

static enum err timeline_json(const struct timeline *t, struct str *ret_json)
{
    struct buf b;

    buf_init(&b, TIMELINE_JSON);
    buf_char(&b, '{');
    out_uuid(&b, "paymentId", t->payment.id);
    out_bool(&b, "truncated", t->truncated);
    out_json(&b, "entries", S("["));
    for (size_t i = 0; i < t->count; i++) {
        if (i)
            buf_char(&b, ',');
        entry_out(&b, &t->entries[i]);
    }
    buf_add(&b, S("]}"));
    *ret_json = out_done(&b, t->arena);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- all of it --- */

static enum err timeline_alloc(struct timeline *t)
{
    t->entries = arena_alloc(t->arena, TIMELINE_ENTRIES, sizeof(*t->entries));
    t->messages = arena_alloc(t->arena, TIMELINE_MESSAGES, sizeof(*t->messages));
    t->audit = arena_alloc(t->arena, LIMIT_TIMELINE_ROWS, sizeof(*t->audit));
    t->rows = arena_alloc(t->arena, LIMIT_TIMELINE_ROWS, sizeof(*t->rows));
    t->notices = arena_alloc(t->arena, LIMIT_TIMELINE_ROWS, sizeof(*t->notices));
    return t->entries && t->messages && t->audit && t->rows && t->notices ? OK : ERR_NO_MEMORY;
}

static enum err timeline_read_sources(struct timeline *t)
{
    enum err e = timeline_alloc(t);

    if (e)
        return e;
    e = timeline_own_rows(t);
    if (e)
        return e;
    e = timeline_states(t);
    if (e)
        return e;
    e = timeline_traffic(t);
    return e ? e : t->err;
}

enum err timeline_read(struct tx *tx, struct arena *a, struct uuid payment, struct str *ret_json)
{
    struct timeline *t = arena_alloc(a, 1, sizeof(*t));
    enum err e = ERR_NO_MEMORY;

    if (!t)
        return e;
    t->tx = tx;
    t->arena = a;
    e = payment_read(tx, a, payment, false, &t->payment);
    if (!e)
        e = timeline_read_sources(t);
    if (e)
        return e;
    qsort(t->entries, t->count, sizeof(*t->entries), entry_by_time);
    return timeline_json(t, ret_json);
}
