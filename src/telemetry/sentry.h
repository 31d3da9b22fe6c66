/* sentry.h - errors go to Sentry: each ERROR line of the log becomes an event, and who watches adds
 * messages of its own (alerts). From any thread, never waiting: a ring with a bound takes them, and
 * a timer at home sends one envelope at a time. What finds no room, comes too often or is not
 * wanted (rate limits) is dropped, counted, and told to Sentry later in a client_report. Nothing is
 * sent twice, and no failure of Sentry's is told to Sentry.
 *
 * A line with a field "alert" is not taken from the log: its writer calls sentry_message(). */
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
    struct home *home;
    struct client *client;
    struct str dsn;         /* checked by sentry_open; empty: ERR_NOT_FOUND, nothing is sent */
    struct str environment; /* may be empty; these live as long as it does */
    struct str release, server_name;
};

/* VALIDATION: why says what is wrong with the DSN, without showing it. */
enum err sentry_open(const struct sentry_options *o, struct sentry **ret_sentry, struct why *why);
void sentry_start(struct sentry *s); /* at home: from now on it sends */
void sentry_free(struct sentry *s);  /* after its client is gone; NULL is fine */

/* Takes an ERROR line: the hook of log_hook(). */
void sentry_line(void *ctx, struct str json);

/* A message of our own. Equal fingerprints are one issue at Sentry; an empty one is the message.
 * Fields become tags: names of [a-zA-Z0-9_.-], values cut at 200 characters, numbers as digits.
 * s NULL: does nothing. */
void sentry_message(struct sentry *s, enum sentry_level level, struct str message,
                    struct str fingerprint, const struct log_field *tags, size_t count);
