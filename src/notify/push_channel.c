/* push_channel.c - the transport of push messages: FCM's HTTP v1.
 *
 *   message --> access token --> POST --> FCM's answer
 *                    ^            |
 *                    '--- 401, once (the token was revoked)
 *
 *   (1) A push is posted once: libcurl must not repeat it by itself, and without an answer it is
 *       TOLD_UNKNOWN, because FCM has no idempotency key. The collapse keys of notify/fcm/message.c
 *       fold repeats only where FCM asked for them by a 500 or 503.
 *   (2) Neither the device's token nor ours is in a log line or a `why`.
 *   (3) All memory of a send comes from the arena of its struct parcel_out. */
#include "base/buf.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "notify/fcm/account.h"
#include "notify/fcm/answer.h"
#include "notify/fcm/message.h"
#include "notify/fcm/token.h"
#include "notify/notify.h"
#include "observe/log.h"

#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOOGLE "https://fcm.googleapis.com"

struct push {
    struct transport transport;
    struct env *env;
    struct client *client;
    struct fcm_account account;
    struct fcm_tokens *tokens;
    struct buf url;
    _Atomic int64_t quiet_until[FCM_ROWS]; /* no alarm of that kind before */
};

struct push_sending {
    struct push *push;
    struct parcel_out *outgoing;
    struct fcm_want want;
    struct str json;
    char bearer[sizeof("Bearer ") + LIMIT_FCM_TOKEN];
    struct header headers[2];
    struct call call;
    bool refreshed; /* uses its second token */
};

/* --- the end --- */

static void push_end(struct parcel_out *p, enum told told, int64_t retry_after_ms)
{
    p->told = told;
    p->retry_after_ms = retry_after_ms;
    p->done(p);
}

/* Reports what only an operator can correct, once a minute for each kind. */
static void push_alarm(struct push *u, const struct fcm_verdict *v, int status)
{
    int64_t now_ms = env_now_ms(u->env), until = atomic_load(&u->quiet_until[v->row]);

    if (now_ms < until || !atomic_compare_exchange_strong(&u->quiet_until[v->row], &until,
                                                          now_ms + LIMIT_FCM_ALARM_MS))
        return;
    LOG(u->env->log, LOG_ERROR, "FCM refuses our pushes", LOG_TEXT("code", str_of(v->code)),
        LOG_NUM("status", status), LOG_TEXT("project", u->account.project));
}

/* --- the answer --- */

static void push_judge_answer(struct push_sending *s)
{
    static const enum told ends[] = {
        [FCM_SENT] = TOLD_SENT, [FCM_LATER] = TOLD_LATER,     [FCM_NEVER] = TOLD_NEVER,
        [FCM_GONE] = TOLD_GONE, [FCM_UNKNOWN] = TOLD_UNKNOWN, [FCM_REFRESH] = TOLD_LATER,
    };
    struct call *c = &s->call;
    struct fcm_verdict v = fcm_answer(c->status, call_header(c, S("Retry-After")), c->answer,
                                      clock_wall_ms(&s->push->env->clock));

    if (v.end == FCM_REFRESH && !s->refreshed) {
        s->refreshed = true;
        fcm_token_drop(s->push->tokens, s->want.generation);
        fcm_token_ask(s->push->tokens, &s->want);
        return;
    }
    if (v.alarm)
        push_alarm(s->push, &v, c->status);
    why_set(&s->outgoing->why, "FCM answered %d (%s)", c->status, v.code);
    push_end(s->outgoing, ends[v.end], v.retry_after_ms);
}

/* A status counts even if the rest of the answer was lost. */
static void push_answered(struct call *c)
{
    struct push_sending *s = CONTAINER_OF(c, struct push_sending, call);
    bool unsent = c->result == CALL_NOT_SENT;

    OPENSSL_cleanse(s->bearer, sizeof(s->bearer));
    if (c->status) {
        push_judge_answer(s);
        return;
    }
    why_set(&s->outgoing->why, "FCM %s: %s", unsent ? "was not reached" : "did not answer", c->why);
    push_end(s->outgoing, unsent ? TOLD_LATER : TOLD_UNKNOWN, -1);
}

