/* alert.h - alerts as rows (O4): what telemetry/alerts.h decides is written here, and told.
 *
 *   a rule's step --one commit--> the row + a send and a message "alert" for each who is told
 *                 --after it----> a line in the log (ERROR, INFO when resolved), Sentry
 *
 *   (1) Who changes a row names the version that it saw. Of several nodes, or of two looks at the
 *       same time, one wins, and only that one tells.
 *   (2) The row and its messages are one commit: killed before it, nobody was told, and the next
 *       look does it; killed behind it, the messages are there. Only the line and Sentry may then
 *       be lost; they are never doubled.
 *   (3) Rates are a node's own: the row's scope is its id. It says once a minute that it stands; a
 *       row whose node has gone is taken away by any other, and told as resolved unless it fires at
 *       one that lives. Alone on its database, a node that is started takes over what was left.
 *   (4) Dead letters of kind "alert" raise no alert: a receiver that is gone would never be silent.
 */
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

struct alert_telling {
    enum alert alert;
    enum alert_news news;
    struct alert_state state;
    int64_t threshold, now_ms;
    char node[UUID_TEXT + 1]; /* "": all */
    bool gone;                /* resolved because its node has gone */
};

/* What one unit tells once it is durable. In the caller's memory until the unit has come back. */
struct alert_tellings {
    const struct alert_desk *desk;
    const bool *said; /* by rule: alert_say() told that it fires; NULL: of none */
    bool stands;      /* by alert_look(): something is wrong, or was until now */
    size_t count;
    struct alert_telling all[64 + ALERTS]; /* LIMIT_ALERT_ROWS and the rules */
};

/* A rule's row as somebody saw it. version 0: there is none. */
struct alert_row {
    enum alert alert;
    char node[UUID_TEXT + 1];
    struct alert_state state;
    int64_t seen_ms, version;
};

/* Rules that are true of all: what the database says, a step each, and what came of it. Also takes
 * away what nodes left behind that have gone. */
enum err alert_look(struct tx *tx, const struct alert_desk *d, struct arena *a, int64_t now_ms,
                    struct alert_tellings *out);

/* Stores a row's new state, and tells of it. *row becomes what is stored: the new state, or what
 * another one wrote meanwhile (nothing is told then), or nothing (version 0). begin() before the
 * first of a unit. */
void alert_tellings_begin(struct alert_tellings *out, const struct alert_desk *d);
enum err alert_put(struct tx *tx, struct arena *a, struct alert_row *row,
                   const struct alert_state *new, enum alert_news news, int64_t now_ms,
                   struct alert_tellings *out);

/* The line and Sentry alone: where the store is away nobody else can be told. */
void alert_say(const struct alert_desk *d, const struct alert_row *row, enum alert_news news,
               int64_t now_ms);

/* Rows of nodes that are dead become those of own[].node, as they stand: told once, not again. */
enum err alert_adopt(struct tx *tx, int64_t now_ms, struct alert_row own[ALERTS]);

/* The present facts; and the rows, LIMIT_ALERT_ROWS at most, those of all first. */
enum err alert_facts_read(struct tx *tx, int64_t now_ms, struct alert_facts *ret_facts);
enum err alert_rows_read(struct tx *tx, struct alert_row *ret_rows, size_t *ret_count);
