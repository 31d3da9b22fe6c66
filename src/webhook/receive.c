/* receive.c - stores many events in one transaction:
 *
 *   lock the lanes -> insert the events -> the new ones get a message (or a dead letter)
 *                                       -> the known ones get the id of their first message
 *
 *   (1) Locks are taken in one order, lanes first and then events by id, so two units never wait
 *       for each other on PostgreSQL.
 *   (2) Messages are added in the order in which the events came.
 *   (3) An event and its message (or dead letter) are one commit: a crash leaves both or neither. */
#include "webhook/receive.h"

#include "base/limits.h"
#include "domain/cause.h"
#include "event/apply_event.h"
#include "gateway/fact.h"
#include "webhook/remote/publish.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the message's body --- */

/* The fact is part of the message, so that applying the event does not read its body again. An event
 * of one of our payments that cannot be understood goes through the queue to the dead letters. One
 * that names no payment of ours is ignored. */
static struct str receive_fact(struct arena *a, const struct stripe_event *e)
{
    struct uuid ours;

    if (!event_type_is_known(e->type) || (!e->fact_err && e->fact.kind == FACT_NONE))
        return S("");
    if (!e->fact_err)
        return fact_write(a, &e->fact);
    return uuid_parse(e->payment_id, &ours) ? S("{\"kind\":\"bad\"}") : S("");
}

struct str receive_job(struct arena *a, const struct stripe_event *e, struct str trace)
{
    struct event_job job = { .type = e->type,
                             .livemode = e->livemode,
                             .object_id = e->object_id,
                             .intent_id = e->intent_id,
                             .payment_id = e->payment_id,
                             .participant_id = e->participant_id,
                             .trace = trace,
                             .fact = receive_fact(a, e) };

    return job.fact.p ? event_job_write(a, &job) : (struct str){ 0 };
}

static struct str receive_kind_name(const struct receive *r)
{
    return r->kind.n ? r->kind : APPLY_EVENT_KIND;
}

void receive_span_end(struct receive *r)
{
    char id[UUID_TEXT + 1];

    if (!r->span.spans)
        return;
    uuid_text(r->message_id, id);
    SPAN_END(&r->span, r->unit.err ? err_code(r->unit.err) : NULL,
             SPAN_TEXT("messaging.system", S("ichido")),
             SPAN_TEXT("messaging.destination.name", receive_kind_name(r)),
             SPAN_TEXT("messaging.message.id", r->unit.err ? S("") : str_of(id)),
             SPAN_TEXT("event.id", r->event.id), SPAN_TEXT("event.type", r->event.type),
             SPAN_BOOL("event.duplicate", r->duplicate));
}

/* --- a batch --- */

struct receive_entry { /* one request of the batch */
    struct receive *r;
    size_t place;                 /* its place in the batch */
    struct receive_entry *leader; /* the first entry with this event id; mostly itself */
    int64_t times;                /* of a leader: how many entries have its id */
    bool is_new;
};

