#include "payment/attempts.h"

#include "base/limits.h"

enum { COLUMNS = 11 };

static const char *try_outcome(const struct gateway_try *t)
{
    static const char *const words[] = {
        [GATEWAY_OK] = "ok",
        [GATEWAY_DECLINED] = "declined",
        [GATEWAY_REFUSED] = "refused",
        [GATEWAY_ABSENT] = "absent",
        [GATEWAY_RETRY_LATER] = "retry_later",
        [GATEWAY_UNCERTAIN] = "uncertain",
    };

    if (t->timed_out)
        return "timeout";
    if (!t->sent && t->answer == GATEWAY_RETRY_LATER)
        return "not_sent";
    return words[t->answer];
}

static void try_row(const struct gateway_try *t, const struct uuid *payment, const struct uuid *who,
                    int64_t n, struct val v[COLUMNS])
{
    v[0] = V_BLOB(uuid_bytes(payment));
    v[1] = V_INT(t->at_ms);
    v[2] = V_BLOB(uuid_bytes(who));
    v[3] = V_INT(n);
    v[4] = V_INT(t->took_ms);
    v[5] = V_TEXT(str_of(gateway_ask_name(t->ask)));
    v[6] = V_TEXT(str_of(try_outcome(t)));
    v[7] = V_INT(t->retried);
    v[8] = t->status ? V_INT(t->status) : V_NULL;
    v[9] = t->code.n ? V_TEXT(t->code) : V_NULL;
    v[10] = V_INT(t->times);
}

enum err attempts_write(struct tx *tx, struct uuid payment, struct uuid who,
                        const struct gateway_tries *tries)
{
    struct val v[LIMIT_GATEWAY_TRIES * COLUMNS];
    size_t n = 0;

    for (const struct gateway_try *t = tries->first; t; t = t->next, n++)
        try_row(t, &payment, &who, (int64_t)n + 1, v + n * COLUMNS);
    return n ? tx_bulk(tx, STMT_attempts_add, v, n, COLUMNS, NULL, NULL) : OK;
}
