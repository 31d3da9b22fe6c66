/* listener.c - the HTTP server: its settings, the address it listens on, the log line of each
 * request, and the client address that the rate limit counts. */
#include "base/limits.h"
#include "http/request_span.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/app.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 20 };

/* The path as the log may show it. Below /v2/ it holds a destination URL, with a user, a password
 * and names that only their owner should know, so only the first segment is shown there. */
static struct str path_shown(struct str path, char *text, size_t size)
{
    struct str prefix = S("/v2/"), rest, first;

    if (!str_starts(path, prefix))
        return path;
    rest = (struct str){ path.p + prefix.n, path.n - prefix.n };
    first = str_cut(&rest, '/');
    for (size_t i = 0; i < first.n; i++)
        if (!isalpha((unsigned char)first.p[i]) || i == SHOWN_MAX) /* "https%3A%2F%2F..." */
            return S("/v2/...");
    return (struct str){ text, (size_t)snprintf(text, size, "/v2/" STR_FMT "%s", STR_ARG(first),
                                                rest.n ? "/..." : "") };
}

static void listener_replied(void *ctx, const struct request *r, int status)
{
    struct app *app = ctx;
    char path[SHOWN_MAX + 16], trace[TRACE_TEXT + 1];
    enum log_level level = status >= 500 ? LOG_WARN : LOG_DEBUG;

    api_count_answer(r, status);
    request_span(r, status);
    if (!log_wants(app->node.env.log, level))
        return;
    trace_text(&r->trace, trace);
    LOG(app->node.env.log, level, "request", LOG_TEXT("method", r->method),
        LOG_TEXT("path", path_shown(r->path, path, sizeof(path))), LOG_NUM("status", status),
        LOG_TEXT("requestId", r->id), LOG_TRACE(str_of(trace)),
        LOG_NUM("us", clock_mono_us(&app->node.env.clock) - r->began_us));
}

static void listener_refused(void *ctx, enum err e, struct str peer_ip)
{
    struct app *app = ctx;

    metrics_count(app->node.env.metrics, COUNT_HTTP_REFUSED, 1);
    LOG(app->node.env.log, LOG_DEBUG, "refused", LOG_TEXT("why", str_of(err_code(e))),
        LOG_TEXT("peer", peer_ip));
}

/* The address that the rate limit counts: behind a trusted proxy the client's, not the proxy's. */
static bool listener_client(void *ctx, const struct request *r, struct sockaddr_storage *ret_client)
{
    const struct app *app = ctx;
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct address a;

    if (!address_of(&r->peer, &a) ||
        !client_address(&app->trusted_proxies, a, r->headers, r->header_count, &a))
        return false;
    memcpy(&v6.sin6_addr, a.b, sizeof(a.b));
    memcpy(&v4.sin_addr, a.b + 12, 4);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        memcpy(ret_client, &v4, sizeof(v4));
    else
        memcpy(ret_client, &v6, sizeof(v6));
    return true;
}

bool app_open_server(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct server_options o = {
        .env = &app->node.env,
        .listen = s->listen,
        .loops = s->loops,
        .tls_cert = s->tls_cert.p,
        .tls_key = s->tls_key.p,
        .max_connections = s->max_connections,
        .rate_limit = s->rate_limit,
        .loopback_only = s->mode == MODE_DEV,
        .client = listener_client,
        .replied = listener_replied,
        .refused = listener_refused,
        .ctx = app,
    };
    struct str host = s->listen;
    struct why why = { 0 };

    if (!allow_parse(&app->trusted_proxies, s->trusted_proxies, &why))
        return app_fails(app, "cannot read ICHIDO_TRUSTED_PROXIES", str_of(why.text));
    if (server_open(&o, &app->server, &why))
        return app_fails(app,
                         strstr(why.text, strerror(EADDRINUSE))
                             ? "another program has that address: stop it, or set ICHIDO_LISTEN "
                               "to a free one like 127.0.0.1:8788"
                             : "cannot listen",
                         str_of(why.text));
    while (host.n && host.p[host.n - 1] != ':')
        host.n--;
    snprintf(app->address, sizeof(app->address), STR_FMT "%d", STR_ARG(host),
             server_port(app->server));
    app->node.settings.listen = str_of(app->address); /* with the real port, where it was 0 */
    return true;
}

void app_close_server(struct app *app)
{
    server_free(app->server);
}