static int compare_id_and_place(const void *a, const void *b)
{
    const struct receive_entry *x = a, *y = b;
    int order = str_cmp(x->r->event.id, y->r->event.id);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static void receive_group(struct receive_entry *e, struct unit **u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        e[i] = (struct receive_entry){ .r = CONTAINER_OF(u[i], struct receive, unit), .place = i };
    qsort(e, n, sizeof(*e), compare_id_and_place);
    for (size_t i = 0; i < n; i++) {
        bool same = i && str_eq(e[i - 1].r->event.id, e[i].r->event.id);

        e[i].leader = same ? e[i - 1].leader : &e[i];
        e[i].leader->times++;
    }
}

/* --- events --- */

enum { EVENT_COLUMNS = 10 };

static void event_row(struct val *v, const struct receive *r)
{
    const struct stripe_event *e = &r->event;

    v[0] = V_TEXT(r->provider.n ? r->provider : S("stripe"));
    v[1] = V_TEXT(e->id);
    v[2] = e->type.n ? V_TEXT(e->type) : V_NULL;
    v[3] = e->livemode >= 0 ? V_INT(e->livemode) : V_NULL;
    v[4] = e->has_created ? V_INT(e->created_ms) : V_NULL;
    v[5] = V_INT(r->received_ms);
    v[6] = V_BLOB(uuid_bytes(&r->new_id));
    v[7] = V_TEXT(r->request_id);
    v[8] = V_TEXT(str_of(r->trace));
    v[9] = V_BLOB(r->body);
}

struct receive_batch {
    struct receive_entry *e;
    size_t n, at;
};

static enum err lock_lanes(struct tx *tx, struct receive_batch *b)
{
    int64_t lanes[LIMIT_BULK];
    size_t count = 0;

    for (size_t i = 0; i < b->n; i++)
        if (b->e[i].r->event.has_lane && !b->e[i].r->publish)
            lanes[count++] = b->e[i].r->event.lane;
    return queue_lock_lanes(tx, lanes, count);
}

/* Databases return the rows in the order of the insert, so the search continues where it stopped. It
 * wraps around, since no database promises that order. */
static enum err mark_new(void *ctx, const struct row *row)
{
    struct receive_batch *b = ctx;
    struct str id = row->col[0].s;

    for (size_t tried = 0; tried < b->n; tried++, b->at = (b->at + 1) % b->n) {
        struct receive_entry *e = &b->e[b->at];

        if (str_eq(id, uuid_bytes(&e->r->new_id))) {
            e->is_new = true;
            return OK;
        }
    }
    return ERR_INTERNAL;
}

static enum err add_events(struct tx *tx, struct receive_batch *b)
{
    struct val v[LIMIT_BULK * EVENT_COLUMNS];
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++)
        if (b->e[i].leader == &b->e[i])
            event_row(v + rows++ * EVENT_COLUMNS, b->e[i].r);
    return tx_bulk(tx, STMT_webhook_event_add, v, rows, EVENT_COLUMNS, mark_new, b);
}

/* --- the new ones --- */

static int compare_place(const void *a, const void *b)
{
    const struct receive_entry *x = *(const struct receive_entry *const *)a,
                               *y = *(const struct receive_entry *const *)b;

    return (x->place > y->place) - (x->place < y->place);
}

static struct queue_new receive_message(const struct receive *r)
{
    struct queue_new m = { .ref = r->event.id, .due_ms = r->received_ms };

    if (r->publish) { /* no lane: a slow remote must not block the events behind this one */
        m.id = r->publish_id;
        m.kind = PUBLISH_KIND;
        return m;
    }
    m.id = r->new_id;
    m.kind = receive_kind_name(r);
    m.body = r->job;
    m.has_lane = r->event.has_lane;
    m.lane = r->event.lane;
    return m;
}

static enum err add_messages(struct tx *tx, struct receive_batch *b)
{
    const struct receive_entry *fresh[LIMIT_BULK];
    struct queue_new m[LIMIT_BULK];
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        if (b->e[i].is_new && b->e[i].r->event.readable)
            fresh[n++] = &b->e[i];
    if (!n)
        return OK;
    qsort(fresh, n, sizeof(void *), compare_place);
    for (size_t i = 0; i < n; i++)
        m[i] = receive_message(fresh[i]->r);
    return queue_add(fresh[0]->r->queue, tx, fresh[0]->r->received_ms, m, n);
}

/* An unreadable event can never be applied, so it becomes a dead letter at once (W6). */
static enum err bury_unreadable(struct tx *tx, const struct receive *r)
{
    struct str why = str_of(r->event.why);
    struct val id = V_BLOB(uuid_bytes(&r->new_id)), now = V_INT(r->received_ms);
    struct val outcome[] = { id, V_TEXT(S("dead")), V_TEXT(why), now, V_NULL, V_NULL };
    char cause[CAUSE_TEXT + 1];
    enum err e =
        TX_DO(tx, STMT_dead_letter_add, 1, id, V_TEXT(receive_kind_name(r)), V_TEXT(r->event.id),
              V_NULL, V_TEXT(why), V_TEXT(cause_of(why, cause)), now, now);

