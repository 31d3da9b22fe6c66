/* remote_watch.h - an event that a remote QStash has taken is not out of our hands: until it has its
 * outcome a message here stands for it (Q5). Nobody else would miss it, should the remote lose it,
 * should it deliver to an address that is not ours any more, or should we leave the remote. */
#pragma once

#include "webhook/remote/publish.h"

#define WATCH_KIND S("webhook.watch")

struct job_kind watch_kind(struct publisher *p); /* "webhook.watch"; its ref is the event's id */

/* In the commit that ends the publish: an event that is open is watched. */
enum err watch_begin(struct tx *tx, const struct publisher *p, struct str event_id, int64_t now_ms);
/* In the commit that gives an event its outcome, under its lock; message: its own. So what is live
 * are the events that have not come back. */
enum err watch_end(struct tx *tx, struct queue *q, struct uuid message, int64_t now_ms);
