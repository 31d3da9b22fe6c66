/* notifications.h - a page of what people were told, and of what became of it. Only history.c
 * includes this. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/uuid.h"
#include "store/tx.h"

struct notice_page {
    struct arena *arena;
    const struct uuid *payment; /* NULL: of all */
    struct uuid before;         /* exclusive */
    int limit;                  /* LIMIT_PAGE at most */
    struct buf *out;            /* where {"data":[ has begun */
};

/* The lines, and the cursor behind them. */
enum err history_notices(struct tx *tx, const struct notice_page *p);
