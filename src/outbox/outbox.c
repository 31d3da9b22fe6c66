/* outbox.c - stores a domain event and one message for each subscriber of its type, all in the
 * transaction of the change: a crash leaves all of them or none. outbox.h has the invariants. */
#include "outbox/outbox.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/text.h"
#include "observe/trace.h"
#include "queue/lane.h"
#include "store/values.h"

#include <stdio.h>
#include <string.h>

enum { BODY_MAX = 256 };

/* --- types --- */

bool outbox_type_is_known(struct str type)
{
    static const char *const known[] = { "PaymentCreated", "PaymentAuthorized", "PaymentFailed",
                                         "PaymentCaptured", "PaymentRefunded" };

    for (size_t i = 0; i < COUNT(known); i++)
        if (str_eq(type, str_of(known[i])))
            return true;
    return false;
}

bool outbox_types_have(struct str types, struct str type)
{
    while (types.n) {
        struct str one = str_cut(&types, ',');

        if (str_eq(one, type) || str_eq(one, S("*")))
            return true;
    }
    return false;
}

/* --- subscribers --- */

struct outbox_subscribers {
    struct str type;
    struct uuid ids[LIMIT_SUBSCRIBERS];
    size_t n;
};

static enum err add_subscriber(void *ctx, const struct row *row)
{
    struct outbox_subscribers *a = ctx;

    if (a->n == LIMIT_SUBSCRIBERS || !outbox_types_have(row->col[1].s, a->type))
        return OK;
    return uuid_of_bytes(row->col[0].s, &a->ids[a->n++]) ? OK : ERR_INTERNAL;
}

/* --- the event --- */

static struct str outbox_envelope(struct arena *a, const struct domain_event *e)
{
    char id[UUID_TEXT + 1], aggregate[UUID_TEXT + 1], at[TIME_TEXT + 1];
    struct str copy = { 0 };
    struct buf b;

    uuid_text(e->id, id);
    uuid_text(e->aggregate, aggregate);
    time_text(e->occurred_ms, at);
    buf_init(&b, LIMIT_DOMAIN_EVENT);
    buf_fmt(&b, "{\"eventId\":\"%s\",\"type\":", id);
    buf_json(&b, e->type);
    buf_fmt(&b, ",\"aggregateId\":\"%s\",\"version\":%lld,\"occurredAt\":\"%s\",\"payload\":",
            aggregate, (long long)e->version, at);
    buf_add(&b, e->payload);
    buf_char(&b, '}');
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

/* NOT_FOUND: this change was emitted before. */
static enum err add_event(struct tx *tx, struct arena *a, const struct domain_event *e)
{
    struct str body = outbox_envelope(a, e);
    struct row row;

    if (!body.p)
        return ERR_NO_MEMORY;
    return TX_ROW(tx, STMT_domain_event_add, &row, v_uuid(&e->id), V_TEXT(e->type),
                  v_uuid(&e->aggregate), V_INT(e->version), V_TEXT(e->dedupe), V_TEXT(body),
                  V_INT(e->occurred_ms));
}

/* --- the messages --- */

static bool message_for(struct tx *tx, struct arena *a, const struct domain_event *e,
                        const struct uuid *subscriber, struct queue_new *ret_message)
{
    struct str trace = trace_is_sampled(e->trace) ? e->trace : S("");
    char event[UUID_TEXT + 1], to[UUID_TEXT + 1], body[BODY_MAX];

    uuid_text(e->id, event);
    uuid_text(*subscriber, to);
    snprintf(body, sizeof(body), "{\"event\":\"%s\",\"subscriber\":\"%s\"%s" STR_FMT "%s}", event,
             to, trace.n ? ",\"trace\":\"" : "", STR_ARG(trace), trace.n ? "\"" : "");
    *ret_message = (struct queue_new){
        .id = env_uuid(tx_env(tx)),
        .kind = S("event.deliver"),
        .ref = arena_str(a, str_of(event)),
        .body = arena_str(a, str_of(body)),
        .has_lane = true,
        .lane = lane_of_ids(*subscriber, &e->aggregate),
        .due_ms = e->occurred_ms,
    };
    return ret_message->ref.p && ret_message->body.p;
}

static enum err add_messages(struct queue *q, struct tx *tx, struct arena *a,
                             const struct domain_event *e, const struct outbox_subscribers *to)
{
    struct queue_new *m = arena_alloc(a, to->n, sizeof(*m));

    if (!m)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < to->n; i++)
        if (!message_for(tx, a, e, &to->ids[i], &m[i]))
            return ERR_NO_MEMORY;
    return queue_add(q, tx, e->occurred_ms, m, to->n);
}

enum err outbox_add(struct queue *q, struct tx *tx, struct arena *a, const struct domain_event *e)
{
    struct val limit = V_INT(LIMIT_SUBSCRIBERS);
    struct outbox_subscribers to = { .type = e->type };
    enum err err = add_event(tx, a, e);

    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    err = tx_each(tx, STMT_subscribers_listening, &limit, 1, add_subscriber, &to);
    return err || !to.n ? err : add_messages(q, tx, a, e, &to);
}
