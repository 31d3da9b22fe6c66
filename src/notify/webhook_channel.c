/* webhook_channel.c - the channel webhook: posts each notification to one address.
 *
 * The receiver recognizes a repeat by webhook-id, which is the send's id on every try. A post whose
 * outcome is not known is therefore sent again; no verdict is TOLD_UNKNOWN here. */
#include "notify/webhook_channel.h"

#include "auth/standard_webhooks.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "domain/retry.h"
#include "http/client/client.h"
#include "observe/trace.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hook {
    struct transport transport;
    struct env *env;
    struct client *client;
    struct buf url, secret;
};

struct hook_attempt {
    struct hook *hook;
    struct hook_post *post;
    char at[24], signature[SIGNING_TEXT + 1];
    struct header headers[5];
    struct call call;
};

/* --- one post --- */

static enum told hook_verdict(int status)
{
    if (status >= 200 && status < 300)
        return TOLD_SENT;
    return status == 410 ? TOLD_NEVER : TOLD_LATER;
}

/* A status counts even if the rest of the answer was lost. */
static void hook_answered(struct call *c)
{
    struct hook_attempt *a = CONTAINER_OF(c, struct hook_attempt, call);
    struct hook_post *p = a->post;

    p->status = c->status;
    p->told = hook_verdict(c->status);
    p->retry_after_ms =
        retry_after_ms(call_header(c, S("Retry-After")), clock_wall_ms(&a->hook->env->clock));
    if (c->status)
        why_set(&p->why, "the webhook answered %d", c->status);
    else
        why_set(&p->why, "the webhook %s: %s",
                c->result == CALL_NOT_SENT ? "was not reached" : "did not answer", c->why);
    p->done(p);
}

static bool hook_add_signature(struct hook_attempt *a, struct str id, struct str body, size_t *n)
{
    struct str secret = buf_str(&a->hook->secret);

    if (!secret.n)
        return true;
    if (!signing_sign(secret, id, str_of(a->at), body, a->signature))
        return false;
    a->headers[(*n)++] = (struct header){ S("webhook-signature"), str_of(a->signature) };
    return true;
}

/* Returns the number of headers; 0: it cannot be signed. */
static size_t hook_fill_headers(struct hook_attempt *a)
{
    const struct hook_post *p = a->post;
    struct trace trace;
    size_t n = 0;

    snprintf(a->at, sizeof(a->at), "%lld", (long long)(clock_wall_ms(&a->hook->env->clock) / 1000));
    a->headers[n++] = (struct header){ S("Content-Type"), S("application/json") };
    a->headers[n++] = (struct header){ S("webhook-id"), p->id };
    a->headers[n++] = (struct header){ S("webhook-timestamp"), str_of(a->at) };
    if (!hook_add_signature(a, p->id, p->body, &n))
        return 0;
    if (trace_parse(p->trace, &trace))
        a->headers[n++] = (struct header){ S("traceparent"), p->trace };
    return n;
}

static void hook_end(struct task *t)
{
    struct hook_post *p = CONTAINER_OF(t, struct hook_post, back);

    p->done(p);
}

/* From within hook_send(), where done() must not be called. */
static void hook_end_later(struct hook_post *p, const char *why)
{
    p->told = TOLD_LATER;
    p->retry_after_ms = -1;
    p->status = 0;
    why_set(&p->why, "%s", why);
    p->back = (struct task){ .run = hook_end };
    executor_post(p->executor, &p->back);
}

