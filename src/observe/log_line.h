/* log_line.h - the text of one log line. Only log.c includes this. */
#pragma once

#include "base/buf.h"
#include "observe/log.h"

struct log_line {
    int64_t at_ms;
    enum log_level level;
    const char *message;
    const struct log_field *fields;
    size_t count;
};

enum log_style { LOG_JSON, LOG_PLAIN, LOG_COLOURS };

/* Adds the masked line with a line feed, the only one in it. */
void log_line_add(struct buf *out, const struct log_line *line, enum log_style style);
