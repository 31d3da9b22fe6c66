/* replay.h - an event that has its outcome is applied once more, through the queue as the first
 * time: what was applied before is the same or superseded then (decision 0006 keeps its bytes, the
 * state machines keep its effect from happening twice). */
#pragma once

#include "base/why.h"
#include "dlq/redrive.h"

/* redrives.replay */
enum err replay_event(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                      struct replay_found *ret_found, struct why *why);
