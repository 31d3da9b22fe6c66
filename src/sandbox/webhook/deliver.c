/* deliver.c - the job that sends one event to one receiver.
 *
 *   message --> read event, receiver, secrets --> sign, POST --> 2xx: done
 *                                                          '--> else: again, by the schedule,
 *                                                               and at its end a dead letter
 *
 * The body is indented by two spaces, as Stripe's is, so that a receiver that verifies anything but
 * the raw bytes fails here. Each attempt has its own time and signatures: one for each secret that
 * is valid then. A crash while sending costs an attempt; the event is sent again with the same
 * id. */
#include "base/hex.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "sandbox/fault/switches.h"
#include "sandbox/webhook/hooks.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIGEST = 32, HEADERS = 5 };

struct delivery {
    struct job *job;
    struct sandbox *sandbox;
    struct unit load;
    struct arena arena;
    struct buf text; /* "1760000000." and the body in one piece: the signed text */
    struct str body;
    struct str url; /* of a webhook endpoint; empty: the receiver of the settings */
    struct secrets secrets;
    struct call call;
    struct header headers[HEADERS];
    char signature[sizeof("t=") + 20 + SECRETS * (sizeof(",v1=") + (size_t)DIGEST * 2)];
    bool delivered, unwanted;
    struct why why;
};

static void deliver_finish(struct delivery *d)
{
    job_outside_done(d->job, OK, d->why.text);
}

bool sandbox_delivered(const struct call *c, struct why *why)
{
    if (c->result != CALL_ANSWERED)
        why_set(why, "the receiver was not reached: %s", c->why);
    else if (c->status < 200 || c->status >= 300)
        why_set(why, "the receiver answered %d", c->status);
    else
        return true;
    return false;
}

static void deliver_answered(struct call *c)
{
    struct delivery *d = CONTAINER_OF(c, struct delivery, call);

    d->delivered = sandbox_delivered(c, &d->why);
    LOG(d->sandbox->env.log, LOG_DEBUG, "sandbox webhook",
        LOG_TEXT("eventId", d->job->message->ref), LOG_NUM("attempt", d->job->message->attempt),
        LOG_NUM("status", c->result == CALL_ANSWERED ? c->status : 0),
        LOG_TEXT("why", str_of(d->why.text)));
    deliver_finish(d);
}

/* --- signing --- */

static char *add_signature(char *p, struct str secret, struct str text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;

    if (!HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)text.p, text.n, digest,
              &n) ||
        n != DIGEST)
        return NULL;
    for (const char *mark = ",v1="; *mark; mark++)
        *p++ = *mark;
    return hex_put(p, digest, DIGEST);
}

static bool deliver_sign(struct delivery *d, struct str text, int64_t t)
{
    char *p = d->signature + snprintf(d->signature, sizeof(d->signature), "t=%lld", (long long)t);

    p = add_signature(p, d->secrets.now, text);
    if (p && d->secrets.before.n)
        p = add_signature(p, d->secrets.before, text);
    if (p)
        *p = '\0';
    return p;
}

/* Signs with the sandbox's clock, which a test moves together with the receiver's. */
static bool deliver_prepare(struct delivery *d)
{
    int64_t t = clock_wall_ms(&d->sandbox->env.clock) / 1000;
    size_t skip;

    buf_reserve(&d->text, d->body.n * 2);
    buf_fmt(&d->text, "%lld.", (long long)t);
    skip = d->text.n;
    sb_indent(&d->text, d->body);
    if (d->text.failed || !deliver_sign(d, buf_str(&d->text), t))
        return false;
    d->body = (struct str){ d->text.p + skip, d->text.n - skip };
    return true;
}

/* --- sending --- */

/* A copy, because the switch may change while the call is under way. */
static struct str builtin_url(struct delivery *d)
{
    struct str url = str_of(d->sandbox->faults->webhooks.url);

    return url.n ? arena_str(&d->arena, url) : d->sandbox->o.webhook_url;
}

static void deliver_send(struct delivery *d)
{
    d->headers[0] = (struct header){ S("Content-Type"), S("application/json; charset=utf-8") };
    d->headers[1] =
        (struct header){ S("User-Agent"), S("Stripe/1.0 (+https://stripe.com/docs/webhooks)") };
    d->headers[2] = (struct header){ S("Stripe-Signature"), str_of(d->signature) };
    d->headers[3] = (struct header){ S("Accept"), S("*/*; q=0.5, application/xml") };
    d->headers[4] = (struct header){ S("Cache-Control"), S("no-cache") };
    d->call = (struct call){ .method = S("POST"),
                             .url = d->url.n ? d->url : builtin_url(d),
                             .body = d->body,
                             .headers = d->headers,
                             .header_count = HEADERS,
                             .timeout_ms = LIMIT_SANDBOX_SEND_MS,
                             .answer_max = LIMIT_SANDBOX_ANSWER,
                             .arena = &d->arena,
                             .executor = d->load.executor,
                             .done = deliver_answered };
    client_call(d->sandbox->client, &d->call);
}

