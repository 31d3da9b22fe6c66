#include "flow/outcome.h"

#include "base/env.h"
#include "base/limits.h"
#include "observe/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };

/* The words that can be counted; an index travels through tx_after_commit(). */
static const struct str words[] = {
    { "processed", 9 }, { "applied", 7 },     { "superseded", 10 },
    { "ignored", 7 },   { "wrong_mode", 10 }, { "dead", 4 },
};

static void count_word(void *ctx, int64_t arg)
{
    struct env *env = ctx;

    metrics_count_as(env->metrics, COUNT_EVENT_OUTCOME, words[arg & 0xff], arg >> 8);
}

static void count_later(struct tx *tx, const struct outcome *o, size_t n)
{
    for (size_t w = 0; w < COUNT(words); w++) {
        int64_t times = 0;

        for (size_t i = 0; i < n; i++)
            times += str_eq(o[i].word, words[w]);
        if (times)
            tx_after_commit(tx, count_word, tx_env(tx), times << 8 | (int64_t)w);
    }
}

static enum err count_row(void *ctx, const struct row *row)
{
    (void)row;
    (*(size_t *)ctx)++;
    return OK;
}

static int by_message(const void *a, const void *b)
{
    const struct outcome *x = *(const struct outcome *const *)a;
    const struct outcome *y = *(const struct outcome *const *)b;

    return memcmp(x->message.b, y->message.b, sizeof(x->message.b));
}

static void row_of(const struct outcome *o, struct val v[COLUMNS])
{
    v[0] = V_BLOB(uuid_bytes(&o->message));
    v[1] = V_TEXT(o->word);
    v[2] = o->detail.n ? V_TEXT(o->detail) : V_NULL;
    v[3] = V_INT(o->at_ms);
    v[4] = o->payment ? V_BLOB(uuid_bytes(o->payment)) : V_NULL;
    v[5] = o->payment && o->event_id.n ? V_TEXT(o->event_id) : V_NULL;
}

/* PostgreSQL: two nodes may have the same messages after a lease ran out. Rows go in in one order,
 * or they might wait for each other. */
enum err outcomes_write(struct tx *tx, const struct outcome *o, size_t n)
{
    const struct outcome *sorted[LIMIT_BULK];
    struct val v[LIMIT_BULK * COLUMNS];
    size_t written = 0;
    enum err e;

    assert(n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &o[i];
    qsort(sorted, n, sizeof(void *), by_message);
    for (size_t i = 0; i < n; i++)
        row_of(sorted[i], &v[i * COLUMNS]);
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_webhook_outcome_add, v, n, COLUMNS, count_row, &written);
    if (e)
        return e;
    count_later(tx, o, n);
    return written == n ? OK : ERR_CONFLICT;
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

    if (!str_is_utf8(o.detail))
        o.detail = (struct str){ 0 };
    return outcomes_write(tx, &o, 1);
}
