/* message.c - what a transaction may do to messages: add, finish, retry, put off, bury, revive.
 *
 *   (1) On PostgreSQL a lane is guarded by an advisory lock (M9). It is taken by a statement of its
 *       own, so that the next statement's snapshot includes what other holders of the lock
 *       committed. Without it a message that is added while the lane's last one is being finished
 *       would never become ready: the adding transaction still sees the old row, the finishing one
 *       does not yet see the new row. SQLite has one writer and needs no lock.
 *   (2) Every change of a leased message matches its fence (seq, id, attempt). No row: STALE.
 *   (3) Rows of several messages are changed in the order of seq, so that transactions on PostgreSQL
 *       cannot deadlock.
 *
 * Everything here is part of the caller's transaction: a crash before its commit leaves nothing. */
#include "base/limits.h"
#include "domain/cause.h"
#include "observe/metrics.h"
#include "queue/report.h"
#include "queue/runner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text for a column: PostgreSQL accepts only UTF-8, and an error text that was cut off may end inside
 * a character. */
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

static int lane_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts the lanes and removes repeated ones. */
static size_t sort_lanes(int64_t *lanes, size_t n)
{
    size_t kept = 0;

    qsort(lanes, n, sizeof(*lanes), lane_order);
    for (size_t i = 0; i < n; i++)
        if (!kept || lanes[kept - 1] != lanes[i])
            lanes[kept++] = lanes[i];
    return kept;
}

static enum err for_lanes(struct tx *tx, enum stmt stmt, const int64_t *lanes, size_t n,
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
    return for_lanes(tx, STMT_lane_lock, sorted, n, NULL, NULL);
}

/* --- add --- */

/* PostgreSQL's single statement does not see the rows that it inserts. So the caller says which
 * message is the first of its lane within the call: only that one may become ready. */
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

static enum err add_batch(struct tx *tx, int64_t now_ms, const struct queue_new *m, size_t n)
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
        enum err e = add_batch(tx, now_ms, m + done, some);

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

static int message_order(const void *a, const void *b)
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

static void fence_values(struct val v[3], const struct message *m)
{
    v[0] = V_INT(m->seq);
    v[1] = V_BLOB(uuid_bytes(&m->id));
    v[2] = V_INT(m->attempt);
}

static enum err delete_rows(struct tx *tx, const struct message *const *m, size_t n,
                            size_t *ret_deleted)
{
    const struct message *sorted[LIMIT_BULK];
    struct val v[LIMIT_BULK * 3];

    for (size_t i = 0; i < n; i++)
        sorted[i] = m[i];
    qsort(sorted, n, sizeof(void *), message_order); /* PostgreSQL: rows are locked in one order */
    for (size_t i = 0; i < n; i++)
        fence_values(v + i * 3, sorted[i]);
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
    e = for_lanes(tx, STMT_lane_lock, lanes, lane_count, NULL, NULL);
    if (!e)
        e = delete_rows(tx, m, n, &deleted);
    if (e)
        return e;
    if (deleted != n) {
        *ret_stale = true;
        return ERR_STALE;
    }
    e = for_lanes(tx, STMT_lane_promote, lanes, lane_count, least_due, &due_ms);
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

/* Records the failed attempt in the commit that decides it (Q6). */
static enum err record_failure(struct tx *tx, const struct message *m, int64_t now_ms,
                               struct str why)
{
    return TX_DO(tx, STMT_message_failure_add, 1, V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt),
                 V_INT(now_ms), text_or(why, S("no reason given")));
}

enum err queue_retry(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                     struct str why)
{
    int64_t now_ms = env_now_ms(q ? q->o.env : tx_env(tx));
    enum err e = TX_DO(tx, STMT_message_retry, 1, V_INT(due_ms), text_or_null(why), V_INT(m->seq),
                       V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt));

    if (!e)
        e = record_failure(tx, m, now_ms, why);
    if (!e)
        queue_tell_due(q, tx, due_ms);
    return e;
}

static int put_off_order(const void *a, const void *b)
{
    const struct val *x = a, *y = b;

    return (x[1].i > y[1].i) - (x[1].i < y[1].i);
}

enum err queue_put_off_rows(struct queue *q, struct tx *tx, const struct message *const *m,
                            const int64_t *due_ms, size_t n, bool *ret_stale)
{
    struct val v[LIMIT_BULK * 4];
    int64_t first_ms = CLOCK_NEVER;
    size_t changed = 0;
    enum err e;

    assert(n && n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++) {
        v[i * 4] = V_INT(due_ms[i]);
        fence_values(v + i * 4 + 1, m[i]);
        first_ms = due_ms[i] < first_ms ? due_ms[i] : first_ms;
    }
    qsort(v, n, 4 * sizeof(*v), put_off_order); /* as in delete_rows() */
    e = tx_bulk(tx, STMT_message_put_off, v, n, 4, count_row, &changed);
    *ret_stale = !e && changed != n;
    if (!e && !*ret_stale)
        queue_tell_due(q, tx, first_ms);
    return *ret_stale ? ERR_STALE : e;
}

