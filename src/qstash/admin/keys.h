/* keys.h - the two keys that sign deliveries. Signing uses `current`. A receiver accepts both keys,
 * so it keeps working over one rotation. They stand in qstash_keys, and what this node signs with in
 * auth/upstash.h. */
#pragma once

#include "qstash/qstash.h"

/* In the unit before a call, on whatever thread: the node knows its keys from here on. Where others
 * may have rotated them since, they are read again, at most once in LIMIT_QSTASH_KEYS_MS, so that
 * nothing is signed with keys that were given up longer ago than that. */
enum err keys_follow(struct qstash *q, struct tx *tx);

/* Once on a node, at start or when they are first needed: the keys as they stand, or as the
 * settings have them, where those say something new. */
enum err keys_begin(struct tx *tx, struct qstash *q);
