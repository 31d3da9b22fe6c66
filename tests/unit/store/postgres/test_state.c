#include "base/str.h"
#include "store/postgres/state.h"
#include "unit/cm.h"

static void a_sqlstate_says_whether_to_run_the_unit_again(void **state)
{
    static const struct {
        const char *why, *sqlstate;
        enum pg_trouble trouble;
        enum err err;
    } rows[] = {
        { "serialization failure", "40001", PG_AGAIN, ERR_TIMEOUT },
        { "deadlock", "40P01", PG_AGAIN, ERR_TIMEOUT },
        { "lock timeout", "55P03", PG_BLOCKED, ERR_TIMEOUT },
        { "statement timeout", "57014", PG_FAILED, ERR_TIMEOUT },
        { "a key that is there", "23505", PG_FAILED, ERR_CONFLICT },
        { "a check", "23514", PG_FAILED, ERR_CONSTRAINT },
        { "a foreign key", "23503", PG_FAILED, ERR_CONSTRAINT },
        { "a NUL in a text", "22021", PG_FAILED, ERR_CONSTRAINT },
        { "a sum of amounts", "22003", PG_FAILED, ERR_SUM_TOO_LARGE },
        { "disk full", "53100", PG_FAILED, ERR_STORE_FULL },
        { "read-only", "25006", PG_FAILED, ERR_STORE_FULL },
        { "too many connections", "53300", PG_GONE, ERR_UNAVAILABLE },
        { "shut down", "57P01", PG_GONE, ERR_UNAVAILABLE },
        { "crashed", "57P02", PG_GONE, ERR_UNAVAILABLE },
        { "starting up", "57P03", PG_GONE, ERR_UNAVAILABLE },
        { "connection failure", "08006", PG_GONE, ERR_UNAVAILABLE },
        { "libpq lost it", NULL, PG_GONE, ERR_UNAVAILABLE },
        { "a pooler's session", "26000", PG_UNNAMED, ERR_UNAVAILABLE },
        { "another one of those", "42P05", PG_UNNAMED, ERR_UNAVAILABLE },
        { "a stale plan", "0A000", PG_GONE, ERR_UNAVAILABLE },
        { "a mistake of ours", "42601", PG_FAILED, ERR_INTERNAL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pg_meaning m = pg_meaning(rows[i].sqlstate);

        if (m.trouble != rows[i].trouble || m.err != rows[i].err)
            fail_msg("row %zu: %s", i, rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(a_sqlstate_says_whether_to_run_the_unit_again) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