void hook_send(struct transport *t, struct hook_post *p)
{
    struct hook *h = CONTAINER_OF(t, struct hook, transport);
    struct hook_attempt *a = arena_alloc(p->arena, 1, sizeof(*a));
    size_t headers;

    if (!a) {
        hook_end_later(p, "it needs more memory than there is");
        return;
    }
    a->hook = h;
    a->post = p;
    headers = hook_fill_headers(a);
    if (!headers) {
        hook_end_later(p, "it could not be signed");
        return;
    }
    a->call = (struct call){ .method = S("POST"),
                             .url = buf_str(&h->url),
                             .body = p->body,
                             .headers = a->headers,
                             .header_count = headers,
                             .timeout_ms = LIMIT_DELIVERY_MS,
                             .turn_ms = LIMIT_SEND_WAIT_MS,
                             .answer_max = LIMIT_HOOK_ANSWER,
                             .cut_answer = true,
                             .arena = p->arena,
                             .executor = p->executor,
                             .done = hook_answered };
    client_call(h->client, &a->call);
}

/* --- a notification --- */

static struct str webhook_notification_body(const struct parcel_out *p)
{
    struct buf b;

    buf_init(&b, LIMIT_DOMAIN_EVENT);
    buf_char(&b, '{');
    out_uuid(&b, "id", p->notification);
    out_text(&b, "type", p->type);
    out_text(&b, "title", p->title);
    out_text(&b, "body", p->body);
    out_json(&b, "data", p->data.n ? p->data : S("{}"));
    if (p->user)
        out_uuid(&b, "userId", *p->user);
    else
        out_json(&b, "userId", S("null"));
    if (p->participant)
        out_uuid(&b, "participantId", *p->participant);
    else
        out_json(&b, "participantId", S("null"));
    out_text(&b, "language", p->is_japanese ? S("ja") : S("en"));
    out_time(&b, "createdAt", p->created_ms);
    buf_char(&b, '}');
    return out_done(&b, p->arena);
}

struct webhook_notification {
    struct hook_post post;
    struct parcel_out *outgoing;
    char id[UUID_TEXT + 1];
};

static void webhook_notification_posted(struct hook_post *post)
{
    struct webhook_notification *e = CONTAINER_OF(post, struct webhook_notification, post);
    struct parcel_out *p = e->outgoing;

    p->told = post->told;
    p->retry_after_ms = post->retry_after_ms;
    p->why = post->why;
    p->done(p);
}

static void webhook_notification_send(struct transport *t, struct parcel_out *p)
{
    struct webhook_notification *e = arena_alloc(p->arena, 1, sizeof(*e));
    struct str body = webhook_notification_body(p);

    if (!e || !body.p) {
        why_set(&p->why, "it needs more memory than there is");
        outgoing_end_later(p, TOLD_LATER);
        return;
    }
    uuid_text(p->send, e->id);
    e->outgoing = p;
    e->post = (struct hook_post){ .id = str_of(e->id),
                                  .body = body,
                                  .trace = str_of(p->trace),
                                  .arena = p->arena,
                                  .executor = p->executor,
                                  .done = webhook_notification_posted };
    hook_send(t, &e->post);
}

/* --- its life --- */

static void hook_free(struct transport *t)
{
    struct hook *h = t ? CONTAINER_OF(t, struct hook, transport) : NULL;

    if (!h)
        return;
    if (h->secret.p)
        OPENSSL_cleanse(h->secret.p, h->secret.size);
    buf_release(&h->secret);
    buf_release(&h->url);
    free(h);
}

struct transport *hook_new(const struct hook_options *o, struct why *why)
{
    struct hook *h;

    if (o->secret.n && !signing_secret_is_sane(o->secret)) {
        why_set(why, "the webhook's secret must be whsec_ and the base64 of 24 to 64 bytes");
        return NULL;
    }
    h = calloc(1, sizeof(*h));
    if (h) {
        h->transport = (struct transport){ .channel = "webhook",
                                           .send = webhook_notification_send,
                                           .free = hook_free };
        h->env = o->env;
        h->client = o->client;
        buf_init(&h->url, LIMIT_SETTING);
        buf_init(&h->secret, LIMIT_SETTING);
        buf_add(&h->url, o->url);
        buf_add(&h->secret, o->secret);
        if (!h->url.failed && !h->secret.failed)
            return &h->transport;
        hook_free(&h->transport);
    }
    why_set(why, "the webhook needs more memory than there is");
    return NULL;
}