    if (e)
        return e;
    queue_count_dead(tx);
    e = tx_bulk(tx, STMT_webhook_outcome_add, outcome, 1, COUNT(outcome), NULL, NULL);
    if (e)
        return e;
    return TX_DO(tx, STMT_audit_add, 1, now, V_TEXT(S("DEAD_LETTER")), V_TEXT(r->event.id),
                 V_TEXT(S("failure")), V_INT(1), V_TEXT(why));
}

static enum err bury_all_unreadable(struct tx *tx, struct receive_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        bool dead = b->e[i].is_new && !b->e[i].r->event.readable;
        enum err e = dead ? bury_unreadable(tx, b->e[i].r) : OK;

        if (e)
            return e;
    }
    return OK;
}

/* --- the known ones --- */

static enum err copy_first_message(void *ctx, const struct row *row)
{
    struct receive_batch *b = ctx;

    for (size_t i = 0; i < b->n; i++) {
        struct receive *r = b->e[i].r;

        if (row->col[1].s.n == sizeof(r->message_id.b) && str_eq(row->col[0].s, r->event.id))
            memcpy(r->message_id.b, row->col[1].s.p, sizeof(r->message_id.b));
    }
    return OK;
}

static enum err find_first_messages(struct tx *tx, struct receive_batch *b)
{
    struct val v[LIMIT_BULK];
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++)
        if (b->e[i].leader == &b->e[i] && !b->e[i].is_new)
            v[rows++] = V_TEXT(b->e[i].r->event.id);
    return tx_bulk(tx, STMT_webhook_event_find, v, rows, 1, copy_first_message, b);
}

static enum err count_duplicates(struct tx *tx, struct receive_batch *b)
{
    struct val v[LIMIT_BULK * 3];
    size_t rows = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct receive_entry *e = &b->e[i];
        int64_t times = e->times - e->is_new;

        if (e->leader != e || !times)
            continue;
        v[rows * 3] = V_TEXT(e->r->event.id);
        v[rows * 3 + 1] = V_INT(times);
        v[rows * 3 + 2] = V_INT(e->r->received_ms);
        rows++;
    }
    return tx_bulk(tx, STMT_webhook_duplicate_add, v, rows, 3, NULL, NULL);
}

/* --- the unit of work --- */

static void set_results(const struct receive_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct receive_entry *e = &b->e[i];

        e->r->unit.err = OK;
        e->r->duplicate = !e->is_new;
        if (e->leader->is_new)
            e->r->message_id = e->leader->r->new_id;
    }
}

static enum err receive_store(struct tx *tx, struct receive_batch *b)
{
    static enum err (*const steps[])(struct tx * tx, struct receive_batch * b) = {
        lock_lanes,          add_events,          add_messages,
        bury_all_unreadable, find_first_messages, count_duplicates,
    };

    for (size_t i = 0; i < COUNT(steps); i++) {
        enum err e = steps[i](tx, b);

        if (e)
            return e;
    }
    return OK;
}

static enum err receive_many(struct tx *tx, struct unit **u, size_t n)
{
    struct receive_entry entries[LIMIT_BULK];
    struct receive_batch b = { .e = entries, .n = n };
    enum err e;

    assert(n <= LIMIT_BULK);
    receive_group(entries, u, n);
    e = receive_store(tx, &b);
    if (!e)
        set_results(&b);
    return e;
}

static enum err receive_one(struct tx *tx, struct unit *u)
{
    return receive_many(tx, &u, 1);
}

const struct unit_kind receive_kind = { "webhook.receive", UNIT_FRONT, receive_one, receive_many };
