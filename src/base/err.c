#include "base/err.h"

#include "base/str.h"

#include <assert.h>
#include <stddef.h>

static const struct {
    int status;
    const char *code;
    const char *words[2];
} table[ERR_COUNT] = {
#define ERR_ROW(name, status, code, en, ja) [name] = { status, code, { en, ja } },
    ERR_LIST(ERR_ROW)
#undef ERR_ROW
};

int err_status(enum err e)
{
    assert(e < ERR_COUNT);
    return table[e].status;
}

const char *err_code(enum err e)
{
    assert(e < ERR_COUNT);
    return table[e].code;
}

const char *err_words(enum err e, enum language language)
{
    assert(e < ERR_COUNT);
    return table[e].words[language];
}

bool err_is_retryable(enum err e)
{
    assert(e < ERR_COUNT);
    return table[e].status >= 502 || e == ERR_RATE_LIMITED || e == ERR_STALE;
}
