/* answer.h - what an answer of FCM means for a push. Pure. */
#pragma once

#include "base/str.h"

struct fcm_verdict {
    enum fcm_end {
        FCM_SENT,
        FCM_LATER,
        FCM_NEVER,
        FCM_GONE,    /* there is no such device any more */
        FCM_UNKNOWN, /* it may have been sent */
        FCM_REFRESH, /* the access token is not taken: once more with another */
    } end;
    int64_t retry_after_ms; /* FCM_LATER; -1: by the policy */
    bool alarm;             /* nothing is wrong with this push, but with the set-up */
    int row;                /* below FCM_ROWS: alarms of one kind are told together */
    const char *code;       /* a word of ours: nothing of theirs is shown */
};

enum { FCM_ROWS = 32 };

/* status: of HTTP, not 0. retry_after: the header, empty: none. body: may be anything. wall_ms: the
 * calendar's, for a Retry-After that is a date. */
struct fcm_verdict fcm_answer(int status, struct str retry_after, struct str body, int64_t wall_ms);
