/* tx_log.h - log lines about what a unit of work did, written once it is durable. A unit may be run
 * again or rolled back: a line written during the run would be repeated or wrong. */
#pragma once

#include "observe/log.h"

#include <stddef.h>

struct tx;

/* As log_write(). message and the fields' names outlive the transaction; their texts are copied. */
void tx_log(struct tx *tx, enum log_level level, const char *message,
            const struct log_field *fields, size_t count);

#define LOG_AFTER_COMMIT(tx, level, message, ...)                                                  \
    tx_log(tx, level, message, (const struct log_field[]){ __VA_ARGS__ },                          \
           sizeof((const struct log_field[]){ __VA_ARGS__ }) / sizeof(struct log_field))
