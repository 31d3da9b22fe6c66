#include "store/tx_log.h"

#include "base/env.h"
#include "store/tx.h"

#include <stdlib.h>
#include <string.h>

struct tx_log_line {
    struct log *log;
    enum log_level level;
    const char *message;
    size_t count;
    struct log_field fields[]; /* their texts follow them in the same allocation */
};

static void tx_log_write(void *own, int64_t arg)
{
    const struct tx_log_line *l = own;

    (void)arg;
    log_write(l->log, l->level, l->message, l->fields, l->count);
}

static void tx_log_copy_texts(struct tx_log_line *l)
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
    struct tx_log_line *l;

    if (!log_wants(tx_env(tx)->log, level))
        return;
    for (size_t i = 0; i < count; i++)
        bytes += fields[i].text.n;
    l = malloc(sizeof(*l) + count * sizeof(*fields) + bytes);
    if (!l)
        abort(); /* as tx_after_commit() */
    *l = (struct tx_log_line){
        .log = tx_env(tx)->log, .level = level, .message = message, .count = count
    };
    memcpy(l->fields, fields, count * sizeof(*fields));
    tx_log_copy_texts(l);
    tx_after_commit_own(tx, tx_log_write, l);
}
