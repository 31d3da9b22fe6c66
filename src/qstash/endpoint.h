/* endpoint.h - one call of the /v2/ API: who asks, for what, and how it is answered. Errors are
 * {"error":"..."}, as the SDK expects them; every 2xx has a JSON body, since the SDK parses it. */
#pragma once

#include "base/buf.h"
#include "http/http.h"
#include "qstash/qstash.h"

enum { VISIT_PARAMS = 2 };

struct visit {
    struct qstash *q;
    struct request *r;
    struct str param[VISIT_PARAMS]; /* the {} of the route, decoded */
    struct str rest;  /* what * stands for: raw, as it came; a destination may have any bytes */
    struct str query; /* raw, without '?'; the destination's own on publish, enqueue, schedules */
    void *more;       /* the handler's */
};

/* Each answers the request once, now or later on its loop. The visit lives in the request's arena.
 */
typedef void (*visit_fn)(struct visit *v);

void visit_buf(struct visit *v, int status,
               struct buf *b);    /* and releases it; 503 where it failed */
void visit_done(struct visit *v); /* 200 and {} */
void visit_error(struct visit *v, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void visit_err(struct visit *v, enum err e); /* what a unit said; 404 has no words of its own */

/* The value of one query key, decoded; empty: not there. */
struct str visit_query(struct visit *v, struct str key);

/* qstash/publish/publish.c */
void qstash_publish(struct visit *v);
void qstash_enqueue(struct visit *v);
void qstash_batch(struct visit *v);
/* messages.c */
void qstash_message_get(struct visit *v);
void qstash_message_cancel(struct visit *v);
void qstash_messages_cancel(struct visit *v);
/* logs.c */
void qstash_logs(struct visit *v);
/* qstash/dlq/dlq.c */
void qstash_dlq_list(struct visit *v);
void qstash_dlq_get(struct visit *v);
void qstash_dlq_delete(struct visit *v);
void qstash_dlq_delete_many(struct visit *v);
void qstash_dlq_retry(struct visit *v);     /* by ids or filter */
void qstash_dlq_retry_one(struct visit *v); /* by path; headers override */
/* qstash/admin/queues.c */
void qstash_queue_upsert(struct visit *v);
void qstash_queue_list(struct visit *v);
void qstash_queue_get(struct visit *v);
void qstash_queue_delete(struct visit *v);
void qstash_queue_pause(struct visit *v);
void qstash_queue_resume(struct visit *v);
/* qstash/schedule/schedules.c */
void qstash_schedule_create(struct visit *v);
void qstash_schedule_list(struct visit *v);
void qstash_schedule_get(struct visit *v);
void qstash_schedule_delete(struct visit *v);
void qstash_schedule_pause(struct visit *v);
void qstash_schedule_resume(struct visit *v);
/* qstash/admin/groups.c */
void qstash_group_add(struct visit *v);
void qstash_group_remove(struct visit *v);
void qstash_group_list(struct visit *v);
void qstash_group_get(struct visit *v);
void qstash_group_delete(struct visit *v);
/* qstash/admin/flow_control.c */
void qstash_flow_list(struct visit *v);
void qstash_flow_get(struct visit *v);
void qstash_flow_pause(struct visit *v);
void qstash_flow_resume(struct visit *v);
void qstash_flow_pin(struct visit *v);
void qstash_flow_unpin(struct visit *v);
void qstash_flow_reset_rate(struct visit *v);
void qstash_global_parallelism(struct visit *v);
/* qstash/admin/keys.c */
void qstash_keys_get(struct visit *v);
void qstash_keys_rotate(struct visit *v);
