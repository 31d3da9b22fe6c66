/* sending.h - one send on its way: between last_check.c, which decides whether it goes, and send.c,
 * which does the rest. Only notify/ includes it. */
#pragma once

#include "base/why.h"
#include "notify/notify.h"
#include "observe/span.h"

enum { SECOND = 1000 };

enum outcome {
    OUTCOME_GO,       /* marked: the transport decides the rest */
    OUTCOME_OVER,     /* it has ended before */
    OUTCOME_SKIPPED,  /* nobody wants it any more, and the row says so */
    OUTCOME_UNKNOWN,  /* somebody had begun to send it, and died */
    OUTCOME_GIVEN_UP, /* tried often enough */
    OUTCOME_NOT_HERE, /* this node has no such transport */
};

/* In the order of the metric's label values. */
enum result {
    RESULT_SENT,
    RESULT_FAILED,
    RESULT_UNKNOWN,
    RESULT_SKIPPED,
    RESULT_LATER,
    RESULT_PUT_OFF,
};

struct sending {
    struct job *job;
    struct notify *notify;
    enum channel channel;
    struct arena arena; /* of the parcel, and the transport's */
    struct unit unit;
    struct uuid user, participant;
    struct parcel_out parcel;
    enum outcome outcome;
    int64_t tries;     /* this one included */
    int64_t waited_ms; /* for a node with its transport */
    struct span span;
    struct why why;
};

/* The unit's run. STALE: it was called off meanwhile. */
enum err send_mark(struct tx *tx, struct unit *u);

/* When again, after so many tries: about a day in all. Below 0: that was the last try. */
int64_t send_delay_ms(int64_t tries, int64_t retry_after_ms);

/* Until a node may be there that has the transport, after so long without. */
int64_t notify_pause_ms(int64_t waited_ms);

void *send_cell(struct env *env, enum channel c, enum result r);
void send_count(struct tx *tx, struct env *env, enum channel c, enum result r); /* once committed */
