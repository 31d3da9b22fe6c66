/* operator_view.h - queues and schedules as operators see and hold them (O8): the same rows and the same
 * changes as by the door, without its token. */
#pragma once

#include "qstash/qstash.h"

/* qstash/admin/queues.c, qstash/schedule/schedules.c. NOT_FOUND. What is so already stays so. A name that can be none is not
 * found either. */
enum err qstash_queue_hold(struct qstash *q, struct tx *tx, struct str name, bool paused);
enum err qstash_schedule_hold(struct tx *tx, struct arena *a, struct str id, bool paused);
bool qstash_name_can_be(struct str name);

/* Each adds objects, with commas between them: {"name","parallelism","paused","lag","running"},
 * LIMIT_QSTASH_QUEUES of them at most; or the one of that name, NOT_FOUND. */
enum err qstash_queues_seen(struct tx *tx, struct buf *out);
enum err qstash_queue_seen(struct tx *tx, struct str name, struct buf *out);

/* {"id","source":"qstash","cron","destination","kind","paused","nextAt","lastAt","error"}, the
 * `limit` behind `after`. *ret_count: how many there were, and *ret_last is the id of the last. */
enum err qstash_schedules_seen(struct tx *tx, struct arena *a, struct str after, int limit,
                               struct buf *out, int *ret_count, struct str *ret_last);
enum err qstash_schedule_seen(struct tx *tx, struct str id, struct buf *out);
