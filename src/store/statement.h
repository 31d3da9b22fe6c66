/* statement.h - the names of all statements. Their texts stand in store/statements/all.h. */
#pragma once

#define SQL(name, both) STMT_##name,
#define SQL2(name, sqlite, postgres) STMT_##name,
enum stmt {
#include "store/statements/all.h"
    STMT_COUNT
};
#undef SQL
#undef SQL2

const char *stmt_name(enum stmt stmt);
const char *stmt_sqlite(enum stmt stmt);
const char *stmt_postgres(enum stmt stmt); /* "" where PostgreSQL has no use for it */
