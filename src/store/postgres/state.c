#include "store/postgres/state.h"

#include "base/str.h"

#include <string.h>

/* The first row whose text is a prefix of the state counts: exact states stand before their class.
 */
static const struct {
    const char *begins;
    struct pg_meaning meaning;
} table[] = {
    { "40001", { PG_AGAIN, ERR_TIMEOUT } },   /* serialization failure */
    { "40P01", { PG_AGAIN, ERR_TIMEOUT } },   /* deadlock */
    { "55P03", { PG_BLOCKED, ERR_TIMEOUT } }, /* lock_timeout */
    { "57014", { PG_FAILED, ERR_TIMEOUT } },  /* statement_timeout */
    { "23505", { PG_FAILED, ERR_CONFLICT } },
    { "23", { PG_FAILED, ERR_CONSTRAINT } },
    { "22003", { PG_FAILED, ERR_SUM_TOO_LARGE } }, /* a number that its type cannot hold */
    { "22", { PG_FAILED, ERR_CONSTRAINT } },       /* bytes that a text may not hold */
    { "53100", { PG_FAILED, ERR_STORE_FULL } },    /* disk full */
    { "25006", { PG_FAILED, ERR_STORE_FULL } },    /* read-only */
    { "53200", { PG_FAILED, ERR_NO_MEMORY } },
    { "53", { PG_GONE, ERR_UNAVAILABLE } },       /* too many connections */
    { "26000", { PG_UNNAMED, ERR_UNAVAILABLE } }, /* no such prepared statement */
    { "42P05", { PG_UNNAMED, ERR_UNAVAILABLE } }, /* it exists already */
    { "0A000",
      { PG_GONE, ERR_UNAVAILABLE } }, /* a newer node changed a table under a cached plan */
    { "25P03", { PG_GONE, ERR_UNAVAILABLE } }, /* idle in transaction for too long */
    { "57P", { PG_GONE, ERR_UNAVAILABLE } },   /* shutdown, crash, not yet started */
    { "58", { PG_GONE, ERR_UNAVAILABLE } },    /* I/O error of the server */
    { "08", { PG_GONE, ERR_UNAVAILABLE } },
};

struct pg_meaning pg_meaning(const char *state)
{
    if (!state)
        return (struct pg_meaning){ PG_GONE, ERR_UNAVAILABLE };
    for (size_t i = 0; i < COUNT(table); i++)
        if (!strncmp(state, table[i].begins, strlen(table[i].begins)))
            return table[i].meaning;
    return (struct pg_meaning){ PG_FAILED, ERR_INTERNAL };
}
