#include "webhook/remote/requeue_local.h"

#include "event/apply_event.h"
#include "webhook/receive.h"

enum err takeback_find(struct tx *tx, struct arena *a, struct str event_id,
                       struct takeback_row *ret_row)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_event_whole, &row, V_TEXT(event_id));

    if (e)
        return e;
    *ret_row = (struct takeback_row){ .type = arena_str(a, row.col[0].s),
                                      .trace = arena_str(a, row.col[1].s),
                                      .body = arena_str(a, row.col[2].s) };
    return ret_row->type.p && ret_row->trace.p && ret_row->body.p ? OK : ERR_NO_MEMORY;
}

enum err takeback_read(struct arena *a, const struct takeback_row *row,
                       struct takeback *ret_takeback)
{
    struct takeback *t = ret_takeback;
    enum err e = stripe_event_read(a, row->body, &t->event);

    if (e)
        return e;
    if (!t->event.readable) /* the door lets no such event get a message */
        return ERR_VALIDATION;
    t->job = receive_job(a, &t->event, row->trace);
    return t->job.p ? OK : ERR_NO_MEMORY;
}

enum err takeback_give(struct tx *tx, const struct publisher *p, const struct takeback *t,
                       const struct standing *s, int64_t now_ms)
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
