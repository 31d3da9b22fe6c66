/* log.h - structured lines: one JSON object each, on standard error, through a ring and a writer
 * thread so that no loop waits for a terminal. Nothing secret is ever given to it; numbers that
 * look like cards are masked by the writer all the same (O1). */
#pragma once

#include "base/clock.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log;

struct log_field {
    const char *name; /* NULL ends the list */
    struct str text;
    int64_t number;
    bool is_number;
};

#define LOG_TEXT(field_name, s) ((struct log_field){ .name = (field_name), .text = (s) })
#define LOG_NUM(field_name, v)                                                                     \
    ((struct log_field){ .name = (field_name), .number = (v), .is_number = true })

/* fd: where lines go. threaded false writes at once, for tests, tools and the simulator. */
struct log *log_new(const struct clock *clock, int fd, enum log_level least, bool threaded);
/* Writes what waits, unless nobody has read it within a second. NULL is fine. */
void log_free(struct log *l);

/* Never blocks and never fails: a full ring drops the line and the next one says how many. */
void log_write(struct log *l, enum log_level level, const char *message,
               const struct log_field *fields, size_t count);

/* How many lines found no room since the last call. */
int64_t log_take_dropped(struct log *l);

#define LOG(l, level, message, ...)                                                                \
    log_write(l, level, message, (const struct log_field[]){ __VA_ARGS__ },                        \
              sizeof((const struct log_field[]){ __VA_ARGS__ }) / sizeof(struct log_field))
