/* remote.c - events that travel through a QStash: the worker endpoint, which QStash calls with an
 * event (Q4), and the publisher, which sends the events of the Stripe endpoint to a remote QStash
 * (Q5). */
#include "base/limits.h"
#include "observe/log.h"
#include "qstash/admin/keys.h"
#include "server/app.h"

#include <stdio.h>
#include <string.h>

bool app_has_worker(const struct app *app)
{
    return app->node.settings.qstash_current_key.n;
}

/* The URL that the remote calls and that its signatures must name. It stays empty without
 * ICHIDO_PUBLIC_URL. False: no memory. */
static bool make_worker_url(struct app *app)
{
    struct settings *s = &app->node.settings;
    size_t size = s->public_url.n + sizeof(WORKER_PATH);
    char *url = arena_alloc(&s->arena, 1, size);

    if (url && s->public_url.n)
        app->worker_url = (struct str){ url, (size_t)snprintf(url, size, STR_FMT WORKER_PATH,
                                                              STR_ARG(s->public_url)) };
    return url;
}

/* QSTASH_URL without user and password, for messages. .p is NULL: no memory. */
static struct str shown_base(struct app *app)
{
    struct settings *s = &app->node.settings;
    struct str rest = s->qstash_url, scheme = str_cut(&rest, ':'), path;
    size_t at = 2, size = s->qstash_url.n + 1;
    char *text = arena_alloc(&s->arena, 1, size);

    if (!text || !rest.n)
        return (struct str){ text, 0 };
    while (at < rest.n && rest.p[at] != '/' && rest.p[at] != '?')
        at++;
    path = (struct str){ rest.p + at, rest.n - at };
    rest = (struct str){ rest.p + 2, at - 2 };
    while (memchr(rest.p, '@', rest.n))
        str_cut(&rest, '@');
    return (struct str){ text, (size_t)snprintf(text, size, STR_FMT "://" STR_FMT STR_FMT,
                                                STR_ARG(scheme), STR_ARG(rest), STR_ARG(path)) };
}

static bool open_client(struct app *app)
{
    struct client_options o = { .env = &app->node.env,
                                .thread = "egress-publish",
                                .max_per_host = LIMIT_PUBLISH_CALLS,
                                .max_total = LIMIT_PUBLISH_CALLS,
                                .allow_private = true }; /* the operator named it */
    struct why why = { 0 };

    return !app->node.settings.queue_remote || !client_open(&o, &app->publish_client, &why) ||
           app_fails(app, "cannot make calls to QSTASH_URL", str_of(why.text));
}

/* --- the keys that the worker verifies signatures with --- */

static bool keys_are_fresh(void *qstash)
{
    struct qstash *q = qstash;

    if (!atomic_load(&q->keys_begun))
        return false;
    return !store_health(q->store).many_nodes ||
           clock_mono_ms(&q->env->clock) - atomic_load(&q->keys_read_ms) < LIMIT_QSTASH_KEYS_MS;
}

static enum err follow_keys(struct tx *tx, void *qstash)
{
    return keys_follow(qstash, tx);
}

static struct worker_keys worker_keys(struct app *app)
{
    const struct settings *s = &app->node.settings;

    if (!app_has_qstash(app))
        return (struct worker_keys){ .current = s->qstash_current_key, .next = s->qstash_next_key };
    return (struct worker_keys){ .own = &app->upstash_keys,
                                 .are_fresh = keys_are_fresh,
                                 .follow = follow_keys,
                                 .ctx = &app->qstash };
}

static void log_queue_settings(const struct app *app)
{
    const struct settings *s = &app->node.settings;

    LOG(app->node.env.log, LOG_INFO, "queue",
        LOG_TEXT("webhooks", s->queue_remote ? S("qstash") : S("builtin")),
        LOG_TEXT("qstashApi", app_has_qstash(app) ? S("on") : S("off")),
        LOG_TEXT("worker", app_has_worker(app) ? S("on") : S("off")));
}

bool app_open_remote(struct app *app)
{
    const struct settings *s = &app->node.settings;

    if (!make_worker_url(app) || !open_client(app))
        return false;
    app->apply_kind = apply_event_kind(&app->apply, s->retries, s->retry_first_ms);
    app->worker = (struct worker){ .env = &app->node.env,
                                   .store = app->node.store,
                                   .apply = &app->apply_kind,
                                   .keys = worker_keys(app),
                                   .url = app->worker_url,
                                   .alert = app_log_dead_letter,
                                   .alert_ctx = app };
    app->publisher = (struct publisher){ .payments = &app->payments,
                                         .client = app->publish_client,
                                         .apply = &app->apply_kind,
                                         .remote = s->queue_remote,
                                         .base = s->qstash_url,
                                         .told = shown_base(app),
                                         .token = s->qstash_token,
                                         .worker_url = app->worker_url,
                                         .alert = app_log_dead_letter,
                                         .alert_ctx = app };
    log_queue_settings(app);
    return app->publisher.told.p;
}
