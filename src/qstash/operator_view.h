/* operator_view.h - queues and schedules as operators see, pause and resume them (O8): the same
 * rows and the same changes as by the API, without its token. */
#pragma once

#include "qstash/qstash.h"

/* Pause or resume (qstash/admin/queues.c, qstash/schedule/schedules.c). Repeating it changes
 * nothing. NOT_FOUND, also for a name that is not valid. */
enum err qstash_queue_hold(struct qstash *q, struct tx *tx, struct str name, bool paused);
enum err qstash_schedule_hold(struct tx *tx, struct arena *a, struct str id, bool paused);
bool qstash_name_can_be(struct str name);

/* Writes {"name","parallelism","paused","lag","running"} for each queue, separated by commas, at
 * most LIMIT_QSTASH_QUEUES; or only for the queue of that name, else NOT_FOUND. */
enum err qstash_queues_seen(struct tx *tx, struct buf *out);
enum err qstash_queue_seen(struct tx *tx, struct str name, struct buf *out);

/* {"id","source":"qstash","cron","destination","kind","paused","nextAt","lastAt","error"}, the
 * first `limit` after `after`. *ret_count: how many were written; *ret_last: the last id. */
enum err qstash_schedules_seen(struct tx *tx, struct arena *a, struct str after, int limit,
                               struct buf *out, int *ret_count, struct str *ret_last);
enum err qstash_schedule_seen(struct tx *tx, struct str id, struct buf *out);
