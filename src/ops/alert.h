/* alert.h - alerts as rows (O4): stores and sends what telemetry/alerts.h decides.
 *
 *   a rule's step --one commit--> the row + a send and a message "alert" for each target
 *                 --after it----> a log line (ERROR, INFO when resolved), Sentry
 *
 *   (1) A change of a row names the version that was read. Of several nodes, or of two concurrent
 *       checks, one wins, and only that one sends.
 *   (2) The row and its messages are one commit. A crash before it sent nothing, and the next check
 *       does it; a crash after it leaves the messages. Only the log line and Sentry may be lost;
 *       they are never doubled.
 *   (3) A rate belongs to one node: the row's scope is the node's id, and the node renews the row
 *       once a minute. Any other node removes the row of a node that is gone, and reports the alert
 *       as resolved unless it still fires on another node. A node that is alone on its database
 *       takes over the rows of earlier runs at its start.
 *   (4) Dead letters of kind "alert" raise no alert; otherwise a receiver that is gone would cause
 *       alerts for ever. */
#pragma once

#include "base/uuid.h"
#include "payment/payments.h"
#include "telemetry/alerts.h"

struct sentry;

struct alert_desk {
    struct env *env;
    struct payments *payments; /* its store and queue */
    int64_t unknown_ms;        /* ICHIDO_UNKNOWN_ALERT_MS */
    struct str mails;          /* separated by commas; may be empty */
    bool has_webhook;
    struct sentry *sentry; /* may be NULL */
};

struct alert_telling { /* one report of an alert */
    enum alert alert;
    enum alert_news news;
    struct alert_state state;
    int64_t threshold, now_ms;
    char node[UUID_TEXT + 1]; /* "": all nodes */
    bool gone;                /* resolved because its node is gone */
};

/* The reports of one unit, made after its commit. The caller's memory, until the unit has ended. */
struct alert_tellings {
    const struct alert_desk *desk;
    const bool *said; /* by rule: alert_say() has reported it as firing; NULL: none */
    bool stands;      /* set by alert_look(): something is wrong, or was until now */
    size_t count;
    struct alert_telling all[64 + ALERTS]; /* LIMIT_ALERT_ROWS and the rules */
};

/* A rule's row as it was read. version 0: there is no row. */
struct alert_row {
    enum alert alert;
    char node[UUID_TEXT + 1];
    struct alert_state state;
    int64_t seen_ms, version;
};

/* Evaluates the rules about all nodes, and removes the rows of nodes that are gone. */
enum err alert_look(struct tx *tx, const struct alert_desk *d, struct arena *a, int64_t now_ms,
                    struct alert_tellings *out);

/* Stores a row's new state and reports it. *row becomes what is stored: the new state, or what
 * another node wrote meanwhile (then nothing is reported), or no row (version 0). Each unit calls
 * alert_tellings_begin() first. */
void alert_tellings_begin(struct alert_tellings *out, const struct alert_desk *d);
enum err alert_put(struct tx *tx, struct arena *a, struct alert_row *row,
                   const struct alert_state *new, enum alert_news news, int64_t now_ms,
                   struct alert_tellings *out);

/* Only the log line and Sentry: all that works without the store. */
void alert_say(const struct alert_desk *d, const struct alert_row *row, enum alert_news news,
               int64_t now_ms);

/* Moves the rows of dead nodes to own[].node, so that they are not reported again. */
enum err alert_adopt(struct tx *tx, int64_t now_ms, struct alert_row own[ALERTS]);

/* The present facts, and the rows: at most LIMIT_ALERT_ROWS, those about all nodes first. */
enum err alert_facts_read(struct tx *tx, int64_t now_ms, struct alert_facts *ret_facts);
enum err alert_rows_read(struct tx *tx, struct alert_row *ret_rows, size_t *ret_count);
