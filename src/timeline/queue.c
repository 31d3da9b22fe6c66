/* queue.c - entries of the provider's events, failed tries of the queue, dead letters, and
 * notifications. */
#include "event/refetch.h"
#include "notify/contact.h"
#include "timeline/entries.h"

#include <stdlib.h>
#include <string.h>

/* --- events --- */

enum { EVENT_ID, EVENT_TYPE, EVENT_CREATED, EVENT_RECEIVED, EVENT_OUTCOME, EVENT_DETAIL, EVENT_AT };
enum { EVENT_MESSAGE = EVENT_AT + 1, EVENT_TIMES, EVENT_LAST };

enum timeline_result timeline_event_result(const struct val *outcome)
{
    if (val_is_word(outcome, S("applied")))
        return RESULT_OK;
    if (val_is_word(outcome, S("superseded")))
        return RESULT_SUPERSEDED;
    return val_is_word(outcome, S("dead")) ? RESULT_DEAD : RESULT_IGNORED;
}

/* One entry for all duplicates: their number, and the time of the last one. */
static void queue_add_duplicates(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_WEBHOOK, S("duplicate"), v[EVENT_LAST].i);
    struct buf b;

    e->result = RESULT_DUPLICATE;
    e->times = v[EVENT_TIMES].i;
    e->about = v[EVENT_TYPE].s;
    e->ref = v[EVENT_ID].s;
    detail_begin(&b);
    detail_words(&b, "type", &v[EVENT_TYPE]);
    detail_end(t, e, &b);
}

static void queue_add_event(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_WEBHOOK, S("event"), v[EVENT_RECEIVED].i);
    struct uuid message;
    struct buf b;

    e->result = timeline_event_result(&v[EVENT_OUTCOME]);
    e->about = v[EVENT_TYPE].s;
    e->ref = v[EVENT_ID].s;
    timeline_ended(e, val_number(&v[EVENT_AT]));
    detail_begin(&b);
    detail_words(&b, "type", &v[EVENT_TYPE]);
    detail_words(&b, "outcome", &v[EVENT_OUTCOME]);
    detail_words(&b, "what", &v[EVENT_DETAIL]);
    if (val_number(&v[EVENT_CREATED]))
        out_time(&b, "createdAt", v[EVENT_CREATED].i);
    detail_end(t, e, &b);
    if (val_number(&v[EVENT_TIMES]))
        queue_add_duplicates(t, v);
    if (!uuid_of_bytes(v[EVENT_MESSAGE].s, &message))
        return;
    timeline_message(t, message, S("stripe.event"));
    timeline_message(t, refetch_id(message), S("stripe.refetch"));
}

/* --- dead letters --- */

static void queue_add_dead_letter(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_QUEUE, S("dead_letter"), v[6].i);
    struct uuid id;
    struct buf b;

    e->result = RESULT_DEAD;
    e->about = v[1].s;
    e->ref = timeline_uuid(t, v[0].s);
    detail_begin(&b);
    detail_words(&b, "kind", &v[1]);
    detail_words(&b, "about", &v[2]);
    detail_words(&b, "reason", &v[3]);
    detail_number(&b, "attempts", &v[4]);
    detail_end(t, e, &b);
    if (uuid_of_bytes(v[0].s, &id))
        timeline_message(t, id, v[1].s);
}

/* --- notifications --- */

static enum timeline_result queue_send_result(const struct val *status)
{
    static const struct {
        const char *word;
        enum timeline_result result;
    } words[] = {
        { "sent", RESULT_OK },         { "failed", RESULT_FAILED },   { "waiting", RESULT_WAITING },
        { "sending", RESULT_WAITING }, { "unknown", RESULT_UNKNOWN }, { "skipped", RESULT_SKIPPED },
    };

    for (size_t i = 0; i < COUNT(words); i++)
        if (val_is_word(status, str_of(words[i].word)))
            return words[i].result;
    return RESULT_UNKNOWN;
}

