/* redrive.c - the rows of redrives: started, shown, cancelled. redrive_job.c has their steps. A
 * start or a cancellation is one commit with its audit row and, at the start, the job's message. */
#include "base/json/write.h"
#include "dlq/find.h"
#include "dlq/redrive_rows.h"
#include "store/values.h"

#include <stdio.h>

enum { SHOWN_MAX = 2 * 1024 * 1024, DETAIL = 400 };

/* --- rows --- */

static struct str redrive_row_text(const struct val *v)
{
    return v->type == VAL_TEXT || v->type == VAL_BLOB ? v->s : (struct str){ 0 };
}

static bool redrive_read_ids(const struct val *v, struct redrive *r)
{
    r->has_payment = v[9].type == VAL_BLOB;
    r->has_user = v[23].type == VAL_BLOB;
    return uuid_of_bytes(v[0].s, &r->id) && uuid_of_bytes(v[14].s, &r->place.id) &&
           (!r->has_payment || uuid_of_bytes(v[9].s, &r->payment)) &&
           (!r->has_user || uuid_of_bytes(v[23].s, &r->user));
}

static enum err redrive_of_row(const struct row *row, struct redrive *ret_redrive)
{
    const struct val *v = row->col;
    struct redrive r = {
        .is_replay = str_eq(v[1].s, S("replay")),
        .state = v[2].s,
        .is_running = str_eq(v[2].s, S("running")),
        .rate = v[3].i,
        .ids = redrive_row_text(&v[4]),
        .kind = redrive_row_text(&v[5]),
        .ref = redrive_row_text(&v[6]),
        .reason = redrive_row_text(&v[7]),
        .cause = redrive_row_text(&v[8]),
        .from_ms = v[10].i,
        .to_ms = v[11].i,
        .next_id = v[12].i,
        .place = { .at_ms = v[13].i, .until_ms = v[15].i },
        .until_ms = v[15].i,
        .alone = v[16].i,
        .due_ms = v[17].i,
        .matched = v[18].i,
        .exact = v[19].i != 0,
        .done = v[20].i,
        .refused = v[21].i,
        .refusals = v[22].s,
        .name = redrive_row_text(&v[24]),
        .created_ms = v[25].i,
        .updated_ms = v[26].i,
        .ended_ms = v[27].type == VAL_INT ? v[27].i : 0,
    };

    if (!redrive_read_ids(v, &r))
        return ERR_INTERNAL;
    *ret_redrive = r;
    return OK;
}

enum err redrive_read(struct tx *tx, struct uuid id, bool lock, struct redrive *ret_redrive)
{
    struct row row;
    enum err e = TX_ROW(tx, lock ? STMT_redrive_lock : STMT_redrive_get, &row, v_uuid(&id));

    return e ? e : redrive_of_row(&row, ret_redrive);
}

struct dead_filter redrive_filter(const struct redrive *r)
{
    return (struct dead_filter){ .kind = r->kind,
                                 .ref = r->ref,
                                 .reason = r->reason,
                                 .cause = r->cause,
                                 .has_payment = r->has_payment,
                                 .payment = r->payment,
                                 .from_ms = r->from_ms,
                                 .to_ms = r->to_ms };
}

/* --- as JSON --- */

static void redrive_out_given(struct buf *b, const char *name, struct str text)
{
    if (text.n)
        out_text(b, name, text);
}

static void redrive_out_filter(struct buf *b, const struct redrive *r)
{
    struct dead_filter f = redrive_filter(r);

    out_name(b, "filter");
    if (r->ids.n || dead_filter_is_empty(&f)) {
        buf_add(b, S("null"));
        return;
    }
    buf_char(b, '{');
    redrive_out_given(b, r->is_replay ? "type" : "kind", f.kind);
    redrive_out_given(b, r->is_replay ? "eventId" : "ref", f.ref);
    redrive_out_given(b, "reason", f.reason);
    redrive_out_given(b, "cause", f.cause);
    if (f.has_payment)
        out_uuid(b, "paymentId", f.payment);
    if (f.from_ms)
        out_time(b, "from", f.from_ms);
    if (f.to_ms)
        out_time(b, "to", f.to_ms);
    buf_char(b, '}');
}

