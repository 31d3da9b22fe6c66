/* qstash.c - the QStash API. Messages that are stored are delivered in any case; the API itself is
 * served only where a token and a signing key are set and they are not those of a remote QStash. */
#include "base/limits.h"
#include "qstash/deliver/destinations.h"
#include "server/app.h"

bool app_has_qstash(const struct app *app)
{
    const struct settings *s = &app->node.settings;

    return s->qstash_token.n && s->qstash_current_key.n && !s->queue_remote;
}

bool app_open_qstash(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct qstash *q = &app->qstash;
    struct client_options o = { .env = &app->node.env,
                                .thread = "egress-qstash",
                                .max_per_host = LIMIT_QSTASH_PER_HOST,
                                .max_total = LIMIT_QSTASH_CALLS,
                                .allow_private = s->qstash_private };
    struct why why = { 0 };

    q->env = &app->node.env;
    q->store = app->node.store;
    q->executor = server_executor(app->server);
    upstash_keys_init(&app->upstash_keys);
    q->keys = &app->upstash_keys;
    q->token = s->qstash_token;
    if (app_has_qstash(app)) { /* otherwise the keys belong to a remote, and it signs with them */
        q->current_key = s->qstash_current_key;
        q->next_key = s->qstash_next_key;
    }
    q->dedup_ms = s->qstash_dedup_ms;
    q->allow_private = s->qstash_private;
    q->destinations = destinations_new(&app->node.env);
    if (!q->destinations || client_open(&o, &app->qstash_client, &why))
        return app_fails(app, "cannot open the QStash API", str_of(why.text));
    q->client = app->qstash_client;
    return true;
}

void app_close_qstash(struct app *app)
{
    destinations_free(app->qstash.destinations);
    if (app->qstash.keys)
        upstash_keys_release(&app->upstash_keys);
}
