/* log.h - structured lines on standard error: one JSON object each, or words for a person at a
 * terminal; through a ring and a writer thread, so that no loop waits for a terminal. Nothing
 * secret is ever given to it; what looks like a card's number, code or expiry is masked by the
 * writer all the same (O1). */
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
/* Left out where it is empty. */
#define LOG_SOME(field_name, s) log_some(field_name, s)
/* Two fields, traceId and spanId, of a W3C traceparent; none where it is not one. */
#define LOG_TRACE(traceparent) log_trace_id(traceparent), log_span_id(traceparent)

struct log_field log_some(const char *name, struct str text);
struct log_field log_trace_id(struct str s);
struct log_field log_span_id(struct str s);

/* fd: where lines go. threaded false writes at once, for tests, tools and the simulator. */
struct log *log_new(const struct clock *clock, int fd, enum log_level least, bool threaded);
/* Lines for a person instead of JSON. Before the first line. */
void log_set_text(struct log *l, bool colours);
/* Writes what waits, unless nobody has read it within a second. NULL is fine. */
void log_free(struct log *l);

/* Would a line of that level be written? For who must do something to make one. */
bool log_wants(const struct log *l, enum log_level level);

/* Never blocks and never fails: a full ring drops the line and the next one says how many. */
void log_write(struct log *l, enum log_level level, const char *message,
               const struct log_field *fields, size_t count);

/* Every ERROR line from now on also goes to hook, as masked JSON without its line feed, on the
 * thread that wrote it: it must be quick and write no line itself. NULL: to nobody, and the hook
 * does not run any more. */
void log_hook(struct log *l, void (*hook)(void *ctx, struct str json), void *ctx);

/* How many lines found no room since the last call. */
int64_t log_take_dropped(struct log *l);

#define LOG(l, level, message, ...)                                                                \
    log_write(l, level, message, (const struct log_field[]){ __VA_ARGS__ },                        \
              sizeof((const struct log_field[]){ __VA_ARGS__ }) / sizeof(struct log_field))
