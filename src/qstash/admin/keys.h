/* keys.h - the two keys that sign deliveries. Signing uses `current`; a receiver accepts both,
 * so that it keeps working over one rotation. They are stored in qstash_keys; the copy that this
 * node signs with is in auth/upstash.h. */
#pragma once

#include "qstash/qstash.h"

/* Called in the unit before a delivery, on any thread; loads the keys if need be. If other nodes
 * may have rotated them, they are read again, at most once in LIMIT_QSTASH_KEYS_MS, so that nothing
 * is signed with keys that were replaced longer ago than that. */
enum err keys_follow(struct qstash *q, struct tx *tx);

/* Once on each node, at start or when they are first needed: loads the stored keys, or stores those
 * of the settings if the settings have changed. */
enum err keys_begin(struct tx *tx, struct qstash *q);
