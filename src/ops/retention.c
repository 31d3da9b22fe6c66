/* retention.c - the job "events.forget" scans events, sends and gateway tries (O7) in the order of
 * time, a bounded number in each commit.
 *
 * The place of the scan is in the message's body, "1234 7 01a8... 01a8...": the last seq, the
 * number of finished scans, the last send, and the last payment whose tries were deleted. A crash
 * therefore goes on at the last commit, and the next day where this one stopped. Every
 * WHOLE_SCANS-th scan starts at the beginning, and meets the events that were not finished
 * before. */
#include "ops/retention.h"

#include "base/limits.h"

#include <stdio.h>

enum { RETENTION_PAUSE_MS = 50, WHOLE_SCANS = 30 };
#define DAY_MS (24 * 3600 * INT64_C(1000))
_Static_assert(LIMIT_RETENTION_STEP <= LIMIT_STATEMENT_ROWS, "each takes no more than M2 allows");

struct retention_scan {
    int64_t from, walks;
    int64_t to, before_ms;
    size_t rows;
    bool is_end; /* the next event is too young */

    struct uuid send_from, send_to; /* the same for sends, whose ids grow with time */
    size_t sends;
    bool is_last_send;
    size_t edits; /* bodies that operators edited */

    struct uuid tried_from, tried_to; /* the same for payments with tries */
    size_t tries;
    bool is_last_tried;
    size_t replays;
    size_t again; /* rows of event_replays */
};

static void retention_read_place(struct str body, struct retention_scan *w)
{
    struct str from = str_cut(&body, ' '), walks = str_cut(&body, ' '), send = str_cut(&body, ' ');

    if (!str_to_i64(from, &w->from) || !str_to_i64(walks, &w->walks))
        w->from = w->walks = 0;
    if (!uuid_parse(send, &w->send_from))
        w->send_from = (struct uuid){ 0 };
    if (!uuid_parse(body, &w->tried_from)) /* an older version stored no such place */
        w->tried_from = (struct uuid){ 0 };
}

static enum err retention_see_event(void *ctx, const struct row *row)
{
    struct retention_scan *w = ctx;

    w->is_end = w->is_end || row->col[1].i >= w->before_ms;
    if (!w->is_end) {
        w->to = row->col[0].i;
        w->rows++;
    }
    return OK;
}

static enum err retention_see_send(void *ctx, const struct row *row)
{
    struct retention_scan *w = ctx;

    w->is_last_send = w->is_last_send || row->col[1].i >= w->before_ms;
    if (w->is_last_send)
        return OK;
    w->sends++;
    return uuid_of_bytes(row->col[0].s, &w->send_to) ? OK : ERR_INTERNAL;
}

static enum err retention_forget_events(struct tx *tx, struct retention_scan *w)
{
    struct val v[] = { V_INT(w->from), V_INT(LIMIT_RETENTION_STEP) };
    enum err e;

    w->to = w->from;
    e = tx_each(tx, STMT_retention_step, v, COUNT(v), retention_see_event, w);
    return e || !w->rows ? e : TX_DO(tx, STMT_retention_forget, -1, V_INT(w->from), V_INT(w->to));
}

/* Deletes addresses and tokens of sends; the sends stay. */
static enum err retention_forget_targets(struct tx *tx, struct retention_scan *w)
{
    struct val v[] = { V_BLOB(uuid_bytes(&w->send_from)), V_INT(LIMIT_RETENTION_STEP) };
    enum err e;

    w->send_to = w->send_from;
    e = tx_each(tx, STMT_retention_sends, v, COUNT(v), retention_see_send, w);
    return e || !w->sends ? e
                          : TX_DO(tx, STMT_retention_targets, -1, V_BLOB(uuid_bytes(&w->send_from)),
                                  V_BLOB(uuid_bytes(&w->send_to)));
}

/* A payment's id begins with its creation time; none of its tries is older. */
static int64_t payment_made_ms(struct uuid payment)
{
    int64_t ms = 0;

    for (size_t i = 0; i < 6; i++)
        ms = ms << 8 | payment.b[i];
    return ms;
}

static enum err retention_see_payment(void *ctx, const struct row *row)
{
    struct retention_scan *w = ctx;
    struct uuid payment;

    if (!uuid_of_bytes(row->col[0].s, &payment))
        return ERR_INTERNAL;
    w->is_last_tried = w->is_last_tried || payment_made_ms(payment) >= w->before_ms;
    if (w->is_last_tried)
        return OK;
    w->tries++;
    w->tried_to = payment;
    return OK;
}

