/* unit.c - see unit.h. On PostgreSQL locks are taken as dlq/act.c takes them: the
 * letters first, then the gates, then the rest. */
#include "qstash/dlq/unit.h"

#include "qstash/dlq/dead_letter.h"
#include "qstash/rows.h"
#include "store/values.h"

#include <stdio.h>

enum { TEXTS = 16 * 1024 * 1024, DETAIL = 160, AUDIT_COLUMNS = 6 };

struct corpse { /* while the unit runs */
    struct parcel parcel;
    struct dead dead;
    bool there;
    char id[MESSAGE_ID_TEXT + 1], detail[DETAIL];
};

/* --- which are there --- */

/* Whoever acts on them holds their letters first, so that the second one finds them gone. */
static enum err lock_letters(struct tx *tx, const struct dlq_unit *x)
{
    struct val v[LIMIT_QSTASH_DEAD_STEP];
    size_t n = 0;

    for (size_t i = x->from; i < x->count; i++)
        v[n++] = v_uuid(&x->ids[i]);
    return tx_bulk(tx, STMT_letters_lock, v, n, 1, NULL, NULL);
}

/* Sets x->upto: so many bodies fit into one unit. */
static enum err read_all(struct tx *tx, struct dlq_unit *x, struct arena *a, struct corpse *all)
{
    size_t bytes = 0, i;

    for (i = x->from; i < x->count && bytes < LIMIT_QSTASH_STEP_BYTES; i++) {
        struct corpse *c = &all[i];
        enum err e;

        e = dead_read(tx, a, x->ids[i], x->verb == DLQ_RETRY, &c->parcel, &c->dead);
        c->there = !e;
        if (e && e != ERR_NOT_FOUND)
            return e;
        if (!e)
            bytes += c->parcel.body.n + c->dead.response_body.n + 2 * c->parcel.header.n + 4096;
    }
    x->upto = i;
    return OK;
}

/* The gates of queues that are there; one that is made is nobody else's yet. */
static enum err lock_gates(struct tx *tx, struct dlq_unit *x, const struct corpse *all)
{
    int64_t lanes[2 * LIMIT_QSTASH_DEAD_STEP];
    size_t n = 0;

    for (size_t i = x->from; i < x->upto; i++) {
        const struct parcel *p = &all[i].parcel;
        struct live at = { .flow_key = p->flow_key };
        enum err e = OK;
        struct row row;

        if (!all[i].there)
            continue;
        if (p->queue.n)
            e = TX_ROW(tx, STMT_qstash_queue_find, &row, V_TEXT(p->queue));
        if (e && e != ERR_NOT_FOUND)
            return e;
        at.queue_id = p->queue.n && !e ? row.col[0].i : 0;
        n += gate_lanes(&at, lanes + n);
    }
    return n ? queue_lock_lanes(tx, lanes, n) : OK;
}

static enum err put_options(struct dlq_unit *x, struct arena *a, struct parcel *p, int64_t now_ms,
                            int64_t *ret_not_before_ms)
{
    struct input_source source = input_source_of(x->v);
    struct input in = { .parcel = *p };
    enum err e;

    *ret_not_before_ms = now_ms;
    if (!x->header_count)
        return OK;
    source.headers = x->headers;
    source.header_count = x->header_count;
    source.query = (struct str){ 0 };
    e = input_override(a, &source, &in);
    if (e)
        return why_err(&x->why, e, "%s", in.why.text);
    *p = in.parcel;
    *ret_not_before_ms = input_due_ms(&in, now_ms);
    return OK;
}

static enum err act_on(struct tx *tx, struct dlq_unit *x, struct arena *a, size_t i,
                       struct corpse *c, int64_t now_ms)
{
    struct parcel as_it_was = c->parcel;
    int64_t not_before_ms;
    enum err e = OK;

    if (x->verb == DLQ_RETRY) {
        e = put_options(x, a, &c->parcel, now_ms, &not_before_ms);
        if (!e)
            e = dead_repost(x->v->q, tx, &c->parcel, x->new_ids[i], now_ms, not_before_ms);
    }
    if (!e)
        e = dead_remove(tx, &as_it_was, &c->dead);
    x->did[i] = !e;
    return e;
}

static void audit_row(const struct dlq_unit *x, size_t i, struct corpse *c, int64_t now_ms,
                      struct val v[AUDIT_COLUMNS])
{
    char new_id[MESSAGE_ID_TEXT + 1] = "";

    message_id_text(x->ids[i], c->id);
    message_id_text(x->new_ids[i], new_id);
    if (x->verb == DLQ_RETRY)
        snprintf(c->detail, DETAIL, "by the QStash API: again as %s", new_id);
    else
        snprintf(c->detail, DETAIL, "by the QStash API");
    v[0] = V_INT(now_ms);
    v[1] = V_TEXT(x->verb == DLQ_RETRY ? S("DLQ_RETRY") : S("DLQ_DELETE"));
    v[2] = V_TEXT(str_of(c->id));
    v[3] = V_TEXT(str_of(c->detail));
    v[4] = v[5] = V_NULL;
}

/* Their letters go, and what was known of their failures; the audit keeps a line. */
static enum err remove_letters(struct tx *tx, const struct dlq_unit *x, struct corpse *all,
                               int64_t now_ms)
{
    struct val ids[LIMIT_QSTASH_DEAD_STEP], lines[LIMIT_QSTASH_DEAD_STEP * AUDIT_COLUMNS];
    size_t n = 0;
    enum err e;

    for (size_t i = x->from; i < x->upto; i++)
        if (x->did[i]) {
            audit_row(x, i, &all[i], now_ms, lines + n * AUDIT_COLUMNS);
            ids[n++] = v_uuid(&x->ids[i]);
        }
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_letters_delete, ids, n, 1, NULL, NULL);
    if (!e)
        e = tx_bulk(tx, STMT_letters_failures_delete, ids, n, 1, NULL, NULL);
    return e ? e : tx_bulk(tx, STMT_audit_letters, lines, n, AUDIT_COLUMNS, NULL, NULL);
}

static enum err act_in(struct tx *tx, struct dlq_unit *x, struct arena *a, struct corpse *all)
{
    int64_t now_ms = env_now_ms(x->v->q->env);
    enum err e = lock_letters(tx, x);

    if (!e)
        e = read_all(tx, x, a, all);
    if (!e && x->verb == DLQ_RETRY)
        e = lock_gates(tx, x, all);
    for (size_t i = x->from; i < x->upto && !e; i++)
        if (all[i].there)
            e = act_on(tx, x, a, i, &all[i], now_ms);
    return e ? e : remove_letters(tx, x, all, now_ms);
}

/* --- the unit --- */

enum err dlq_unit_run(struct tx *tx, struct dlq_unit *x)
{
    struct corpse *all;
    struct arena a;
    enum err e;

    x->upto = x->from;
    x->why.text[0] = '\0';
    for (size_t i = 0; i < LIMIT_QSTASH_DEAD_STEP; i++)
        x->did[i] = false;
    arena_init(&a, TEXTS);
    all = arena_alloc(&a, LIMIT_QSTASH_DEAD_STEP, sizeof(*all));
    e = all ? act_in(tx, x, &a, all) : ERR_NO_MEMORY;
    arena_release(&a);
    return e;
}

enum err dlq_unit_check(struct dlq_unit *x)
{
    struct parcel any = { .method = S("POST"), .flow_key = S("any") };
    int64_t not_before_ms;

    return put_options(x, &x->v->r->arena, &any, env_now_ms(x->v->q->env), &not_before_ms);
}
