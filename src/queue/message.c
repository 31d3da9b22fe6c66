/* message.c - what a transaction may do to messages: add, finish, retry, put off, bury.
 *
 * On PostgreSQL a lane is guarded by an advisory lock that is taken by a statement of its own, so
 * that the statement behind it has a snapshot that sees what the lock kept out. Without it a
 * message that is added while the lane's last one is being finished would wait for ever: the adder
 * still sees the old row, the finisher does not yet see the new one. SQLite has one writer and
 * needs no lock. */
#include "base/limits.h"
#include "queue/report.h"
#include "queue/runner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text for a column: PostgreSQL takes UTF-8 only, and a message that was cut off may end within a
 * character. */
static struct val text_or_null(struct str s)
{
    for (int cut = 0; cut < 4 && s.n && !str_is_utf8(s); cut++)
        s.n--;
    if (!str_is_utf8(s))
        s = S("(not text)");
    return s.n ? V_TEXT(s) : V_NULL;
}

static struct val text_or(struct str s, struct str otherwise)
{
    struct val v = text_or_null(s);

    return v.type == VAL_NULL ? V_TEXT(otherwise) : v;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts, and drops repeats. */
static size_t sort_lanes(int64_t *lanes, size_t n)
{
    size_t kept = 0;

    qsort(lanes, n, sizeof(*lanes), by_number);
    for (size_t i = 0; i < n; i++)
        if (!kept || lanes[kept - 1] != lanes[i])
            lanes[kept++] = lanes[i];
    return kept;
}

static enum err over_lanes(struct tx *tx, enum stmt stmt, const int64_t *lanes, size_t n,
                           tx_each_fn each, void *ctx)
{
    struct val v[LIMIT_STATEMENT_ROWS];

    for (size_t i = 0; i < n; i++)
        v[i] = V_INT(lanes[i]);
    return tx_bulk(tx, stmt, v, n, 1, each, ctx);
}

enum err queue_lock_lanes(struct tx *tx, const int64_t *lanes, size_t n)
{
    int64_t sorted[LIMIT_STATEMENT_ROWS];

    assert(n <= COUNT(sorted));
    if (!n)
        return OK;
    memcpy(sorted, lanes, n * sizeof(*lanes));
    n = sort_lanes(sorted, n);
    return over_lanes(tx, STMT_lane_lock, sorted, n, NULL, NULL);
}

/* --- add --- */

/* PostgreSQL's one statement does not see its own rows: within a call only the first of a lane may
 * become ready. */
static bool first_of_lane(const struct queue_new *m, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (m[i].has_lane && m[k].has_lane && m[k].lane == m[i].lane)
            return false;
    return true;
}

enum { ADD_COLUMNS = 8 };

static void add_row(struct val *v, const struct queue_new *m, int64_t now_ms, bool first)
{
    v[0] = V_BLOB(uuid_bytes(&m->id));
    v[1] = V_TEXT(m->kind);
    v[2] = m->has_lane ? V_INT(m->lane) : V_NULL;
    v[3] = V_INT(m->due_ms);
    v[4] = V_INT(now_ms);
    v[5] = m->ref.n ? V_TEXT(m->ref) : V_NULL;
    v[6] = m->body.n ? V_TEXT(m->body) : V_NULL;
    v[7] = V_INT(first);
}

static enum err add_some(struct tx *tx, int64_t now_ms, const struct queue_new *m, size_t n)
{
    struct val v[LIMIT_BULK * ADD_COLUMNS];
    int64_t lanes[LIMIT_BULK];
    size_t lane_count = 0;
    enum err e;

    for (size_t i = 0; i < n; i++) {
        add_row(v + i * ADD_COLUMNS, &m[i], now_ms, first_of_lane(m, i));
        if (m[i].has_lane)
            lanes[lane_count++] = m[i].lane;
    }
    e = queue_lock_lanes(tx, lanes, lane_count);
    return e ? e : tx_bulk(tx, STMT_message_add, v, n, ADD_COLUMNS, NULL, NULL);
}

enum err queue_add(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m,
                   size_t n)
{
    int64_t due_ms = CLOCK_NEVER;

    for (size_t done = 0; done < n; done += LIMIT_BULK) {
        size_t some = n - done < LIMIT_BULK ? n - done : LIMIT_BULK;
        enum err e = add_some(tx, now_ms, m + done, some);

        if (e)
            return e;
    }
    for (size_t i = 0; i < n; i++)
        due_ms = m[i].due_ms < due_ms ? m[i].due_ms : due_ms;
    if (n) {
        queue_tell_live(q, tx, (int64_t)n);
        queue_tell_due(q, tx, due_ms);
    }
    return OK;
}

enum err queue_add_leased(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m,
                          struct message *ret_message)
{
    struct row row;
    enum err e;

