/* forget.c - retention: deletes old rows, some at a time, every hour, and without a pause while
 * there are more.
 *
 *   old_lines of the log      LIMIT_QSTASH_LOG_DAYS     seq grows with time: the oldest come first
 *   contents              with the line that reports their end; of dead messages with those
 *   dead messages         LIMIT_QSTASH_DEAD_DAYS    with their dead letters and labels
 *   deduplication keys    when their window is over
 *   flow keys             LIMIT_QSTASH_FLOW_DAYS    without use, unless paused or pinned
 *
 * The contents of live messages and the templates of schedules have no such line, so they stay.
 * Each run is one commit; a crash leaves the rest to the next run. */
#include "qstash/forget.h"

#include "base/limits.h"
#include "qstash/dlq/dead_letter.h"
#include "qstash/rows.h"
#include "queue/lane.h"
#include "store/values.h"

enum { HOUR_MS = 3600 * 1000, DEAD_STEP = 50, FLOW_STEP = 100 };

static int64_t days_ago(int64_t now_ms, int days)
{
    return now_ms - days * INT64_C(24) * HOUR_MS;
}

/* --- the log and the contents --- */

struct old_lines {
    int64_t before_ms;
    struct val seqs[LIMIT_QSTASH_FORGET], ids[LIMIT_QSTASH_FORGET];
    size_t n, ended;
};

static bool is_end(int64_t state)
{
    return state == QSTASH_DELIVERED || state == QSTASH_FAILED || state == QSTASH_CANCELED;
}

static enum err old_lines_add(void *ctx, const struct row *row)
{
    struct old_lines *l = ctx;
    const struct val *c = row->col;

    if (c[1].i >= l->before_ms || l->n == LIMIT_QSTASH_FORGET)
        return OK;
    l->seqs[l->n++] = V_INT(c[0].i);
    if (is_end(c[3].i))
        l->ids[l->ended++] = V_BLOB(c[2].s); /* lives until the unit's run ends */
    return OK;
}

static enum err forget_lines(struct tx *tx, int64_t now_ms, bool *more)
{
    struct old_lines l = { .before_ms = days_ago(now_ms, LIMIT_QSTASH_LOG_DAYS) };
    struct val limit = V_INT(LIMIT_QSTASH_FORGET);
    enum err e = tx_each(tx, STMT_qstash_log_oldest, &limit, 1, old_lines_add, &l);

    if (!e && l.n)
        e = tx_bulk(tx, STMT_qstash_log_forget, l.seqs, l.n, 1, NULL, NULL);
    if (!e && l.ended)
        e = tx_bulk(tx, STMT_qstash_messages_forget, l.ids, l.ended, 1, NULL, NULL);
    *more |= l.n == LIMIT_QSTASH_FORGET;
    return e;
}

/* --- dead messages --- */

struct dead_ids {
    struct uuid ids[DEAD_STEP];
    size_t n;
};

static enum err dead_ids_add(void *ctx, const struct row *row)
{
    struct dead_ids *c = ctx;

    if (c->n == DEAD_STEP || !uuid_of_bytes(row->col[0].s, &c->ids[c->n]))
        return ERR_INTERNAL;
    c->n++;
    return OK;
}

static enum err forget_dead(struct tx *tx, struct qstash *q, int64_t now_ms, bool *more)
{
    struct val v[] = { V_INT(days_ago(now_ms, LIMIT_QSTASH_DEAD_DAYS)), V_INT(DEAD_STEP) };
    struct val ids[DEAD_STEP];
    struct dead_ids c = { .n = 0 };
    enum err e = tx_each(tx, STMT_qstash_dead_oldest, v, COUNT(v), dead_ids_add, &c);

    for (size_t i = 0; i < c.n; i++)
        ids[i] = v_uuid(&c.ids[i]);
    if (!e && c.n)
        e = tx_bulk(tx, STMT_letters_lock, ids, c.n, 1, NULL, NULL);
    for (size_t i = 0; i < c.n && !e; i++) {
        e = qstash_dead_forget(tx, q, c.ids[i]);
        e = e == ERR_NOT_FOUND ? OK : e; /* another call took it meanwhile */
    }
    if (!e && c.n)
        e = tx_bulk(tx, STMT_letters_delete, ids, c.n, 1, NULL, NULL);
    if (!e && c.n)
        e = tx_bulk(tx, STMT_letters_failures_delete, ids, c.n, 1, NULL, NULL);
    *more |= c.n == DEAD_STEP;
    return e;
}