static void redrive_out(struct buf *b, const struct redrive *r)
{
    out_uuid(b, "id", r->id);
    out_text(b, "kind", r->is_replay ? S("replay") : S("dlq"));
    out_text(b, "state", r->state);
    out_int(b, "ratePerSecond", r->rate);
    redrive_out_filter(b, r);
    out_int(b, "matched", r->matched);
    out_bool(b, "exact", r->exact);
    out_int(b, "done", r->done);
    out_int(b, "refused", r->refused);
    out_json(b, "refusals", r->refusals);
    out_text(b, "by", r->name);
    out_time(b, "createdAt", r->created_ms);
    out_time(b, "updatedAt", r->updated_ms);
    out_time(b, "endedAt", r->ended_ms);
}

static enum err redrive_json(struct arena *a, const struct redrive *r, struct str *ret_json)
{
    struct buf b;

    buf_init(&b, SHOWN_MAX);
    buf_char(&b, '{');
    redrive_out(&b, r);
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

enum err redrive_show(struct tx *tx, struct arena *a, struct uuid id, struct str *ret_json)
{
    struct redrive r;
    enum err e = redrive_read(tx, id, false, &r);

    return e ? e : redrive_json(a, &r, ret_json);
}

struct redrive_list {
    struct buf out;
    int limit, n;
    struct uuid last;
};

static enum err redrive_list_add(void *ctx, const struct row *row)
{
    struct redrive_list *g = ctx;
    struct redrive r;
    enum err e = g->n < g->limit ? redrive_of_row(row, &r) : OK;

    if (e || g->n++ >= g->limit)
        return e;
    g->last = r.id;
    buf_add(&g->out, g->n > 1 ? S(",{") : S("{"));
    redrive_out(&g->out, &r);
    buf_char(&g->out, '}');
    return OK;
}

enum err redrive_page(struct tx *tx, struct arena *a, struct uuid before, int limit,
                      struct str *ret_json)
{
    struct redrive_list g = { .limit = limit };
    struct val v[] = { v_uuid(&before), V_INT(limit + 1) };
    char last[UUID_TEXT + 1];
    enum err e;

    buf_init(&g.out, SHOWN_MAX);
    buf_add(&g.out, S("{\"data\":["));
    e = tx_each(tx, STMT_redrives_page, v, COUNT(v), redrive_list_add, &g);
    buf_char(&g.out, ']');
    uuid_text(g.last, last);
    out_text(&g.out, "nextCursor", g.n > limit ? str_of(last) : (struct str){ 0 });
    buf_char(&g.out, '}');
    *ret_json = out_done(&g.out, a);
    return !e && !ret_json->p ? ERR_NO_MEMORY : e;
}

/* --- acts --- */

enum err redrive_audit(struct tx *tx, const struct redrive_line *line, int64_t now_ms)
{
    char id[UUID_TEXT + 1];

    uuid_text(line->redrive, id);
    return TX_DO(tx, STMT_redrive_audit, 1, V_INT(now_ms), V_TEXT(str_of(line->operation)),
                 V_TEXT(str_of(id)), V_TEXT(line->failed ? S("failure") : S("success")),
                 V_TEXT(str_of(line->detail)), v_uuid(&line->user));
}

/* Starts with the oldest and ends with the newest that is stored now. */
static enum err redrive_start_place(struct tx *tx, const struct redrive_new *n, struct redrive *r)
{
    struct row row;
    enum err e;

