/* lease.c - leases messages that are due, or one by its id; renews leases; reads the queue's state.
 *
 *   (1) Messages are leased in the order of their due time. The attempt that was read is part of the
 *       condition of the update, so a message that another node took meanwhile is not taken.
 *   (2) A suspect is leased alone: the lease stops before it, or takes it and no other.
 *   (3) A renewal does not touch a message that was given back (owner NULL) and waits for no lock.
 *
 * A crash after the commit leaves leases that expire. */
#include "base/limits.h"
#include "queue/report.h"
#include "queue/runner.h"

#include <assert.h>
#include <string.h>

struct lease_rows {
    struct arena *arena;
    struct message *messages;
    struct lease *lease;
};

static bool copy_text(struct arena *a, const struct val *v, struct str *ret_text)
{
    if (v->type == VAL_NULL)
        return true;
    *ret_text = arena_str(a, v->s);
    return ret_text->p || !v->s.n;
}

/* The columns of message_due and message_take_one. */
static enum err read_message(struct arena *a, const struct row *row, struct message *m)
{
    const struct val *c = row->col;

    *m = (struct message){ .seq = c[0].i,
                           .has_lane = c[3].type != VAL_NULL,
                           .lane = c[3].i,
                           .attempt = c[4].i,
                           .added_ms = c[5].i };
    if (c[1].s.n != sizeof(m->id.b))
        return ERR_INTERNAL;
    memcpy(m->id.b, c[1].s.p, sizeof(m->id.b));
    if (!copy_text(a, &c[2], &m->kind) || !copy_text(a, &c[6], &m->ref) ||
        !copy_text(a, &c[7], &m->body) || !copy_text(a, &c[8], &m->last_error))
        return ERR_NO_MEMORY;
    return OK;
}

static bool is_suspect(const struct lease *l, const struct row *row)
{
    bool had_owner = row->col[9].i;

    return had_owner && !(l->is_resumed && l->is_resumed(l->is_resumed_ctx, row->col[2].s));
}

/* False: this message and all behind it are left for a later fetch. */
static bool may_take(struct lease *l, bool suspect)
{
    if (l->suspect)
        return false;
    l->suspect = suspect;
    return !suspect || (l->idle && !l->count);
}

static enum err lease_row(void *ctx, const struct row *row)
{
    struct lease_rows *l = ctx;
    enum err e;

    if (!may_take(l->lease, is_suspect(l->lease, row)))
        return OK;
    e = read_message(l->arena, row, &l->messages[l->lease->count]);
    l->lease->count += !e;
    return e;
}

static enum err take_rows(struct tx *tx, struct message *m, size_t n, struct uuid owner,
                          int64_t due_ms)
{
    struct val v[LIMIT_STATEMENT_ROWS * 4];

    for (size_t i = 0; i < n; i++) {
        v[i * 4] = V_INT(due_ms);
        v[i * 4 + 1] = V_BLOB(uuid_bytes(&owner));
        v[i * 4 + 2] = V_INT(m[i].seq);
        v[i * 4 + 3] = V_INT(m[i].attempt);
        m[i].attempt++;
    }
    return tx_bulk(tx, STMT_message_take, v, n, 4, NULL, NULL);
}

enum err queue_lease(struct tx *tx, struct arena *a, struct lease *l, struct message *ret_messages)
{
    struct lease_rows ctx = { .arena = a, .messages = ret_messages, .lease = l };
    struct val due[] = { V_INT(l->now_ms), V_INT((int64_t)l->max) };
    enum err e;

    assert(l->max <= LIMIT_STATEMENT_ROWS);
    l->count = 0;
    l->suspect = false;
    e = tx_each(tx, STMT_message_due, due, COUNT(due), lease_row, &ctx);
    if (!e)
        e = take_rows(tx, ret_messages, l->count, l->owner, l->now_ms + LIMIT_LEASE_MS);
    if (e)
        l->count = 0;
    return e;
}

enum err queue_take(struct queue *q, struct tx *tx, struct arena *a, struct uuid id, int64_t now_ms,
                    struct message *ret_message)
{
    struct message m;
    struct row row;
    enum err e =
        TX_ROW(tx, STMT_message_take_one, &row, V_INT(now_ms + LIMIT_LEASE_MS),
               V_BLOB(uuid_bytes(&q->o.env->node)), V_BLOB(uuid_bytes(&id)), V_INT(now_ms));

    if (!e)
        e = read_message(a, &row, &m);
    if (e)
        return e;
    *ret_message = m;
    queue_tell_leased(q, tx);
    return OK;
}

enum err queue_renew(struct tx *tx, const struct message *const *m, size_t n, int64_t due_ms)
{
    struct val v[LIMIT_STATEMENT_ROWS * 4];

    for (size_t i = 0; i < n;) {
        size_t some = 0;
        enum err e;

        for (; i < n && some < LIMIT_STATEMENT_ROWS; i++, some++) {
            v[some * 4] = V_INT(due_ms);
            v[some * 4 + 1] = V_INT(m[i]->seq);
            v[some * 4 + 2] = V_BLOB(uuid_bytes(&m[i]->id));
            v[some * 4 + 3] = V_INT(m[i]->attempt);
        }
        e = tx_bulk(tx, STMT_message_renew, v, some, 4, NULL, NULL);
        if (e)
            return e;
    }
    return OK;
}

enum err queue_read_dead(struct tx *tx, int64_t now_ms, int64_t *ret_dead, int64_t *ret_oldest_ms)
{
    struct row row;
    int64_t dead;
    enum err e = TX_ROW(tx, STMT_dead_count, &row, V_INT(LIMIT_DEAD_SEEN));

    if (e)
        return e;
    dead = row.col[0].i;
    e = dead ? TX_ROW(tx, STMT_dead_oldest, &row) : ERR_NOT_FOUND;
    if (e && e != ERR_NOT_FOUND)
        return e;
    *ret_oldest_ms = !e && now_ms > row.col[0].i ? now_ms - row.col[0].i : 0;
    *ret_dead = dead;
    return OK;
}

enum err queue_read_state(struct tx *tx, int64_t now_ms, struct queue_state *ret_state)
{
    struct queue_state s = { 0 };
    struct row row;
    enum err e = TX_ROW(tx, STMT_queue_oldest_ready, &row, V_INT(now_ms));

    if (e && e != ERR_NOT_FOUND)
        return e;
    if (!e)
        s.oldest_ready_ms = now_ms - row.col[0].i;
    e = queue_read_dead(tx, now_ms, &s.dead, &s.dead_oldest_ms);
    if (!e)
        *ret_state = s;
    return e;
}
