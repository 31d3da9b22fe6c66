/* sentry_event.h - writes the envelopes that Sentry takes. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* The reasons why events were not sent, by Sentry's names. */
#define SENTRY_REASONS(X)                                                                          \
    X(SENTRY_OVERFLOW, "queue_overflow")                                                           \
    X(SENTRY_LIMITED, "ratelimit_backoff")                                                         \
    X(SENTRY_NETWORK, "network_error")                                                             \
    X(SENTRY_REFUSED, "send_error")                                                                \
    X(SENTRY_SAME, "before_send") /* too many equal ones within a minute */
#define SENTRY_REASON(id, word) id,
enum sentry_reason { SENTRY_REASONS(SENTRY_REASON) SENTRY_REASON_COUNT };
#undef SENTRY_REASON

struct sentry_about {
    struct str environment, release, server_name;
};

/* Writes the head of an envelope; event_id is empty where it only holds a report. */
void sentry_head(struct buf *out, struct str event_id, int64_t sent_ms, struct str release);
/* Writes an item with a line of the log, or of sentry_own(). VALIDATION: the line has no such
 * form. */
enum err sentry_event(struct buf *out, struct str line, struct str event_id,
                      const struct sentry_about *about);
/* Writes an item with the counts of dropped events by reason. */
void sentry_report(struct buf *out, const int64_t dropped[SENTRY_REASON_COUNT], int64_t at_ms);

struct log_field;
/* Writes a message in the form of a log line, for sentry_event(). */
void sentry_own(struct buf *out, int64_t at_ms, const char *level, struct str message,
                struct str fingerprint, const struct log_field *tags, size_t count);