/* --- deduplication --- */

static enum err forget_count(void *ctx, const struct row *row)
{
    (void)row;
    ++*(int *)ctx;
    return OK;
}

static enum err forget_dedup(struct tx *tx, int64_t now_ms, bool *more)
{
    struct val v[] = { V_INT(now_ms), V_INT(LIMIT_QSTASH_FORGET) };
    int gone = 0;
    enum err e = tx_each(tx, STMT_qstash_dedup_forget, v, COUNT(v), forget_count, &gone);

    *more |= gone == LIMIT_QSTASH_FORGET;
    return e;
}

/* --- flow keys --- */

struct idle_keys {
    struct str keys[FLOW_STEP]; /* live until the unit's run ends */
    size_t n;
};

static enum err idle_keys_add(void *ctx, const struct row *row)
{
    struct idle_keys *l = ctx;

    if (l->n == FLOW_STEP)
        return ERR_INTERNAL;
    l->keys[l->n++] = row->col[0].s;
    return OK;
}

static enum err idle_keys_lock(struct tx *tx, const struct idle_keys *l)
{
    int64_t lanes[2 * FLOW_STEP];
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += gate_lanes(&(struct live){ .flow_key = l->keys[i] }, lanes + n);
    return queue_lock_lanes(tx, lanes, n);
}

/* A flow key that delayed messages need stays and counts as used now, so that the next step reaches
 * the keys after it. */
static enum err forget_flows(struct tx *tx, int64_t now_ms, bool *more)
{
    struct val before = V_INT(days_ago(now_ms, LIMIT_QSTASH_FLOW_DAYS));
    struct val v[] = { before, V_INT(FLOW_STEP) };
    struct idle_keys l = { .n = 0 };
    enum err e = tx_each(tx, STMT_qstash_flows_idle, v, COUNT(v), idle_keys_add, &l);

    if (!e)
        e = idle_keys_lock(tx, &l);
    for (size_t i = 0; i < l.n && !e; i++) {
        e = TX_DO(tx, STMT_qstash_flow_forget, -1, V_TEXT(l.keys[i]), before);
        if (!e)
            e = TX_DO(tx, STMT_qstash_flow_used, -1, V_INT(now_ms), V_TEXT(l.keys[i]), before);
    }
    *more |= l.n == FLOW_STEP;
    return e;
}

/* --- the job: one entry of the queue, put off each time (as keys_expire_kind()) --- */

static enum err forget_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct qstash *q = ctx;
    int64_t now_ms = env_now_ms(q->env);
    bool more = false;
    enum err e = forget_dead(tx, q, now_ms, &more);

    (void)why;
    if (!e)
        e = forget_flows(tx, now_ms, &more);
    if (!e)
        e = forget_lines(tx, now_ms, &more);
    if (!e)
        e = forget_dedup(tx, now_ms, &more);
    j->again_ms = now_ms + (more ? LIMIT_QSTASH_FORGET_PAUSE_MS : HOUR_MS);
    return e;
}

struct job_kind qstash_forget_kind(struct qstash *q)
{
    return (struct job_kind){
        .name = "qstash.forget",
        .ctx = q,
        .retry = retry_table[RETRY_HOUSEKEEPING],
        .outside = job_without_outside,
        .settle = forget_settle,
        .patient = true,
    };
}

enum err qstash_forget_start(struct qstash *q, struct tx *tx, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('q', 's', 't', 'a', 's', 'h');
    const int64_t lane = lane_of(S("qstash.forget"));
    struct queue_new first = { .id = only, .kind = S("qstash.forget"), .due_ms = now_ms + HOUR_MS };
    struct row row;
    enum err e = queue_lock_lanes(tx, &lane, 1); /* two nodes may start at the same time */

    if (!e)
        e = TX_ROW(tx, STMT_qstash_forget_known, &row, v_uuid(&only));
    return e == ERR_NOT_FOUND ? queue_add(q->queue, tx, now_ms, &first, 1) : e;
}
