#include "flow/outcome.h"

#include "base/env.h"
#include "base/limits.h"
#include "observe/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4 };

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
    for (size_t i = 0; i < n; i++) {
        v[i * COLUMNS] = V_BLOB(uuid_bytes(&sorted[i]->message));
        v[i * COLUMNS + 1] = V_TEXT(sorted[i]->word);
        v[i * COLUMNS + 2] = sorted[i]->detail.n ? V_TEXT(sorted[i]->detail) : V_NULL;
        v[i * COLUMNS + 3] = V_INT(sorted[i]->at_ms);
    }
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_webhook_outcome_add, v, n, COLUMNS, count_row, &written);
    if (e)
        return e;
    count_later(tx, o, n);
    return written == n ? OK : ERR_CONFLICT;
}

enum err outcome_write(struct tx *tx, struct uuid message, struct str word, struct str detail,
                       int64_t now_ms)
{
    struct outcome o = { message, word, detail, now_ms };

    return outcomes_write(tx, &o, 1);
}

enum err outcome_write_dead(struct tx *tx, struct uuid message, const char *why)
{
    struct str detail = str_of(why);

    if (!str_is_utf8(detail))
        detail = (struct str){ 0 };
    return outcome_write(tx, message, S("dead"), detail, env_now_ms(tx_env(tx)));
}
