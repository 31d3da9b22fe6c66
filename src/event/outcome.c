/* outcome.c - writes what became of events, counts it once it is durable, and logs declines. A
 * message that has an outcome already is either the replay of an operator, whose row gets the new
 * outcome, or a violation (CONFLICT). */
#include "event/outcome.h"

#include "base/env.h"
#include "base/limits.h"
#include "observe/metrics.h"
#include "store/tx_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6, REPLAY_COLUMNS = 5, NAMED_COLUMNS = 3 };

/* The words that can be counted; an index travels through tx_after_commit(). */
static const struct str outcome_words[] = {
    { "processed", 9 }, { "applied", 7 },     { "superseded", 10 },
    { "ignored", 7 },   { "wrong_mode", 10 }, { "dead", 4 },
};

static void count_word(void *ctx, int64_t arg)
{
    struct env *env = ctx;

    metrics_count_as(env->metrics, COUNT_EVENT_OUTCOME, outcome_words[arg & 0xff], arg >> 8);
}

/* After the commit, on a store thread. */
static void count_processed(void *ctx, int64_t received_ms)
{
    struct env *env = ctx;
    int64_t took_ms = env_now_ms(env) - received_ms; /* below 0 where clocks differ */

    processing_count(env, JOB_DONE);
    metrics_time(env->metrics, TIME_END_TO_END, took_ms > 0 ? took_ms * 1000 : 0);
}

static void count_after_commit(struct tx *tx, const struct outcome *o, size_t n)
{
    for (size_t w = 0; w < COUNT(outcome_words); w++) {
        int64_t times = 0;

        for (size_t i = 0; i < n; i++)
            times += str_eq(o[i].word, outcome_words[w]);
        if (times)
            tx_after_commit(tx, count_word, tx_env(tx), times << 8 | (int64_t)w);
    }
    for (size_t i = 0; i < n; i++)
        if (!str_eq(o[i].word, S("dead")))
            tx_after_commit(tx, count_processed, tx_env(tx), o[i].received_ms);
}

static enum err count_row(void *ctx, const struct row *row)
{
    (void)row;
    (*(size_t *)ctx)++;
    return OK;
}

static int compare_messages(const void *a, const void *b)
{
    const struct outcome *x = *(const struct outcome *const *)a;
    const struct outcome *y = *(const struct outcome *const *)b;

    return memcmp(x->message.b, y->message.b, sizeof(x->message.b));
}

static void outcome_row(const struct outcome *o, struct val v[COLUMNS])
{
    v[0] = V_BLOB(uuid_bytes(&o->message));
    v[1] = V_TEXT(o->word);
    v[2] = o->detail.n ? V_TEXT(o->detail) : V_NULL;
    v[3] = V_INT(o->at_ms);
    v[4] = o->payment ? V_BLOB(uuid_bytes(o->payment)) : V_NULL;
    v[5] = o->payment && o->event_id.n ? V_TEXT(o->event_id) : V_NULL;
}

/* An event that an operator replays keeps its first outcome; the new one goes to the replay's row. */
static enum err end_replays(struct tx *tx, const struct outcome *const *o, size_t n,
                            size_t *written)
{
    struct val v[LIMIT_BULK * REPLAY_COLUMNS];

    for (size_t i = 0; i < n; i++) {
        struct val *row = &v[i * REPLAY_COLUMNS];

        row[0] = V_TEXT(o[i]->word);
        row[1] = o[i]->detail.n ? V_TEXT(o[i]->detail) : V_NULL;
        row[2] = V_INT(o[i]->at_ms);
        row[3] = o[i]->payment ? V_BLOB(uuid_bytes(o[i]->payment)) : V_NULL;
        row[4] = V_BLOB(uuid_bytes(&o[i]->message));
    }
    return tx_bulk(tx, STMT_event_replay_end, v, n, REPLAY_COLUMNS, count_row, written);
}

