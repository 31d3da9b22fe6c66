/* events.c - what happened, told to whoever listens.
 *
 *   change --same commit--> row of sandbox_events + message "sandbox.webhook"
 *   message --> read the event --> sign, POST --> 2xx: done
 *                                            '--> anything else: again by the schedule, then dead
 *
 *   (1) An event's text is written once and never changes; only its signature is new on each try.
 *   (2) Events have no order among each other, as with Stripe: no lanes.
 *   (3) There is one receiver. It is told what Ichido applies; of all else there is only the row.
 *
 * Rows hold the compact text. What is sent is indented by two blanks, as Stripe's is, so that a
 * receiver who signs or compares something else than the raw bytes is found out here. */
#include "base/buf.h"
#include "base/hex.h"
#include "http/client.h"
#include "observe/log.h"
#include "sandbox/control.h"
#include "sandbox/switches.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION "2026-10-28.endive"

static const struct str webhook_kind = { "sandbox.webhook", sizeof("sandbox.webhook") - 1 };

/* --- the event --- */

static bool is_wanted(struct str type)
{
    static const struct str families[] = {
        { "payment_intent.", 15 }, { "charge.", 7 }, { "refund.", 7 }, { "checkout.session.", 17 }
    };

    for (size_t i = 0; i < COUNT(families); i++)
        if (str_starts(type, families[i]))
            return !str_eq(type, S("payment_intent.created"));
    return false;
}

enum { ID_DIGITS = 22 }; /* of base 62, for the 128 bits of a UUID */

/* evt_3 and a UUIDv7 in digits that sort as it does. */
static struct str event_id(struct arena *a, struct uuid u)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char text[] = "evt_3ichidoichidoichidoichi";
    unsigned __int128 bits = 0;

    _Static_assert(sizeof(text) == 5 + ID_DIGITS + 1, "room for every digit");
    for (size_t i = 0; i < sizeof(u.b); i++)
        bits = bits << 8 | u.b[i];
    for (size_t i = ID_DIGITS; i--; bits /= 62)
        text[5 + i] = digits[bits % 62];
    return arena_str(a, (struct str){ text, sizeof(text) - 1 });
}

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

/* The keys stand in Stripe's order. */
static struct str envelope(struct arena *a, const struct sandbox_event *e, struct str id,
                           int64_t created_s, bool wanted)
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
    buf_add(&b, wanted ? S("},\"livemode\":false,\"pending_webhooks\":1,\"request\":")
                       : S("},\"livemode\":false,\"pending_webhooks\":0,\"request\":"));
    add_request(&b, e);
    buf_add(&b, S(",\"type\":"));
    buf_json(&b, e->type);
    buf_char(&b, '}');
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

/* Backwards in groups: the first of a group waits longest. */
static int64_t due_after_ms(struct webhook_switches *w)
{
    int64_t ms = atomic_load(&w->delay_ms);

    if (atomic_load(&w->reorder)) {
        uint32_t turn = atomic_fetch_add(&w->turn, 1) % LIMIT_SANDBOX_REORDER;

        ms += (int64_t)(LIMIT_SANDBOX_REORDER - turn) * LIMIT_SANDBOX_REORDER_MS;
    }
    return ms;
}

static enum err tell_receiver(struct sandbox *s, struct tx *tx, struct uuid first, struct str id,
                              int64_t now_ms)
{
    struct webhook_switches *w = &s->faults->webhooks;
    size_t n = 1 + (size_t)atomic_load(&w->copies);
    int64_t due_ms = now_ms + due_after_ms(w);
    struct queue_new m[1 + LIMIT_SANDBOX_COPIES];

    for (size_t i = 0; i < n; i++)
        m[i] = (struct queue_new){
            .id = i ? env_uuid(&s->env) : first, .kind = webhook_kind, .ref = id, .due_ms = due_ms
        };
    return queue_add(s->queue, tx, now_ms, m, n);
}

/* The oldest go, a few at a time. Who was not told by then never will be. */
static enum err forget_old(struct tx *tx, int64_t seq)
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

    return err ? err : forget_old(tx, row.col[0].i);
}

enum err sandbox_event_add(struct sandbox *s, struct tx *tx, struct arena *a,
                           const struct sandbox_event *e)
{
    int64_t now_ms = env_now_ms(&s->env);
    bool wanted = s->o.webhook_url.n && is_wanted(e->type);
    struct uuid u = env_uuid(&s->env);
    struct str id = event_id(a, u), body = { 0 };
    enum err err;

    if (id.p)
        body = envelope(a, e, id, now_ms / 1000, wanted);
    if (!body.p)
        return ERR_NO_MEMORY;
    err = store_event(tx, e, id, body, now_ms);
    return err || !wanted ? err : tell_receiver(s, tx, u, id, now_ms);
}

/* POST /_sandbox/events/{id}/resend: once more, as the command line asks for it. */
static enum err resend(struct act *a, struct work *w)
{
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_event_body, &row, V_TEXT(a->id));

    if (e)
        return e;
    a->json = arena_str(w->a, row.col[0].s);
    if (!a->json.p)
        return ERR_NO_MEMORY;
    return tell_receiver(w->s, w->tx, env_uuid(&w->s->env), a->id, w->now_ms);
}

