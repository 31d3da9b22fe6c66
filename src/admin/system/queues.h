/* queues.h - queues and schedules for operators (O8): the live messages by kind, the queues and
 * schedules of the QStash API, which can be paused and resumed, and our own standing jobs. */
#pragma once

#include "auth/auth.h"
#include "base/buf.h"
#include "http/http.h"
#include "store/store.h"

/* What operators may do with the QStash API (qstash/operator_view.h); server/ fills it in. */
struct queue_door {
    void *qstash;
    bool (*can_be)(struct str name);
    enum err (*queues)(struct tx *tx, struct buf *out);
    enum err (*queue)(struct tx *tx, struct str name, struct buf *out);
    enum err (*hold_queue)(void *qstash, struct tx *tx, struct str name, bool paused);
    enum err (*schedules)(struct tx *tx, struct arena *a, struct str after, int limit,
                          struct buf *out, int *ret_count, struct str *ret_last);
    enum err (*schedule)(struct tx *tx, struct str id, struct buf *out);
    enum err (*hold_schedule)(struct tx *tx, struct arena *a, struct str id, bool paused);
};

struct api_queues {
    struct store *store;
    struct queue_door door;
};

/* ctx: struct api_queues */
void api_queue_list(struct request *r, void *ctx, const struct principal *p);
void api_queue_pause(struct request *r, void *ctx, const struct principal *p);
void api_queue_resume(struct request *r, void *ctx, const struct principal *p);
/* These three are in schedules.c. */
void api_schedule_list(struct request *r, void *ctx, const struct principal *p);
void api_schedule_pause(struct request *r, void *ctx, const struct principal *p);
void api_schedule_resume(struct request *r, void *ctx, const struct principal *p);

/* --- shared by queues.c and schedules.c --- */

struct pause_action { /* pausing or resuming a queue or a schedule */
    const char *verb;
    bool paused;
    enum err (*set)(struct tx *tx, struct arena *a, const struct api_queues *api, struct str name,
                    bool paused);
    enum err (*show)(struct tx *tx, const struct api_queues *api, struct str name, struct buf *out);
};
/* Sets the state, adds the audit line and reads the answer in one commit. 404: the name is
 * unknown. */
void queue_set_paused(struct request *r, const struct api_queues *api, const struct principal *p,
                      const struct pause_action *how);
