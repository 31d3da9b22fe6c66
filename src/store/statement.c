#include "store/statement.h"

#define SQL(name, both) #name,
#define SQL2(name, sqlite, postgres) #name,
static const char *const names[STMT_COUNT] = {
#include "store/statements/all.h"
};
#undef SQL
#undef SQL2

#define SQL(name, both) both,
#define SQL2(name, sqlite, postgres) sqlite,
static const char *const sqlite_texts[STMT_COUNT] = {
#include "store/statements/all.h"
};
#undef SQL
#undef SQL2

#define SQL(name, both) both,
#define SQL2(name, sqlite, postgres) postgres,
static const char *const postgres_texts[STMT_COUNT] = {
#include "store/statements/all.h"
};
#undef SQL
#undef SQL2

const char *stmt_name(enum stmt stmt)
{
    return names[stmt];
}

const char *stmt_sqlite(enum stmt stmt)
{
    return sqlite_texts[stmt];
}

const char *stmt_postgres(enum stmt stmt)
{
    return postgres_texts[stmt];
}
