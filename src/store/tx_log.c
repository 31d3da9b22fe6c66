#include "store/tx_log.h"

#include "base/env.h"
#include "store/tx.h"

#include <stdlib.h>
#include <string.h>

struct line {
    struct log *log;
    enum log_level level;
    const char *message;
    size_t count;
    struct log_field fields[]; /* and their texts behind them */
};

static void write_line(void *own, int64_t arg)
{
    const struct line *l = own;

    (void)arg;
    log_write(l->log, l->level, l->message, l->fields, l->count);
}

static void keep_texts(struct line *l)
{
    char *at = (char *)(l->fields + l->count);

    for (size_t i = 0; i < l->count; i++) {
        struct str *text = &l->fields[i].text;

        if (text->n)
            memcpy(at, text->p, text->n);
        text->p = at;
        at += text->n;
    }
}

void tx_log(struct tx *tx, enum log_level level, const char *message,
            const struct log_field *fields, size_t count)
{
    size_t bytes = 0;
    struct line *l;

    if (!log_wants(tx_env(tx)->log, level))
        return;
    for (size_t i = 0; i < count; i++)
        bytes += fields[i].text.n;
    l = malloc(sizeof(*l) + count * sizeof(*fields) + bytes);
    if (!l)
        abort(); /* as tx_after_commit() */
    *l =
        (struct line){ .log = tx_env(tx)->log, .level = level, .message = message, .count = count };
    memcpy(l->fields, fields, count * sizeof(*fields));
    keep_texts(l);
    tx_after_commit_own(tx, write_line, l);
}