void control_resend(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = resend }, false);
}

/* --- as it is sent --- */

static void new_line(struct buf *b, int depth)
{
    static const char blanks[] = "                                                                ";
    size_t n = (size_t)depth * 2;

    buf_char(b, '\n');
    buf_add(b, (struct str){ blanks, n < sizeof(blanks) ? n : sizeof(blanks) - 1 });
}

/* Behind the quote that ends the string; one with an odd number of backslashes before it does not.
 */
static size_t string_end(struct str json, size_t i)
{
    for (size_t at = i + 1; at < json.n; at++) {
        const char *quote = memchr(json.p + at, '"', json.n - at), *p = quote;

        if (!quote)
            break;
        while (p[-1] == '\\')
            p--;
        at = (size_t)(quote - json.p);
        if ((quote - p) % 2 == 0)
            return at + 1;
    }
    return json.n;
}

/* Of a number, true, false or null. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+' ||
           c == 'E';
}

static size_t word_end(struct str json, size_t i)
{
    while (i < json.n && is_word(json.p[i]))
        i++;
    return i;
}

static bool is_empty_pair(struct str json, size_t i)
{
    return i + 1 < json.n && (json.p[i + 1] == '}' || json.p[i + 1] == ']');
}

/* The one character that is neither blank, string nor word. */
static void indent_mark(struct buf *b, struct str json, size_t i, int *depth)
{
    char c = json.p[i];
    bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
    bool was_empty = closes && i && (json.p[i - 1] == '{' || json.p[i - 1] == '[');

    *depth -= closes;
    if (closes && !was_empty)
        new_line(b, *depth);
    buf_char(b, c);
    *depth += opens;
    if (c == ':')
        buf_char(b, ' ');
    if (c == ',' || (opens && !is_empty_pair(json, i)))
        new_line(b, *depth);
}

/* Adds compact JSON, which is known to be sound, with two blanks a level. */
static void indent(struct buf *b, struct str json)
{
    int depth = 0;

    for (size_t i = 0; i < json.n;) {
        size_t end = json.p[i] == '"' ? string_end(json, i) : word_end(json, i);

        if (end > i) {
            buf_add(b, (struct str){ json.p + i, end - i });
            i = end;
        } else {
            indent_mark(b, json, i++, &depth);
        }
    }
}

/* --- one delivery --- */

enum { DIGEST = 32, HEADERS = 5 };

struct delivery {
    struct job *job;
    struct sandbox *sandbox;
    struct unit load;
    struct arena arena;
    struct buf text; /* "1760000000." and behind it the body: what is signed, in one piece */
    struct str body;
    struct call call;
    struct header headers[HEADERS];
    char signature[sizeof("t=,v1=") + 20 + (size_t)DIGEST * 2];
    bool delivered;
    char why[256];
};

static void finish(struct delivery *d)
{
    job_outside_done(d->job, OK, d->why);
}

static void answered(struct call *c)
{
    struct delivery *d = CONTAINER_OF(c, struct delivery, call);

    d->delivered = c->result == CALL_ANSWERED && c->status >= 200 && c->status < 300;
    if (c->result == CALL_ANSWERED && !d->delivered)
        snprintf(d->why, sizeof(d->why), "the receiver answered %d", c->status);
    else if (!d->delivered)
        snprintf(d->why, sizeof(d->why), "the receiver was not reached: %s", c->why);
    LOG(d->sandbox->env.log, LOG_DEBUG, "sandbox webhook",
        LOG_TEXT("eventId", d->job->message->ref), LOG_NUM("attempt", d->job->message->attempt),
        LOG_NUM("status", c->result == CALL_ANSWERED ? c->status : 0),
        LOG_TEXT("why", str_of(d->why)));
    finish(d);
}

static bool sign(struct delivery *d, struct str signed_text, int64_t t)
{
    struct str secret = d->sandbox->o.webhook_secret;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    int used = snprintf(d->signature, sizeof(d->signature), "t=%lld,v1=", (long long)t);

    if (!HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)signed_text.p,
              signed_text.n, digest, &n) ||
        n != DIGEST)
        return false;
    *hex_put(d->signature + used, digest, DIGEST) = '\0';
    return true;
}

/* The clock is the one that the receiver's tests move, too. */
static bool write_text(struct delivery *d)
{
    int64_t t = clock_wall_ms(&d->sandbox->env.clock) / 1000;
    size_t skip;

    buf_reserve(&d->text, d->body.n * 2);
    buf_fmt(&d->text, "%lld.", (long long)t);
    skip = d->text.n;
    indent(&d->text, d->body);
    if (d->text.failed || !sign(d, buf_str(&d->text), t))
        return false;
    d->body = (struct str){ d->text.p + skip, d->text.n - skip };
    return true;
}