/* An event that was received before its payment existed is linked to it now. */
static enum err replays_set_payments(struct tx *tx, const struct outcome *const *o, size_t n)
{
    struct val v[LIMIT_BULK * NAMED_COLUMNS];

    for (size_t i = 0; i < n; i++) {
        struct val *row = &v[i * NAMED_COLUMNS];
        bool named = o[i]->payment && o[i]->event_id.n;

        row[0] = named ? V_BLOB(uuid_bytes(o[i]->payment)) : V_NULL;
        row[1] = named ? V_TEXT(o[i]->event_id) : V_NULL;
        row[2] = V_BLOB(uuid_bytes(&o[i]->message));
    }
    return tx_bulk(tx, STMT_event_replay_payment, v, n, NAMED_COLUMNS, NULL, NULL);
}

/* PostgreSQL: after a lease has expired, two nodes may have the same messages. Rows are written in
 * one order, so that they never wait for each other. */
enum err outcomes_write(struct tx *tx, const struct outcome *o, size_t n)
{
    const struct outcome *sorted[LIMIT_BULK];
    struct val v[LIMIT_BULK * COLUMNS];
    size_t written = 0;
    enum err e;

    assert(n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &o[i];
    qsort(sorted, n, sizeof(void *), compare_messages);
    for (size_t i = 0; i < n; i++)
        outcome_row(sorted[i], &v[i * COLUMNS]);
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_webhook_outcome_add, v, n, COLUMNS, count_row, &written);
    if (!e && written < n) {
        e = end_replays(tx, sorted, n, &written);
        if (!e)
            e = replays_set_payments(tx, sorted, n);
    }
    if (e)
        return e;
    count_after_commit(tx, o, n);
    return written == n ? OK : ERR_CONFLICT;
}

void processing_count(struct env *env, enum job_end end)
{
    static_assert(JOB_DONE == 0 && JOB_RETRIED == 1 && JOB_DEAD == 2, "in the order of metrics.h");
    if (end <= JOB_DEAD)
        metrics_count_at(env->metrics, COUNT_PROCESSING, AT((unsigned char)end), 1);
}

enum err outcome_write_dead(struct tx *tx, struct uuid message, const char *why,
                            const struct uuid *payment, struct str event_id)
{
    struct outcome o = { .message = message,
                         .word = S("dead"),
                         .detail = str_of(why),
                         .at_ms = env_now_ms(tx_env(tx)),
                         .payment = payment,
                         .event_id = event_id };
    enum err e;

    if (!str_is_utf8(o.detail))
        o.detail = (struct str){ 0 };
    e = outcomes_write(tx, &o, 1);
    if (e == ERR_CONFLICT) /* impossible while the message's fence holds */
        metrics_count_at(tx_env(tx)->metrics, COUNT_VIOLATION, AT(VIOLATION_SECOND_EFFECT), 1);
    return e;
}

void log_decline(struct tx *tx, const struct payment *p, const struct fact *f,
                 const struct decline *d)
{
    char user[UUID_TEXT + 1], payment[UUID_TEXT + 1], message[UUID_TEXT + 1];

    uuid_text(p->user_id, user);
    uuid_text(p->id, payment);
    uuid_text(d->message, message);
    LOG_AFTER_COMMIT(
        tx, LOG_ERROR, "Payment failed", LOG_TEXT("paymentIntentId", f->intent_id),
        LOG_TEXT("errorCode", f->failure_code), LOG_TEXT("userId", str_of(user)),
        LOG_SOME("declineCode", f->decline_code), LOG_TEXT("paymentId", str_of(payment)),
        LOG_SOME("participant_id", d->participant_id), LOG_TEXT("error_type", S("declined")),
        LOG_TEXT("eventId", d->event_id), LOG_TEXT("eventType", d->type),
        LOG_TEXT("messageId", str_of(message)), LOG_TRACE(d->trace));
}