enum { NOTICE_ID, NOTICE_TYPE, NOTICE_LANGUAGE, NOTICE_CREATED, NOTICE_RECORDED };

static void queue_keep_notice(struct timeline *t, const struct val *v)
{
    struct uuid id;

    memcpy(t->notices[t->notice_count++].v, v, sizeof(t->notices->v));
    if (uuid_of_bytes(v[NOTICE_ID].s, &id))
        timeline_message(t, id, S("notify"));
}

/* A notification without a send: it has no target, or there is no transport. */
static void queue_add_unsent(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_NOTIFICATION, S("notification"), v[NOTICE_CREATED].i);
    struct buf b;

    e->result = v[NOTICE_RECORDED].type == VAL_INT ? RESULT_SKIPPED : RESULT_WAITING;
    e->about = v[NOTICE_TYPE].s;
    e->ref = timeline_uuid(t, v[NOTICE_ID].s);
    detail_begin(&b);
    out_text(&b, "type", v[NOTICE_TYPE].s);
    out_text(&b, "language", v[NOTICE_LANGUAGE].s);
    detail_end(t, e, &b);
}

enum { SEND_ID, SEND_OF, SEND_CHANNEL, SEND_TARGET, SEND_STATUS, SEND_TRIES, SEND_WHY };
enum { SEND_CREATED = SEND_WHY + 1, SEND_UPDATED };

static const struct val *queue_notice_of_send(struct timeline *t, struct str id)
{
    for (size_t i = 0; i < t->notice_count; i++)
        if (str_eq(t->notices[i].v[NOTICE_ID].s, id)) {
            t->is_sent[i] = true;
            return t->notices[i].v;
        }
    return NULL;
}

static void queue_out_send(struct buf *b, const struct val *notice, const struct val *v)
{
    char masked[MASKED_MAX];

    out_text(b, "type", notice ? notice[NOTICE_TYPE].s : (struct str){ 0 });
    out_text(b, "channel", v[SEND_CHANNEL].s);
    out_text(b, "target", target_masked(v[SEND_CHANNEL].s, v[SEND_TARGET].s, masked));
    out_text(b, "status", v[SEND_STATUS].s);
    detail_number(b, "tries", &v[SEND_TRIES]);
    detail_words(b, "why", &v[SEND_WHY]);
}

static void queue_add_send(struct timeline *t, const struct val *v)
{
    const struct val *notice = queue_notice_of_send(t, v[SEND_OF].s);
    struct entry *e = timeline_add(t, LANE_NOTIFICATION, S("notification"), v[SEND_CREATED].i);
    struct uuid id;
    struct buf b;

    e->result = queue_send_result(&v[SEND_STATUS]);
    e->about = notice ? notice[NOTICE_TYPE].s : (struct str){ 0 };
    e->ref = timeline_uuid(t, v[SEND_OF].s);
    timeline_ended(e, e->result == RESULT_WAITING ? 0 : v[SEND_UPDATED].i);
    detail_begin(&b);
    queue_out_send(&b, notice, v);
    detail_end(t, e, &b);
    if (uuid_of_bytes(v[SEND_ID].s, &id))
        timeline_message(t, id, v[SEND_CHANNEL].s);
}

static enum err queue_read_notices(struct timeline *t)
{
    struct val ids[LIMIT_TIMELINE_ROWS];
    enum err e = timeline_each(t, STMT_timeline_notices, queue_keep_notice);

    for (size_t i = 0; i < t->notice_count; i++)
        ids[i] = t->notices[i].v[NOTICE_ID];
    if (!e)
        e = timeline_each_of(t, STMT_timeline_sends, ids, t->notice_count, 1, queue_add_send);
    for (size_t i = 0; !e && i < t->notice_count; i++)
        if (!t->is_sent[i])
            queue_add_unsent(t, t->notices[i].v);
    return e;
}

