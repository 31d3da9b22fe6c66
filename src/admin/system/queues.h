/* queues.h - the queue as operators see it (O8): what waits, by kind; the queues and schedules of
 * the QStash API, which can be held and let go; and the jobs of our own that come round by
 * themselves. */
#pragma once

#include "auth/auth.h"
#include "base/buf.h"
#include "http/http.h"
#include "store/store.h"

/* The QStash API's side, which lives on the same floor: cli/ hands it down. See qstash/operator_view.h. */
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

/* --- for both files --- */

struct hold { /* an act on a queue or a schedule: one request, in its own arena */
    const char *verb;
    bool paused;
    enum err (*set)(struct tx *tx, struct arena *a, const struct api_queues *api, struct str name,
                    bool paused);
    enum err (*show)(struct tx *tx, const struct api_queues *api, struct str name, struct buf *out);
};
/* Set, written down with who did it, and shown, in one commit. 404: there is none of that name. */
void queue_hold(struct request *r, const struct api_queues *api, const struct principal *p,
                const struct hold *how);
