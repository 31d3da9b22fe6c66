/* timeline.h - all that happened to one payment, in one list (O7): calls, replays, tries towards
 * the gateway, events with their duplicates, failed tries of the queue, dead letters, what people
 * were told, what operators did, and how the payment moved.
 *
 *   (1) It only reads what others keep; nothing is made up. Of each source LIMIT_TIMELINE_ROWS, the
 *       newest; where there is more, truncated says so.
 *   (2) Oldest first. What has the same millisecond stands in the order in which it has to have
 *       happened: a call before its tries, those before what they moved.
 *   (3) No card, no secret, no mail address in full (A6), whoever wrote the text. */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"
#include "store/tx.h"

/* As GET /api/v1/admin/payments/{id}/timeline answers, in the arena. NOT_FOUND. */
enum err timeline_read(struct tx *tx, struct arena *a, struct uuid payment, struct str *ret_json);