/* --- failed tries --- */

enum { FAILURE_OF, FAILURE_ATTEMPT, FAILURE_AT, FAILURE_ERROR };

/* A message may be in the list twice, as event and dead letter: the one with a kind sorts first. */
static int queue_by_message(const void *a, const void *b)
{
    int order = uuid_order(a, b);
    const struct message_of *x = a, *y = b;

    return order ? order : (x->kind.n < y->kind.n) - (x->kind.n > y->kind.n);
}

static struct str queue_message_kind(const struct timeline *t, struct str id)
{
    struct message_of key = { 0 };
    const struct message_of *m;

    if (!uuid_of_bytes(id, &key.id))
        return (struct str){ 0 };
    m = bsearch(&key, t->messages, t->message_count, sizeof(*t->messages), uuid_order);
    return m ? m->kind : (struct str){ 0 };
}

static void queue_add_failure(struct timeline *t, const struct val *v)
{
    struct entry *e = timeline_add(t, LANE_QUEUE, S("try"), v[FAILURE_AT].i);
    struct buf b;

    e->result = RESULT_FAILED;
    e->about = queue_message_kind(t, v[FAILURE_OF].s);
    e->ref = timeline_uuid(t, v[FAILURE_OF].s);
    detail_begin(&b);
    detail_number(&b, "attempt", &v[FAILURE_ATTEMPT]);
    detail_words(&b, "error", &v[FAILURE_ERROR]);
    detail_end(t, e, &b);
}

static void queue_drop_repeats(struct timeline *t)
{
    size_t n = 0;

    qsort(t->messages, t->message_count, sizeof(*t->messages), queue_by_message);
    for (size_t i = 0; i < t->message_count; i++)
        if (!n || !uuid_eq(t->messages[n - 1].id, t->messages[i].id))
            t->messages[n++] = t->messages[i];
    t->message_count = n;
}

/* Newest first: ids grow with time. */
static enum err queue_read_failures(struct timeline *t)
{
    struct val *v;
    size_t n;

    queue_drop_repeats(t);
    n = t->message_count;
    v = arena_alloc(t->arena, n + 1, 2 * sizeof(*v));
    if (!v)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        v[2 * i] = v_uuid(&t->messages[n - 1 - i].id);
        v[2 * i + 1] = V_INT(LIMIT_TIMELINE_TRIES);
    }
    return timeline_each_of(t, STMT_timeline_failures, v, n, 2, queue_add_failure);
}

/* A retried dead letter has no row any more: its death is taken from its last try before. */
static void queue_add_death(struct timeline *t, const struct revival *r)
{
    struct str id = timeline_uuid(t, uuid_bytes(&r->message));
    const struct entry *last = NULL;
    struct entry *e;

    for (size_t i = 0; i < t->count; i++) {
        const struct entry *one = &t->entries[i];
        bool fits = one->kind->lane == LANE_QUEUE && str_eq(str_of(one->kind->name), S("try")) &&
                    str_eq(one->ref, id) && one->at_ms <= r->at_ms;

        if (fits && (!last || one->at_ms > last->at_ms))
            last = one;
    }
    if (!last)
        return;
    e = timeline_add(t, LANE_QUEUE, S("dead_letter"), last->at_ms);
    e->result = RESULT_DEAD;
    e->about = last->about;
    e->ref = last->ref;
    e->detail = last->detail;
}

enum err timeline_traffic(struct timeline *t)
{
    enum err e = timeline_each(t, STMT_timeline_webhooks, queue_add_event);

    if (e)
        return e;
    e = timeline_each(t, STMT_timeline_letters, queue_add_dead_letter);
    if (e)
        return e;
    e = queue_read_notices(t);
    if (e)
        return e;
    e = queue_read_failures(t);
    for (size_t i = 0; !e && i < t->revival_count; i++)
        queue_add_death(t, &t->revivals[i]);
    return e;
}