static enum err retention_count_row(void *ctx, const struct row *row)
{
    (void)row;
    (*(size_t *)ctx)++;
    return OK;
}

/* Deletes the rows of timelines: tries, replays and event replays. The payment stays. */
static enum err retention_forget_timelines(struct tx *tx, struct retention_scan *w)
{
    struct val v[] = { V_BLOB(uuid_bytes(&w->tried_from)), V_INT(LIMIT_RETENTION_STEP) };
    struct val old[] = { V_INT(w->before_ms), V_INT(LIMIT_RETENTION_STEP) };
    enum err e;

    w->tried_to = w->tried_from;
    e = tx_each(tx, STMT_attempts_walk, v, COUNT(v), retention_see_payment, w);
    if (!e && w->tries)
        e = TX_DO(tx, STMT_attempts_forget, -1, V_BLOB(uuid_bytes(&w->tried_from)),
                  V_BLOB(uuid_bytes(&w->tried_to)), V_INT(w->before_ms));
    if (e)
        return e;
    e = tx_each(tx, STMT_replays_forget, old, COUNT(old), retention_count_row, &w->replays);
    return e ? e
             : tx_each(tx, STMT_event_replays_forget, old, COUNT(old), retention_count_row,
                       &w->again);
}

/* An edited body contains what the event's body contained. */
static enum err retention_forget_edits(struct tx *tx, struct retention_scan *w)
{
    struct val v[] = { V_INT(w->before_ms), V_INT(LIMIT_RETENTION_STEP) };

    return tx_each(tx, STMT_message_edits_expire, v, COUNT(v), retention_count_row, &w->edits);
}

static enum err retention_forget(struct tx *tx, struct retention_scan *w)
{
    enum err e = retention_forget_events(tx, w);

    if (e)
        return e;
    e = retention_forget_targets(tx, w);
    if (e)
        return e;
    e = retention_forget_edits(tx, w);
    return e ? e : retention_forget_timelines(tx, w);
}

static enum err retention_store_place(struct tx *tx, const struct message *m,
                                      const struct retention_scan *w)
{
    char text[48 + 2 * UUID_TEXT], send[UUID_TEXT + 1], tried[UUID_TEXT + 1];

    uuid_text(w->send_to, send);
    uuid_text(w->tried_to, tried);
    snprintf(text, sizeof(text), "%lld %lld %s %s", (long long)w->to, (long long)w->walks, send,
             tried);
    return TX_DO(tx, STMT_retention_place, 1, V_TEXT(str_of(text)), V_BLOB(uuid_bytes(&m->id)));
}

static void retention_end_scan(struct retention_scan *w)
{
    w->walks++;
    if (w->walks % WHOLE_SCANS)
        return;
    w->to = 0;
    w->send_to = w->tried_to = (struct uuid){ 0 };
}

static enum err retention_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct retention *r = ctx;
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct retention_scan w = { .before_ms = now_ms - r->days * DAY_MS };
    bool more;
    enum err e;

    (void)why;
    retention_read_place(j->message->body, &w);
    e = retention_forget(tx, &w);
    if (e)
        return e;
    more = w.rows == LIMIT_RETENTION_STEP || w.sends == LIMIT_RETENTION_STEP ||
           w.edits == LIMIT_RETENTION_STEP || w.tries == LIMIT_RETENTION_STEP ||
           w.replays == LIMIT_RETENTION_STEP || w.again == LIMIT_RETENTION_STEP;
    if (!more)
        retention_end_scan(&w);
    j->again_ms = more ? now_ms + RETENTION_PAUSE_MS : now_ms + DAY_MS;
    return retention_store_place(tx, j->message, &w);
}

struct job_kind retention_kind(struct retention *r)
{
    return (struct job_kind){
        .name = "events.forget",
        .ctx = r,
        .retry = retry_table[RETRY_HOUSEKEEPING],
        .outside = job_without_outside,
        .settle = retention_settle,
        .patient = true,
    };
}

enum err retention_start(struct tx *tx, struct retention *r, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('f', 'o', 'r', 'g', 0, 1);
    struct queue_new first = { .id = only, .kind = S("events.forget"), .due_ms = now_ms + DAY_MS };

    return queue_add(r->payments->runtime.queue, tx, now_ms, &first, 1);
}
