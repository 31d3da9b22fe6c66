/* events.c - storing events, and adding a message for each of their receivers.
 *
 *   change --same commit--> row of sandbox_events
 *                       |-> message "sandbox.webhook" for each receiver     deliver.c
 *                       '-> message "sandbox.relay" if there are sessions   relay/relay.c
 *
 *   (1) An event's text is stored once and never changes; each attempt only signs it anew.
 *   (2) Events have no order among each other, as with Stripe: they have no lane.
 *   (3) The receiver of the settings gets the types that Ichido applies, an endpoint those that it
 *       asked for.
 *   (4) Ids grow with time, and within a millisecond with a counter. So they sort as `seq` does.
 *   (5) The id of a receiver's message is computed from the event and the receiver: while the
 *       message exists, that webhook is pending.
 *
 * Rows hold compact JSON. The event and its messages are one commit with the change, so a crash
 * leaves all of them or none. */
#include "base/buf.h"
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/relay/relay.h"
#include "sandbox/webhook/hooks.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define API_VERSION "2026-10-28.endive"

static const struct str webhook_kind = { "sandbox.webhook", sizeof("sandbox.webhook") - 1 };

/* --- ids --- */

/* ID_DIGITS: digits of base 62 for the 128 bits of a UUID. */
enum { ID_DIGITS = 22, COUNT_BITS = 12, TYPE_MAX = 128 };

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

struct str sb_event_id(struct arena *a, struct uuid u)
{
    char text[] = ID_EVENT "ichidoichidoichidoichi";
    unsigned __int128 bits = 0;

    _Static_assert(sizeof(text) == sizeof(ID_EVENT) + ID_DIGITS, "room for every digit");
    for (size_t i = 0; i < sizeof(u.b); i++)
        bits = bits << 8 | u.b[i];
    for (size_t i = ID_DIGITS; i--; bits /= 62)
        text[sizeof(ID_EVENT) - 1 + i] = digits[bits % 62];
    return arena_str(a, (struct str){ text, sizeof(text) - 1 });
}

bool sb_event_uuid(struct str id, struct uuid *ret_uuid)
{
    unsigned __int128 bits = 0;

    if (id.n != sizeof(ID_EVENT) - 1 + ID_DIGITS || !str_starts(id, S(ID_EVENT)))
        return false;
    for (size_t i = sizeof(ID_EVENT) - 1; i < id.n; i++) {
        const char *at = memchr(digits, id.p[i], sizeof(digits) - 1);

        if (!at)
            return false;
        bits = bits * 62 + (unsigned)(at - digits); /* overflows only for texts that are no UUID */
    }
    for (size_t i = sizeof(ret_uuid->b); i--; bits >>= 8)
        ret_uuid->b[i] = (unsigned char)bits;
    return true;
}

struct str sb_event_first_at(struct work *w, int64_t ms)
{
    static const int64_t most = (INT64_C(1) << 48) - 1;
    uint64_t t = (uint64_t)(ms < 0 ? 0 : ms < most ? ms : most);
    struct uuid u = { { 0 } };
    struct str id;

    for (int i = 0; i < 6; i++)
        u.b[i] = (unsigned char)(t >> (8 * (5 - i)));
    id = sb_event_id(w->a, u);
    work_ok(w, id.p ? OK : ERR_NO_MEMORY);
    return id;
}

/* Runs on the one thread that writes to the store. */
static struct uuid next_uuid(struct sandbox *s, int64_t now_ms)
{
    struct uuid u;

    if (now_ms > s->event_ms) {
        s->event_ms = now_ms;
        s->event_count = 0;
    } else if (++s->event_count >> COUNT_BITS) {
        s->event_ms++;
        s->event_count = 0;
    }
    u = uuid_new(s->event_ms, &s->env.rng);
    u.b[6] = (unsigned char)(0x70 | s->event_count >> 8);
    u.b[7] = (unsigned char)s->event_count;
    return u;
}

