/* message.h - one message of the QStash API: what is delivered, to whom and how. A message that is
 * due has a job: an entry of our queue (struct message, queue/queue.h) with the same id.
 *
 * The content as published never changes. What changes is its row in qstash_live. A message may
 * have to pass two limiters: its queue (in order, so many at a time; the slot is held from the
 * first attempt to the end, callbacks included) and its flow key (so many attempts at a time, so
 * many starts a period). A message that waits at a limiter has no job: the commit that makes room
 * adds one, and nothing polls. */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"
#include "qstash/qstash.h"
#include "queue/queue.h"

/* As stored in qstash_log; the words stand in log_words[]. Never renumbered. */
enum qstash_state {
    QSTASH_CREATED = 1,
    QSTASH_ACTIVE,
    QSTASH_RETRY,
    QSTASH_ERROR,
    QSTASH_DELIVERED,
    QSTASH_FAILED,
    QSTASH_CANCEL_REQUESTED,
    QSTASH_CANCELED,
    QSTASH_STATES,
};
const char *qstash_state_word(enum qstash_state s); /* "CREATED"; NULL for a number that is none */

/* Where a live message is: it has a job, or waits for a slot, for a token, or for the end of a
 * pause. */
enum place { PLACE_GIVEN, PLACE_QUEUE, PLACE_FLOW, PLACE_HELD };

struct flow_limits {
    int64_t parallelism, rate; /* 0: not given */
    int64_t period_s;          /* 1 unless given */
};

struct parcel {
    struct uuid id;
    bool has_webhook_id, has_source;
    struct uuid webhook_id; /* of the message that this one repeats */
    struct uuid source;     /* the message whose callback this is */
    int64_t created_ms, not_before_ms;
    struct str method, url;
    struct str host, path; /* of the url: authority, and path without query; parcel_set_url() */
    struct str header;     /* {"Name":["value"]}, UTF-8; empty: none */
    struct str body;
    int64_t retries;
    struct str retry_delay; /* a checked expression; empty: the default backoff */
    int64_t timeout_ms;     /* 0: LIMIT_QSTASH_ATTEMPT_MS */
    struct str callbacks;   /* JSON of qstash/deliver/callback.h; empty: none */
    struct str labels;      /* "a,b" */
    struct str redact;      /* as given, checked */
    struct str queue, flow_key;
    struct flow_limits flow;
    struct str schedule_id, topic, endpoint;
    struct str caller_ip;

    /* The queue in which a callback holds a slot beside its source, without waiting. 0: none. */
    int64_t holds_queue_id;
};

/* False: not http:// or https:// with a host. Fills url, host and path as slices of url. */
bool parcel_set_url(struct parcel *p, struct str url);

/* --- as rows --- */

/* The content as published. NOT_FOUND. Texts go to the arena; with_body false: body.n is 0. */
enum err parcel_read(struct tx *tx, struct arena *a, struct uuid id, bool with_body,
                     struct parcel *ret_parcel);
/* From the columns of PARCEL_COLUMNS, beginning at row->col[at]. */
enum err parcel_of_row(struct arena *a, const struct row *row, int at, struct parcel *ret_parcel);
enum { PARCEL_COLUMN_COUNT = 23 }; /* without the body, which follows them if it is read */

struct live {
    int64_t seq, due_ms, retried, queue_id, bytes;
    enum place place;
    bool cancel, slot, counts, token;
    struct str flow_key;
};
/* NOT_FOUND: it has ended, or never was. */
enum err live_read(struct tx *tx, struct arena *a, struct uuid id, struct live *ret_live);

/* A line of the log. Everything but id, at_ms and state may be left out. */
struct log_entry {
    struct uuid id;
    int64_t at_ms;
    enum qstash_state state;
    int64_t next_ms; /* 0: none */
    bool answered;   /* status counts; 0 is "no answer" */
    int status;
    struct str error, response_header, response_body;
};
enum err log_add(struct tx *tx, const struct log_entry *e);

/* --- qstash/publish/store_message.c: storing a new message --- */

/* Stores it with its line in the log and with a job, or lets it wait at a limiter. Creates its
 * queue and flow key if need be. A unit may store any number. UNPROCESSABLE: its queue would be one
 * more than LIMIT_QSTASH_QUEUES; nothing was written. */