    if (n->is_replay)
        return replay_place(tx, &n->filter, &r->next_id, &r->until_ms);
    e = tx_row(tx, STMT_letters_newest, NULL, 0, &row);
    if (e && e != ERR_NOT_FOUND)
        return e;
    r->place = dead_from_oldest(&n->filter, e ? 0 : row.col[0].i);
    r->until_ms = r->place.until_ms;
    return OK;
}

static enum err redrive_insert(struct tx *tx, const struct redrive_new *n, const struct redrive *r,
                               int64_t now_ms)
{
    static const struct uuid nobody;
    const struct dead_filter *f = &n->filter;
    struct str ids = { (const char *)n->ids, n->id_count * sizeof(*n->ids) };

    return TX_DO(tx, STMT_redrive_add, 1, v_uuid(&n->id),
                 V_TEXT(n->is_replay ? S("replay") : S("dlq")), V_INT(n->rate),
                 n->ids ? V_BLOB(ids) : V_NULL, v_text(f->kind), v_text(f->ref), v_text(f->reason),
                 v_text(f->cause), f->has_payment ? v_uuid(&f->payment) : V_NULL, V_INT(f->from_ms),
                 V_INT(f->to_ms), V_INT(r->next_id), V_INT(r->place.at_ms), v_uuid(&r->place.id),
                 V_INT(r->until_ms), V_INT(now_ms), V_INT(n->matched), V_INT(n->exact),
                 uuid_eq(n->user, nobody) ? V_NULL : v_uuid(&n->user), v_text(n->name));
}

static enum err redrive_audit_start(struct tx *tx, const struct redrive_new *n,
                                    const struct redrive *r, int64_t now_ms)
{
    char detail[DETAIL];

    snprintf(detail, sizeof(detail), "%s, %s%lld matched, %lld a second",
             n->is_replay ? "events are applied again" : "dead letters are tried again",
             n->exact ? "" : "more than ", (long long)n->matched, (long long)n->rate);
    return redrive_audit(
        tx,
        &(struct redrive_line){
            .operation = "REDRIVE_START", .redrive = r->id, .user = n->user, .detail = detail },
        now_ms);
}

enum err redrive_start(struct tx *tx, struct arena *a, const struct redrives *rs,
                       const struct redrive_new *n, struct str *ret_json)
{
    int64_t now_ms = env_now_ms(rs->letters->env);
    char ref[UUID_TEXT + 1];
    struct redrive r = { .id = n->id };
    struct queue_new m = { .id = n->id, .kind = S("dlq.redrive"), .due_ms = now_ms };
    enum err e = redrive_start_place(tx, n, &r);

    if (e)
        return e;
    e = redrive_insert(tx, n, &r, now_ms);
    if (e)
        return e;
    e = redrive_audit_start(tx, n, &r, now_ms);
    if (e)
        return e;
    uuid_text(n->id, ref);
    m.ref = str_of(ref);
    e = queue_add(rs->letters->queue, tx, now_ms, &m, 1);
    return e ? e : redrive_show(tx, a, n->id, ret_json);
}

enum err redrive_cancel(struct tx *tx, struct arena *a, struct uuid id, struct uuid user,
                        struct str *ret_json)
{
    int64_t now_ms = env_now_ms(tx_env(tx));
    char detail[DETAIL];
    struct redrive r;
    struct row row;
    enum err e = redrive_read(tx, id, true, &r);

    if (e || !r.is_running)
        return e ? e : redrive_json(a, &r, ret_json);
    e = TX_ROW(tx, STMT_redrive_end, &row, V_TEXT(S("cancelled")), V_INT(now_ms), v_uuid(&id));
    if (e)
        return e;
    snprintf(detail, sizeof(detail), "after %lld of %lld", (long long)r.done + (long long)r.refused,
             (long long)r.matched);
    e = redrive_audit(
        tx,
        &(struct redrive_line){
            .operation = "REDRIVE_CANCEL", .redrive = r.id, .user = user, .detail = detail },
        now_ms);
    return e ? e : redrive_show(tx, a, id, ret_json);
}