/* The first bytes stay the event's, so the messages of one event are neighbours in the queue's
 * index. */
struct uuid sb_webhook_message_id(struct uuid event, struct str endpoint)
{
    unsigned char hash[EVP_MAX_MD_SIZE] = { 0 };

    if (endpoint.n && EVP_Digest(endpoint.p, endpoint.n, hash, NULL, EVP_sha256(), NULL))
        for (size_t i = 9; i < sizeof(event.b); i++)
            event.b[i] ^= hash[i];
    return event;
}

/* --- the event --- */

static void add_request(struct buf *b, const struct sandbox_event *e)
{
    if (!e->request_id.n) {
        buf_add(b, S("null"));
        return;
    }
    buf_add(b, S("{\"id\":"));
    buf_json(b, e->request_id);
    buf_add(b, S(",\"idempotency_key\":"));
    if (e->idempotency_key.n)
        buf_json(b, e->idempotency_key);
    else
        buf_add(b, S("null"));
    buf_char(b, '}');
}

/* The keys are in Stripe's order. */
static struct str envelope_json(struct arena *a, const struct sandbox_event *e, struct str id,
                                int64_t created_s, size_t pending)
{
    struct str copy = { 0 };
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_EVENT);
    buf_reserve(&b, e->object.n + e->previous.n + 512);
    buf_add(&b, S("{\"id\":\""));
    buf_add(&b, id);
    buf_add(&b, S("\",\"object\":\"event\",\"api_version\":\"" API_VERSION "\",\"created\":"));
    buf_i64(&b, created_s);
    buf_add(&b, S(",\"data\":{\"object\":"));
    buf_add(&b, e->object);
    if (e->previous.n) {
        buf_add(&b, S(",\"previous_attributes\":"));
        buf_add(&b, e->previous);
    }
    buf_add(&b, S("},\"livemode\":false,\"pending_webhooks\":"));
    buf_i64(&b, (int64_t)pending);
    buf_add(&b, S(",\"request\":"));
    add_request(&b, e);
    buf_add(&b, S(",\"type\":"));
    buf_json(&b, e->type);
    buf_char(&b, '}');
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

/* Deletes the oldest events, a few at a time, when there are too many. stripe/jobs.c deletes those
 * that are too old. */
static enum err forget_oldest(struct tx *tx, int64_t seq)
{
    if (seq % LIMIT_SANDBOX_FORGET)
        return OK;
    return TX_DO(tx, STMT_sandbox_event_forget, -1, V_INT(seq - LIMIT_SANDBOX_EVENTS));
}

static enum err store_event(struct tx *tx, const struct sandbox_event *e, struct str id,
                            struct str body, int64_t now_ms)
{
    struct row row;
    enum err err = TX_ROW(tx, STMT_sandbox_event_add, &row, V_TEXT(id), V_TEXT(e->type),
                          V_INT(now_ms), V_TEXT(body));

    return err ? err : forget_oldest(tx, row.col[0].i);
}

/* --- receivers --- */

static bool sb_builtin_wants(const struct sandbox *s, struct str type)
{
    static const struct str families[] = {
        { "payment_intent.", 15 }, { "charge.", 7 }, { "refund.", 7 }, { "checkout.session.", 17 }
    };

    for (size_t i = 0; s->o.webhook_url.n && i < COUNT(families); i++)
        if (str_starts(type, families[i]))
            return !str_eq(type, S("payment_intent.created"));
    return false;
}

bool sb_hook_wants(struct str events, struct str type)
{
    char quoted[TYPE_MAX];
    int n = snprintf(quoted, sizeof(quoted), "\"" STR_FMT "\"", STR_ARG(type));

    return memmem(events.p, events.n, "\"*\"", 3) ||
           (n < TYPE_MAX && memmem(events.p, events.n, quoted, (size_t)n));
}

struct audience {
    struct str type;
    size_t count;
    struct str endpoints[1 + LIMIT_SANDBOX_ENDPOINTS]; /* empty: the receiver of the settings */
    bool any;                                          /* there is at least one webhook endpoint */
};

