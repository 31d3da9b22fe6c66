/* retention.c - walks through the events, through what was sent to people, and through the tries
 * towards gateways (O7), in the order in which they came, some at a time. How far it is stands in
 * its message's body ("1234 7 01a8... 01a8...": the last seq, how many walks came to their end, the
 * last send, and the last payment whose tries were looked at), so that a new day goes on where the
 * last one stopped. What was not done with at that time is met again by each
 * WHOLE_WALKS-th walk, which begins at the beginning. */
#include "ops/retention.h"

#include "base/limits.h"

#include <stdio.h>

enum { RETENTION_PAUSE_MS = 50, WHOLE_WALKS = 30 };
#define DAY_MS (24 * 3600 * INT64_C(1000))
_Static_assert(LIMIT_RETENTION_STEP <= LIMIT_STATEMENT_ROWS, "each takes no more than M2 allows");

struct retention_walk {
    int64_t from, walks;
    int64_t to, before_ms;
    size_t rows;
    bool is_end; /* the next one is too young */

    struct uuid send_from, send_to; /* the same of sends, whose ids grow with the time */
    size_t sends;
    bool is_last_send;
    size_t edits; /* bodies that operators wrote */

    struct uuid tried_from, tried_to; /* the same of payments with tries */
    size_t tries;
    bool is_last_tried;
    size_t replays;
    size_t again; /* rows of event_replays */
};

static void read_place(struct str body, struct retention_walk *w)
{
    struct str from = str_cut(&body, ' '), walks = str_cut(&body, ' '), send = str_cut(&body, ' ');

    if (!str_to_i64(from, &w->from) || !str_to_i64(walks, &w->walks))
        w->from = w->walks = 0;
    if (!uuid_parse(send, &w->send_from))
        w->send_from = (struct uuid){ 0 };
    if (!uuid_parse(body, &w->tried_from)) /* a version that knew no tries wrote none */
        w->tried_from = (struct uuid){ 0 };
}

static enum err retention_look(void *ctx, const struct row *row)
{
    struct retention_walk *w = ctx;

    w->is_end = w->is_end || row->col[1].i >= w->before_ms;
    if (!w->is_end) {
        w->to = row->col[0].i;
        w->rows++;
    }
    return OK;
}

static enum err look_at_send(void *ctx, const struct row *row)
{
    struct retention_walk *w = ctx;

    w->is_last_send = w->is_last_send || row->col[1].i >= w->before_ms;
    if (w->is_last_send)
        return OK;
    w->sends++;
    return uuid_of_bytes(row->col[0].s, &w->send_to) ? OK : ERR_INTERNAL;
}

static enum err forget_events(struct tx *tx, struct retention_walk *w)
{
    struct val v[] = { V_INT(w->from), V_INT(LIMIT_RETENTION_STEP) };
    enum err e;

    w->to = w->from;
    e = tx_each(tx, STMT_retention_step, v, COUNT(v), retention_look, w);
    return e || !w->rows ? e : TX_DO(tx, STMT_retention_forget, -1, V_INT(w->from), V_INT(w->to));
}

/* Addresses and tokens; that somebody was told stays. */
static enum err forget_targets(struct tx *tx, struct retention_walk *w)
{
    struct val v[] = { V_BLOB(uuid_bytes(&w->send_from)), V_INT(LIMIT_RETENTION_STEP) };
    enum err e;

    w->send_to = w->send_from;
    e = tx_each(tx, STMT_retention_sends, v, COUNT(v), look_at_send, w);
    return e || !w->sends ? e
                          : TX_DO(tx, STMT_retention_targets, -1, V_BLOB(uuid_bytes(&w->send_from)),
                                  V_BLOB(uuid_bytes(&w->send_to)));
}

/* A payment's id has the time at which it was made in its first bytes: none of its tries is older.
 */
static int64_t made_ms(struct uuid payment)
{
    int64_t ms = 0;

    for (size_t i = 0; i < 6; i++)
        ms = ms << 8 | payment.b[i];
    return ms;
}

