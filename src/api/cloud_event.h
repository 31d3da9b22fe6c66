/* cloud_event.h - CloudEvents 1.0 over HTTP, in its three forms, read into what we do with them. */
#pragma once

#include "endpoint/fields.h"

struct cloud_event {
    struct str key;  /* source, a blank, id: sources have no blanks */
    struct str type; /* as it came */
    bool is_booking; /* one that we apply; `change` says what */
    struct booking_change change;
};

/* ce- headers and not one of the CloudEvents content types. */
bool cloud_event_is_binary(const struct request *r);

/* All events of the request, in the request's arena. False: 400 with every bad field, or 415, was
 * answered. */
bool cloud_events_read(struct request *r, struct cloud_event **ret_events,
                       size_t *ret_count) ANSWERS;
