/* entries.h - the parts of a timeline. Only timeline*.c include this.
 *
 *   timeline.c         asks each source, puts them in order, writes JSON
 *   rows.c    the payment's own rows: operations, tries, replays, what people did
 *   state.c   how it moved: changes, refunds, disputes, objects at the gateway
 *   queue.c   what came in and what went out: events, failures, dead letters, notices
 *   titles.c   what each kind is called, in both languages
 *   text.c    an entry, and texts that outsiders wrote */
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

/* --- what each kind is called --- */

struct timeline_kind {
    enum timeline_lane lane;
    const char *name;    /* unique in its lane */
    int rank;            /* among those of one millisecond */
    const char *en, *ja; /* its title; what it is about may follow behind a colon */
};

/* The last of a lane is what fits all else. */
const struct timeline_kind *timeline_kind_of(enum timeline_lane lane, struct str name);
const char *timeline_lane_name(enum timeline_lane l);
const char *timeline_result_name(enum timeline_result r);

/* --- one entry --- */

struct entry {
    int64_t at_ms, ended_ms; /* 0: it has not ended, or has no length */
    const struct timeline_kind *kind;
    struct str about; /* behind the title; may be empty */
    enum timeline_result result;
    int64_t times;
    struct str ref;    /* may be empty */
    int64_t ms;        /* -1: not known */
    struct str detail; /* a JSON object */
    size_t order;      /* as it was read: the last word */
};

enum { TIMELINE_SOURCES = 13 }; /* each gives LIMIT_TIMELINE_ROWS at most */
enum { TIMELINE_TWICE = 6 };    /* events and what changes come as two, and some to spare */
enum { TIMELINE_ENTRIES = (TIMELINE_SOURCES + TIMELINE_TWICE) * LIMIT_TIMELINE_ROWS };
enum { TIMELINE_MESSAGES = 6 * LIMIT_TIMELINE_ROWS };

/* A row of a source: it is looked at when its statement has ended, since looking may ask more. */
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

struct revival { /* an operator called a dead letter back */
    struct uuid message;
    int64_t at_ms;
};

struct timeline {
    struct tx *tx;
    struct arena *arena;
    struct payment payment;
    struct entry *entries; /* TIMELINE_ENTRIES of them */
    size_t count;
    struct entry nowhere; /* what found no room */
    bool truncated;
    enum err err; /* the first that a row met */

    size_t detail_bytes; /* of all entries */
    struct kept *rows;   /* of the source that is being read */
    size_t row_count;
    struct kept *audit; /* the newest first: what became of operations stands there, too */
    size_t audit_count;
    struct kept *notices;
    size_t notice_count;
    bool is_sent[LIMIT_TIMELINE_ROWS]; /* of notices: there is a send of it */
    struct person people[LIMIT_TIMELINE_PEOPLE];
    size_t person_count;
    struct message_of *messages; /* whose failed tries are looked for */
    size_t message_count;
    struct revival revivals[LIMIT_TIMELINE_ROWS];
    size_t revival_count;
};

/* Rows of a source, the newest first; one more than are shown says that there are more. */
typedef void (*timeline_row)(struct timeline *t, const struct val *v);
enum err timeline_each(struct timeline *t, enum stmt stmt, timeline_row each);

/* The same of a bulk statement; of what it finds the first LIMIT_TIMELINE_ROWS. */
enum err timeline_each_of(struct timeline *t, enum stmt stmt, const struct val *v, size_t rows,
                          size_t columns, timeline_row each);

struct entry *timeline_add(struct timeline *t, enum timeline_lane lane, struct str kind,
                           int64_t at_ms);
void timeline_ended(struct entry *e, int64_t ended_ms);         /* 0: it has not */
struct str timeline_uuid(struct timeline *t, struct str bytes); /* as text; empty: it is none */
/* Failed tries of this message belong to the payment. */
void timeline_message(struct timeline *t, struct uuid id, struct str kind);

/* The object of details: begin, out_...(), end. Those of all entries together have their limit. */
void detail_begin(struct buf *b);
void detail_end(struct timeline *t, struct entry *e, struct buf *b);
/* What outsiders may have written: cut, no card, no mail address. */
void detail_words(struct buf *b, const char *name, const struct val *v);
void detail_number(struct buf *b, const char *name, const struct val *v); /* NULL: left out */

/* --- the sources --- */

enum timeline_result timeline_event_result(const struct val *outcome);

enum err timeline_own_rows(struct timeline *t);
enum err timeline_states(struct timeline *t);
enum err timeline_traffic(struct timeline *t);
