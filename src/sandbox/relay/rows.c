/* rows.c - the relay's rows. Everything here runs in a unit on a store thread.
 *
 *   (1) A session lives while it is connected (`until` is NULL) and LIMIT_RELAY_AWAIT_MS longer. A
 *       new connection takes it over; the end of the connection before then changes nothing.
 *   (2) Waiting events are deleted with their session. Of more than LIMIT_RELAY_WAITING the oldest
 *       are deleted. */
#include "observe/log.h"
#include "sandbox/relay/listeners.h"

#include <string.h>

static void store_live_count(void *ctx, int64_t live)
{
    struct relay *r = ctx;

    atomic_store(&r->live, live);
}

struct session_scan {
    struct relay_rows *live;
    struct str gone[LIMIT_RELAY_SESSIONS];
    size_t gone_count;
    int64_t now_ms;
};

static enum err scan_session(void *ctx, const struct row *row)
{
    struct session_scan *l = ctx;
    bool connected = row->col[2].type == VAL_NULL;

    if (!connected && row->col[2].i <= l->now_ms && l->gone_count < COUNT(l->gone))
        l->gone[l->gone_count++] = row->col[0].s;
    else if (l->live->count < COUNT(l->live->rows))
        l->live->rows[l->live->count++] =
            (struct relay_row){ row->col[0].s, row->col[1].i, row->col[3].i, connected };
    return OK;
}

enum err relay_row_drop(struct tx *tx, struct str id)
{
    enum err e = TX_DO(tx, STMT_relay_session_drop, -1, V_TEXT(id));

    return e ? e : TX_DO(tx, STMT_relay_waiting_drop, -1, V_TEXT(id));
}

enum err relay_rows_live(struct relay *r, struct tx *tx, int64_t now_ms, int64_t more,
                         struct relay_rows *ret)
{
    struct session_scan look = { .live = ret, .now_ms = now_ms };
    enum err e;

    ret->count = 0;
    e = tx_each(tx, STMT_relay_sessions, NULL, 0, scan_session, &look);
    for (size_t i = 0; i < look.gone_count && !e; i++)
        e = relay_row_drop(tx, look.gone[i]);
    if (e)
        return e;
    tx_after_commit(tx, store_live_count, r, (int64_t)ret->count + more);
    return OK;
}

enum err relay_rows_secret(struct tx *tx, struct arena *a, struct str device, struct str fresh,
                           int64_t now_ms, struct str *ret_secret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_relay_device_secret, &row, V_TEXT(device));

    if (e && e != ERR_NOT_FOUND)
        return e;
    *ret_secret = arena_str(a, e ? fresh : row.col[0].s);
    if (!ret_secret->p)
        return ERR_NO_MEMORY;
    e = TX_DO(tx, STMT_relay_device_use, -1, V_TEXT(device), V_TEXT(*ret_secret), V_INT(now_ms));
    return e ? e : TX_DO(tx, STMT_relay_devices_forget, -1, V_INT(LIMIT_RELAY_DEVICES - 1));
}

static void log_forgotten(void *ctx, int64_t count)
{
    struct env *env = ctx;

    LOG(env->log, LOG_WARN, "sandbox relay forgot the oldest events of a listener that is behind",
        LOG_NUM("events", count));
}

static enum err count_row(void *ctx, const struct row *row)
{
    int64_t *count = ctx;

    (void)row;
    ++*count;
    return OK;
}

static enum err trim_waiting(struct tx *tx, struct str session, int64_t seq)
{
    const struct val v[] = { V_TEXT(session), V_INT(seq) };
    int64_t count = 0;
    enum err e = tx_each(tx, STMT_relay_waiting_trim, v, COUNT(v), count_row, &count);

    if (!e && count)
        tx_after_commit(tx, log_forgotten, tx_env(tx), count);
    return e;
}

static enum err add_waiting(struct tx *tx, const struct relay_row *row, struct str event)
{
    int64_t seq = row->last + 1;
    enum err e = TX_DO(tx, STMT_relay_session_count, 1, V_INT(seq), V_TEXT(row->id));

    if (e)
        return e;
    e = TX_DO(tx, STMT_relay_waiting_add, 1, V_TEXT(row->id), V_INT(seq), V_TEXT(event));
    if (e || seq % LIMIT_RELAY_TRIM)
        return e;
    return trim_waiting(tx, row->id, seq - LIMIT_RELAY_WAITING);
}

enum err relay_rows_wait(struct tx *tx, const struct relay_rows *rows, struct str event,
                         int64_t added_ms)
{
    enum err e = OK;

    for (size_t i = 0; i < rows->count && !e; i++)
        if (rows->rows[i].created_ms <= added_ms)
            e = add_waiting(tx, &rows->rows[i], event);
    return e;
}

enum err relay_row_join(struct tx *tx, struct str id, struct str link, int64_t now_ms,
                        char ret_secret[RELAY_SECRET + 1])
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_relay_session_find, &row, V_TEXT(id));

    if (e)
        return e;
    if ((row.col[1].type != VAL_NULL && row.col[1].i <= now_ms) || row.col[0].s.n != RELAY_SECRET)
        return ERR_NOT_FOUND;
    memcpy(ret_secret, row.col[0].s.p, RELAY_SECRET);
    ret_secret[RELAY_SECRET] = '\0';
    return TX_DO(tx, STMT_relay_session_join, 1, V_TEXT(link), V_TEXT(id));
}
