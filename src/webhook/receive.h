/* receive.h - the unit that makes an event durable: its row and its message in one commit, once per
 * event id. Many requests of one moment share the statements. */
#pragma once

#include "observe/trace.h"
#include "queue/queue.h"
#include "webhook/event.h"

struct receive {
    struct unit unit;

    /* in: all of it lives until the unit comes home */
    struct queue *queue;
    struct stripe_event event;
    struct str body, request_id;
    struct str job; /* the message's body */
    char trace[TRACE_TEXT + 1];
    int64_t received_ms;
    struct uuid new_id; /* its message, if the event is new */

    /* out */
    bool duplicate;
    struct uuid message_id; /* of the first one */
};

extern const struct unit_kind receive_kind;
