/* sending.h - one send: shared by last_check.c, which decides whether it goes out, and send.c,
 * which does the rest. Only notify/ includes this. */
#pragma once

#include "base/why.h"
#include "notify/notify.h"
#include "observe/span.h"

enum { SECOND = 1000 };

enum outcome {
    OUTCOME_GO,       /* marked as `sending`: the transport is called */
    OUTCOME_OVER,     /* ended before */
    OUTCOME_SKIPPED,  /* not needed any more; the row is marked */
    OUTCOME_UNKNOWN,  /* a server died while it was sending this */
    OUTCOME_GIVEN_UP, /* no tries left */
    OUTCOME_NOT_HERE, /* this node lacks the transport */
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
    struct arena arena; /* for the outgoing message and the transport */
    struct unit unit;
    struct uuid user, participant;
    struct parcel_out outgoing;
    enum outcome outcome;
    int64_t tries;     /* including this one */
    int64_t waited_ms; /* for a node that has the transport */
    struct span span;
    struct why why;
};

/* The unit's run. STALE: the row was changed between the check and the mark. */
enum err send_mark(struct tx *tx, struct unit *u);

/* The wait after so many tries, about a day in all. Below 0: that was the last try. */
int64_t send_delay_ms(int64_t tries, int64_t retry_after_ms);

/* The wait until the next look for a node that has the transport: grows with waited_ms. */
int64_t notify_pause_ms(int64_t waited_ms);

void *send_cell(struct env *env, enum channel c, enum result r);
/* Counts after the commit. */
void send_count(struct tx *tx, struct env *env, enum channel c, enum result r);
