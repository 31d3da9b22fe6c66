/* answer.h - what FCM's answer means for a push. Pure. */
#pragma once

#include "base/str.h"

struct fcm_verdict {
    enum fcm_end {
        FCM_SENT,
        FCM_LATER,
        FCM_NEVER,
        FCM_GONE,    /* the device does not exist any more */
        FCM_UNKNOWN, /* it may have been sent */
        FCM_REFRESH, /* the access token was rejected: once more with a new one */
    } end;
    int64_t retry_after_ms; /* FCM_LATER; -1: by the retry policy */
    bool alarm;             /* the configuration is wrong, not this push */
    int row;                /* below FCM_ROWS: the kind of alarm */
    const char *code;       /* from our table; never text from the answer */
};

enum { FCM_ROWS = 32 };

/* status: of HTTP, not 0. retry_after: the header, empty: none. body: any bytes. wall_ms: the wall
 * clock, for a Retry-After that is a date. */
struct fcm_verdict fcm_answer(int status, struct str retry_after, struct str body, int64_t wall_ms);
