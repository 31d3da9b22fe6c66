/* log.h - structured log lines on standard error, each a JSON object, or text for a person at a
 * terminal. A writer thread writes them, so that no loop waits for a terminal. Callers never pass
 * secrets; text that looks like the number, code or expiry of a card is masked in any case (O1). */
#pragma once

#include "base/str.h"
#include "base/time/clock.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log;

struct log_field {
    const char *name; /* NULL: left out */
    struct str text;
    int64_t number;
    bool is_number;
};

#define LOG_TEXT(field_name, s) ((struct log_field){ .name = (field_name), .text = (s) })
#define LOG_NUM(field_name, v)                                                                     \
    ((struct log_field){ .name = (field_name), .number = (v), .is_number = true })
/* A field that is left out where the text is empty. */
#define LOG_SOME(field_name, s) log_some(field_name, s)
/* The fields traceId and spanId of a W3C traceparent; no field where the text is none. */
#define LOG_TRACE(traceparent) log_trace_id(traceparent), log_span_id(traceparent)

struct log_field log_some(const char *name, struct str text);
struct log_field log_trace_id(struct str s);
struct log_field log_span_id(struct str s);

/* Lines go to fd. Without `threaded` a line is written at once, for tests, tools and the
 * simulator. */
struct log *log_new(const struct clock *clock, int fd, enum log_level least, bool threaded);
/* Writes text for a person instead of JSON. Call it before the first line. */
void log_set_text(struct log *l, bool colours);
/* Writes the buffered lines, but gives up after a second in which the output was not read. l may be
 * NULL. */
void log_free(struct log *l);

/* True where a line of that level would be written; for callers to whom making one costs work. */
bool log_wants(const struct log *l, enum log_level level);

/* Never blocks and never fails. Where the buffer is full the line is dropped, and the next line
 * that fits says how many were. */
void log_write(struct log *l, enum log_level level, const char *message,
               const struct log_field *fields, size_t count);

/* From now on every ERROR line is also passed to hook, as masked JSON without its line feed, on the
 * thread that wrote it. The hook must be fast and must not log. After a call with NULL the hook
 * does not run any more. */
void log_hook(struct log *l, void (*hook)(void *ctx, struct str json), void *ctx);

/* How many lines were dropped since the last call. */
int64_t log_take_dropped(struct log *l);

#define LOG(l, level, message, ...)                                                                \
    log_write(l, level, message, (const struct log_field[]){ __VA_ARGS__ },                        \
              sizeof((const struct log_field[]){ __VA_ARGS__ }) / sizeof(struct log_field))