enum err queue_put_off(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                       bool *ret_stale)
{
    return queue_put_off_rows(q, tx, &m, &due_ms, 1, ret_stale);
}

enum err queue_cancel(struct queue *q, struct tx *tx, struct uuid id, int64_t now_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_message_cancel, &row, V_BLOB(uuid_bytes(&id)), V_INT(now_ms));

    if (!e)
        queue_tell_live(q, tx, -1);
    return e;
}

enum err queue_hasten(struct queue *q, struct tx *tx, struct uuid id, int64_t due_ms)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_message_hasten, &row, V_INT(due_ms), V_BLOB(uuid_bytes(&id)));

    if (!e)
        queue_tell_due(q, tx, due_ms);
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err audit_dead_letter(struct tx *tx, const struct message *m, int64_t now_ms,
                                  struct str why)
{
    char id[UUID_TEXT + 1], detail[512];

    uuid_text(m->id, id);
    snprintf(detail, sizeof(detail), STR_FMT ", attempt %lld: " STR_FMT, STR_ARG(m->kind),
             (long long)m->attempt, STR_ARG(why));
    return TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("DEAD_LETTER")),
                 text_or(m->ref, str_of(id)), V_TEXT(S("failure")), V_INT(1),
                 text_or_null(str_of(detail)));
}

void queue_count_dead(struct tx *tx)
{
    tx_after_commit(tx, metrics_add, metrics_cell(tx_env(tx)->metrics, COUNT_DEAD, AT(0)), 1);
}

/* A dead letter of an alert raises no other alert (ops/alert.h). The statement dead_count has the
 * same rule. */
static bool counts_when_dead(const struct message *m)
{
    return !str_eq(m->kind, S("alert"));
}

enum err queue_bury(struct queue *q, struct tx *tx, const struct message *m, int64_t now_ms,
                    struct str why)
{
    struct val reason = text_or(why, S("no reason given"));
    char cause[CAUSE_TEXT + 1];
    enum err e = TX_DO(tx, STMT_message_bury, 1, reason, V_TEXT(cause_of(reason.s, cause)),
                       V_INT(now_ms), V_INT(m->seq), V_BLOB(uuid_bytes(&m->id)), V_INT(m->attempt));

    if (!e)
        e = record_failure(tx, m, now_ms, why);
    if (!e)
        e = audit_dead_letter(tx, m, now_ms, reason.s);
    if (!e && q && q->o.buried)
        e = q->o.buried(tx, m);
    if (!e && counts_when_dead(m))
        queue_count_dead(tx);
    return e ? e : queue_finish(q, tx, m);
}

/* --- dead letters that become messages again, and standing messages --- */

static bool first_dead_of_lane(const struct queue_letter *l, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (l[i].has_lane && l[k].has_lane && l[k].lane == l[i].lane)
            return false;
    return true;
}

static enum err lock_lanes_of(struct tx *tx, const struct queue_letter *l, size_t n)
{
    int64_t lanes[LIMIT_STATEMENT_ROWS];
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (l[i].has_lane)
            lanes[count++] = l[i].lane;
    return queue_lock_lanes(tx, lanes, count);
}

static enum err for_dead_letters(struct tx *tx, enum stmt stmt, const struct val *v, size_t n,
                                 size_t columns)
{
    size_t changed = 0;
    enum err e = tx_bulk(tx, stmt, v, n, columns, count_row, &changed);

    return !e && changed != n ? ERR_STALE : e;
}

enum err queue_revive(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_letter *l,
                      size_t n)
{
    struct val v[LIMIT_STATEMENT_ROWS * 3], ids[LIMIT_STATEMENT_ROWS];
    enum err e;

    assert(n <= LIMIT_STATEMENT_ROWS);
    if (!n)
        return OK;
    for (size_t i = 0; i < n; i++) {
        ids[i] = V_BLOB(uuid_bytes(&l[i].id));
        v[i * 3] = V_INT(now_ms);
        v[i * 3 + 1] = ids[i];
        v[i * 3 + 2] = V_INT(first_dead_of_lane(l, i));
    }
    e = lock_lanes_of(tx, l, n);
    if (!e)
        e = for_dead_letters(tx, STMT_letters_revive, v, n, 3);
    if (!e)
        e = for_dead_letters(tx, STMT_letters_delete, ids, n, 1);
    if (e)
        return e;
    queue_tell_live(q, tx, (int64_t)n);
    queue_tell_due(q, tx, now_ms);
    return OK;
}

enum err queue_stand(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m)
{
    struct val id = V_BLOB(uuid_bytes(&m->id));
    struct row row;
    enum err e = TX_ROW(tx, STMT_message_standing, &row, id);
    bool live = !e && row.col[0].i, dead = !e && row.col[1].i;

    if (dead)
        e = tx_bulk(tx, STMT_letters_delete, &id, 1, 1, NULL, NULL);
    if (dead && !e)
        e = tx_bulk(tx, STMT_letters_failures_delete, &id, 1, 1, NULL, NULL);
    return e || live ? e : queue_add(q, tx, now_ms, m, 1);
}
