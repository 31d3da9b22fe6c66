/* sentry_event.h - envelopes: how an error looks to Sentry. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Why events were not sent, in Sentry's words. */
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

/* The envelope's head; event_id is empty where it only holds a report. */
void sentry_head(struct buf *out, struct str event_id, int64_t sent_ms, struct str release);
/* An item: a line of the log, or what sentry_own() made. VALIDATION: it is not one. */
enum err sentry_event(struct buf *out, struct str line, struct str event_id,
                      const struct sentry_about *about);
/* An item: what was dropped, and why. */
void sentry_report(struct buf *out, const int64_t dropped[SENTRY_REASON_COUNT], int64_t at_ms);

struct log_field;
/* A message that is no line, in the form that sentry_event reads. */
void sentry_own(struct buf *out, int64_t at_ms, const char *level, struct str message,
                struct str fingerprint, const struct log_field *tags, size_t count);
