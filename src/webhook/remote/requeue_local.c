#include "webhook/remote/requeue_local.h"

#include "event/apply_event.h"
#include "webhook/receive.h"

enum err requeue_local_find(struct tx *tx, struct arena *a, struct str event_id,
                            struct requeue_local_row *ret_row)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_event_whole, &row, V_TEXT(event_id));

    if (e)
        return e;
    *ret_row = (struct requeue_local_row){ .type = arena_str(a, row.col[0].s),
                                           .trace = arena_str(a, row.col[1].s),
                                           .body = arena_str(a, row.col[2].s) };
    return ret_row->type.p && ret_row->trace.p && ret_row->body.p ? OK : ERR_NO_MEMORY;
}

enum err requeue_local_read(struct arena *a, const struct requeue_local_row *row,
                            struct requeue_local *ret_requeue)
{
    struct requeue_local *t = ret_requeue;
    enum err e = stripe_event_read(a, row->body, &t->event);

    if (e)
        return e;
    if (!t->event.readable) /* the endpoint adds no message for such an event */
        return ERR_VALIDATION;
    t->job = receive_job(a, &t->event, row->trace);
    return t->job.p ? OK : ERR_NO_MEMORY;
}

enum err requeue_local_add(struct tx *tx, const struct publisher *p, const struct requeue_local *t,
                           const struct event_state *s, int64_t now_ms)
{
    struct queue_new m = { .id = s->message,
                           .kind = APPLY_EVENT_KIND,
                           .ref = t->event.id,
                           .body = t->job,
                           .has_lane = t->event.has_lane,
                           .lane = t->event.lane,
                           .due_ms = now_ms };

    return queue_add(p->payments->runtime.queue, tx, s->received_ms, &m, 1);
}
