/* sentry.h - reports errors to Sentry: each ERROR line of the log becomes an event, and alerts add
 * messages of their own. Any thread may call it and is never blocked: a bounded ring takes the
 * events, and a timer on the executor sends one envelope at a time. An event that finds no room,
 * comes too often or meets a rate limit is dropped, counted, and reported to Sentry later in a
 * client_report. Nothing is sent twice, and a failure of Sentry is never reported to Sentry.
 *
 * A log line with a field "alert" is skipped, because its writer calls sentry_message(). */
#pragma once

#include "base/err.h"
#include "base/executor.h"
#include "base/str.h"
#include "base/why.h"

struct client;
struct env;
struct log_field;
struct sentry;

enum sentry_level { SENTRY_INFO, SENTRY_WARNING, SENTRY_ERROR, SENTRY_FATAL };

struct sentry_options {
    struct env *env;
    struct executor *executor;
    struct client *client;
    struct str dsn;         /* checked by sentry_open; empty: ERR_NOT_FOUND, nothing is sent */
    struct str environment; /* may be empty; these live as long as it does */
    struct str release, server_name;
};

/* VALIDATION: why says what is wrong with the DSN, without showing it. */
enum err sentry_open(const struct sentry_options *o, struct sentry **ret_sentry, struct why *why);
void sentry_start(struct sentry *s); /* on the executor; from now on events are sent */
void sentry_free(struct sentry *s);  /* after its client is gone; NULL is fine */

/* The hook for log_hook(): takes an ERROR line. */
void sentry_line(void *ctx, struct str json);

/* Sends a message. Messages with equal fingerprints are one issue at Sentry; an empty fingerprint
 * stands for the message. Fields become tags: names of [a-zA-Z0-9_.-], values cut at 200
 * characters, numbers as digits. With s NULL it does nothing. */
void sentry_message(struct sentry *s, enum sentry_level level, struct str message,
                    struct str fingerprint, const struct log_field *tags, size_t count);