/* --- the call --- */

static void push_post(struct push_sending *s)
{
    int n = snprintf(s->bearer, sizeof(s->bearer), "Bearer %.*s", (int)s->want.n, s->want.text);

    fcm_want_wipe(&s->want);
    s->headers[0] = (struct header){ S("Content-Type"), S("application/json; charset=utf-8") };
    s->headers[1] = (struct header){ S("Authorization"), { s->bearer, (size_t)n } };
    s->call = (struct call){ .method = S("POST"),
                             .url = buf_str(&s->push->url),
                             .body = s->json,
                             .headers = s->headers,
                             .header_count = COUNT(s->headers),
                             .timeout_ms = LIMIT_FCM_MS,
                             .turn_ms = LIMIT_SEND_WAIT_MS,
                             .answer_max = LIMIT_FCM_ANSWER,
                             .cut_answer = true,
                             .once = true,
                             .arena = s->outgoing->arena,
                             .executor = s->outgoing->executor,
                             .done = push_answered };
    client_call(s->push->client, &s->call);
}

static void push_got_token(struct fcm_want *w)
{
    struct push_sending *s = CONTAINER_OF(w, struct push_sending, want);

    if (w->end == FCM_TOKEN_HERE) {
        push_post(s);
        return;
    }
    why_set(&s->outgoing->why, "%s",
            w->end == FCM_TOKEN_NEVER ? "Google refuses our service account"
                                      : "there is no access token");
    push_end(s->outgoing, TOLD_LATER, w->retry_after_ms);
}

static void push_send(struct transport *t, struct parcel_out *p)
{
    struct push *u = CONTAINER_OF(t, struct push, transport);
    struct push_sending *s = arena_alloc(p->arena, 1, sizeof(*s));
    enum err e = ERR_NO_MEMORY;

    p->why.text[0] = '\0';
    if (s)
        e = fcm_message(p, clock_wall_ms(&u->env->clock), &s->json, &p->why);
    if (e) {
        if (e == ERR_NO_MEMORY)
            why_set(&p->why, "it needs more memory than there is");
        outgoing_end_later(p, e == ERR_VALIDATION ? TOLD_NEVER : TOLD_LATER);
        return;
    }
    s->push = u;
    s->outgoing = p;
    s->want.executor = p->executor;
    s->want.got = push_got_token;
    fcm_token_ask(u->tokens, &s->want);
}

/* --- its life --- */

static void push_free(struct transport *t)
{
    struct push *u = t ? CONTAINER_OF(t, struct push, transport) : NULL;

    if (!u)
        return;
    fcm_tokens_free(u->tokens);
    fcm_account_close(&u->account);
    buf_release(&u->url);
    free(u);
}

static bool push_open(struct push *u, const struct push_options *o, struct why *why)
{
    struct why reason = { 0 };

    if (!fcm_account_open(&u->account, o->credentials, &reason))
        return why_false(why, "ICHIDO_FCM_CREDENTIALS: %.200s", reason.text);
    if (u->account.is_open)
        LOG(u->env->log, LOG_WARN,
            "the file of ICHIDO_FCM_CREDENTIALS can be read by others than its owner");
    buf_add(&u->url, o->base.n ? o->base : S(GOOGLE));
    buf_add(&u->url, S("/v1/projects/"));
    buf_add(&u->url, u->account.project);
    buf_add(&u->url, S("/messages:send"));
    u->tokens = fcm_tokens_new(o->env, o->client, &u->account);
    if (u->tokens && !u->url.failed)
        return true;
    return why_false(why, "push needs more memory than there is");
}

struct transport *push_new(const struct push_options *o, struct why *why)
{
    struct push *u = calloc(1, sizeof(*u));

    if (!u) {
        why_set(why, "push needs more memory than there is");
        return NULL;
    }
    u->transport = (struct transport){ .channel = "push", .send = push_send, .free = push_free };
    u->env = o->env;
    u->client = o->client;
    buf_init(&u->url, LIMIT_SUBSCRIBER_URL);
    if (push_open(u, o, why))
        return &u->transport;
    push_free(&u->transport);
    return NULL;
}
