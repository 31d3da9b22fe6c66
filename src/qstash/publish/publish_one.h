/* publish_one.h - parcels on their way into the store, as publish and batch make them in their units.
 * A posting that repeats another one (section 10 of the reference) is not stored: the first one's
 * id is its answer. */
#pragma once

#include "qstash/publish/input.h"

struct buf;

struct posting {
    struct parcel parcel; /* whole, with its id and its times */
    bool has_key;
    unsigned char key[DEDUP_KEY];
    /* set by postings_store(), anew each time */
    bool refused; /* QUEUES_FULL; nothing of it was stored */
    bool duplicate;
    struct uuid answer; /* its own id, or the first one's */
};

/* The posting of a URL, or of one member of a group: its url is set, its key follows from it. */
void posting_init(struct posting *p, const struct input *in, struct uuid id, int64_t now_ms);

/* In one unit, in this order; LIMIT_QSTASH_ENDPOINTS of one group at most, else LIMIT_BULK.
 * CONFLICT: an earlier run of the same unit was committed after all; then everything is as it
 * should be, and the answers are set. */
enum err postings_store(struct qstash *q, struct tx *tx, struct posting *const *p, size_t n);

/* {"messageId":"...","deduplicated":true}; with_url: a member's, with its "url". */
void posting_write(struct buf *b, const struct posting *p, bool with_url);