    assert(!m->has_lane);
    e = TX_ROW(tx, STMT_message_add_leased, &row, V_BLOB(uuid_bytes(&m->id)), V_TEXT(m->kind),
               V_INT(now_ms + LIMIT_LEASE_MS), V_INT(now_ms), m->ref.n ? V_TEXT(m->ref) : V_NULL,
               m->body.n ? V_TEXT(m->body) : V_NULL, V_BLOB(uuid_bytes(&q->o.env->node)));
    if (e)
        return e;
    *ret_message = (struct message){ .id = m->id,
                                     .seq = row.col[0].i,
                                     .kind = m->kind,
                                     .attempt = 1,
                                     .added_ms = now_ms,
                                     .ref = m->ref,
                                     .body = m->body };
    queue_tell_live(q, tx, 1);
    queue_tell_leased(q, tx);
    return OK;
}

/* --- finish --- */

static int by_seq(const void *a, const void *b)
{
    const struct message *x = *(const struct message *const *)a;
    const struct message *y = *(const struct message *const *)b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

static enum err count_row(void *ctx, const struct row *row)
{
    (void)row;
    (*(size_t *)ctx)++;
    return OK;
}

static enum err least_due(void *ctx, const struct row *row)
{
    int64_t *due_ms = ctx;

    if (row->col[0].i < *due_ms)
        *due_ms = row->col[0].i;
    return OK;
}

static size_t lanes_of(const struct message *const *m, size_t n, int64_t *lanes)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (m[i]->has_lane)
            lanes[count++] = m[i]->lane;
    return sort_lanes(lanes, count);
}

static enum err delete_rows(struct tx *tx, const struct message *const *m, size_t n,
                            size_t *ret_deleted)
{
    const struct message *sorted[LIMIT_BULK];
    struct val v[LIMIT_BULK * 3];

    for (size_t i = 0; i < n; i++)
        sorted[i] = m[i];
    qsort(sorted, n, sizeof(void *), by_seq); /* PostgreSQL: rows are locked in one order */
    for (size_t i = 0; i < n; i++) {
        v[i * 3] = V_INT(sorted[i]->seq);
        v[i * 3 + 1] = V_BLOB(uuid_bytes(&sorted[i]->id));
        v[i * 3 + 2] = V_INT(sorted[i]->attempt);
    }
    *ret_deleted = 0;
    return tx_bulk(tx, STMT_message_finish, v, n, 3, count_row, ret_deleted);
}

enum err queue_finish_rows(struct queue *q, struct tx *tx, const struct message *const *m, size_t n,
                           bool *ret_stale)
{
    int64_t lanes[LIMIT_BULK], due_ms = CLOCK_NEVER;
    size_t lane_count, deleted;
    enum err e;

    assert(n && n <= LIMIT_BULK);
    *ret_stale = false;
    lane_count = lanes_of(m, n, lanes);
    e = over_lanes(tx, STMT_lane_lock, lanes, lane_count, NULL, NULL);
    if (!e)
        e = delete_rows(tx, m, n, &deleted);
    if (e)
        return e;
    if (deleted != n) {
        *ret_stale = true;
        return ERR_STALE;
    }
    e = over_lanes(tx, STMT_lane_promote, lanes, lane_count, least_due, &due_ms);
    if (e)
        return e;
    queue_tell_live(q, tx, -(int64_t)n);
    if (due_ms != CLOCK_NEVER)
        queue_tell_due(q, tx, due_ms);
    return OK;
}

enum err queue_finish_many(struct queue *q, struct tx *tx, const struct message *const *m, size_t n)
{
    bool stale;

    return queue_finish_rows(q, tx, m, n, &stale);
}

enum err queue_finish(struct queue *q, struct tx *tx, const struct message *m)
{
    return queue_finish_many(q, tx, &m, 1);
}

/* --- not finished --- */

enum err queue_retry(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                     struct str why)
{
    enum err e = TX_DO(tx, STMT_message_retry, 1, V_INT(due_ms), text_or_null(why), V_INT(m->seq),
                       V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt));

    if (!e)
        queue_tell_due(q, tx, due_ms);
    return e;
}

enum err queue_put_off(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                       bool *ret_stale)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_message_put_off, &row, V_INT(due_ms), V_INT(m->seq),
                        V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt));

    *ret_stale = e == ERR_NOT_FOUND;
    if (!e)
        queue_tell_due(q, tx, due_ms);
    return *ret_stale ? ERR_STALE : e;
}

static enum err audit_death(struct tx *tx, const struct message *m, int64_t now_ms, struct str why)
{
    char id[UUID_TEXT + 1], detail[512];

    uuid_text(m->id, id);
    snprintf(detail, sizeof(detail), STR_FMT ", attempt %lld: " STR_FMT, STR_ARG(m->kind),
             (long long)m->attempt, STR_ARG(why));
    return TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("DEAD_LETTER")),
                 text_or(m->ref, str_of(id)), V_TEXT(S("failure")), V_INT(1),
                 text_or_null(str_of(detail)));
}

enum err queue_bury(struct queue *q, struct tx *tx, const struct message *m, int64_t now_ms,
                    struct str why)
{
    struct val reason = text_or(why, S("no reason given"));
    enum err e = TX_DO(tx, STMT_message_bury, 1, reason, V_INT(now_ms), V_INT(m->seq),
                       V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt));

    if (!e)
        e = audit_death(tx, m, now_ms, reason.s);
    return e ? e : queue_finish(q, tx, m);
}
