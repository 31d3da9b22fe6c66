/* unit.c - one unit of work that deletes or retries dead messages. On PostgreSQL it takes its locks
 * in the order of the folder dlq/ beside payment/ (dlq/act.c): dead letters, then limiters, then
 * the rest. */
#include "qstash/dlq/unit.h"

#include "base/json/json.h"
#include "qstash/dlq/dead_letter.h"
#include "qstash/rows.h"
#include "store/values.h"

#include <stdio.h>

enum { TEXTS = 16 * 1024 * 1024, DETAIL = 160, AUDIT_COLUMNS = 6 };

struct dead_message { /* while the unit runs */
    struct parcel parcel;
    struct dead dead;
    bool there;
    char id[MESSAGE_ID_TEXT + 1], detail[DETAIL];
};

/* --- which exist --- */

/* Every unit locks the dead letters first, so that the second of two finds them gone. */
static enum err dlq_unit_lock_letters(struct tx *tx, const struct dlq_unit *x)
{
    struct val v[LIMIT_QSTASH_DEAD_STEP];
    size_t n = 0;

    for (size_t i = x->from; i < x->count; i++)
        v[n++] = v_uuid(&x->ids[i]);
    return tx_bulk(tx, STMT_letters_lock, v, n, 1, NULL, NULL);
}

/* Sets x->upto: the bodies up to there fit into one unit. */
static enum err dlq_unit_read(struct tx *tx, struct dlq_unit *x, struct arena *a,
                              struct dead_message *all)
{
    size_t bytes = 0, i;

    for (i = x->from; i < x->count && bytes < LIMIT_QSTASH_STEP_BYTES; i++) {
        struct dead_message *c = &all[i];
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

/* The limiters that exist. A queue that this unit creates needs no lock: no other unit sees it. */
static enum err dlq_unit_lock_limiters(struct tx *tx, struct dlq_unit *x,
                                       const struct dead_message *all)
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

static enum err dlq_unit_apply_options(struct dlq_unit *x, struct arena *a, struct parcel *p,
                                       int64_t now_ms, int64_t *ret_not_before_ms)
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

static enum err dlq_unit_act_on(struct tx *tx, struct dlq_unit *x, struct arena *a, size_t i,
                                struct dead_message *c, int64_t now_ms)
{
    struct parcel as_it_was = c->parcel;
    int64_t not_before_ms;
    enum err e = OK;

    if (x->verb == DLQ_RETRY) {
        e = dlq_unit_apply_options(x, a, &c->parcel, now_ms, &not_before_ms);
        if (!e)
            e = dead_repost(x->v->q, tx, &c->parcel, x->new_ids[i], now_ms, not_before_ms);
    }
    if (!e)
        e = dead_remove(tx, &as_it_was, &c->dead);
    x->did[i] = !e;
    return e;
}

static void dlq_unit_audit_row(const struct dlq_unit *x, size_t i, struct dead_message *c,
                               int64_t now_ms, struct val v[AUDIT_COLUMNS])
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

/* Deletes the dead letters and their failures, and adds a line to the audit log for each. */
static enum err dlq_unit_remove_letters(struct tx *tx, const struct dlq_unit *x,
                                        struct dead_message *all, int64_t now_ms)
{
    struct val ids[LIMIT_QSTASH_DEAD_STEP], lines[LIMIT_QSTASH_DEAD_STEP * AUDIT_COLUMNS];
    size_t n = 0;
    enum err e;

    for (size_t i = x->from; i < x->upto; i++)
        if (x->did[i]) {
            dlq_unit_audit_row(x, i, &all[i], now_ms, lines + n * AUDIT_COLUMNS);
            ids[n++] = v_uuid(&x->ids[i]);
        }
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_letters_delete, ids, n, 1, NULL, NULL);
    if (!e)
        e = tx_bulk(tx, STMT_letters_failures_delete, ids, n, 1, NULL, NULL);
    return e ? e : tx_bulk(tx, STMT_audit_letters, lines, n, AUDIT_COLUMNS, NULL, NULL);
}

static enum err dlq_unit_act(struct tx *tx, struct dlq_unit *x, struct arena *a,
                             struct dead_message *all)
{
    int64_t now_ms = env_now_ms(x->v->q->env);
    enum err e = dlq_unit_lock_letters(tx, x);

    if (!e)
        e = dlq_unit_read(tx, x, a, all);
    if (!e && x->verb == DLQ_RETRY)
        e = dlq_unit_lock_limiters(tx, x, all);
    if (e)
        return e;
    for (size_t i = x->from; i < x->upto; i++) {
        e = all[i].there ? dlq_unit_act_on(tx, x, a, i, &all[i], now_ms) : OK;
        if (e)
            return e;
    }
    return dlq_unit_remove_letters(tx, x, all, now_ms);
}

/* --- the unit --- */

enum err dlq_unit_run(struct tx *tx, struct dlq_unit *x)
{
    CLEANUP(arena_release) struct arena a;
    struct dead_message *all;

    x->upto = x->from;
    x->why.text[0] = '\0';
    for (size_t i = 0; i < LIMIT_QSTASH_DEAD_STEP; i++)
        x->did[i] = false;
    arena_init(&a, TEXTS);
    all = arena_alloc(&a, LIMIT_QSTASH_DEAD_STEP, sizeof(*all));
    return all ? dlq_unit_act(tx, x, &a, all) : ERR_NO_MEMORY;
}

enum err dlq_unit_check(struct dlq_unit *x)
{
    struct parcel any = { .method = S("POST"), .flow_key = S("any") };
    int64_t not_before_ms;

    return dlq_unit_apply_options(x, &x->v->r->arena, &any, env_now_ms(x->v->q->env),
                                  &not_before_ms);
}
