/* rows.h - what the files of this folder that move parcels share. */
#pragma once

#include "qstash/message.h"

/* --- rows.c --- */

enum { PARCEL_VALUES = 24, LOG_VALUES = 8, FLOW_JSON = 96 };

/* The parameters of qstash_message_add; they borrow p and flow. */
void parcel_values(const struct parcel *p, char flow[FLOW_JSON], struct val v[PARCEL_VALUES]);
void log_values(const struct log_entry *e, struct val v[LOG_VALUES]);
/* By which filters find it. dead_seq: of its row in qstash_dead; 0: it lives. */
enum err labels_add(struct tx *tx, const struct parcel *p, int64_t dead_seq);
enum err labels_remove(struct tx *tx, const struct parcel *p, int64_t dead_seq);

/* The row, and as much of the parcel as parcel_leave() looks at: of a hundred that is little,
 * however large their headers are. NOT_FOUND: it has ended. */
enum err live_read_to_leave(struct tx *tx, struct arena *a, struct uuid id, struct live *ret_live,
                            struct parcel *ret_parcel);

/* --- qstash/deliver/limiter.c --- */

struct queue_gate { /* a row of qstash_queues, locked */
    int64_t id;     /* 0: the parcel has no queue */
    int64_t parallelism, running, lag;
    bool paused;
    bool deleted; /* it lost its name: nothing enters it any more */
};

struct flow_gate {  /* a row of qstash_flows, locked */
    struct str key; /* empty: the parcel has no flow key */
    struct flow_limits limits;
    bool paused;
    int64_t running, waiting, started, period_from_ms, wake_ms;
};

struct gates {
    struct queue_gate queue;
    struct flow_gate flow;
};

/* Takes both locks, in the order in which everybody takes them. 0 and empty: that gate is not
 * wanted. */
enum err gates_take(struct tx *tx, int64_t queue_id, struct str flow_key);
/* The rows, under those locks. One that is gone is as one that is not wanted. */
enum err gates_read(struct tx *tx, int64_t queue_id, struct str flow_key, struct gates *ret_gates);
/* Both. */
enum err gates_lock(struct tx *tx, int64_t queue_id, struct str flow_key, struct gates *ret_gates);
/* The lanes that gates_lock() takes for it; returns how many of the two. */
size_t gate_lanes(const struct live *l, int64_t lanes[2]);
/* How often a queue is looked for that somebody deletes each time before we have its lock. */
enum { QUEUE_TRIES = 20 };
/* The queue of that name, made where it is not there. UNPROCESSABLE: QUEUES_FULL. */
enum err queue_make(struct tx *tx, struct str name, int64_t now_ms);
enum err queue_id_of(struct tx *tx, struct str name, int64_t now_ms, int64_t *ret_id);

/* How many attempts may begin now; a period that is over makes room for the next. */
int64_t flow_room(struct flow_gate *f, int64_t now_ms);

/* Gives what the gates have room for, and writes their rows. After every change of their counts. */
enum err gates_settle(struct qstash *q, struct tx *tx, struct gates *g, int64_t now_ms);
/* Only writes their rows, and sees to the next period. */
enum err gates_save(struct qstash *q, struct tx *tx, struct gates *g, int64_t now_ms);

/* The body of a parcel's message, which job_text_read() reads. */
enum { JOB_TEXT = 320 };
struct str job_text(bool gated, int64_t bytes, struct str host, char text[JOB_TEXT]);

/* What a live parcel held is given back. It has ended, or (ended false) tries again later. */
void gates_leave(struct gates *g, const struct live *l, bool ended);

/* --- qstash/deliver/end.c --- */

/* It has ended: its row goes, what it held is given on. Of p only id, flow key and labels count. */
enum err parcel_leave(struct qstash *q, struct tx *tx, const struct parcel *p,
                      const struct live *l);
