/* timeline.h - everything that happened to one payment, in one list (O7): calls, replays, gateway
 * tries, events with their duplicates, failed jobs, dead letters, notifications, acts of operators,
 * and state changes.
 *
 *   (1) It only reads what other modules store. Of each source it reads the newest
 *       LIMIT_TIMELINE_ROWS rows; `truncated` says that there are more.
 *   (2) Oldest first. Entries of one millisecond stand in causal order: a call before its tries,
 *       those before the changes that they caused.
 *   (3) No card data, no secret, no full mail address, whatever wrote the text (A6). */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"
#include "store/tx.h"

/* The answer of GET /api/v1/admin/payments/{id}/timeline, in the arena. NOT_FOUND. */
enum err timeline_read(struct tx *tx, struct arena *a, struct uuid payment, struct str *ret_json);