static enum err add_endpoint(void *ctx, const struct row *row)
{
    struct audience *a = ctx;

    a->any = true;
    if (a->count < COUNT(a->endpoints) && sb_hook_wants(row->col[1].s, a->type))
        a->endpoints[a->count++] = row->col[0].s;
    return OK;
}

/* Most sandboxes have no endpoints. That is remembered until one is made; both happen on the one
 * thread that writes to the store. */
static enum err find_audience(struct sandbox *s, struct tx *tx, struct str type,
                              struct audience *ret)
{
    enum err e;

    *ret = (struct audience){ .type = type };
    if (sb_builtin_wants(s, type))
        ret->count++;
    if (s->no_endpoints)
        return OK;
    e = tx_each(tx, STMT_sandbox_hooks_told, NULL, 0, add_endpoint, ret);
    s->no_endpoints = !e && !ret->any;
    return e;
}

static enum err add_messages(struct sandbox *s, struct tx *tx, struct uuid first, struct str id,
                             struct str endpoint, int64_t now_ms)
{
    struct delivery_plan t = sandbox_delivery_plan(s, now_ms);
    struct queue_new m[1 + LIMIT_SANDBOX_COPIES];

    for (size_t i = 0; i <= t.copies; i++)
        m[i] = (struct queue_new){ .id = i ? env_uuid(&s->env) : first,
                                   .kind = webhook_kind,
                                   .ref = id,
                                   .body = endpoint,
                                   .due_ms = t.due_ms };
    return queue_add(s->queue, tx, now_ms, m, t.copies + 1);
}

static enum err add_all_messages(struct sandbox *s, struct tx *tx, struct uuid u, struct str id,
                                 const struct audience *a, int64_t now_ms)
{
    enum err e = relay_has_sessions(s) ? relay_add_event(s, tx, id, now_ms) : OK;

    for (size_t i = 0; i < a->count && !e; i++)
        e = add_messages(s, tx, sb_webhook_message_id(u, a->endpoints[i]), id, a->endpoints[i],
                         now_ms);
    return e;
}

enum err sandbox_event_add(struct sandbox *s, struct tx *tx, struct arena *a,
                           const struct sandbox_event *e)
{
    int64_t now_ms = env_now_ms(&s->env);
    struct uuid u = next_uuid(s, now_ms);
    struct str id = sb_event_id(a, u), body = { 0 };
    struct audience audience;
    enum err err = find_audience(s, tx, e->type, &audience);

    if (err)
        return err;
    if (id.p)
        body = envelope_json(a, e, id, now_ms / 1000, audience.count);
    if (!body.p)
        return ERR_NO_MEMORY;
    err = store_event(tx, e, id, body, now_ms);
    return err ? err : add_all_messages(s, tx, u, id, &audience, now_ms);
}

/* --- sending again --- */

enum err sb_event_resend(struct sandbox *s, struct tx *tx, struct str id, struct str endpoint,
                         int64_t now_ms)
{
    return add_messages(s, tx, env_uuid(&s->env), id, endpoint, now_ms);
}

enum err sb_event_resend_all(struct sandbox *s, struct tx *tx, struct str id, struct str type,
                             int64_t now_ms)
{
    struct audience a;
    enum err e = find_audience(s, tx, type, &a);

    for (size_t i = 0; i < a.count && !e; i++)
        e = sb_event_resend(s, tx, id, a.endpoints[i], now_ms);
    return e;
}

/* POST /_sandbox/events/{id}/resend sends to the receiver of the settings, whatever its type. */
static enum err resend_run(struct act *a, struct work *w)
{
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_event_body, &row, V_TEXT(a->id));

    if (e)
        return e;
    a->json = arena_str(w->a, row.col[0].s);
    if (!a->json.p)
        return ERR_NO_MEMORY;
    return sb_event_resend(w->s, w->tx, a->id, S(""), w->now_ms);
}

void control_resend(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = resend_run }, false);
}