static void send_it(struct delivery *d)
{
    struct sandbox *s = d->sandbox;
    struct str url = str_of(s->faults->webhooks.url);

    if (url.n)
        url = arena_str(&d->arena, url); /* the switch may change while this is under way */
    d->headers[0] = (struct header){ S("Content-Type"), S("application/json; charset=utf-8") };
    d->headers[1] =
        (struct header){ S("User-Agent"), S("Stripe/1.0 (+https://stripe.com/docs/webhooks)") };
    d->headers[2] = (struct header){ S("Stripe-Signature"), str_of(d->signature) };
    d->headers[3] = (struct header){ S("Accept"), S("*/*; q=0.5, application/xml") };
    d->headers[4] = (struct header){ S("Cache-Control"), S("no-cache") };
    d->call = (struct call){ .method = S("POST"),
                             .url = url.n ? url : s->o.webhook_url,
                             .body = d->body,
                             .headers = d->headers,
                             .header_count = HEADERS,
                             .timeout_ms = LIMIT_SANDBOX_SEND_MS,
                             .answer_max = LIMIT_SANDBOX_ANSWER,
                             .arena = &d->arena,
                             .home = d->load.home,
                             .done = answered };
    client_call(s->client, &d->call);
}

static enum err load_run(struct tx *tx, struct unit *u)
{
    struct delivery *d = CONTAINER_OF(u, struct delivery, load);
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_event_body, &row, V_TEXT(d->job->message->ref));

    d->body = e ? (struct str){ 0 } : arena_str(&d->arena, row.col[0].s);
    return e || d->body.p ? e : ERR_NO_MEMORY;
}

static void loaded(struct unit *u)
{
    struct delivery *d = CONTAINER_OF(u, struct delivery, load);

    if (u->err)
        job_outside_done(d->job, u->err, "its event could not be read");
    else if (!write_text(d))
        job_outside_done(d->job, ERR_NO_MEMORY, "no memory to sign it");
    else
        send_it(d);
}

/* What the switches keep from ever leaving. */
static bool gets_lost(struct delivery *d)
{
    struct webhook_switches *w = &d->sandbox->faults->webhooks;

    if (!w->on)
        snprintf(d->why, sizeof(d->why), "webhooks are switched off");
    else if (w->drop_first > 0 && w->drop_first--)
        snprintf(d->why, sizeof(d->why), "dropped on demand");
    return d->why[0];
}

static void deliver(struct job *j, void *ctx)
{
    static const struct unit_kind load = { "sandbox.event", UNIT_READ, load_run, NULL };
    struct sandbox *s = ctx;
    struct delivery *d = calloc(1, sizeof(*d));

    if (!d) {
        job_outside_done(j, ERR_NO_MEMORY, "no memory to send it");
        return;
    }
    j->state = d;
    d->job = j;
    d->sandbox = s;
    arena_init(&d->arena, 2 * LIMIT_SANDBOX_EVENT);
    buf_init(&d->text, 4 * LIMIT_SANDBOX_EVENT); /* indented */
    if (gets_lost(d)) {
        finish(d);
        return;
    }
    d->load = (struct unit){
        .kind = &load, .home = server_home(s->server), .done = loaded, .arena = &d->arena
    };
    store_post(s->store, &d->load);
}

/* --- again --- */

#define MINUTE_MS INT64_C(60000)

/* The gaps of 003's schedule. Ten hours again and again up to three days: eleven tries. */
static const int64_t gaps_ms[] = {
    5 * MINUTE_MS,       30 * MINUTE_MS,      2 * 60 * MINUTE_MS,  5 * 60 * MINUTE_MS,
    10 * 60 * MINUTE_MS, 10 * 60 * MINUTE_MS, 10 * 60 * MINUTE_MS, 10 * 60 * MINUTE_MS,
    10 * 60 * MINUTE_MS, 10 * 60 * MINUTE_MS,
};

static enum err settle(struct tx *tx, struct job *j, void *ctx, char why[256])
{
    struct sandbox *s = ctx;
    const struct delivery *d = j->state;
    size_t tries = (size_t)j->message->attempt;

    (void)tx;
    if (d->delivered)
        return OK;
    snprintf(why, 256, "%s", d->why);
    if (tries > COUNT(gaps_ms))
        return ERR_UNPROCESSABLE; /* a dead letter; no policy tries it again */
    j->again_ms =
        env_now_ms(j->env) + gaps_ms[tries - 1] / atomic_load(&s->faults->webhooks.factor);
    return OK;
}

static void release(struct job *j, void *ctx)
{
    struct delivery *d = j->state;

    (void)ctx;
    if (!d)
        return;
    arena_release(&d->arena);
    buf_release(&d->text);
    free(d);
}

struct job_kind sandbox_webhook_kind(struct sandbox *s)
{
    return (struct job_kind){
        .name = webhook_kind.p,
        .ctx = s,
        /* for our own troubles; settle() has the schedule. A crash counts as a try. */
        .retry = { .retries = 1000, .first_ms = 1000, .max_ms = 60000, .factor = 2 },
        .outside = deliver,
        .settle = settle,
        .release = release,
        .patient = true,
    };
}