#define QUEUES_FULL "there are 10000 queues already, which is the limit"
enum err parcel_post(struct qstash *q, struct tx *tx, const struct parcel *p);
/* n plain messages in few statements. n <= LIMIT_BULK. */
enum err parcels_post_plain(struct qstash *q, struct tx *tx, const struct parcel *const *p,
                            size_t n);
static inline bool parcel_is_plain(const struct parcel *p)
{
    return !p->queue.n && !p->flow_key.n && !p->holds_queue_id && !p->labels.n;
}

/* --- qstash/deliver/end.c: an attempt, and how it ended --- */

enum begin_verdict {
    BEGIN_GO,       /* the attempt is in the log; call */
    BEGIN_WAIT,     /* no room at a limiter: parcel_park() in the unit that ends the job */
    BEGIN_CANCELED, /* parcel_end_canceled() in the unit that ends the job */
    BEGIN_GONE,     /* the message has ended: the job just ends */
};
/* In a unit before the call. */
enum err parcel_begin(struct qstash *q, struct tx *tx, struct arena *a, const struct message *m,
                      struct parcel *ret_parcel, struct live *ret_live,
                      enum begin_verdict *ret_verdict);
/* The same for n plain messages at once: id and arena are given, the rest is filled. */
struct begun {
    struct uuid id;
    struct arena *arena;
    struct parcel parcel;
    struct live live; /* only retried and cancel */
    enum begin_verdict verdict;
};
enum err parcels_begin_plain(struct qstash *q, struct tx *tx, struct begun *b, size_t n);
/* In the unit that finishes the job. *ret_again_ms > 0: there is room meanwhile; put the job off
 * until then instead of finishing it. */
enum err parcel_park(struct qstash *q, struct tx *tx, const struct message *m,
                     const struct parcel *p, int64_t *ret_again_ms);
/* In the unit that puts the job off: the destination is not called for now. The message gives back
 * its flow key's token but keeps its queue's slot, since the messages behind it have to wait. */
enum err parcel_yield(struct qstash *q, struct tx *tx, const struct message *m);

/* In the unit that finishes the job: the message was cancelled during an attempt. */
enum err parcel_end_canceled(struct qstash *q, struct tx *tx, const struct message *m,
                             const struct parcel *p);

struct attempt {                         /* one call, as it ended */
    int status;                          /* 0: no answer */
    bool delivered, fatal;               /* fatal: 489 and its header; no retry */
    struct str error;                    /* empty: the whole answer arrived */
    struct str response_header;          /* {"Name":["value"]} */
    struct str response_body;            /* LIMIT_QSTASH_ANSWER at most */
    int64_t next_delay_ms;               /* until the next try, if there is one */
    struct uuid callback_id, failure_id; /* ids of the callbacks, made before the unit */
};
enum settled { SETTLED_DELIVERED, SETTLED_RETRY, SETTLED_FAILED, SETTLED_CANCELED, SETTLED_GONE };
/* In the unit that ends the attempt: log, callbacks, limiters, dead letter. *ret_again_ms > 0: when
 * the job runs again; else the job is finished. */
enum err parcel_settle(struct qstash *q, struct tx *tx, struct arena *a, const struct message *m,
                       const struct parcel *p, const struct attempt *at, enum settled *ret_settled,
                       int64_t *ret_again_ms);
/* The job was buried: the same as a last attempt without an answer. */
enum err parcel_give_up(struct qstash *q, struct tx *tx, struct uuid id, struct str why);

/* Cancels up to n messages (LIMIT_QSTASH_CANCEL at most). One with an attempt under way is only
 * marked: no other attempt follows. *ret_count: how many were pending. */
enum err parcels_cancel(struct qstash *q, struct tx *tx, const struct uuid *ids, size_t n,
                        int64_t *ret_count);

/* --- its job --- */

#define QSTASH_DELIVER_KIND S("qstash.deliver")
#define QSTASH_WINDOW_KIND S("qstash.window")
#define QSTASH_SWEEP_KIND S("qstash.sweep")

/* What the job's body says: enough to decide about the call before anything is read. */
struct job_text {
    bool gated; /* the message has a queue or a flow key */
    int64_t bytes;
    struct str host;
};
bool job_text_read(struct str body, struct job_text *ret_text);

/* --- dlqId and message ids on the wire --- */

enum { MESSAGE_ID_TEXT = 36 }; /* "msg_" and 32 hex digits */
void message_id_text(struct uuid id, char text[MESSAGE_ID_TEXT + 1]);
bool message_id_parse(struct str text, struct uuid *ret_id);