/* --- loading --- */

static bool deliver_keep(struct delivery *d, struct str *s)
{
    *s = arena_str(&d->arena, *s);
    return s->p;
}

/* An endpoint that was deleted or disabled meanwhile gets nothing. */
static enum err load_endpoint(struct delivery *d, struct tx *tx, int64_t now_ms)
{
    struct hook h;
    enum err e = sb_hook_read(tx, d->job->message->body, &h);

    d->unwanted = e == ERR_NOT_FOUND || (!e && h.disabled);
    if (e || d->unwanted)
        return d->unwanted ? OK : e;
    d->url = h.url;
    d->secrets = secrets_of(&h, now_ms);
    return deliver_keep(d, &d->url) ? OK : ERR_NO_MEMORY;
}

static enum err deliver_load(struct tx *tx, struct unit *u)
{
    struct delivery *d = CONTAINER_OF(u, struct delivery, load);
    struct sandbox *s = d->sandbox;
    int64_t now_ms = env_now_ms(&s->env);
    struct row row;
    enum err e = TX_ROW(tx, STMT_sandbox_event_body, &row, V_TEXT(d->job->message->ref));

    if (e)
        return e;
    d->body = row.col[0].s;
    if (!deliver_keep(d, &d->body))
        return ERR_NO_MEMORY;
    e = d->job->message->body.n ? load_endpoint(d, tx, now_ms)
                                : secrets_builtin(s, tx, now_ms, &d->secrets);
    if (e)
        return e;
    return deliver_keep(d, &d->secrets.now) && deliver_keep(d, &d->secrets.before) ? OK
                                                                                   : ERR_NO_MEMORY;
}

static void deliver_loaded(struct unit *u)
{
    struct delivery *d = CONTAINER_OF(u, struct delivery, load);

    if (u->err)
        job_outside_done(d->job, u->err, "its event could not be read");
    else if (d->unwanted)
        deliver_finish(d);
    else if (!deliver_prepare(d))
        job_outside_done(d->job, ERR_NO_MEMORY, "no memory to sign it");
    else
        deliver_send(d);
}

static void deliver_run(struct job *j, void *ctx)
{
    static const struct unit_kind load = { "sandbox.event", UNIT_READ, deliver_load, NULL };
    struct sandbox *s = ctx;
    struct delivery *d = calloc(1, sizeof(*d));
    const char *lost;

    if (!d) {
        job_outside_done(j, ERR_NO_MEMORY, "no memory to send it");
        return;
    }
    j->state = d;
    d->job = j;
    d->sandbox = s;
    arena_init(&d->arena, 2 * LIMIT_SANDBOX_EVENT);
    buf_init(&d->text, 4 * LIMIT_SANDBOX_EVENT); /* room for the indented body */
    lost = sandbox_webhook_lost(s);
    if (lost) {
        why_set(&d->why, "%s", lost);
        deliver_finish(d);
        return;
    }
    d->load = (struct unit){ .kind = &load,
                             .executor = server_executor(s->server),
                             .done = deliver_loaded,
                             .arena = &d->arena };
    store_post(s->store, &d->load);
}

/* --- the end of an attempt --- */

static enum err deliver_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct sandbox *s = ctx;
    const struct delivery *d = j->state;
    int64_t delay = retry_delay_ms(&retry_table[RETRY_SANDBOX_WEBHOOK], j->message->attempt);

    (void)tx;
    if (d->delivered || d->unwanted)
        return OK;
    why_set(why, "%s", d->why.text);
    if (delay < 0)
        return ERR_UNPROCESSABLE; /* becomes a dead letter; no policy retries it */
    j->again_ms = env_now_ms(j->env) + delay / atomic_load(&s->faults->webhooks.factor);
    return OK;
}

static void deliver_release(struct job *j, void *ctx)
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
        .name = "sandbox.webhook",
        .ctx = s,
        /* For failures of the sandbox itself; deliver_settle() has the schedule. A crash counts as
         * an attempt. */
        .retry = retry_table[RETRY_SANDBOX_WEBHOOK_JOB],
        .outside = deliver_run,
        .settle = deliver_settle,
        .release = deliver_release,
        .patient = true,
    };
}
