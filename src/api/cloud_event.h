/* cloud_event.h - reads CloudEvents 1.0 over HTTP in the three forms of the specification. */
#pragma once

#include "endpoint/fields.h"

struct cloud_event {
    struct str key;  /* source, a blank, id; unambiguous, since a source has no blanks */
    struct str type; /* as received */
    bool is_booking; /* a type that we apply; `change` holds its content */
    struct booking_change change;
};

/* The binary form: ce- headers, and none of the CloudEvents content types. */
bool cloud_event_is_binary(const struct request *r);

/* All events of the request, in the request's arena. False: 400 with every bad field, or 415, was
 * answered. */
bool cloud_events_read(struct request *r, struct cloud_event **ret_events,
                       size_t *ret_count) ANSWERS;
