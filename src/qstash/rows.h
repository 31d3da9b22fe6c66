/* rows.h - what the files that store and move messages share. */
#pragma once

#include "qstash/message.h"

/* --- rows.c --- */

enum { PARCEL_VALUES = 24, LOG_VALUES = 8, FLOW_JSON = 96 };

/* Copies a text of a row to the arena; NULL becomes the empty text. False: the arena is full. */
bool text_keep(struct arena *a, const struct val *v, struct str *ret_text);
/* The parameters of qstash_message_add; they borrow p and flow. */
void parcel_values(const struct parcel *p, char flow[FLOW_JSON], struct val v[PARCEL_VALUES]);
void log_values(const struct log_entry *e, struct val v[LOG_VALUES]);
/* The labels by which filters find it. dead_seq: of its row in qstash_dead; 0: it is live. */
enum err labels_add(struct tx *tx, const struct parcel *p, int64_t dead_seq);
enum err labels_remove(struct tx *tx, const struct parcel *p, int64_t dead_seq);

/* The row, and of the content only what parcel_leave() needs, so that cancelling a hundred messages
 * reads little. NOT_FOUND: it has ended. */
enum err live_read_to_leave(struct tx *tx, struct arena *a, struct uuid id, struct live *ret_live,
                            struct parcel *ret_parcel);

/* --- qstash/deliver/limiter.c --- */

struct queue_gate { /* a row of qstash_queues, locked */
    int64_t id;     /* 0: the message has no queue */
    int64_t parallelism, running, lag;
    bool paused;
    bool deleted; /* it has no name any more, and no message enters it */
};

struct flow_gate {  /* a row of qstash_flows, locked */
    struct str key; /* empty: the message has no flow key */
    struct flow_limits limits;
    bool paused;
    int64_t running, waiting, started, period_from_ms, wake_ms;
};

struct gates {
    struct queue_gate queue;
    struct flow_gate flow;
};

/* Takes both locks, in the order that all units keep. 0 or empty: without that limiter. */
enum err gates_take(struct tx *tx, int64_t queue_id, struct str flow_key);
/* Reads the rows, under those locks. A missing row counts as no limiter. */
enum err gates_read(struct tx *tx, int64_t queue_id, struct str flow_key, struct gates *ret_gates);
/* gates_take() and gates_read(). */
enum err gates_lock(struct tx *tx, int64_t queue_id, struct str flow_key, struct gates *ret_gates);
/* The lanes that gates_lock() takes for l; returns how many of the two. */
size_t gate_lanes(const struct live *l, int64_t lanes[2]);
/* How often a queue is looked up again that was deleted before we had its lock. */
enum { QUEUE_TRIES = 20 };
/* Creates the queue; queue_id_of() finds it or creates it. UNPROCESSABLE: QUEUES_FULL. */
enum err queue_make(struct tx *tx, struct str name, int64_t now_ms);
enum err queue_id_of(struct tx *tx, struct str name, int64_t now_ms, int64_t *ret_id);

/* How many attempts may begin now. Begins a new period if the last one is over. */
int64_t flow_room(struct flow_gate *f, int64_t now_ms);

/* Starts the messages that there is room for, and writes the rows. After every change of counts. */
enum err gates_settle(struct qstash *q, struct tx *tx, struct gates *g, int64_t now_ms);
/* Only writes the rows, and plans the wake-up for the next period. */
enum err gates_save(struct qstash *q, struct tx *tx, struct gates *g, int64_t now_ms);

/* The body of a message's job, which job_text_read() reads. */
enum { JOB_TEXT = 320 };
struct str job_text(bool gated, int64_t bytes, struct str host, char text[JOB_TEXT]);

/* Takes what a live message held off the counts: it has ended, or (ended false) tries again
 * later. */
void gates_leave(struct gates *g, const struct live *l, bool ended);

/* --- qstash/deliver/end.c --- */

/* It has ended: deletes its row and starts others in its place. Of p only id, flow key and labels
 * are read. */
enum err parcel_leave(struct qstash *q, struct tx *tx, const struct parcel *p,
                      const struct live *l);
