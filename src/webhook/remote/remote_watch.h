/* remote_watch.h - watches an event that a remote QStash accepted, with a message that stays until
 * the event has its outcome (Q5). Without it an event would be lost if the remote lost it, delivered
 * it to an old address of ours, or was switched off. */
#pragma once

#include "webhook/remote/publish.h"

#define REMOTE_WATCH_KIND S("webhook.watch")

struct job_kind watch_kind(struct publisher *p); /* "webhook.watch"; its ref is the event's id */

/* In the commit that ends the publish: begins to watch an open event. */
enum err remote_watch_begin(struct tx *tx, const struct publisher *p, struct str event_id,
                            int64_t now_ms);
/* In the commit that gives an event its outcome, under its lock; message: the event's own. So the
 * live watches are the events that have not come back. */
enum err remote_watch_end(struct tx *tx, struct queue *q, struct uuid message, int64_t now_ms);
