/* replay.h - applies an event that has an outcome once more, through the queue. Its stored bytes are
 * applied again (decision 0006). The state machines keep the effect from happening twice: what was
 * applied before is "same" or "superseded". */
#pragma once

#include "base/why.h"
#include "dlq/redrive.h"

/* redrives.replay */
enum err replay_event(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                      struct replay_found *ret_found, struct why *why);
