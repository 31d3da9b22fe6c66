/* deliver.c - an event on its way to one receiver.
 *
 *   message --> read event, receiver, secrets --> sign, POST --> 2xx: done
 *                                                          '--> else: again by the schedule, then
 * dead
 *
 * What is sent is indented by two blanks, as Stripe's is, so that a receiver who signs or compares
 * something else than the raw bytes is found out here. Each try has a time and signatures of its
 * own: one for each secret that is valid then. */
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

struct deliver_delivery {
    struct job *job;
    struct sandbox *sandbox;
    struct unit load;
    struct arena arena;
    struct buf text; /* "1760000000." and behind it the body: what is signed, in one piece */
    struct str body;
    struct str url; /* of an endpoint; empty: the receiver of the options */
    struct secrets secrets;
    struct call call;
    struct header headers[HEADERS];
    char signature[sizeof("t=") + 20 + SECRETS * (sizeof(",v1=") + (size_t)DIGEST * 2)];
    bool delivered, unwanted;
    struct why why;
};

static void deliver_finish(struct deliver_delivery *d)
{
    job_outside_done(d->job, OK, d->why.text);
}

bool sandbox_heard(const struct call *c, struct why *why)
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
    struct deliver_delivery *d = CONTAINER_OF(c, struct deliver_delivery, call);

    d->delivered = sandbox_heard(c, &d->why);
    LOG(d->sandbox->env.log, LOG_DEBUG, "sandbox webhook",
        LOG_TEXT("eventId", d->job->message->ref), LOG_NUM("attempt", d->job->message->attempt),
        LOG_NUM("status", c->result == CALL_ANSWERED ? c->status : 0),
        LOG_TEXT("why", str_of(d->why.text)));
    deliver_finish(d);
}

/* --- signed --- */

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

static bool deliver_sign(struct deliver_delivery *d, struct str text, int64_t t)
{
    char *p = d->signature + snprintf(d->signature, sizeof(d->signature), "t=%lld", (long long)t);

    p = add_signature(p, d->secrets.now, text);
    if (p && d->secrets.before.n)
        p = add_signature(p, d->secrets.before, text);
    if (p)
        *p = '\0';
    return p;
}

/* The clock is the one that the receiver's tests move, too. */
static bool write_text(struct deliver_delivery *d)
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

/* --- sent --- */

/* The switch may change while this is under way. */
static struct str builtin_url(struct deliver_delivery *d)
{
    struct str url = str_of(d->sandbox->faults->webhooks.url);

    return url.n ? arena_str(&d->arena, url) : d->sandbox->o.webhook_url;
}

static void send_it(struct deliver_delivery *d)
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

/* --- read --- */

static bool deliver_keep(struct deliver_delivery *d, struct str *s)
{
    *s = arena_str(&d->arena, *s);
    return s->p;
}

/* One that was deleted or disabled meanwhile wants nothing more. */
static enum err load_endpoint(struct deliver_delivery *d, struct tx *tx, int64_t now_ms)
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

static enum err load_run(struct tx *tx, struct unit *u)
{
    struct deliver_delivery *d = CONTAINER_OF(u, struct deliver_delivery, load);
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
    struct deliver_delivery *d = CONTAINER_OF(u, struct deliver_delivery, load);

    if (u->err)
        job_outside_done(d->job, u->err, "its event could not be read");
    else if (d->unwanted)
        deliver_finish(d);
    else if (!write_text(d))
        job_outside_done(d->job, ERR_NO_MEMORY, "no memory to sign it");
    else
        send_it(d);
}

static void deliver_run(struct job *j, void *ctx)
{
    static const struct unit_kind load = { "sandbox.event", UNIT_READ, load_run, NULL };
    struct sandbox *s = ctx;
    struct deliver_delivery *d = calloc(1, sizeof(*d));
    const char *lost;

    if (!d) {
        job_outside_done(j, ERR_NO_MEMORY, "no memory to send it");
        return;
    }
    j->state = d;
    d->job = j;
    d->sandbox = s;
    arena_init(&d->arena, 2 * LIMIT_SANDBOX_EVENT);
    buf_init(&d->text, 4 * LIMIT_SANDBOX_EVENT); /* indented */
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

/* --- again --- */

static enum err deliver_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct sandbox *s = ctx;
    const struct deliver_delivery *d = j->state;
    int64_t delay = retry_delay_ms(&retry_table[RETRY_SANDBOX_WEBHOOK], j->message->attempt);

    (void)tx;
    if (d->delivered || d->unwanted)
        return OK;
    why_set(why, "%s", d->why.text);
    if (delay < 0)
        return ERR_UNPROCESSABLE; /* a dead letter; no policy tries it again */
    j->again_ms = env_now_ms(j->env) + delay / atomic_load(&s->faults->webhooks.factor);
    return OK;
}

static void deliver_release(struct job *j, void *ctx)
{
    struct deliver_delivery *d = j->state;

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
        /* of our own troubles; deliver_settle() has the schedule. A crash counts as a try. */
        .retry = retry_table[RETRY_SANDBOX_WEBHOOK_JOB],
        .outside = deliver_run,
        .settle = deliver_settle,
        .release = deliver_release,
        .patient = true,
    };
}
