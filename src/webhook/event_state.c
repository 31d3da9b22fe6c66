/* event_state.c - the state of an event, read under its lock, and its changes outside of the queue.
 * Each function runs in the caller's transaction, so a crash leaves the state as it was. */
#include "webhook/event_state.h"

#include "dlq/dead_letter.h"
#include "domain/cause.h"
#include "event/refetch.h"

#include <stdio.h>
#include <string.h>

static struct val v_id(const struct uuid *id)
{
    return V_BLOB(uuid_bytes(id));
}

/* --- reading the state --- */

static enum event_state_kind kind_of(const struct row *row)
{
    const struct val *outcome = &row->col[0], *live = &row->col[1], *letters = &row->col[2];

    if (live->i)
        return EVENT_STATE_QUEUED; /* also a dead event that an operator retries */
    if (outcome->type == VAL_NULL)
        return EVENT_STATE_OPEN;
    if (letters->i)
        return EVENT_STATE_DEAD; /* also an event with an outcome, whose replay failed */
    return str_eq(outcome->s, S("dead")) ? EVENT_STATE_GIVEN_UP : EVENT_STATE_DONE;
}

static enum err read_names(struct tx *tx, struct str event_id, struct event_state *s)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_event_names, &row, V_TEXT(event_id));

    if (e)
        return e;
    s->received_ms = row.col[1].i;
    return uuid_of_bytes(row.col[0].s, &s->message) ? OK : ERR_INTERNAL;
}

static enum err read_kind(struct tx *tx, struct event_state *s)
{
    struct uuid ask = refetch_id(s->message);
    struct row row;
    enum err e = TX_ROW(tx, STMT_event_standing, &row, v_id(&s->message), v_id(&ask));

    if (!e)
        s->kind = kind_of(&row);
    return e;
}

enum err event_state_read(struct tx *tx, struct str event_id, struct event_state *ret_state)
{
    enum err e = TX_DO(tx, STMT_event_lock, -1, V_TEXT(event_id));

    if (!e)
        e = read_names(tx, event_id, ret_state);
    return e ? e : read_kind(tx, ret_state);
}

/* --- adding an unknown event --- */

static enum err was_added(void *ctx, const struct row *row)
{
    (void)row;
    *(bool *)ctx = true;
    return OK;
}

static enum err event_state_add(struct tx *tx, const struct new_event *n, bool *ret_added)
{
    const struct stripe_event *e = n->event;
    struct val v[] = { V_TEXT(S("stripe")),
                       V_TEXT(e->id),
                       V_TEXT(e->type),
                       e->livemode >= 0 ? V_INT(e->livemode) : V_NULL,
                       e->has_created ? V_INT(e->created_ms) : V_NULL,
                       V_INT(n->received_ms),
                       v_id(&n->message),
                       V_TEXT(n->request_id),
                       V_TEXT(n->trace),
                       V_BLOB(n->body) };

    *ret_added = false;
    return tx_bulk(tx, STMT_webhook_event_add, v, 1, COUNT(v), was_added, ret_added);
}

/* Stripe's endpoint takes no lock: what it stored between our look and our insert is looked at again.
 */
enum err event_state_read_or_add(struct tx *tx, const struct new_event *n,
                                 struct event_state *ret_state)
{
    enum err e = event_state_read(tx, n->event->id, ret_state);
    bool added;

    if (e != ERR_NOT_FOUND)
        return e;
    e = event_state_add(tx, n, &added);
    if (e)
        return e;
    if (!added)
        return event_state_read(tx, n->event->id, ret_state);
    *ret_state = (struct event_state){ .kind = EVENT_STATE_OPEN,
                                       .message = n->message,
                                       .received_ms = n->received_ms };
    return OK;
}

/* --- dead letters --- */

enum err event_state_revive(struct tx *tx, const struct event_state *s)
{
    struct uuid ask = refetch_id(s->message);
    struct val v[] = { v_id(&s->message), v_id(&ask) };
    bool taken = false;
    enum err e = tx_each(tx, STMT_event_letter_take, v, COUNT(v), was_added, &taken);

    return !e && !taken ? ERR_STALE : e;
}

static enum err event_state_audit(struct tx *tx, const struct message *m, int64_t now_ms,
                                  const char *why)
{
    char detail[512];

    snprintf(detail, sizeof(detail), STR_FMT ", attempt %lld: %s", STR_ARG(m->kind),
             (long long)m->attempt, why);
    return TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("DEAD_LETTER")), V_TEXT(m->ref),
                 V_TEXT(S("failure")), V_INT(1), V_TEXT(str_of(detail)));
}

enum err event_state_bury(struct tx *tx, const struct job_kind *kind, const struct message *m,
                          int64_t now_ms, const char *why)
{
    struct val reason = V_TEXT(str_of(why)), id = v_id(&m->id);
    char cause[CAUSE_TEXT + 1];
    enum err e = TX_DO(tx, STMT_event_letter_add, 1, id, V_TEXT(m->kind),
                       m->has_lane ? V_INT(m->lane) : V_NULL, V_TEXT(m->ref), V_TEXT(m->body),
                       reason, V_TEXT(cause_of(reason.s, cause)), V_INT(m->attempt),
                       V_INT(m->added_ms), V_INT(now_ms));

    if (e)
        return e;
    queue_count_dead(tx);
    e = TX_DO(tx, STMT_message_failure_add, 1, id, V_INT(m->attempt), V_INT(now_ms), reason);
    if (e)
        return e;
    e = dead_letter_note(tx, m);
    if (e)
        return e;
    e = kind->buried(tx, m, kind->ctx, why);
    return e ? e : event_state_audit(tx, m, now_ms, why);
}
