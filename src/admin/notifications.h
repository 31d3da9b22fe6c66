/* notifications.h - a page of notifications with the state of their sends. Only history.c includes
 * this. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/uuid.h"
#include "store/tx.h"

struct notification_page {
    struct arena *arena;
    const struct uuid *payment; /* NULL: of all payments */
    struct uuid before;         /* exclusive */
    int limit;                  /* LIMIT_PAGE at most */
    struct buf *out;            /* has {"data":[ already */
};

/* A column that holds a time, or NULL. */
void history_out_time(struct buf *b, const char *name, const struct val *v);
/* Adds the entries and the next cursor. */
enum err history_notification_page(struct tx *tx, const struct notification_page *p);
