/* replay.c - reads an event's state and outcome under its lock, and gives the caller the message that
 * applies the event again. It is part of the redrive's commit: a crash leaves the event as it was. */
#include "webhook/replay.h"

#include "base/limits.h"
#include "event/apply_event.h"
#include "event/refetch.h"
#include "webhook/edited_event.h"
#include "webhook/event_state.h"
#include "webhook/paypay.h"
#include "webhook/receive.h"
#include "webhook/reparse.h"

struct replay_source { /* the stored event, or its edited version */
    bool is_paypay, edited;
    struct str trace, body;
};

static enum err read_source(struct tx *tx, struct arena *a, struct str event_id,
                            struct replay_source *ret_source)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_replay_source, &row, V_TEXT(event_id));

    if (e)
        return e;
    ret_source->is_paypay = str_eq(row.col[0].s, S("paypay"));
    ret_source->trace = arena_str(a, row.col[3].s);
    ret_source->body = arena_str(a, row.col[4].s);
    ret_source->edited = !str_eq(row.col[4].s, row.col[5].s);
    return ret_source->trace.p && ret_source->body.p ? OK : ERR_NO_MEMORY;
}

static enum err stripe_message(struct arena *a, const struct replay_source *s, struct queue_new *m,
                               struct why *why)
{
    struct stripe_event event;
    enum err e = stripe_event_read(a, s->body, &event);

    if (e)
        return e;
    if (!event.readable)
        return why_err(why, ERR_UNPROCESSABLE, "what was received cannot be read");
    m->kind = APPLY_EVENT_KIND;
    m->has_lane = event.has_lane;
    m->lane = event.lane;
    if (s->edited)
        return edited_job(a, &event, s->trace, &m->body, why);
    m->body = receive_job(a, &event, s->trace);
    return m->body.p ? OK : ERR_NO_MEMORY;
}

static enum err paypay_message(struct arena *a, const struct replay_source *s, struct queue_new *m,
                               struct why *why)
{
    enum err e;

    m->kind = PAYPAY_REFETCH_KIND;
    e = paypay_job(a, m->id, s->body, s->trace, &m->body);
    return e == ERR_VALIDATION ? why_err(why, ERR_UNPROCESSABLE, "what was received cannot be read")
                               : e;
}

/* The first outcome stays (event/outcome.h); only the outcome "dead" is removed, since nothing became
 * of the event. STALE: the outcome is gone. */
static enum err take_outcome(struct tx *tx, struct uuid message, struct replay_found *f)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_replay_outcome, &row, V_BLOB(uuid_bytes(&message)));

    if (e)
        return e == ERR_NOT_FOUND ? ERR_STALE : e;
    f->was = row.col[0].s;
    f->has_payment = row.col[1].type == VAL_BLOB && uuid_of_bytes(row.col[1].s, &f->payment);
    return TX_DO(tx, STMT_replay_outcome_take, -1, V_BLOB(uuid_bytes(&message)));
}

static enum err replay_again(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                             struct replay_found *f, struct why *why)
{
    struct queue_new *m = &f->message;
    struct replay_source s;
    enum err e = read_source(tx, a, event_id, &s);

    if (e)
        return e;
    if (!s.body.n)
        return why_err(why, ERR_UNPROCESSABLE, "what was received is not stored any more");
    m->ref = event_id;
    m->due_ms = now_ms;
    e = s.is_paypay ? paypay_message(a, &s, m, why) : stripe_message(a, &s, m, why);
    return e ? e : take_outcome(tx, m->id, f);
}

enum err replay_event(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                      struct replay_found *ret_found, struct why *why)
{
    struct event_state s;
    enum err e = event_state_read(tx, event_id, &s);

    if (e)
        return e;
    ret_found->message.id = s.message;
    switch (s.kind) {
    case EVENT_STATE_QUEUED: return why_err(why, ERR_UNPROCESSABLE, "it is in the queue already");
    case EVENT_STATE_OPEN:
        return why_err(why, ERR_UNPROCESSABLE, "it is on its way through the remote queue");
    case EVENT_STATE_DEAD:
        ret_found->is_dead = true;
        ret_found->letters[0] = s.message;
        ret_found->letters[1] = refetch_id(s.message);
        return reparse_need(tx, event_id, &ret_found->bytes);
    case EVENT_STATE_DONE:
    case EVENT_STATE_GIVEN_UP: break;
    }
    return replay_again(tx, a, event_id, now_ms, ret_found, why);
}
