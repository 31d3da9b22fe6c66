/* publish_one.h - storing up to n new messages in the units of publish and batch. A message that
 * repeats another one (section 10 of the reference) is not stored: the answer has the first one's
 * id. */
#pragma once

#include "qstash/publish/input.h"

struct buf;

struct posting {
    struct parcel parcel; /* complete, with its id and its times */
    bool has_key;
    unsigned char key[DEDUP_KEY];
    /* set by postings_store(), anew each time */
    bool refused; /* QUEUES_FULL; it was not stored */
    bool duplicate;
    struct uuid answer; /* its own id, or the first one's */
};

/* For a URL, or one member of a group. The message's url must be set: the key depends on it. */
void posting_init(struct posting *p, const struct input *in, struct uuid id, int64_t now_ms);

/* Stores them in this order, in one unit; at most LIMIT_QSTASH_ENDPOINTS of one group, else
 * LIMIT_BULK. CONFLICT: an earlier run of the same unit had committed after all; everything is
 * stored, and the answers are set. */
enum err postings_store(struct qstash *q, struct tx *tx, struct posting *const *p, size_t n);

/* {"messageId":"...","deduplicated":true}; with_url: a member of a group, with "url". */
void posting_write(struct buf *b, const struct posting *p, bool with_url);