static enum err look_at_try(void *ctx, const struct row *row)
{
    struct retention_walk *w = ctx;
    struct uuid payment;

    if (!uuid_of_bytes(row->col[0].s, &payment))
        return ERR_INTERNAL;
    w->is_last_tried = w->is_last_tried || made_ms(payment) >= w->before_ms;
    if (w->is_last_tried)
        return OK;
    w->tries++;
    w->tried_to = payment;
    return OK;
}

static enum err count_replay(void *ctx, const struct row *row)
{
    (void)row;
    ((struct retention_walk *)ctx)->replays++;
    return OK;
}

static enum err count_again(void *ctx, const struct row *row)
{
    (void)row;
    ((struct retention_walk *)ctx)->again++;
    return OK;
}

/* Lines of a timeline; the payment and what became of it stay. */
static enum err forget_lines(struct tx *tx, struct retention_walk *w)
{
    struct val v[] = { V_BLOB(uuid_bytes(&w->tried_from)), V_INT(LIMIT_RETENTION_STEP) };
    struct val old[] = { V_INT(w->before_ms), V_INT(LIMIT_RETENTION_STEP) };
    enum err e;

    w->tried_to = w->tried_from;
    e = tx_each(tx, STMT_attempts_walk, v, COUNT(v), look_at_try, w);
    if (!e && w->tries)
        e = TX_DO(tx, STMT_attempts_forget, -1, V_BLOB(uuid_bytes(&w->tried_from)),
                  V_BLOB(uuid_bytes(&w->tried_to)), V_INT(w->before_ms));
    if (!e)
        e = tx_each(tx, STMT_replays_forget, old, COUNT(old), count_replay, w);
    return e ? e : tx_each(tx, STMT_event_replays_forget, old, COUNT(old), count_again, w);
}

static enum err count_edit(void *ctx, const struct row *row)
{
    (void)row;
    ((struct retention_walk *)ctx)->edits++;
    return OK;
}

/* What an operator made of an event holds what the event held. */
static enum err forget_edits(struct tx *tx, struct retention_walk *w)
{
    struct val v[] = { V_INT(w->before_ms), V_INT(LIMIT_RETENTION_STEP) };

    return tx_each(tx, STMT_message_edits_expire, v, COUNT(v), count_edit, w);
}

static enum err store_place(struct tx *tx, const struct message *m, const struct retention_walk *w)
{
    char text[48 + 2 * UUID_TEXT], send[UUID_TEXT + 1], tried[UUID_TEXT + 1];

    uuid_text(w->send_to, send);
    uuid_text(w->tried_to, tried);
    snprintf(text, sizeof(text), "%lld %lld %s %s", (long long)w->to, (long long)w->walks, send,
             tried);
    return TX_DO(tx, STMT_retention_place, 1, V_TEXT(str_of(text)), V_BLOB(uuid_bytes(&m->id)));
}

static void end_walk(struct retention_walk *w)
{
    w->walks++;
    if (w->walks % WHOLE_WALKS)
        return;
    w->to = 0;
    w->send_to = w->tried_to = (struct uuid){ 0 };
}

static enum err retention_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct retention *r = ctx;
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct retention_walk w = { .before_ms = now_ms - r->days * DAY_MS };
    bool more;
    enum err e;

    (void)why;
    read_place(j->message->body, &w);
    e = forget_events(tx, &w);
    if (!e)
        e = forget_targets(tx, &w);
    if (!e)
        e = forget_edits(tx, &w);
    if (!e)
        e = forget_lines(tx, &w);
    more = w.rows == LIMIT_RETENTION_STEP || w.sends == LIMIT_RETENTION_STEP ||
           w.edits == LIMIT_RETENTION_STEP || w.tries == LIMIT_RETENTION_STEP ||
           w.replays == LIMIT_RETENTION_STEP || w.again == LIMIT_RETENTION_STEP;
    if (!more)
        end_walk(&w);
    j->again_ms = more ? now_ms + RETENTION_PAUSE_MS : now_ms + DAY_MS;
    return e ? e : store_place(tx, j->message, &w);
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
