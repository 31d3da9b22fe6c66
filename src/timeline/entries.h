/* entries.h - what the files of timeline/ share. Only they include this.
 *
 *   timeline.c   reads each source, sorts the entries, writes JSON
 *   rows.c       the payment's own rows: operations, tries, replays, acts of people
 *   state.c      state changes, refunds, disputes, objects at the gateway
 *   queue.c      events, failed tries, dead letters, notifications
 *   titles.c     the title of each kind, in both languages
 *   text.c       one entry, and texts from outside */
#pragma once

#include "base/json/write.h"
#include "base/limits.h"
#include "payment/rows.h"
#include "timeline/timeline.h"

enum timeline_lane {
    LANE_CALL,
    LANE_REPLAY,
    LANE_GATEWAY,
    LANE_WEBHOOK,
    LANE_QUEUE,
    LANE_NOTIFICATION,
    LANE_OPERATOR,
    LANE_STATE,
};

enum timeline_result {
    RESULT_OK,
    RESULT_FAILED,
    RESULT_WAITING,
    RESULT_UNKNOWN,
    RESULT_DUPLICATE,
    RESULT_SUPERSEDED,
    RESULT_IGNORED,
    RESULT_RETRIED,
    RESULT_DEAD,
    RESULT_SKIPPED,
};

/* --- kinds and their titles --- */

struct timeline_kind {
    enum timeline_lane lane;
    const char *name;    /* unique in its lane */
    int rank;            /* the order within one millisecond */
    const char *en, *ja; /* the title; entry.about may follow after a colon */
};

/* An unknown name gets the last kind of its lane. */
const struct timeline_kind *timeline_kind_of(enum timeline_lane lane, struct str name);
const char *timeline_lane_name(enum timeline_lane l);
const char *timeline_result_name(enum timeline_result r);

/* --- values of a row --- */

bool val_is_word(const struct val *v, struct str word);
int64_t val_number(const struct val *v); /* NULL: 0 */

/* --- one entry --- */

struct entry {
    int64_t at_ms, ended_ms; /* ended_ms 0: not ended, or without a duration */
    const struct timeline_kind *kind;
    struct str about; /* after the title; may be empty */
    enum timeline_result result;
    int64_t times;
    struct str ref;    /* may be empty */
    int64_t ms;        /* the duration; -1: not known */
    struct str detail; /* a JSON object */
    size_t order;      /* in which it was read: decides among equals */
};

enum { TIMELINE_SOURCES = 13 }; /* each has at most LIMIT_TIMELINE_ROWS */
enum { TIMELINE_TWICE = 6 };    /* events and changing objects are two entries each; with reserve */
enum { TIMELINE_ENTRIES = (TIMELINE_SOURCES + TIMELINE_TWICE) * LIMIT_TIMELINE_ROWS };
enum { TIMELINE_MESSAGES = 6 * LIMIT_TIMELINE_ROWS };

/* A row of a source. It is processed after its statement has ended, since that may run others. */
enum { TIMELINE_COLUMNS = 13 };
struct kept {
    struct val v[TIMELINE_COLUMNS];
};

struct person {
    struct uuid id;
    bool is_operator;
    struct str name;
};

struct message_of {
    struct uuid id;
    struct str kind; /* empty: not known */
};

struct revival { /* an operator retried a dead letter */
    struct uuid message;
    int64_t at_ms;
};

struct timeline {
    struct tx *tx;
    struct arena *arena;
    struct payment payment;
    struct entry *entries; /* TIMELINE_ENTRIES of them */
    size_t count;
    struct entry nowhere; /* receives entries beyond the limit */
    bool truncated;
    enum err err; /* the first error of a row */

    size_t detail_bytes; /* of all entries */
    struct kept *rows;   /* of the current source */
    size_t row_count;
    struct kept *audit; /* newest first; also has the results of operations */
    size_t audit_count;
    struct kept *notices;
    size_t notice_count;
    bool is_sent[LIMIT_TIMELINE_ROWS]; /* of notices: it has a send */
    struct person people[LIMIT_TIMELINE_PEOPLE];
    size_t person_count;
    struct message_of *messages; /* whose failed tries are read */
    size_t message_count;
    struct revival revivals[LIMIT_TIMELINE_ROWS];
    size_t revival_count;
};

/* Calls `each` for the rows of a source, newest first. Sets `truncated` if there are more. */
typedef void (*timeline_row)(struct timeline *t, const struct val *v);
enum err timeline_each(struct timeline *t, enum stmt stmt, timeline_row each);

/* The same for a bulk statement and its first LIMIT_TIMELINE_ROWS rows. */
enum err timeline_each_of(struct timeline *t, enum stmt stmt, const struct val *v, size_t rows,
                          size_t columns, timeline_row each);

struct entry *timeline_add(struct timeline *t, enum timeline_lane lane, struct str kind,
                           int64_t at_ms);
void timeline_ended(struct entry *e, int64_t ended_ms);         /* 0: not ended */
struct str timeline_uuid(struct timeline *t, struct str bytes); /* as text; empty: not a UUID */
/* Shows the failed tries of this message, too. */
void timeline_message(struct timeline *t, struct uuid id, struct str kind);

/* The details object: begin, out_...(), end. The details of all entries share one size limit. */
void detail_begin(struct buf *b);
void detail_end(struct timeline *t, struct entry *e, struct buf *b);
/* For text that may come from outside: shortened, without card data and mail addresses. */
void detail_words(struct buf *b, const char *name, const struct val *v);
void detail_number(struct buf *b, const char *name, const struct val *v); /* NULL: left out */

/* --- the sources --- */

enum timeline_result timeline_event_result(const struct val *outcome);

enum err timeline_own_rows(struct timeline *t);
enum err timeline_states(struct timeline *t);
enum err timeline_traffic(struct timeline *t);
