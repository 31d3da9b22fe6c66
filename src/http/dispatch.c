#include "http/dispatch.h"

#include "base/limits.h"
#include "http/exchange.h"
#include "http/rate.h"
#include "http/server.h"

enum err dispatch_head(struct exchange *x, const char **ret_detail)
{
    const struct route *route;
    enum err e = exchange_head(x, ret_detail);

    if (e)
        return e;
    if (exchange_is_unwanted(x))
        return OK; /* the body stays where it is */
    route = x->request.route;
    return parser_take_body(&x->parser, route && route->body_max ? route->body_max : LIMIT_BODY);
}

void dispatch_refusal(struct exchange *x, enum err e, const char *detail)
{
    struct server *s = x->loop->server;

    x->refused = true;
    x->close = true;
    atomic_fetch_add(&s->refused, 1);
    if (x->allow.n && e == ERR_METHOD)
        reply_header(&x->request, S("Allow"), x->allow);
    reply_problem(&x->request, e, detail);
}

static void answer_unrouted(struct exchange *x)
{
    struct request *r = &x->request;
    bool asks = str_eq(r->method, S("OPTIONS"));

    if (asks && str_eq(r->path, S("*")))
        x->allow = S("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    if (x->allow.n)
        reply_header(r, S("Allow"), x->allow);
    if (asks && x->allow.n)
        reply_send(r, 204, S(""), S(""));
    else
        reply_problem(r, x->route_error, NULL);
}

static bool is_within_rate(struct exchange *x)
{
    const struct server *s = x->loop->server;
    struct sockaddr_storage client;

    if (!s->rate)
        return true;
    exchange_client(x, &client);
    return rate_take(s->rate, (const struct sockaddr *)&client, x->request.began_us);
}

/* From here on the request counts until it is answered. */
static enum err dispatch_admit(struct exchange *x)
{
    struct server *s = x->loop->server;

    exchange_admit(x);
    if (x->request.route && x->request.route->unlimited)
        return OK;
    if (atomic_load(&s->in_flight) > s->options.max_in_flight)
        return ERR_OVERLOADED;
    return is_within_rate(x) ? OK : ERR_RATE_LIMITED;
}

void dispatch(struct exchange *x)
{
    struct request *r = &x->request;
    enum err e;

    r->body = buf_str(&x->parser.body);
    r->began_us = clock_mono_us(&r->env->clock);
    e = dispatch_admit(x);
    if (e)
        reply_problem(r, e, NULL);
    else if (!r->route)
        answer_unrouted(x);
    else
        r->route->handle(r, r->route->ctx);
}
