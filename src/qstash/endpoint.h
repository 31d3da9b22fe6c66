/* endpoint.h - requests to the /v2/ API: token, route and answers. Errors are {"error":"..."}, as
 * the SDK expects them; every 2xx has a JSON body, since the SDK parses it. */
#pragma once

#include "base/buf.h"
#include "http/http.h"
#include "qstash/qstash.h"

enum { QSTASH_PARAMS = 2 };

struct qstash_request {
    struct qstash *q;
    struct request *r;
    struct str param[QSTASH_PARAMS]; /* the {} of the route, decoded */
    struct str rest;  /* what the * of the route matched: raw: destinations have any bytes */
    struct str query; /* raw, without '?'; part of the destination on publish, enqueue, schedules */
    void *more;       /* owned by the handler */
};

/* A handler answers the request once, now or later on its loop. v is in the request's arena. */
typedef void (*qstash_handler)(struct qstash_request *v);

void qstash_reply(struct qstash_request *v, int status,
                  struct buf *b);                  /* releases b; 503 if b has failed */
void qstash_reply_empty(struct qstash_request *v); /* 200 and {} */
void qstash_reply_error(struct qstash_request *v, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void qstash_reply_err(struct qstash_request *v,
                      enum err e); /* the error of a unit, in general words */

/* The decoded value of a query key; empty: not there. */
struct str qstash_request_query(struct qstash_request *v, struct str key);

/* qstash/publish/publish.c */
void qstash_publish(struct qstash_request *v);
void qstash_enqueue(struct qstash_request *v);
void qstash_batch(struct qstash_request *v);
/* messages.c */
void qstash_message_get(struct qstash_request *v);
void qstash_message_cancel(struct qstash_request *v);
void qstash_messages_cancel(struct qstash_request *v);
/* logs.c */
void qstash_logs(struct qstash_request *v);
/* qstash/dlq/dlq.c */
void qstash_dlq_list(struct qstash_request *v);
void qstash_dlq_get(struct qstash_request *v);
void qstash_dlq_delete(struct qstash_request *v);
void qstash_dlq_delete_many(struct qstash_request *v);
void qstash_dlq_retry(struct qstash_request *v);     /* by ids or filter */
void qstash_dlq_retry_one(struct qstash_request *v); /* by path; headers override */
/* qstash/admin/queues.c */
void qstash_queue_upsert(struct qstash_request *v);
void qstash_queue_list(struct qstash_request *v);
void qstash_queue_get(struct qstash_request *v);
void qstash_queue_delete(struct qstash_request *v);
void qstash_queue_pause(struct qstash_request *v);
void qstash_queue_resume(struct qstash_request *v);
/* qstash/schedule/schedules.c */
void qstash_schedule_create(struct qstash_request *v);
void qstash_schedule_list(struct qstash_request *v);
void qstash_schedule_get(struct qstash_request *v);
void qstash_schedule_delete(struct qstash_request *v);
void qstash_schedule_pause(struct qstash_request *v);
void qstash_schedule_resume(struct qstash_request *v);
/* qstash/admin/groups.c */
void qstash_group_add(struct qstash_request *v);
void qstash_group_remove(struct qstash_request *v);
void qstash_group_list(struct qstash_request *v);
void qstash_group_get(struct qstash_request *v);
void qstash_group_delete(struct qstash_request *v);
/* qstash/admin/flow_control.c */
void qstash_flow_list(struct qstash_request *v);
void qstash_flow_get(struct qstash_request *v);
void qstash_flow_pause(struct qstash_request *v);
void qstash_flow_resume(struct qstash_request *v);
void qstash_flow_pin(struct qstash_request *v);
void qstash_flow_unpin(struct qstash_request *v);
void qstash_flow_reset_rate(struct qstash_request *v);
void qstash_global_parallelism(struct qstash_request *v);
/* qstash/admin/keys.c */
void qstash_keys_get(struct qstash_request *v);
void qstash_keys_rotate(struct qstash_request *v);
